"""Learners on a budget of support vectors."""

from typing import Any, ClassVar

import numpy as np

from .. import budget as policies
from ..budget import never
from ..expansion import UNLIMITED
from ..kernels import RBF, Kernel
from ..learners import bogd, bpa, bsgd, forgetron, oskl, projectron, spa
from ..learners.budget_perceptron import BudgetPerceptron
from ..learners.perceptron import Perceptron
from ..projection import gram
from ..rng import generator
from ._base import KernelClassifier, KernelEstimator, Setting, TubeRegressor, loss_of
from ._parameters import estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class _Budgeted(KernelEstimator):
    budget: Any

    def _most(self) -> int:
        return int(self.budget)


class _Stoptron(_Budgeted):
    _appends: ClassVar[bool] = True
    eta: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        return Perceptron(s.kernel, s.task, never(), s.expansion(capacity, self.budget), float(self.eta))


@estimator
class StoptronClassifier(KernelClassifier, _Stoptron):
    """Stoptron: a kernel perceptron that stops learning when the budget is full."""

    budget: int = 100
    eta: float = 1.0


@estimator
class StoptronRegressor(TubeRegressor, _Stoptron):
    """Stoptron for numbers: stops learning when the budget is full."""

    budget: int = 100
    eta: float = 0.1
    _slow: ClassVar[bool] = True


class _RBP(_Budgeted):
    eta: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self.budget)
        return Perceptron(s.kernel, s.task, policies.random(s.key), f, float(self.eta))


@estimator
class RBPClassifier(KernelClassifier, _RBP):
    """Randomized budget perceptron (Cavallanti, Cesa-Bianchi & Gentile 2007): a random support vector leaves."""

    budget: int = 100
    eta: float = 1.0


@estimator
class RBPRegressor(TubeRegressor, _RBP):
    """Randomized budget perceptron for numbers (after Cavallanti, Cesa-Bianchi & Gentile 2007)."""

    budget: int = 100
    eta: float = 0.1
    _slow: ClassVar[bool] = True


@estimator
class BudgetPerceptronClassifier(KernelClassifier):
    """Budget perceptron (Crammer, Kandola & Singer 2003): the best classified point leaves.

    With budget=None the unbudgeted form, in which every point leaves that has a margin above `margin` without itself.
    """

    budget: int | None = 100
    margin: float = 0.1

    def _most(self) -> int:
        return UNLIMITED if self.budget is None else self.budget + 1

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, UNLIMITED if self.budget is None else self.budget)
        n = len(f.norms)
        return BudgetPerceptron(s.kernel, s.task, f, float(self.margin), np.zeros(n), np.zeros((s.outputs, n)))


class _Forgetron(_Budgeted):
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"variant": forgetron.VARIANTS}
    variant: Any
    eta: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f, variant = s.expansion(capacity, self.budget), forgetron.VARIANTS.index(self.variant)
        return forgetron.Forgetron(s.kernel, s.task, f, float(self.eta), variant, np.zeros(3))


@estimator
class ForgetronClassifier(KernelClassifier, _Forgetron):
    """Forgetron (Dekel, Shalev-Shwartz & Singer 2008): all coefficients shrink, then the oldest leaves."""

    budget: int = 100
    variant: str = "selftuned"
    eta: float = 1.0


@estimator
class ForgetronRegressor(TubeRegressor, _Forgetron):
    """Forgetron for numbers (after Dekel, Shalev-Shwartz & Singer 2008): steps of +-eta on misses above epsilon."""

    budget: int = 100
    variant: str = "selftuned"
    eta: float = 0.1
    _slow: ClassVar[bool] = True


class _Projectron(KernelEstimator):
    _appends: ClassVar[bool] = True
    budget: Any
    tolerance: Any

    def _most(self) -> int:
        return self.budget or UNLIMITED

    def _check(self) -> None:
        if self.budget is None and self.tolerance is None:
            raise ValueError("budget and tolerance cannot both be None: one of them must limit the support vectors.")

    def _form(self, pace: float) -> tuple[float, int, float]:
        return pace, projectron.NEVER, 0.0

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self._most())
        pace, margin, bound = self._form(float(getattr(self, "eta", 1.0)))
        tolerance = float(self.tolerance or 0.0)
        return projectron.Projectron(
            s.kernel, s.task, f, gram(capacity, np.dtype(s.dtype)), tolerance, pace, margin, bound
        )


