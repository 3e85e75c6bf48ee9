"""Kernel alignment: how well the values of a kernel agree with the targets, to choose its width by.

Cristianini, Shawe-Taylor, Elisseeff & Kandola, NIPS 2001; centred: Cortes, Mohri & Rostamizadeh, JMLR 13, 2012.
A good kernel k(x_i, x_j) resembles T_ij: y_i y_j for numbers and labels +-1; of m classes, 1 within one and
-1 / (m - 1) between two.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d

from .rng import uniforms

Floats = npt.NDArray[np.float64]
SIGMAS = 2.0 ** np.arange(-5, 7.25, 0.5)  # the widths to choose from (Zhang & Liao, ICML 2019)
MOST = 2000  # rows that the choice looks at
SAMPLE = 2**32  # the stream of a key's random numbers that chooses them


def kernel_alignment(K: npt.ArrayLike, y: npt.ArrayLike, *, centred: bool = False) -> float:
    """Alignment of the kernel matrix K, from -1 to 1, with y: labels of two or more classes, or numbers.

    <K, T> / (|K| |T|) in the Frobenius norm; `centred` centres both first. Numbers count from their mean.
    """
    matrix, targets = check_array(K, dtype=np.float64), _targets(y)
    if matrix.shape != targets.shape:
        raise ValueError(f"K has the shape {matrix.shape}, but y has {len(targets)} entries.")
    return _alignment(matrix, _centred(targets) if centred else targets, centred)


def choose_sigma(
    X: Any,
    y: npt.ArrayLike,
    *,
    kernel: str = "rbf",
    sigmas: npt.ArrayLike | None = None,
    centred: bool = False,
    max_rows: int = MOST,
    random_state: int = 0,
) -> float:
    """The width of the "rbf" or "laplacian" kernel that aligns best with y on at most `max_rows` random rows of X.

    `sigmas`: the widths to choose from, 2^-5, 2^-4.5, ..., 2^7 by default.
    """
    X, labels = _checked(X, y)
    rows, widths = sampled(len(labels), max_rows, random_state), _widths(sigmas)
    return best_sigma(X[rows], _targets(labels[rows], len(np.unique(labels))), kernel, widths, centred)


def best_sigma(X: Any, T: Floats, kernel: str, sigmas: Floats = SIGMAS, centred: bool = False) -> float:
    """The width whose kernel matrix of the rows of X aligns best with T."""
    T = _centred(T) if centred else T
    if len(T) < 2 or not T.any() or (T[0, 0] == T).all():
        raise ValueError("Kernel alignment needs rows whose targets differ: pass more of them in the first batch.")
    D = distances(X, X, kernel)
    values = [_alignment(np.exp(-gamma_of(kernel, sigma) * D), T, centred) for sigma in sigmas]
    return float(sigmas[np.argmax(values)])


def gamma_of(kernel: str, sigma: float) -> float:
    """The coefficient of the squared distance (rbf) or of the 1-norm (laplacian)."""
    return 1 / (2 * sigma**2) if kernel == "rbf" else 1 / sigma


def sampled(n: int, most: int, key: int) -> npt.NDArray[np.int64]:
    """At most `most` of n row numbers, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(uniforms(key, SAMPLE, n))[:most])


def distances(X: Any, Z: Any, kernel: str) -> Floats:
    """What the kernel is a function of: squared distances (rbf) or those in the 1-norm (laplacian)."""
    if kernel not in ("rbf", "laplacian"):
        raise ValueError(f"Only the kernels 'rbf' and 'laplacian' have a width to choose; got {kernel!r}.")
    if kernel == "laplacian":
        from sklearn.metrics.pairwise import manhattan_distances  # loads much

        return np.asarray(manhattan_distances(X, Z), np.float64)
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    if not sp.issparse(X):
        middle = Z.mean(axis=0)  # far from the origin digits would be lost
        X, Z = X - middle, Z - middle
    products = X @ Z.T
    products = products.toarray() if sp.issparse(products) else products
    return np.asarray(np.maximum(_squares(X)[:, None] + _squares(Z) - 2 * products, 0))


def of_numbers(y: npt.ArrayLike) -> Floats:
    """T of numbers, counted from their mean."""
    values = np.asarray(y, np.float64)
    return np.outer(values - values.mean(), values - values.mean())


def of_classes(y: npt.NDArray[Any], m: int, others: npt.NDArray[Any] | None = None) -> Floats:
    """T of labels of m classes, against themselves or others."""
    return np.where(y[:, None] == (y if others is None else others), 1.0, -1 / (m - 1))


