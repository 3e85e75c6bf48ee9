"""Second-order learners, and the sampler of their dictionaries."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import _num_samples

from .._panels import panel_shape, slots
from ..expansion import SIZE, UNLIMITED, dense_points, with_own_scratch
from ..factor import factor, matrix_of
from ..learners.kons import KONS
from ..learners.kors import Kors
from ..learners.pros_n_kons import CARRY, CHANGES, LITERAL, RESTART, ProsNKons
from ..leverage import Leverage, leverage
from ..losses import curvature
from ..newton import CONSTANT, HESSIAN, Curve, newton
from ..outputs import REGRESSION, Task
from ..state import own_scratch
from ._base import KernelClassifier, KernelEstimator, KernelParameters, KernelRegressor, PointKeeper, loss_of, widened
from ._online import Setting
from ._parameters import STEERING, estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES

SPAN = 1e-8  # a squared distance from the span up to this share of k(x, x) counts as none
BENT = ("squared_hinge", "logistic", "squared", "half_squared")  # losses with a second derivative


def _factor_shapes(name: str, capacity: int, outputs: int) -> dict[str, tuple[int, ...]]:
    n = slots(capacity, np.float64)
    return {
        f"{name}.rows": (capacity * outputs, n),
        f"{name}.roots": (outputs, n),
        f"{name}.place": (outputs, capacity),
        f"{name}.size": (outputs,),
    }


class _Sampling(PointKeeper):
    """What takes its points from KORS."""

    ridge: Any
    accuracy: Any
    oversampling: Any
    force_first: Any
    max_dictionary: Any
    _appends: ClassVar[bool] = True

    def _most(self) -> int:
        return self.max_dictionary or UNLIMITED

    def _ridge(self) -> float:
        return float(self.ridge)

    def _leverage(self, s: Setting, capacity: int) -> Leverage:
        return leverage(
            capacity,
            self._ridge(),
            s.key,
            accuracy=self.accuracy,
            oversampling=self.oversampling,
            force_first=self.force_first,
        )

    def _dictionary(self, s: Setting, capacity: int) -> Any:
        """Points without outputs."""
        return s._replace(outputs=0).expansion(capacity, self._most())

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        panels, width = panel_shape(capacity, s.dtype)
        return {
            "f.points": (panels, s.d, width),
            "f.coef": (0, slots(capacity, s.dtype)),
            "f.born": (capacity,),
            **_factor_shapes("leverage.factor", capacity, 1),
        }


@estimator
class KORS(_Sampling):
    """KORS, kernel online row sampling (Calandriello, Lazaric & Valko 2017): a dictionary of rows by leverage score."""

    ridge: float = 1.0
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = None
    force_first: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew and sample from the rows of X in `n_passes` passes."""
        return self._fit(X, np.zeros(_num_samples(X)), None)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Sample from a further batch, row by row."""
        self._learn(X, np.zeros(_num_samples(X)), None, first=not hasattr(self, "_learner"))
        return self

    def leverage_scores(self, X: Any) -> np.ndarray:
        """Estimated ridge leverage score of every row, were it to come next: from 0 to 1 + accuracy."""
        return np.asarray(self._scores(X)[:, 0])

    def _make(self, s: Setting, capacity: int) -> Any:
        return Kors(s.kernel, self._leverage(s, capacity), self._dictionary(s, capacity))

    def _task(self) -> Task:
        return Task(REGRESSION)

    def _targets(self, y: Any, first: bool, classes: Any) -> np.ndarray:
        return np.asarray(y, np.float64)

    def _aligned_gamma(self, X: Any, targets: Any, key: int) -> float:
        return KernelParameters._aligned_gamma(self, X, targets, key)  # what samples has no targets either

    def _work(self, learner: Any) -> int:
        return super()._work(learner) + int(learner.f.count[SIZE]) ** 2

    def _reader(self, d: int) -> Any:
        sampler = self._learner
        f = with_own_scratch(sampler.f) if d == self._setting.d else widened(sampler.f, d)
        leverage = sampler.leverage._replace(factor=own_scratch(sampler.leverage.factor))
        return sampler._replace(f=f, leverage=leverage)

    @property
    def sample_indices_(self) -> np.ndarray:
        """Positions of the sampled rows in the stream, counted from 0."""
        f = self._fitted()
        return np.array(f.born[: f.count[SIZE]])

    @property
    def components_(self) -> np.ndarray:
        """The sampled rows, (n_sampled, n_features)."""
        return np.array(dense_points(self._fitted()))

    @property
    def weights_(self) -> np.ndarray:
        """1 / sqrt(p) of the sampled rows: times these they have about the covariance of all rows seen."""
        size = self._fitted().count[SIZE]
        return np.array(self._learner.leverage.factor.roots[0, :size])

    @property
    def effective_dimension_(self) -> float:
        """Estimate of tr K (K + ridge I)^-1 over all rows seen: the same of the weighted sample."""
        self._fitted()
        F = matrix_of(self._learner.leverage.factor)
        return float(len(F) - self._ridge() * np.sum(F * F))


class _SecondOrder(KernelEstimator):
    """What all Newton learners take and show."""

    loss: Any
    alpha: Any
    clip: Any
    curvature: Any
    _steering: ClassVar[set[str]] = STEERING - {"alpha"}
    _softmax: ClassVar[bool] = False  # one against the rest
    _slow: ClassVar[bool] = True  # targets beyond the bound are out of reach

    def _check(self) -> None:
        if self.curvature == "hessian" and self.loss not in BENT:
            raise ValueError(f'curvature="hessian": the {self.loss} loss has no second derivative.')

    def _curve(self) -> Curve:
        if self.curvature == "hessian":
            return Curve(HESSIAN, 0.0)
        sigma = curvature(self.loss, self.clip) or 1 / 8 if self.curvature is None else self.curvature
        return Curve(CONSTANT, float(sigma))

    def _work(self, learner: Any) -> int:
        return super()._work(learner) + 3 * self._setting.outputs * int(learner.f.count[SIZE]) ** 2

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Of every class against the rest, made to add up to 1."""
        p = expit(scores)
        return np.asarray(p / p.sum(axis=1, keepdims=True))


