"""What the estimators with a kernel share, and those with support vectors. No mathematics."""

import math
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .. import kernels, losses
from .._panels import panel_shape, slots
from ..alignment import MOST, best_sigma, gamma_of, of_classes, of_numbers, sampled
from ..expansion import PAUSE, ROUNDS, SCALE, SIZE, TOTAL, UNLIMITED, dense_points, empty, with_own_scratch
from ..features import SPECTRA
from ..state import arrays, transplant
from ..stream import Model
from ._online import OnlineClassifier, OnlineEstimator, OnlineRegressor, RowReader, Setting, _largest_sqnorm
from ._parameters import estimator

__all__ = ["KernelClassifier", "KernelEstimator", "KernelRegressor", "Setting", "TubeRegressor", "loss_of"]


@estimator
class KernelParameters(RowReader):
    """A kernel, and what the first batch has to do with it."""

    kernel: Any = "rbf"
    gamma: Any = "auto"
    sigma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def _sound(self, X: Any) -> Any:
        X = super()._sound(X)
        check_values(X, self._setting.kernel if hasattr(self, "_setting") else None)
        return X

    def _kernel(self, X: Any, targets: Any, key: int) -> Any:
        if not isinstance(self.kernel, str):
            return self.kernel
        if self.kernel == "linear":
            return kernels.linear()
        if self.kernel == "cosine":
            return kernels.cosine()
        gamma = self._gamma(X, targets, key)
        with np.errstate(over="ignore"):
            least, most = X.dtype.type(gamma), X.dtype.type(2 * gamma)  # a width's frequencies are sqrt(2 gamma)
        if not (least > 0 and most < np.inf):
            named = "" if self.sigma is None else f" for sigma={self.sigma!r}"
            raise ValueError(f"The kernel coefficient gamma is {gamma:g}{named}: {X.dtype} cannot compute with that.")
        if self.kernel == "poly":
            kernel = kernels.poly(gamma, self.coef0, self.degree)
            check_values(X, kernel)
            return kernel
        if self.kernel == "sigmoid":
            return kernels.sigmoid(gamma, self.coef0)
        return getattr(kernels, self.kernel)(gamma)

    def _gamma(self, X: Any, targets: Any, key: int) -> float:
        if self.sigma is not None and self.kernel in SPECTRA:
            with np.errstate(all="ignore"):
                return float(gamma_of(self.kernel, np.float64(self.sigma)))
        if self.gamma == "auto":
            return 1 / X.shape[1]
        if self.gamma == "scale":
            squares = X.multiply(X).mean() if sp.issparse(X) else np.square(X, dtype=np.float64).mean()
            variance = float(squares) - float(X.mean()) ** 2
            return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        if isinstance(self.gamma, str):
            return self._aligned_gamma(X, targets, key)
        return float(self.gamma)

    def _aligned_gamma(self, X: Any, targets: Any, key: int) -> float:
        raise ValueError(f"gamma={self.gamma!r} fits the kernel to targets, and a transformer learns from none.")

    @property
    def gamma_(self) -> float:
        """The kernel coefficient in use."""
        self._fitted()
        return float(self._setting.kernel.gamma)


@estimator
class KernelUser(KernelParameters, OnlineEstimator):
    def _aligned_gamma(self, X: Any, targets: Any, key: int) -> float:
        """That whose kernel fits the targets of the first batch best."""
        rows = sampled(X.shape[0], MOST, key)
        y, centred = targets[rows], self.gamma == "centred_alignment"
        T = of_numbers(y) if self._numeric else of_classes(y, max(self._outputs(), 2))
        return gamma_of(self.kernel, best_sigma(X[rows], T, self.kernel, centred=centred))


@estimator
class PointKeeper(KernelUser):
    """Estimators whose learner has an expansion f, with points at least."""

    _grows: ClassVar[bool] = True
    _appends: ClassVar[bool] = False  # whether stored points never change

    def _most(self) -> int:
        """Most points that the learner may hold."""
        return UNLIMITED

    def _shapes(self, setting: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        panels, width = panel_shape(capacity, setting.dtype)
        return {
            "f.points": (panels, setting.d, width),
            "f.coef": (setting.outputs, slots(capacity, setting.dtype)),
            "f.born": (capacity,),
        }

    def _first_capacity(self, setting: Setting) -> int:
        return self._room(16 * (64 // np.dtype(setting.dtype).itemsize))

    def _room(self, wanted: int) -> int:
        """A capacity that ends below the budget, where the dictionary pauses, or behind the point above it."""
        most = self._most()
        return wanted if wanted < most - 1 else most

    def _capacity(self) -> int:
        return len(self._learner.f.born)

    def _saved(self) -> dict[str, np.ndarray]:
        saved = super()._saved()
        if self._appends:
            del saved["f.points"]
        return saved

    def _undo(self, learner: Any, saved: dict[str, np.ndarray]) -> None:
        """Write the copies back; points that were not copied were only appended to."""
        super()._undo(learner, saved)
        if self._appends:
            points, size = learner.f.points, int(saved["f.count"][SIZE])
            for panel in range(points.shape[0]):
                points[panel, :, max(0, size - panel * points.shape[2]) :] = 0

    def _make_room(self) -> None:
        """Twice the room."""
        capacity = self._room(2 * self._capacity())
        self._learner = transplant(self._make(self._setting, capacity), arrays(self._learner))
        self._learner.f.count[PAUSE] = 0

    def _widened(self, learner: Any, d: int) -> Any:
        return learner._replace(f=widened(learner.f, d))

    def _work(self, learner: Any) -> int:
        f = learner.f
        return int(f.count[SIZE] + 16) * (f.points.shape[1] + 16)


@estimator
class KernelEstimator(PointKeeper):
    def _reader(self, d: int) -> Any:
        f = self._learner.f
        return Model(self._learner.kernel, with_own_scratch(f) if d == f.points.shape[1] else widened(f, d))

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


@estimator
class KernelClassifier(OnlineClassifier, KernelEstimator):
    pass


@estimator
class KernelRegressor(OnlineRegressor, KernelEstimator):
    pass


@estimator
class TubeRegressor(KernelRegressor):
    """Regressors that leave misses up to epsilon alone."""

    epsilon: float = 0.1


def loss_of(estimator: Any) -> losses.Loss:
    """The loss an estimator's parameters name."""
    return losses.Loss(losses.NAMES.index(estimator.loss), float(getattr(estimator, "epsilon", 0.0)))


def widened(f: Any, d: int) -> Any:
    """A copy with room for d features; the new ones of all points are 0."""
    outputs, average = f.coef.shape[0], f.past.shape[1] > 0
    return transplant(empty(len(f.born), d, outputs, f.coef.dtype, budget=f.budget, average=average), arrays(f))


def check_values(X: Any, kernel: Any) -> None:
    """Raise a ValueError where a poly kernel may overflow."""
    if not (isinstance(kernel, kernels.Kernel) and kernel.kind == kernels.POLY):
        return
    base = abs(kernel.gamma) * _largest_sqnorm(X) + abs(kernel.coef0)
    if kernel.degree * math.log2(max(base, 1)) > np.finfo(X.dtype).maxexp / 2:
        raise ValueError(
            f"The values of X are too large for a poly kernel of degree {kernel.degree} in {X.dtype}: scale them."
        )
