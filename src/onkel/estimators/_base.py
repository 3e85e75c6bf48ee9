"""What all estimators share: validation at the door, the pass over a batch, attributes. No mathematics."""

import contextlib
import math
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

from .. import kernels, losses
from ..expansion import PAUSE, ROUNDS, SCALE, SEEN, SIZE, TOTAL, UNLIMITED, dense_points, empty, with_own_scratch
from ..outputs import BINARY, MULTICLASS, REGRESSION, SOFTMAX, Task
from ..rows import Dense, Sparse
from ..state import arrays, restore, state_dict, transplant, twin
from ..stream import learn, score
from ._parameters import STEERING, estimator, validate

WORK = 2**26  # multiply-adds between two looks at the keyboard: about a twentieth of a second


class Setting(NamedTuple):
    """What is known once the first batch was seen."""

    kernel: Any
    task: Task
    d: int
    outputs: int
    dtype: str
    key: int  # of the random numbers

    def expansion(self, capacity: int, budget: int | None = None, average: bool = False) -> Any:
        return empty(capacity, self.d, self.outputs, np.dtype(self.dtype), budget=budget, average=average)


@estimator
class KernelEstimator(BaseEstimator):
    kernel: Any = "rbf"
    gamma: Any = "auto"
    sigma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    grow_features: bool = False
    n_passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    _averages: ClassVar[bool] = False  # whether there is an averaged model
    _appends: ClassVar[bool] = False  # whether stored points never change

    # What a learner's own class says.

    def _make(self, setting: Setting, capacity: int) -> Any:
        """The learner, empty, with room for `capacity` points."""
        raise NotImplementedError

    def _most(self) -> int:
        """Most points that the learner may hold."""
        return UNLIMITED

    def _check(self) -> None:
        """Raise a ValueError for parameters that do not go together."""

    # One batch.

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, first: bool, classes: Any = None) -> np.ndarray:
        """Learn a batch; returns the scores before each update. Whatever goes wrong leaves the estimator as it was."""
        with self._all_or_nothing():
            X, y = self._validate(X, y, first)
            targets = self._targets(y, first, classes)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if first:
                self._start(X)
            elif self._parameters() != self._made_with:
                self._rebuild()
            if X.shape[1] > self._setting.d:
                self._widen(X.shape[1])
            return self._run(_rows(X), targets, weights)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with self._all_or_nothing():
            X, y = self._validate(X, y, True)
            targets = self._targets(y, True, None)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            random = self._start(X)
            for _ in range(self.n_passes):
                order = random.permutation(len(targets)) if self.shuffle else slice(None)
                self._run(_rows(X[order] if self.shuffle else X), targets[order], weights[order])
        return self

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

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

    _numeric: ClassVar[bool] = False

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

    def _sound(self, X: Any) -> Any:
        """X in the one form that compiled code takes, or an error when its kernel values may overflow."""
        if sp.issparse(X):
            X = _canonical(X)
        else:
            X = np.require(np.asarray(X), requirements=["C", "A", "W"])
        _check_distances(X)
        kernel = self._setting.kernel if hasattr(self, "_setting") else None
        if isinstance(kernel, kernels.Kernel) and kernel.kind == kernels.POLY:
            _check_poly(X, kernel)
        return X

    def _start(self, X: Any) -> Any:
        """Everything that the first batch decides; returns the source of further randomness."""
        random = check_random_state(self.random_state)
        key = int(random.randint(0, 2**63 - 1, dtype=np.int64))
        d = X.shape[1]
        self._setting = Setting(self._kernel(X), self._task(), d, self._outputs(), X.dtype.name, key)
        self._made_with = self._parameters()
        line = 64 // X.dtype.itemsize
        self._learner = self._make(self._setting, self._room(16 * line))
        return random

    def _parameters(self) -> dict[str, Any]:
        only_fit = ("grow_features", "n_passes", "shuffle", "random_state")
        return {name: value for name, value in self.get_params(deep=False).items() if name not in only_fit}

    def _rebuild(self) -> None:
        """After `set_params`: the same state under the new parameters."""
        changed = {name for name, value in self._parameters().items() if value != self._made_with[name]}
        if fixed := sorted(changed - STEERING):
            raise ValueError(
                f"{', '.join(fixed)} cannot change after the first batch; call fit to start anew. "
                f"What can: {', '.join(sorted(STEERING & self._made_with.keys()))}."
            )
        self._setting = self._setting._replace(task=self._task())
        new = self._make(self._setting, len(self._learner.f.born))
        self._learner = restore(new, state_dict(self._learner))
        self._made_with = self._parameters()

    def _widen(self, d: int) -> None:
        """Room for d features."""
        self._setting = self._setting._replace(d=d)
        self._learner = self._learner._replace(f=_widened(self._learner.f, d))

    def _run(self, rows: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scores = np.empty((len(targets), self._setting.outputs), self._setting.dtype)
        first = self._learner
        saved = {name: a.copy() for name, a in arrays(first).items() if not (self._appends and name == "f.points")}
        start = 0
        while start < len(targets):  # Ctrl-C takes effect between two turns
            if self._learner.f.count[PAUSE]:
                self._grow()
            stop = min(len(targets), start + _rows_per_call(self._learner.f))
            stop = learn(self._learner, rows, targets, weights, scores, start, stop)
            if not (np.isfinite(scores[start:stop]).all() and _finite(self._learner)):
                _undo(first, saved)
                raise ValueError(
                    f"The model overflowed between rows {start} and {stop - 1} of this batch. Smaller steps "
                    "(eta, C, larger reg) or scaled features and targets help. Nothing of the batch was learnt."
                )
            start = stop
        return scores

    def _room(self, wanted: int) -> int:
        """A capacity that ends below the budget, where the dictionary pauses, or behind the point above it."""
        most = self._most()
        return wanted if wanted < most - 1 else most

    def _grow(self) -> None:
        """Twice the room."""
        capacity = self._room(2 * len(self._learner.f.born))
        self._learner = transplant(self._make(self._setting, capacity), arrays(self._learner))
        self._learner.f.count[PAUSE] = 0

    def _scores(self, X: Any) -> np.ndarray:
        f, kernel, scores = self._fitted(), self._setting.kernel, []
        X, width = self._fit_width(X)
        if width == self._setting.d:
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=self._setting.dtype, order="C")
        else:
            X = check_array(X, accept_sparse="csr", dtype=self._setting.dtype, order="C")
        X = self._sound(X)
        f = with_own_scratch(f) if width == self._setting.d else _widened(f, width)
        for start in range(0, X.shape[0], step := _rows_per_call(f)):
            rows = X[start : start + step]
            scores.append(np.empty((rows.shape[0], self._setting.outputs), self._setting.dtype))
            score(f, kernel, _rows(rows), scores[-1])
        return np.concatenate(scores)

    # The kernel and the task.

    def _kernel(self, X: Any) -> Any:
        if not isinstance(self.kernel, str):
            return self.kernel
        if self.kernel == "linear":
            return kernels.linear()
        if self.kernel == "cosine":
            return kernels.cosine()
        gamma = self._gamma(X)
        if self.kernel == "poly":
            kernel = kernels.poly(gamma, self.coef0, self.degree)
            _check_poly(X, kernel)
            return kernel
        if self.kernel == "sigmoid":
            return kernels.sigmoid(gamma, self.coef0)
        return kernels.rbf(gamma) if self.kernel == "rbf" else kernels.laplacian(gamma)

    def _gamma(self, X: Any) -> float:
        if self.sigma is not None and self.kernel in ("rbf", "laplacian"):
            sigma = float(self.sigma)
            return 1 / (2 * sigma**2) if self.kernel == "rbf" else 1 / sigma
        if self.gamma == "auto":
            return 1 / X.shape[1]
        if self.gamma == "scale":
            squares = X.multiply(X).mean() if sp.issparse(X) else np.square(X, dtype=np.float64).mean()
            variance = float(squares) - float(X.mean()) ** 2
            return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        return float(self.gamma)

    def _task(self) -> Task:
        raise NotImplementedError

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        raise NotImplementedError

    def _outputs(self) -> int:
        return 1

    # What a reader may look at.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_learner" in self.__dict__:
            self._learner = twin(self._learner)

    def _fitted(self) -> Any:
        """The expansion."""
        if not hasattr(self, "_learner"):
            raise NotFittedError(
                f"This {type(self).__name__} has not learnt anything yet: call fit, partial_fit or learn."
            )
        return self._learner.f

    @property
    def n_seen_(self) -> int:
        """Rows seen."""
        return int(self._fitted().count[SEEN])

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        return int(self._fitted().count[SIZE])

    @property
    def support_(self) -> np.ndarray:
        """Positions of the support vectors in the stream, counted from 0; -1 for merged ones."""
        return np.array(self._fitted().born[: self.n_support_])

    @property
    def support_vectors_(self) -> np.ndarray:
        """The support vectors, (n_support, n_features)."""
        return np.array(dense_points(self._fitted()))

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients that predictions use, (outputs, n_support)."""
        f, n = self._fitted(), self.n_support_
        coef = f.coef[:, :n].astype(np.float64)
        if f.past.shape[1] == 0:
            coef *= f.lazy[SCALE]
        else:
            coef = ((f.lazy[TOTAL] + f.lazy[SCALE]) * coef - f.past[:, :n]) / (f.lazy[ROUNDS] + 1)
        return coef.astype(self._setting.dtype)

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of every output."""
        return np.array(self._fitted().bias)

    @property
    def gamma_(self) -> float:
        """The kernel coefficient in use."""
        self._fitted()
        return float(self._setting.kernel.gamma)