class _KONS(_SecondOrder):
    _appends: ClassVar[bool] = True
    min_probability: Any = 1.0
    accuracy: Any = 0.5
    oversampling: Any = 1.0
    force_first: Any = True
    ridge: Any = None

    def _sketch(self, s: Setting, capacity: int) -> Leverage:
        """KORS on the gradients; nothing when every term is kept."""
        return leverage(
            1 if self.min_probability == 1 else capacity,
            self.alpha if self.ridge is None else self.ridge,
            s.key,
            outputs=s.outputs,
            accuracy=self.accuracy,
            oversampling=self.oversampling,
            floor=self.min_probability,
            force_first=self.force_first,
        )

    def _make(self, s: Setting, capacity: int) -> Any:
        f, A = s.expansion(capacity, UNLIMITED), factor(capacity, s.outputs, self.alpha)
        return KONS(s.kernel, s.task, loss_of(self), self._curve(), f, A, self._sketch(s, capacity), float(self.clip))

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        sketched = 1 if self.min_probability == 1 else capacity
        return {
            **super()._shapes(s, capacity),
            **_factor_shapes("A", capacity, s.outputs),
            **_factor_shapes("leverage.factor", sketched, s.outputs),
        }

    def _reader(self, d: int) -> Any:
        learner = self._learner
        return learner._replace(f=with_own_scratch(learner.f) if d == self._setting.d else widened(learner.f, d))


class _ProsNKons(_SecondOrder, _Sampling):
    _appends: ClassVar[bool] = True
    idle_restarts: Any = True

    def _ridge(self) -> float:
        return float(self.alpha if self.ridge is None else self.ridge)

    def _manner(self) -> int:
        return RESTART

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags and self._manner() == RESTART:
            tags.classifier_tags.poor_score = True  # in a short stream it begins anew again and again
        return tags

    def _make(self, s: Setting, capacity: int) -> Any:
        return ProsNKons(
            s.kernel, s.task, loss_of(self), self._curve(),
            self._leverage(s, capacity), self._dictionary(s, capacity), factor(capacity, 1, 0.0),
            newton(capacity, s.outputs, self.alpha, self.clip), self._manner(), bool(self.idle_restarts),
            max(SPAN, 100 * float(np.finfo(s.dtype).eps)), np.zeros(2, np.int64),
        )  # fmt: skip

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        n = slots(capacity, np.float64)
        return {
            **_Sampling._shapes(self, s, capacity),
            **_factor_shapes("span", capacity, 1),
            "newton.weights": (s.outputs, n),
            "newton.columns": (capacity * s.outputs, n),
            "newton.diagonal": (s.outputs, n),
        }

    def _reader(self, d: int) -> Any:
        learner = self._learner
        f = with_own_scratch(learner.f) if d == self._setting.d else widened(learner.f, d)
        return learner._replace(f=f, span=own_scratch(learner.span), newton=own_scratch(learner.newton))

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients that predictions use, before they are clipped, (outputs, n_support)."""
        f, span = self._fitted(), self._learner.span
        n, place = int(span.size[0]), span.place[0, : span.size[0]]
        coef = np.zeros((self._setting.outputs, f.count[SIZE]))
        coef[:, place] = self._learner.newton.weights[:, :n] @ matrix_of(span)
        return coef.astype(self._setting.dtype)

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of every output: 0."""
        self._fitted()
        return np.zeros(self._setting.outputs, self._setting.dtype)

    @property
    def rank_(self) -> int:
        """Dimension of the space that the dictionary spans."""
        self._fitted()
        return int(self._learner.span.size[0])

    @property
    def n_changes_(self) -> int:
        """How often the dictionary changed the model: made it begin anew or gave it a dimension more."""
        self._fitted()
        return int(self._learner.count[CHANGES])


