"""Learners that keep every support vector."""

from typing import Any, ClassVar

import numpy as np

from ..budget import never, oldest
from ..expansion import UNLIMITED
from ..learners import duol, krls, norma, ogd
from ..learners.passive_aggressive import PassiveAggressive
from ..learners.perceptron import Perceptron
from ..projection import gram, symmetric
from ..steps import PEGASOS, SCHEDULES, VARIANTS
from ._base import KernelClassifier, KernelEstimator, KernelRegressor, Setting, TubeRegressor, loss_of
from ._parameters import estimator

CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "logistic")
REGRESSOR_LOSSES = ("squared", "half_squared", "epsilon_insensitive", "absolute")


class _Perceptron(KernelEstimator):
    _appends: ClassVar[bool] = True
    eta: Any
    average: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED, self.average)
        return Perceptron(s.kernel, s.task, never(), f, float(self.eta))


@estimator
class KernelPerceptronClassifier(KernelClassifier, _Perceptron):
    """Kernel perceptron (Rosenblatt 1958; Freund & Schapire 1999): every mistake becomes a support vector."""

    eta: float = 1.0
    average: bool = False


@estimator
class KernelPerceptronRegressor(TubeRegressor, _Perceptron):
    """Kernel perceptron for numbers: every miss above epsilon becomes a support vector with coefficient +-eta."""

    eta: float = 0.1
    average: bool = False
    _slow: ClassVar[bool] = True


class _OGD(KernelEstimator):
    _appends: ClassVar[bool] = True
    loss: Any
    eta: Any
    schedule: Any
    reg: Any
    radius: Any
    average: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED, self.average)
        schedule = SCHEDULES.index(self.schedule)
        return ogd.OGD(
            s.kernel, s.task, loss_of(self), never(), f, float(self.eta), schedule, float(self.reg),
            float(self.radius), np.zeros(1),
        )  # fmt: skip

    def _check(self) -> None:
        if self.schedule == "pegasos" and not self.reg > 0:
            raise ValueError('schedule="pegasos" steps by 1 / (reg t): reg must be above 0.')
        if self.schedule != "pegasos" and not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")


@estimator
class KernelOGDClassifier(KernelClassifier, _OGD):
    """Kernel online gradient descent (Kivinen, Smola & Williamson 2001, 2004; Zinkevich 2003)."""

    loss: str = "hinge"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    radius: float = np.inf
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class KernelOGDRegressor(TubeRegressor, _OGD):
    """Kernel online gradient descent for numbers (Kivinen, Smola & Williamson 2001, 2004)."""

    loss: str = "squared"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    radius: float = np.inf
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


@estimator
class KernelPegasosClassifier(KernelClassifier):
    """Kernel Pegasos (Shalev-Shwartz, Singer, Srebro & Cotter 2011): steps of 1 / (reg t)."""

    reg: float = 1e-4
    loss: str = "hinge"
    project: bool = False
    average: bool = False
    _appends: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED, self.average)
        radius = 1 / np.sqrt(self.reg) if self.project else np.inf
        return ogd.OGD(
            s.kernel, s.task, loss_of(self), never(), f, 1.0, PEGASOS, float(self.reg), float(radius), np.zeros(1)
        )

    def _check(self) -> None:
        if not self.reg > 0:
            raise ValueError("reg must be above 0: the steps are 1 / (reg t).")


class _NORMA(KernelEstimator):
    nu: Any
    eta: Any
    reg: Any
    edge: Any
    adaptive: Any
    truncation: Any

    def _least(self) -> float:
        return -np.inf

    def _most(self) -> int:
        return self.truncation or UNLIMITED

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self._most())
        return norma.NORMA(
            s.kernel, s.task, oldest(), f, float(self.eta), float(self.reg), float(self.nu), bool(self.adaptive),
            self._least(), np.array([float(self.edge)]),
        )  # fmt: skip

    def _check(self) -> None:
        if not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")


@estimator
class NORMAClassifier(KernelClassifier, _NORMA):
    """NORMA (Kivinen, Smola & Williamson 2004): a bias, and a margin that adapts to a fraction nu of errors."""

    nu: float = 0.5
    eta: float = 0.2
    reg: float = 0.01
    edge: float = 1.0
    adaptive: bool = True
    truncation: int | None = None


@estimator
class NORMARegressor(TubeRegressor, _NORMA):
    """NORMA for numbers (Kivinen, Smola & Williamson 2004): a tube of first half width epsilon adapts to nu."""

    nu: float = 0.4
    eta: float = 0.03
    reg: float = 0.03
    adaptive: bool = True
    clip_tube: bool = False
    truncation: int | None = None
    _slow: ClassVar[bool] = True

    @property
    def edge(self) -> float:
        return self.epsilon

    def _least(self) -> float:
        return 0.0 if self.clip_tube else -np.inf


class _PassiveAggressive(KernelEstimator):
    _appends: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"variant": VARIANTS}
    variant: Any
    C: Any
    average: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED, self.average)
        return PassiveAggressive(s.kernel, s.task, never(), f, float(self.C), VARIANTS.index(self.variant))


@estimator
class KernelPassiveAggressiveClassifier(KernelClassifier, _PassiveAggressive):
    """Kernel passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006)."""

    variant: str = "pa1"
    C: float = 1.0
    average: bool = False


@estimator
class KernelPassiveAggressiveRegressor(TubeRegressor, _PassiveAggressive):
    """Kernel passive-aggressive learning of numbers (Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006)."""

    variant: str = "pa1"
    C: float = 1.0
    average: bool = False


@estimator
class DUOLClassifier(KernelClassifier):
    """Double updating online learning (Zhao, Hoi & Jin 2009, 2011); two classes."""

    C: float = 5.0
    rho: float = 0.2
    _multiclass: ClassVar[bool] = False

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED)
        edge = 1 + float(np.sqrt(np.finfo(s.dtype).eps))
        n = len(f.norms)
        return duol.DUOL(s.kernel, s.task, f, float(self.C), float(self.rho), edge, np.zeros(n), np.zeros(n))


@estimator
class KernelRLSRegressor(KernelRegressor):
    """ALD-KRLS, kernel recursive least squares (Engel, Mannor & Meir 2004); sample weights weigh the squares."""

    threshold: float = 1e-3
    max_dictionary: int | None = None
    _appends: ClassVar[bool] = True

    def _most(self) -> int:
        return self.max_dictionary or UNLIMITED

    def _make(self, s: Setting, capacity: int) -> Any:
        f, dtype = s.expansion(capacity, self._most()), np.dtype(s.dtype)
        return krls.KRLS(s.kernel, s.task, f, gram(capacity, dtype), symmetric(capacity), float(self.threshold))
