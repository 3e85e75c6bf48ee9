"""Batch learners to compare with: the best in hindsight, by scikit-learn, and LLSVM.

Each minimises the sum of its losses plus a penalty on its squared norm, so its sum of losses and penalty is what an
online learner's regret is counted from.
"""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .metrics import Floats, Metrics

LOSS_OF = {"SVC": "hinge", "LLSVM": "hinge", "KernelRidge": "squared", "SVR": "epsilon_insensitive"}


class Hindsight(NamedTuple):
    """What a fitted comparator says of the stream it was fitted on."""

    model: Any
    losses: Floats  # of every example
    penalty: float  # the weighted squared norm
    error: float  # mistake rate or mean squared error

    @property
    def objective(self) -> float:
        """The least regularised loss: the sum of losses plus the penalty."""
        return float(self.losses.sum()) + self.penalty


def hindsight(comparator: Any, X: Any, y: npt.ArrayLike, *, classes: npt.ArrayLike | None = None) -> Hindsight:
    """Fit a clone of the comparator on all of (X, y); `classes`, in order, for labels and None for numbers.

    An SVC needs two classes. A KernelRidge of labels has the targets -1 and +1.
    """
    values, loss = np.asarray(y), comparator_loss(comparator, None)
    metrics = Metrics(classes, loss=loss, epsilon=float(getattr(comparator, "epsilon", 0.0)))
    several = classes is not None and len(np.asarray(classes)) > 2
    if several and not isinstance(comparator, LLSVM):
        raise ValueError("With more than two classes only LLSVM has the scores that regret needs.")
    targets = values
    if classes is not None and _kind(comparator) == "KernelRidge":
        targets = np.where(values == np.asarray(classes)[1], 1.0, -1.0)
    model = clone(comparator).fit(X, targets)
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    metrics.update(scores, values)
    return Hindsight(model, metrics.of_each(scores, values)[-1], _penalty(model, scores, targets), metrics.error)


def least_squares(K: npt.ArrayLike, y: npt.ArrayLike, reg: float = 1.0) -> float:
    """The least sum of squared losses plus reg |f|^2 over all f of the kernel matrix K: reg y (K + reg I)^-1 y."""
    matrix, targets = np.asarray(K, np.float64), np.asarray(y, np.float64)
    solved = scipy.linalg.solve(matrix + reg * np.eye(len(targets)), targets, assume_a="pos")
    return float(reg * targets @ solved)


def ridge_regret(predictions: npt.ArrayLike, y: npt.ArrayLike, K: npt.ArrayLike, *, reg: float = 1.0) -> Floats:
    """After every round t: the squared losses so far, minus min over f of those of f plus reg |f|^2.

    `predictions` come from before each update, K is the kernel matrix of the whole stream. With L the Cholesky factor
    of K + reg I and z = L^-1 y, the least over the first t rounds is reg (z_1^2 + ... + z_t^2): one factor serves all
    t. Takes memory for K and time for its factor, n^3 / 3.
    """
    matrix, targets = check_array(K, dtype=np.float64, copy=True), column_or_1d(y, dtype=np.float64)
    said = column_or_1d(predictions, dtype=np.float64)
    check_consistent_length(matrix, matrix.T, targets, said)
    assert_all_finite(targets, input_name="y")
    assert_all_finite(said, input_name="predictions")
    matrix[np.diag_indices_from(matrix)] += reg
    L = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True)
    z = scipy.linalg.solve_triangular(L, targets, lower=True)
    losses = np.square(said - targets)
    return np.asarray(np.cumsum(losses) - reg * np.cumsum(z * z))


def comparator_loss(comparator: Any, loss: str | None) -> str | None:
    """The loss that the comparator minimises, which `loss` must not contradict; without one, `loss` itself."""
    if comparator is None:
        return loss
    own = LOSS_OF.get(_kind(comparator))
    if own is None:
        raise TypeError(f"A comparator is one of {', '.join(LOSS_OF)}; got {_kind(comparator)}.")
    if loss not in (None, own):
        raise ValueError(f"{_kind(comparator)} minimises the loss {own!r}, not {loss!r}.")
    return own