@estimator
class KernelClassifier(ClassifierMixin, KernelEstimator):
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
            return np.asarray(softmax(scores, axis=1))
        positive = expit(scores)
        return np.hstack([1 - positive, positive])

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
class KernelRegressor(RegressorMixin, KernelEstimator):
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


@estimator
class TubeRegressor(KernelRegressor):
    """Regressors that leave misses up to epsilon alone."""

    epsilon: float = 0.1


def loss_of(estimator: Any) -> losses.Loss:
    """The loss an estimator's parameters name."""
    return losses.Loss(losses.NAMES.index(estimator.loss), float(getattr(estimator, "epsilon", 0.0)))


def _widened(f: Any, d: int) -> Any:
    """A copy with room for d features; the new ones of all points are 0."""
    outputs, average = f.coef.shape[0], f.past.shape[1] > 0
    return transplant(empty(len(f.born), d, outputs, f.coef.dtype, budget=f.budget, average=average), arrays(f))


def _narrow(scores: np.ndarray) -> np.ndarray:
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _rows(X: Any) -> Any:
    if sp.issparse(X):
        return Sparse(X.data, X.indices, X.indptr)
    return Dense(X)


def _rows_per_call(f: Any) -> int:
    return max(1, WORK // (int(f.count[SIZE] + 16) * (f.points.shape[1] + 16)))


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


def _check_poly(X: Any, kernel: Any) -> None:
    base = abs(kernel.gamma) * _largest_sqnorm(X) + abs(kernel.coef0)
    if kernel.degree * math.log2(max(base, 1)) > np.finfo(X.dtype).maxexp / 2:
        raise ValueError(
            f"The values of X are too large for a poly kernel of degree {kernel.degree} in {X.dtype}: scale them."
        )


def _finite(learner: Any) -> bool:
    return all(
        np.isfinite(a).all() for name, a in arrays(learner).items() if name != "f.points" and a.dtype.kind == "f"
    )


def _undo(learner: Any, saved: dict[str, np.ndarray]) -> None:
    """Write the arrays back; points that were not saved were only appended to."""
    for name, array in arrays(learner).items():
        if name in saved:
            array[...] = saved[name]
    if "f.points" not in saved:
        points, size = learner.f.points, int(saved["f.count"][SIZE])
        for panel in range(points.shape[0]):
            points[panel, :, max(0, size - panel * points.shape[2]) :] = 0