class IncrementalAlignment:
    """Alignments of the widths of a kernel over a stream: `partial_fit`, then `alignments_`, `sigma_`, `gamma_`.

    Every example is compared with all before it or, with `reservoir`, with a uniform sample of so many of them, whose
    sums are scaled up. Numbers are taken as they are: their mean is not known beforehand.
    """

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        sigmas: npt.ArrayLike | None = None,
        reservoir: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.kernel, self.reservoir, self.random_state = kernel, reservoir, random_state
        self.sigmas = _widths(sigmas)
        self.n_seen_ = 0
        self._points: Floats = np.empty((0, 0))

    def partial_fit(self, X: Any, y: npt.ArrayLike, classes: npt.ArrayLike | None = None) -> Self:
        """Count in a batch; `classes`: all labels that may come, None for numbers and labels +-1."""
        X, values = _checked(X, y)
        if classes is None and values.dtype.kind not in "iufb":
            raise ValueError("Labels that are words need classes=[...], all that may come.")
        if self.n_seen_ and X.shape[1] != self._points.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but {self._points.shape[1]} are expected.")
        if self.n_seen_ == 0:
            self._m = 0 if classes is None else len(np.unique(np.asarray(classes)))
            self._points, self._y = np.empty((0, X.shape[1])), np.empty(0, values.dtype)
            self._products, self._squares = np.zeros((2, len(self.sigmas)))
            self._target_squares = 0.0
        for t in range(len(values)):
            self._count(X[t].toarray() if sp.issparse(X) else X[t : t + 1], values[t : t + 1])
        return self

    def _count(self, x: Floats, y: npt.NDArray[Any]) -> None:
        """Add the pairs of x and those before to <K, T>, |K|^2 and |T|^2, twice, and once the pair of x with itself."""
        scale = 2 * self.n_seen_ / max(len(self._points), 1)
        gammas = np.array([gamma_of(self.kernel, sigma) for sigma in self.sigmas])
        k = np.exp(-gammas[:, None] * distances(self._points, x, self.kernel)[:, 0]) if self.n_seen_ else np.empty(0)
        T = of_classes(self._y, self._m, y)[:, 0] if self._m else np.asarray(self._y * y, np.float64)
        own = 1.0 if self._m else float(y[0]) ** 2
        if self.n_seen_:
            self._products += scale * (k @ T)
            self._squares += scale * np.square(k).sum(1)
        self._products += own
        self._squares += 1
        self._target_squares += scale * float(T @ T) + own**2
        self._keep(x, y)
        self.n_seen_ += 1

    def _keep(self, x: Floats, y: npt.NDArray[Any]) -> None:
        """Every example so far is in the sample with the same probability."""
        if self.reservoir is None or len(self._points) < self.reservoir:
            self._points, self._y = np.vstack([self._points, x]), np.concatenate([self._y, y])
            return
        place = int(uniforms(self.random_state, SAMPLE, 1, self.n_seen_)[0] * (self.n_seen_ + 1))
        if place < self.reservoir:
            self._points[place], self._y[place] = x[0], y[0]

    @property
    def alignments_(self) -> Floats:
        """The alignment of every width with what was seen so far."""
        if self.n_seen_ == 0:
            raise NotFittedError("Nothing has been seen yet: call partial_fit.")
        return np.asarray(self._products / np.sqrt(self._squares * self._target_squares))

    @property
    def sigma_(self) -> float:
        """The width that aligns best."""
        return float(self.sigmas[np.argmax(self.alignments_)])

    @property
    def gamma_(self) -> float:
        """The same as a coefficient."""
        return gamma_of(self.kernel, self.sigma_)


def _alignment(K: Floats, T: Floats, centred: bool) -> float:
    """Of a matrix and a target that is centred already, if it shall be."""
    K = _centred(K) if centred else K
    size = float(np.linalg.norm(K) * np.linalg.norm(T))
    return float(np.vdot(K, T)) / size if size > 0 else 0.0


def _centred(K: Floats) -> Floats:
    return np.asarray(K - K.mean(0) - K.mean(1)[:, None] + K.mean())


def _targets(y: npt.ArrayLike, m: int = 0) -> Floats:
    """T of labels (of m classes; 0: those in y) or of numbers."""
    from sklearn.utils.multiclass import type_of_target

    values = np.asarray(y)
    if type_of_target(values) == "continuous":
        return of_numbers(values)
    return of_classes(values, max(m or len(np.unique(values)), 2))


def _checked(X: Any, y: npt.ArrayLike) -> tuple[Any, npt.NDArray[Any]]:
    """Finite rows and as many targets."""
    X, labels = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]), column_or_1d(y)
    check_consistent_length(X, labels)
    assert_all_finite(labels, input_name="y")
    return X, labels


def _widths(sigmas: npt.ArrayLike | None) -> Floats:
    widths = SIGMAS if sigmas is None else np.asarray(sigmas, np.float64)
    if widths.ndim != 1 or len(widths) == 0 or not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(f"sigmas must be widths, numbers above 0; got {sigmas!r}.")
    return widths


def _squares(X: Any) -> Floats:
    """The squared length of every row."""
    squares = X.multiply(X).sum(1) if sp.issparse(X) else np.square(X).sum(1)
    return np.asarray(squares, np.float64).reshape(-1)