@estimator
class ProjectronClassifier(KernelClassifier, _Projectron):
    """Projectron (Orabona, Keshet & Caputo 2009): a mistake near the span of the support vectors is projected on it.

    tolerance=None projects only when the budget is full; budget=None leaves the size to the tolerance.
    """

    budget: int | None = 100
    tolerance: float | None = None
    eta: float = 1.0


@estimator
class ProjectronRegressor(TubeRegressor, _Projectron):
    """Projectron for numbers (after Orabona, Keshet & Caputo 2009), with steps of +-eta on misses above epsilon."""

    budget: int | None = 100
    tolerance: float | None = None
    eta: float = 0.1
    _slow: ClassVar[bool] = True


@estimator
class ProjectronPlusPlusClassifier(KernelClassifier, _Projectron):
    """Projectron++ (Orabona, Keshet & Caputo 2009): also learns from correct examples inside the margin.

    tolerance=None is the budget form; with a tolerance, the margin step is that of the tolerance form.
    """

    budget: int | None = 100
    tolerance: float | None = None

    def _form(self, pace: float) -> tuple[float, int, float]:
        if self.tolerance is None:
            size = self._most() + 1
            return pace, projectron.BUDGET, float(np.sqrt(size / np.log(size)) / 4)
        return pace, projectron.TOLERANCE, 1 / self.tolerance if self.tolerance else np.inf


class _BOGD(_Budgeted):
    loss: Any
    eta: Any
    reg: Any
    cap: Any
    sampling: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f, sampling = s.expansion(capacity, self.budget), bogd.SAMPLINGS.index(self.sampling)
        return bogd.BOGD(
            s.kernel, s.task, loss_of(self), f, float(self.eta), float(self.reg), float(self.cap),
            sampling, generator(s.key),
        )  # fmt: skip

    def _check(self) -> None:
        if not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")


@estimator
class BOGDClassifier(KernelClassifier, _BOGD):
    """Bounded online gradient descent, BOGD and BOGD++ (Zhao, Wang, Wu, Jin & Hoi 2012)."""

    budget: int = 100
    loss: str = "hinge"
    eta: float = 0.2
    reg: float = 1e-6
    cap: float = 10.0
    sampling: str = "uniform"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class BOGDRegressor(TubeRegressor, _BOGD):
    """Bounded online gradient descent for numbers (Zhao, Wang, Wu, Jin & Hoi 2012)."""

    budget: int = 100
    loss: str = "squared"
    eta: float = 0.1
    reg: float = 1e-6
    cap: float = 10.0
    sampling: str = "uniform"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


class _BPA(_Budgeted):
    strategy: Any
    C: Any

    def _most(self) -> int:
        return int(self.budget) + (self.strategy == "projecting")

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self.budget)
        common = s.kernel, s.task, f, float(self.C)
        if self.strategy == "simple":
            return bpa.BPASimple(*common)
        if self.strategy == "nearest":
            return bpa.BPANearest(*common, np.zeros(len(f.norms), np.int64), np.zeros(len(f.norms)))
        return bpa.BPAProjecting(*common, gram(capacity, np.dtype(s.dtype), inside=1e-10))


@estimator
class BPAClassifier(KernelClassifier, _BPA):
    """Budgeted passive-aggressive learning, BPA-S, BPA-NN and BPA-P (Wang & Vucetic 2010)."""

    budget: int = 100
    strategy: str = "simple"
    C: float = 1.0


@estimator
class BPARegressor(TubeRegressor, _BPA):
    """Budgeted passive-aggressive learning of numbers (after Wang & Vucetic 2010)."""

    budget: int = 100
    strategy: str = "simple"
    C: float = 1.0