class LLSVM(ClassifierMixin, BaseEstimator):
    """Low-rank linearised SVM (Zhang, Lan, Wang & Moerchen 2012): Nystroem features, then a linear SVM, in batch.

    Landmarks are the centres of k-means or random examples; features are the `rank` leading ones of their kernel
    matrix. With every example as a landmark and full rank it is the kernel SVM (without bias).

    Parameters
    ----------
    n_landmarks : default=100
    rank : default=None
        Most eigenvectors kept; None for all that are not zero.
    landmarks : default="kmeans"
        "kmeans" or "random".
    kernel, gamma, degree, coef0 : default="rbf", 1.0, 3, 1.0
        As in scikit-learn's `pairwise_kernels`.
    C : default=1.0
        Weight of the losses against half the squared norm.
    random_state : default=None
    """

    def __init__(
        self,
        *,
        n_landmarks: int = 100,
        rank: int | None = None,
        landmarks: str = "kmeans",
        kernel: str = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        C: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks, self.rank, self.landmarks = n_landmarks, rank, landmarks
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.C, self.random_state = C, random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose landmarks and learn (X, y)."""
        from sklearn.svm import LinearSVC  # loads much

        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        random = check_random_state(self.random_state)
        self.components_ = self._landmarks(X, random)
        values, vectors = scipy.linalg.eigh(self._kernel_of(self.components_))
        order = np.argsort(values)[::-1][: self.rank]
        order = order[values[order] > values.max() * len(values) * np.finfo(float).eps]
        self.normalization_ = vectors[:, order] / np.sqrt(values[order])
        self._linear = LinearSVC(
            C=self.C,
            loss="hinge",
            dual=True,
            fit_intercept=False,
            multi_class="ovr" if len(np.unique(y)) == 2 else "crammer_singer",
            max_iter=20_000,
            random_state=random.randint(2**31 - 1),
        ).fit(self.features(X), y)
        self.classes_, self.coef_ = self._linear.classes_, self._linear.coef_
        return self

    def features(self, X: Any) -> Floats:
        """The features."""
        check_is_fitted(self, "normalization_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.asarray(self._kernel_of(X) @ self.normalization_)

    def decision_function(self, X: Any) -> Floats:
        """Scores: (n,), positive for classes_[1], or (n, n_classes)."""
        Z = self.features(X)
        return np.asarray(self._linear.decision_function(Z))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of every row."""
        Z = self.features(X)
        return np.asarray(self._linear.predict(Z))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _landmarks(self, X: Any, random: np.random.RandomState) -> Any:
        if self.landmarks not in ("kmeans", "random"):
            raise ValueError(f'landmarks must be "kmeans" or "random"; got {self.landmarks!r}.')
        n = min(self.n_landmarks, X.shape[0])
        if self.landmarks == "random":
            return X[random.permutation(X.shape[0])[:n]]
        from sklearn.cluster import KMeans  # loads much

        return KMeans(n, n_init=1, random_state=random).fit(X).cluster_centers_

    def _kernel_of(self, X: Any) -> Floats:
        from sklearn.metrics.pairwise import pairwise_kernels  # loads much

        given = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(X, self.components_, metric=self.kernel, filter_params=True, **given))


def _kind(comparator: Any) -> str:
    return type(comparator).__name__


def _penalty(model: Any, scores: Floats, targets: Floats) -> float:
    """The squared norm of a fitted comparator, with its weight beside the sum of losses."""
    if _kind(model) == "KernelRidge":
        a = np.asarray(model.dual_coef_).reshape(-1)
        return float(model.alpha * (a @ np.asarray(scores).reshape(-1)))
    if isinstance(model, LLSVM):
        return float(np.square(model.coef_).sum() / (2 * model.C))
    without_bias = np.asarray(scores)[model.support_] - model.intercept_[0]
    return float((model.dual_coef_ @ without_bias)[0] / (2 * model.C))
