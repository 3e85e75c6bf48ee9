"""Learners in feature space."""

from typing import Any, ClassVar

import numpy as np

from ..features import fourier, fourier_shape, fourier_slots, frequencies, frequencies_of
from ..learners.featured import Featured
from ..linear import RULES, Rule, linear, weights, with_own_scratch
from ..steps import SCHEDULES
from ._base import KernelUser, loss_of
from ._online import OnlineClassifier, OnlineRegressor, Setting
from ._parameters import estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class _LinearRule(KernelUser):
    """What every linear learner on features takes and shows."""

    loss: Any
    rule: Any
    eta: Any
    schedule: Any
    reg: Any
    C: Any
    average: Any

    def _rule(self) -> Rule:
        schedule = SCHEDULES.index(self.schedule)
        return Rule(RULES.index(self.rule), float(self.eta), schedule, float(self.reg), float(self.C))

    def _linear(self, s: Setting, n: int) -> Any:
        dtype = np.dtype(s.dtype)
        return linear(n, s.outputs, dtype, average=self.average, adagrad=self.rule == "adagrad")

    def _check(self) -> None:
        if self.schedule == "pegasos" and not self.reg > 0:
            raise ValueError('schedule="pegasos" steps by 1 / (reg t): reg must be above 0.')
        if self.schedule != "pegasos" and not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, n_features_out)."""
        raise NotImplementedError


class _FOGD(_LinearRule):
    _constant: ClassVar[tuple[str, ...]] = ("map.",)
    n_components: Any

    def _map(self, s: Setting) -> Any:
        return fourier(frequencies(s.kernel, int(self.n_components), s.d, s.key), s.dtype)

    def _make(self, s: Setting, capacity: int) -> Any:
        f = self._linear(s, fourier_slots(self.n_components))
        return Featured(self._map(s), s.task, loss_of(self), self._rule(), f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        n = fourier_slots(self.n_components)
        return {"map.weights": fourier_shape(self.n_components, s.d, s.dtype), "f.coef": (s.outputs, n)}

    def _most(self) -> int:
        return int(self.n_components)

    def _widened(self, learner: Any, d: int) -> Any:
        return learner._replace(map=self._map(self._setting._replace(d=d)))

    def _work(self, learner: Any) -> int:
        return int(learner.map.n * (learner.map.weights.shape[1] + 16))

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(f=with_own_scratch(learner.f))

    @property
    def random_weights_(self) -> np.ndarray:
        """The random frequencies, (n_features, n_components)."""
        self._fitted()
        return np.array(frequencies_of(self._learner.map).T)

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, 2 n_components): of all sines, then of all cosines."""
        w, n = weights(self._fitted()), self._learner.map.n
        half = w.shape[1] // 2
        return np.hstack([w[:, :n], w[:, half : half + n]]).astype(self._setting.dtype)


@estimator
class FOGDClassifier(OnlineClassifier, _FOGD):
    """FOGD: online gradient descent on random Fourier features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    n_components: int = 400
    loss: str = "hinge"
    rule: str = "gradient"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES, "kernel": ("rbf", "laplacian")}


@estimator
class FOGDRegressor(OnlineRegressor, _FOGD):
    """FOGD for numbers: online gradient descent on random Fourier features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    n_components: int = 400
    loss: str = "squared"
    rule: str = "gradient"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES, "kernel": ("rbf", "laplacian")}