class _BSGD(_Budgeted):
    loss: Any
    reg: Any
    maintenance: Any
    search: Any

    def _most(self) -> int:
        return int(self.budget) + 1

    def _make(self, s: Setting, capacity: int) -> Any:
        common = s.kernel, s.task, loss_of(self), s.expansion(capacity, self.budget), float(self.reg)
        if self.maintenance == "removal":
            return bsgd.BSGDRemoval(*common)
        if self.maintenance == "projection":
            return bsgd.BSGDProjection(*common, gram(capacity, np.dtype(s.dtype), inside=1e-10))
        searched = self.search == "golden" or s.outputs > 1
        return bsgd.BSGDMerging(*common, np.zeros((0, 0)) if searched else bsgd.lookup_table())

    def _check(self) -> None:
        if not self.reg > 0:
            raise ValueError("reg must be above 0: the steps are 1 / (reg t).")
        gaussian = self.kernel == "rbf" or (isinstance(self.kernel, Kernel) and self.kernel.kind == RBF)
        if self.maintenance == "merging" and not gaussian:
            raise ValueError('maintenance="merging" needs kernel="rbf"; "removal" and "projection" take any kernel.')


@estimator
class BSGDClassifier(KernelClassifier, _BSGD):
    """Budgeted stochastic gradient descent (Wang, Crammer & Vucetic 2012): Pegasos on a budget."""

    budget: int = 100
    loss: str = "hinge"
    reg: float = 1e-4
    maintenance: str = "merging"
    search: str = "lookup"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class BSGDRegressor(TubeRegressor, _BSGD):
    """Budgeted stochastic gradient descent for numbers (after Wang, Crammer & Vucetic 2012)."""

    budget: int = 100
    loss: str = "epsilon_insensitive"
    reg: float = 1e-2
    maintenance: str = "merging"
    search: str = "lookup"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


class _Sampled(KernelEstimator):
    """SPA and OSKL: the budget is in the sampling; a hard one is optional and stops the insertions."""

    _appends: ClassVar[bool] = True
    budget: Any
    average: Any

    def _most(self) -> int:
        return self.budget or UNLIMITED


class _SPA(_Sampled):
    eta: Any
    alpha: Any
    beta: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self._most(), self.average)
        constants = float(self.eta), float(self.alpha), float(self.beta)
        return spa.SPA(s.kernel, s.task, never(), f, *constants, generator(s.key))

    def _check(self) -> None:
        if self.beta < self.alpha:
            raise ValueError(f"beta must be at least alpha={self.alpha}; got {self.beta}.")


@estimator
class SPAClassifier(KernelClassifier, _SPA):
    """Sparse passive-aggressive learning (Lu, Zhao & Hoi 2016); predicts with the averaged model.

    About alpha n / beta of n examples are stored; a hard `budget` stops storing when it is full.
    """

    eta: float = 0.1
    alpha: float = 1.0
    beta: float = 5.0
    budget: int | None = None
    average: bool = True


@estimator
class SPARegressor(TubeRegressor, _SPA):
    """Sparse passive-aggressive learning of numbers (Lu, Zhao & Hoi 2016); predicts with the averaged model."""

    eta: float = 0.1
    alpha: float = 1.0
    beta: float = 5.0
    budget: int | None = None
    average: bool = True
    _slow: ClassVar[bool] = True


class _OSKL(_Sampled):
    loss: Any
    eta: Any
    G: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = s.expansion(capacity, self._most(), self.average)
        return oskl.OSKL(s.kernel, s.task, loss_of(self), never(), f, float(self.eta), float(self.G), generator(s.key))


@estimator
class OSKLClassifier(KernelClassifier, _OSKL):
    """Online sparse kernel learning (Zhang, Yi, Jin, Lin & He 2013); predicts with the averaged model."""

    loss: str = "logistic"
    eta: float = 0.1
    G: float = 5.0
    budget: int | None = None
    average: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}
    _softmax: ClassVar[bool] = False


@estimator
class OSKLRegressor(TubeRegressor, _OSKL):
    """Online sparse kernel learning of numbers (after Zhang, Yi, Jin, Lin & He 2013); the averaged model predicts."""

    loss: str = "epsilon_insensitive"
    eta: float = 0.1
    G: float = 5.0
    budget: int | None = None
    average: bool = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
    _slow: ClassVar[bool] = True
