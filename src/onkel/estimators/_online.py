"""What all estimators share: validation at the door, the pass over a batch, all or nothing. No mathematics."""

import contextlib
import dataclasses
import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple, Self

import joblib
import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ..expansion import CHUNK, PAUSE, SEEN, empty
from ..outputs import BINARY, MULTICLASS, REGRESSION, SOFTMAX, Task
from ..rows import Dense, Sparse
from ..state import arrays, restore, state_dict, twin
from ..stream import INTERLUDE, ROOM, learn, score
from ._parameters import STEERING, estimator, validate
from ._short import SMALL, Door, Past, Watch, Window, finite_number, one_row, overflow

ABSENT: Any = None
ONLY_FIT = {"grow_features", "n_passes", "shuffle", "random_state"}
# scikit-learn that refuses weights which are all 0 can be told not to.
ALL_MAY_BE_ZERO = {
    name: True for name in inspect.signature(_check_sample_weight).parameters if name == "allow_all_zero_weights"
}
WORK = 2**26  # multiply-adds between two looks at the keyboard: about a twentieth of a second


class Setting(NamedTuple):
    """What is known once the first batch was seen."""

    kernel: Any
    task: Any  # a Task; a transformer has none
    d: int
    outputs: int
    dtype: str
    key: int  # of the random numbers

    def expansion(self, capacity: int, budget: int | None = None, average: bool = False) -> Any:
        return empty(capacity, self.d, self.outputs, np.dtype(self.dtype), budget=budget, average=average)