class _ConKons(_ProsNKons):
    literal: Any

    def _manner(self) -> int:
        return LITERAL if self.literal else CARRY


@estimator
class KONSClassifier(_KONS, KernelClassifier):
    """KONS, kernel online Newton steps (Calandriello, Lazaric & Valko 2017): O(t^2) in round t."""

    loss: str = "squared_hinge"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class KONSRegressor(_KONS, KernelRegressor):
    """KONS, kernel online Newton steps, for numbers (Calandriello, Lazaric & Valko 2017): O(t^2) in round t."""

    loss: str = "squared"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    epsilon: float = 0.0
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


@estimator
class SketchedKONSClassifier(_KONS, KernelClassifier):
    """Sketched-KONS (Calandriello, Lazaric & Valko 2017): KONS with a sample of the gradients in A."""

    loss: str = "squared_hinge"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    min_probability: float = 0.1
    force_first: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class SketchedKONSRegressor(_KONS, KernelRegressor):
    """Sketched-KONS for numbers (Calandriello, Lazaric & Valko 2017): KONS with a sample of the gradients in A."""

    loss: str = "squared"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    epsilon: float = 0.0
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    min_probability: float = 0.1
    force_first: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


@estimator
class ProsNKonsClassifier(_ProsNKons, KernelClassifier):
    """PROS-N-KONS (Calandriello, Lazaric & Valko 2017): Newton steps, begun anew when a sampled dictionary grows."""

    loss: str = "squared_hinge"
    alpha: float = 0.01
    clip: float = 1.0
    curvature: Any = None
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = None
    force_first: bool = True
    idle_restarts: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class ProsNKonsRegressor(_ProsNKons, KernelRegressor):
    """PROS-N-KONS for numbers (Calandriello, Lazaric & Valko 2017): begins anew when its dictionary grows."""

    loss: str = "squared"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    epsilon: float = 0.0
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = None
    force_first: bool = True
    idle_restarts: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


@estimator
class ConKonsClassifier(_ConKons, KernelClassifier):
    """CON-KONS (Calandriello, Lazaric & Valko 2017): Newton steps, carried on when a sampled dictionary grows."""

    loss: str = "squared_hinge"
    alpha: float = 0.01
    clip: float = 1.0
    curvature: Any = None
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = None
    force_first: bool = True
    literal: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class ConKonsRegressor(_ConKons, KernelRegressor):
    """CON-KONS for numbers (Calandriello, Lazaric & Valko 2017): carries on when its dictionary grows."""

    loss: str = "squared"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    epsilon: float = 0.0
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = None
    force_first: bool = True
    literal: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


@estimator
class BKonsClassifier(_ProsNKons, KernelClassifier):
    """B-KONS (Calandriello, Lazaric & Valko 2017): PROS-N-KONS that samples until the dictionary is full."""

    loss: str = "squared_hinge"
    alpha: float = 0.01
    clip: float = 1.0
    curvature: Any = None
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = 100
    force_first: bool = True
    idle_restarts: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class BKonsRegressor(_ProsNKons, KernelRegressor):
    """B-KONS for numbers (Calandriello, Lazaric & Valko 2017): PROS-N-KONS until the dictionary is full."""

    loss: str = "squared"
    alpha: float = 1.0
    clip: float = 1.0
    curvature: Any = None
    epsilon: float = 0.0
    ridge: float | None = None
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_dictionary: int | None = 100
    force_first: bool = True
    idle_restarts: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
