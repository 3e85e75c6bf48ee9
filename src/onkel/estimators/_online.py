"""What all estimators share: validation at the door, the pass over a batch, all or nothing. No mathematics."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ..expansion import PAUSE, SEEN, empty
from ..outputs import BINARY, MULTICLASS, REGRESSION, SOFTMAX, Task
from ..rows import Dense, Sparse
from ..state import arrays, restore, state_dict, twin
from ..stream import INTERLUDE, ROOM, learn, score
from ._parameters import STEERING, estimator, validate

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
        """What a learner waits for that paused before it learns example t."""
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
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
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
        only_fit = ("grow_features", "n_passes", "shuffle", "random_state")
        return {name: value for name, value in self.get_params(deep=False).items() if name not in only_fit}

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
        scores = np.empty((len(targets), self._setting.outputs), self._setting.dtype)
        first = self._learner
        saved = self._saved()
        start, said = 0, None
        while start < len(targets):  # Ctrl-C takes effect between two turns
            pause = self._learner.f.count[PAUSE]
            if pause == ROOM:
                self._make_room()
            elif pause == INTERLUDE:
                self._interlude(rows, start)
            stop = start + 1 if pause == INTERLUDE else min(len(targets), start + self._turn(self._learner))
            stop = learn(self._learner, rows, targets, weights, scores, start, stop)
            if said is not None:
                scores[start] = said  # before the interlude
            said = scores[stop].copy() if self._learner.f.count[PAUSE] == INTERLUDE else None
            if not (np.isfinite(scores[start:stop]).all() and self._finite()):
                self._undo(first, saved)
                raise ValueError(
                    f"The model overflowed between rows {start} and {stop - 1} of this batch. Smaller steps "
                    "(eta, C, larger reg) or scaled features and targets help. Nothing of the batch was learnt."
                )
            start = stop
        return scores

    def _turn(self, learner: Any) -> int:
        """Rows between two looks at the keyboard."""
        return max(1, WORK // self._work(learner))

    def _saved(self) -> dict[str, np.ndarray]:
        """Copies of all that a batch may change."""
        return {name: a.copy() for name, a in arrays(self._learner).items() if not name.startswith(self._constant())}

    def _undo(self, learner: Any, saved: dict[str, np.ndarray]) -> None:
        """Write the copies back."""
        held = arrays(learner)
        for name, array in saved.items():
            held[name][...] = array

    def _finite(self) -> bool:
        """Whether all numbers that a batch may change are finite; points are."""
        passed = ("f.points", *self._constant())
        held = arrays(self._learner).items()
        return all(np.isfinite(a).all() for name, a in held if a.dtype.kind == "f" and not name.startswith(passed))

    def _scores(self, X: Any) -> np.ndarray:
        self._fitted()
        X, scores = self._to_read(X), []
        reader, step = self._reader(X.shape[1]), self._turn(self._learner)
        for start in range(0, X.shape[0], step):
            rows = X[start : start + step]
            scores.append(np.empty((rows.shape[0], self._setting.outputs), self._setting.dtype))
            score(reader, _rows(rows), scores[-1])
        return np.concatenate(scores)

    def _task(self) -> Task:
        raise NotImplementedError

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        raise NotImplementedError

    def _outputs(self) -> int:
        return 1

    # What a reader may look at.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

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

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,), positive for classes_[1], or (n, n_classes)."""
        return _narrow(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row."""
        scores = self._scores(X)
        winner = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def _has_probabilities(self) -> bool:
        return getattr(self, "loss", None) == "logistic"

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class; for the logistic loss."""
        scores = self._scores(X).astype(np.float64)
        if scores.shape[1] > 1:
            return self._probabilities(scores)
        positive = expit(scores)
        return np.hstack([1 - positive, positive])

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
        check_classification_targets(y)
        if first:
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
        unseen = np.setdiff1d(y, self.classes_)
        if len(unseen):
            raise ValueError(
                f"y has labels that are not among the classes {self.classes_!r}: {unseen[:5]!r}. "
                "The first call of partial_fit or learn must name all that may come: classes=[...]."
            )
        index = np.searchsorted(self.classes_, y).astype(np.float64)
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

    def predict(self, X: Any) -> np.ndarray:
        """The number predicted for every row."""
        return _narrow(self._scores(X))

    def _task(self) -> Task:
        return Task(REGRESSION, float(getattr(self, "epsilon", 0.0)))

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        return np.asarray(y, np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._slow
        return tags


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
            most = float(np.abs(X.data).max(initial=0))
            return most * most * int(np.diff(X.indptr).max(initial=0))
        return float(np.einsum("ij,ij->i", X, X).max())


def _check_distances(X: Any) -> None:
    if not _largest_sqnorm(X) <= float(np.finfo(X.dtype).max) / 8:
        raise ValueError(f"X has values so large that squared distances overflow {X.dtype}: scale the features.")