@estimator
class RowReader(BaseEstimator):
    """Whatever is fed rows: they are checked at the door, and a call that fails leaves it as it was."""

    grow_features: bool = False
    random_state: Any = None

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}

    def _check(self) -> None:
        """Raise a ValueError for parameters that do not go together."""

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _key(self) -> tuple[Any, int]:
        """The source of further randomness, and the key of the compiled code's random numbers."""
        random = check_random_state(self.random_state)
        return random, int(random.randint(0, 2**63 - 1, dtype=np.int64))

    def _fit_width(self, X: Any) -> tuple[Any, int]:
        """With `grow_features`, X with the columns that it lacks, and how many it should have: all that it has."""
        d = self.n_features_in_
        if not self.grow_features or hasattr(self, "feature_names_in_"):
            return X, d
        X = X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2 or X.shape[1] >= d:
            return X, X.shape[1] if len(X.shape) == 2 else d
        missing = X.shape[0], d - X.shape[1]
        return (
            sp.hstack([X, sp.csr_matrix(missing)], "csr") if sp.issparse(X) else np.hstack([X, np.zeros(missing)])
        ), d

    def _to_read(self, X: Any) -> Any:
        """Rows to predict or transform, which teach nothing."""
        X, width = self._fit_width(X)
        if width == self._setting.d:
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=self._setting.dtype, order="C")
        else:
            X = check_array(X, accept_sparse="csr", dtype=self._setting.dtype, order="C")
        return self._sound(X)

    def _sound(self, X: Any) -> Any:
        """X in the one form that compiled code takes, or an error when its squared distances may overflow."""
        if sp.issparse(X):
            X = _canonical(X)
        else:
            X = np.require(np.asarray(X), requirements=["C", "A", "W"])
        _check_distances(X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@estimator
class OnlineEstimator(RowReader):
    n_passes: int = 1
    shuffle: bool = False

    _numeric: ClassVar[bool] = False
    _grows: ClassVar[bool] = False  # whether its capacity begins below `_most`
    _steering: ClassVar[set[str]] = STEERING  # what set_params may change between two batches

    # What a learner's own class says.

    def _make(self, setting: Setting, capacity: int) -> Any:
        """The learner, empty, with room for `capacity` points."""
        raise NotImplementedError

    def _most(self) -> int:
        """The largest capacity."""
        raise NotImplementedError

    def _first_capacity(self, setting: Setting) -> int:
        """That of a new learner."""
        return self._most()

    def _capacity(self) -> int:
        """That of the learner at hand."""
        return self._most()

    def _shapes(self, setting: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        """Of a learner's arrays that may be large, by name; all else is small when these are. Makes none of them."""
        raise NotImplementedError

    def _kernel(self, X: Any, targets: Any, key: int) -> Any:
        """The kernel, which the first batch may decide."""
        return None

    def _make_room(self) -> None:
        """What a learner waits for that paused before the next example: room, in most."""
        raise NotImplementedError

    def _interlude(self, rows: Any, t: int) -> None:
        """What a learner waits for that paused before it learns example t; OverflowError if its numbers overflow."""
        raise NotImplementedError

    def _widened(self, learner: Any, d: int) -> Any:
        """A copy with room for d features."""
        raise NotImplementedError

    def _work(self, learner: Any) -> int:
        """Multiply-adds per row."""
        raise NotImplementedError

    def _reader(self, d: int) -> Any:
        """What predicts rows of d features, with work space of its own: others may use the learner meanwhile."""
        raise NotImplementedError

    def _constant(self) -> tuple[str, ...]:
        """Beginnings of the names of arrays that no update to come changes."""
        return ()

    # One batch.

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = None) -> np.ndarray:
        """Learn a batch; returns the scores before each update. Whatever goes wrong leaves the estimator as it was."""
        with self._all_or_nothing():
            return self._run(*self._admit(X, y, sample_weight, first=first, classes=classes))

    def _pieces(self, X: Any, y: Any, ends: list[int]) -> Iterator[np.ndarray]:
        """Learn a further batch, checked once, up to each of `ends` in turn, and give the scores."""
        with self._all_or_nothing():
            rows, targets, weights = self._admit(X, y, None, first=False)
        for start, end in itertools.pairwise([0, *ends]):
            with self._all_or_nothing():
                scores = self._run(part(rows, start, end), targets[start:end], weights[start:end])
            yield _narrow(scores)

    def _begin(self, X: Any, y: Any, classes: Any = None) -> None:
        """Settle all that a first batch settles, and learn none of it: however it is then cut, the result is one."""
        with self._all_or_nothing():
            self._admit(X, y, None, first=True, classes=classes)

    def _admit(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, targets and weights of a batch in the form that compiled code takes, and a learner that fits them."""
        X, y = self._validate(X, y, first)
        targets = self._targets(y, first, classes)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, **ALL_MAY_BE_ZERO)
        if first:
            self._start(X, targets)
        elif self._parameters() != self._made_with:
            self._rebuild()
        if X.shape[1] > self._setting.d:
            self._widen(X.shape[1])
        return _rows(X), targets, weights

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with self._all_or_nothing():
            X, y = self._validate(X, y, True)
            targets = self._targets(y, True, None)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            random = self._start(X, targets)
            for _ in range(self.n_passes):
                order = random.permutation(len(targets)) if self.shuffle else slice(None)
                self._run(_rows(X[order] if self.shuffle else X), targets[order], weights[order])
        return self

    def _validate(self, X: Any, y: Any, first: bool) -> tuple[Any, Any]:
        validate(self, self._choices)
        self._check()
        dtype = [np.float64, np.float32] if first else self._setting.dtype
        if not first:
            X, self.n_features_in_ = self._fit_width(X)
        X, y = validate_data(
            self,
            X,
            y,
            reset=first,
            accept_sparse="csr",
            dtype=dtype,
            order="C",
            y_numeric=self._numeric,
            accept_large_sparse=True,
        )
        return self._sound(X), y

    def _start(self, X: Any, targets: np.ndarray) -> Any:
        """Everything that the first batch decides; returns the source of further randomness."""
        random, key = self._key()
        kernel = self._kernel(X, targets, key)
        self._setting = Setting(kernel, self._task(), X.shape[1], self._outputs(), X.dtype.name, key)
        self._made_with = self._parameters()
        self._learner = self._make(self._setting, self._first_capacity(self._setting))
        return random

    def _parameters(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name not in ONLY_FIT
        }

    def _rebuild(self) -> None:
        """After `set_params`: the same state under the new parameters."""
        changed = {name for name, value in self._parameters().items() if value != self._made_with[name]}
        if fixed := sorted(changed - self._steering):
            raise ValueError(
                f"{', '.join(fixed)} cannot change after the first batch; call fit to start anew. "
                f"What can: {', '.join(sorted(self._steering & self._made_with.keys()))}."
            )
        self._setting = self._setting._replace(task=self._task())
        new = self._make(self._setting, self._capacity())
        self._learner = restore(new, state_dict(self._learner))
        self._made_with = self._parameters()

    def _widen(self, d: int) -> None:
        """Room for d features."""
        self._setting = self._setting._replace(d=d)
        self._learner = self._widened(self._learner, d)

    def _run(self, rows: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Learn a batch and be able to undo it: with a copy of the state, or an older one and what was learnt since."""
        past = self._past if self._past is not None and self._past.holds(self) else Past(self)
        if self._door is not None and self._door.past is past:
            self._door.hand_over()
        self._past = None  # Ctrl-C keeps what was learnt
        try:
            scores = self._turns(rows, targets, weights)
        except Exception:
            past.restore(self)
            raise
        finally:  # Ctrl-C may have come before an interlude: the next example asks for it again
            if self._learner.f.count[PAUSE] == INTERLUDE:
                self._learner.f.count[PAUSE] = 0
        if self._learner is past.learner and len(targets) <= SMALL:
            past.add(rows, targets, weights)
            self._past = past
        return scores

    def _turns(self, rows: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Learn a batch, turn by turn."""
        scores = np.empty((len(targets), self._setting.outputs), self._setting.dtype)
        start, said = 0, None
        while start < len(targets):  # Ctrl-C takes effect between two turns
            pause = self._learner.f.count[PAUSE]
            if pause == ROOM:
                self._make_room()
            elif pause == INTERLUDE:
                try:
                    self._interlude(rows, start)
                except (OverflowError, np.linalg.LinAlgError) as error:
                    raise overflow(start, start) from error
            stop = start + 1 if pause == INTERLUDE else min(len(targets), start + self._stretch(self._learner))
            stop = self._advance(rows, targets, weights, scores, start, stop)
            if said is not None:
                scores[start] = said  # before the interlude
            said = scores[stop].copy() if self._learner.f.count[PAUSE] == INTERLUDE else None
            if not (np.isfinite(scores[start:stop]).all() and self._finite()):
                raise overflow(start, stop - 1)
            start = stop
        self._settle()
        return scores

    def _advance(self, rows: Any, targets: Any, weights: Any, scores: Any, start: int, stop: int) -> int:
        """Learn the rows from `start` on, up to `stop` at most; the first row that is not learnt."""
        return int(learn(self._learner, rows, targets, weights, scores, start, stop))

    def _glance(self, reader: Any, rows: Any, scores: Any) -> None:
        """Leave in `scores` what the reader says of the rows."""
        score(reader, rows, scores)

    def _settle(self) -> None:
        """What is to be done after a batch."""

    def _turn(self, learner: Any) -> int:
        """Rows between two looks at the keyboard."""
        return max(1, WORK // self._work(learner))

    def _stretch(self, learner: Any) -> int:
        """Rows to learn in one turn: a learner that looks ahead may want fewer."""
        return self._turn(learner)

    def _saved(self) -> dict[str, np.ndarray]:
        """Copies of all that a batch may change."""
        return {name: a.copy() for name, a in arrays(self._learner).items() if not name.startswith(self._constant())}

    def _undo(self, learner: Any, saved: dict[str, np.ndarray]) -> None:
        """Write the copies back."""
        held = arrays(learner)
        for name, array in saved.items():
            held[name][...] = array

    def _finite(self) -> bool:
        """Whether all numbers that a batch may change are finite."""
        if self._watch is None or self._watch.learner is not self._learner:
            self._watch = Watch(self)
        return self._watch.finds_all_finite()

    # One row.

    _past = _watch = _door = _windows = ABSENT

    def _learn_row(self, x: Any, y: Any, weight: float) -> Any:
        """The score of a row before it is learnt, or its scores; None for a row to be learnt like a batch."""
        door = self._door
        if door is None or not door.is_for(self):
            if not hasattr(self, "_learner") or self._made_with != self._parameters():
                return None
            door = self._door = Door(self)
        return door.learn(self, x, y, weight)

    def _score_row(self, x: Any) -> Any:
        """The score of a row, or its scores."""
        self._fitted()
        if self._windows is None:
            self._windows = []
        try:
            window = self._windows.pop()  # no other thread's
        except IndexError:
            window = Window(self)
        if window.learner is not self._learner:
            window = Window(self)
        score = window.score(self, x)
        self._windows.append(window)
        return _narrow(self._scores(one_row(x)))[0] if score is None else score

    def _reading(self) -> Callable[[Any], float | None]:
        """From a label or number of the user's to a target; None, or a TypeError, when it is none."""
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        self._fitted()
        X = self._to_read(X)
        scores = np.empty((X.shape[0], self._setting.outputs), self._setting.dtype)
        step = -(-self._turn(self._learner) // CHUNK) * CHUNK
        rows, readers = _rows(X), list[Any]()  # a reader for every thread

        def look(start: int) -> None:
            reader = readers.pop() if readers else self._reader(X.shape[1])
            self._glance(reader, part(rows, start, start + step), scores[start : start + step])
            readers.append(reader)

        in_threads(look, range(0, X.shape[0], step))
        return scores

    def _task(self) -> Task:
        raise NotImplementedError

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        raise NotImplementedError

    def _outputs(self) -> int:
        return 1

    # What a reader may look at.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __getstate__(self) -> dict[str, Any]:
        short = ("_past", "_watch", "_door", "_windows")
        return {name: value for name, value in super().__getstate__().items() if name not in short}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_learner" in self.__dict__:
            self._learner = twin(self._learner)

    def _fitted(self) -> Any:
        """The learner's function."""
        if not hasattr(self, "_learner"):
            raise NotFittedError(
                f"This {type(self).__name__} has not learnt anything yet: call fit, partial_fit or learn."
            )
        return self._learner.f

    @property
    def n_seen_(self) -> int:
        """Rows seen."""
        return int(self._fitted().count[SEEN])


@estimator
class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    _multiclass: ClassVar[bool] = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew and learn (X, y) in `n_passes` passes."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn a further batch, row by row. `classes`: all labels that may come; default: those of the first batch."""
        self.learn(X, y, classes, sample_weight)
        return self

    def learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn a further batch and return the decision value of every row before it was learnt."""
        first = not hasattr(self, "_learner")
        return _narrow(self._learn(X, y, sample_weight, first=first, classes=classes))

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0, classes: Any = None) -> Any:
        """`learn` for one row, an array, in a few microseconds; returns its decision value before it was learnt."""
        score = self._learn_row(x, y, sample_weight)
        return self.learn(one_row(x), [y], classes, [sample_weight])[0] if score is None else score

    def decision_one(self, x: Any) -> Any:
        """`decision_function` for one row, an array, in a few microseconds."""
        return self._score_row(x)

    def predict_one(self, x: Any) -> Any:
        """The label of one row, an array, in a few microseconds."""
        score = self._score_row(x)
        return self.classes_[score.argmax() if isinstance(score, np.ndarray) else int(score >= 0)]

    def _reading(self) -> Callable[[Any], float | None]:
        targets = np.arange(len(self.classes_), dtype=np.float64)
        if len(targets) == 2:
            targets = 2 * targets - 1
        return dict(zip(self.classes_.tolist(), targets.tolist())).get

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,), positive for classes_[1], or (n, n_classes)."""
        return _narrow(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row."""
        scores = self._scores(X)
        winner = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def _has_probabilities(self) -> bool:
        return getattr(self, "loss", None) == "logistic" and getattr(self, "output", "scores") == "scores"

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class; for the logistic loss."""
        scores = self._scores(X).astype(np.float64)
        if scores.shape[1] > 1:
            return self._probabilities(scores)
        positive = expit(scores)
        return np.hstack([1 - positive, positive])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of every class; for the logistic loss."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Those of many classes."""
        return np.asarray(softmax(scores, axis=1))

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _task(self) -> Task:
        if self._outputs() == 1:
            return Task(BINARY)
        return Task(SOFTMAX if self._has_probabilities() and self._softmax else MULTICLASS)

    _softmax: ClassVar[bool] = True  # whether the logistic loss of many classes is that of the softmax

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        try:
            return self._numbered(y, first, classes)
        except TypeError as error:
            raise ValueError(
                "y has labels that have no order among them and the classes, such as None, or words beside numbers."
            ) from error

    def _numbered(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        """The labels as -1 and +1, or as positions in `classes_`."""
        if first:
            # Twice: where all labels differ scikit-learn suspects numbers.
            check_classification_targets(y if classes is None else np.repeat(classes, 2))
            classes = np.unique(y) if classes is None else unique_labels(column_or_1d(np.asarray(classes)))
            if len(classes) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs at least 2 classes; the data has one class: {classes[0]!r}. "
                    "Name all that may come in the first call of partial_fit or learn: classes=[...]."
                )
            if len(classes) > 2 and not self._multiclass:
                raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
            self.classes_ = classes
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(f"classes={classes!r} differs from those of the first call, {self.classes_!r}.")
        index = np.searchsorted(self.classes_, y)
        seen = self.classes_.take(index, mode="clip") == y
        if not np.all(seen):
            check_classification_targets(y)
            raise ValueError(
                f"y has labels that are not among the classes {self.classes_!r}: {np.unique(y[~seen])[:5]!r}. "
                "The first call of partial_fit or learn must name all that may come: classes=[...]."
            )
        index = index.astype(np.float64)
        return 2 * index - 1 if len(self.classes_) == 2 else index

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multiclass
        return tags


@estimator
class OnlineRegressor(RegressorMixin, OnlineEstimator):
    _numeric: ClassVar[bool] = True
    _slow: ClassVar[bool] = False  # whether steps of one small size stay far from the target in a short pass

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew and learn (X, y) in `n_passes` passes."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a further batch, row by row."""
        self.learn(X, y, sample_weight)
        return self

    def learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn a further batch and return the prediction for every row before it was learnt."""
        return _narrow(self._learn(X, y, sample_weight, first=not hasattr(self, "_learner")))

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Any:
        """`learn` for one row, an array, in a few microseconds; returns the prediction before it was learnt."""
        score = self._learn_row(x, y, sample_weight)
        return self.learn(one_row(x), [y], [sample_weight])[0] if score is None else score

    def predict_one(self, x: Any) -> Any:
        """The number predicted for one row, an array, in a few microseconds."""
        return self._score_row(x)

    def _reading(self) -> Callable[[Any], float | None]:
        return finite_number

    def predict(self, X: Any) -> np.ndarray:
        """The number predicted for every row."""
        return _narrow(self._scores(X))

    def _task(self) -> Task:
        return Task(REGRESSION, float(getattr(self, "epsilon", 0.0)))

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        targets = np.require(y, np.float64, ["C", "A", "W"])
        if not np.isfinite(targets).all():  # of words and objects: numbers were looked at before
            t = int(np.isfinite(targets).argmin())
            raise ValueError(f"y must be finite numbers; its entry {t} is {y[t]}.")
        return targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._slow
        return tags


def cores() -> int:
    """How many threads may work side by side."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(wanted) if wanted.isdecimal() and int(wanted) else int(joblib.cpu_count())


def in_threads(work: Callable[[int], None], starts: Sequence[int]) -> None:
    """Do the pieces of a large piece of work, side by side on all cores; OMP_NUM_THREADS limits their number."""
    threads = min(len(starts), cores())
    if threads < 2:
        for start in starts:
            work(start)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in pool.map(work, starts):
                pass
        except BaseException:  # Ctrl-C, too
            pool.shutdown(cancel_futures=True)
            raise


def _narrow(scores: np.ndarray) -> np.ndarray:
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _rows(X: Any) -> Any:
    if sp.issparse(X):
        return Sparse(X.data, X.indices, X.indptr)
    return Dense(X)


def part(rows: Any, start: int, stop: int) -> Any:
    """Some of the rows, as a view."""
    if isinstance(rows, Sparse):
        return rows._replace(indptr=rows.indptr[start : stop + 1])
    return Dense(rows.values[start:stop])


def _canonical(X: Any) -> Any:
    """A CSR matrix with sorted, unique, valid column numbers of 32 bits and no stored zeros."""
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"X is not a valid CSR matrix: {error}") from error
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    data, indices = (np.require(a, t, ["C", "A", "W"]) for a, t in ((X.data, X.dtype), (X.indices, np.int32)))
    new = sp.csr_matrix(X.shape, dtype=X.dtype)
    new.data, new.indices, new.indptr = data, indices, np.require(X.indptr, np.int64, ["C", "A", "W"])
    return new


def _largest_sqnorm(X: Any) -> float:
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            most = max(float(X.data.max(initial=0)), -float(X.data.min(initial=0)))
            return most * most * int(np.diff(X.indptr).max(initial=0))
        return float(np.einsum("ij,ij->i", X, X).max())


def _check_distances(X: Any) -> None:
    if not _largest_sqnorm(X) <= float(np.finfo(X.dtype).max) / 8:
        raise ValueError(f"X has values so large that squared distances overflow {X.dtype}: scale the features.")
