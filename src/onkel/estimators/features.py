"""Learners in feature space."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._panels import slots
from .._simd import aligned
from ..expansion import PAUSE, SIZE
from ..expansion import with_own_scratch as with_own_points
from ..features import SPECTRA, fourier_slots
from ..learners.dual_sgd import DualSGD, Recalled
from ..learners.featured import Featured
from ..learners.nogd import MOMENTS, NOGD
from ..linear import RULES, Rule, linear, weights, with_own_scratch
from ..nystroem import RANK, READY, switch
from ..state import arrays, own_scratch, restore, transplant
from ..steps import SCHEDULES
from ._base import KernelClassifier, KernelEstimator, KernelUser, TubeRegressor, check_values, loss_of, widened
from ._maps import FourierMap, NystroemMap, RowsThemselves, columns_of, weights_of_inputs
from ._online import OnlineClassifier, OnlineEstimator, OnlineRegressor, Setting
from ._parameters import described, estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class LinearRule(OnlineEstimator):
    """What every linear learner on features takes and shows."""

    loss: Any
    eta: Any
    schedule: Any
    reg: Any
    average: Any

    def _rule(self) -> Rule:
        rule, C = RULES.index(getattr(self, "rule", "gradient")), float(getattr(self, "C", 1.0))
        return Rule(rule, float(self.eta), SCHEDULES.index(self.schedule), float(self.reg), C)

    def _linear(self, s: Setting, n: int) -> Any:
        adagrad = getattr(self, "rule", "gradient") == "adagrad"
        return linear(n, s.outputs, np.dtype(s.dtype), average=self.average, adagrad=adagrad)

    def _check(self) -> None:
        super()._check()
        if self.schedule == "pegasos" and not self.reg > 0:
            raise ValueError('schedule="pegasos" steps by 1 / (reg t): reg must be above 0.')
        if self.schedule != "pegasos" and not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, n_features_out)."""
        raise NotImplementedError


def named(shapes: dict[str, Any]) -> dict[str, Any]:
    """The shapes of a map's arrays, under the names that a learner has for them."""
    return {f"map.{name}": shape for name, shape in shapes.items()}


class _RandomFeatures(FourierMap, KernelUser):
    """What every learner on random Fourier features has: a map that stays as it is, and weights."""

    def _parameters(self) -> dict[str, Any]:
        """Also whether columns may be added, where that decides how they are mixed."""
        held = super()._parameters()
        return held if self.features == "plain" else {**held, "grow_features": self.grow_features}

    def _constant(self) -> tuple[str, ...]:
        return ("map.",)

    def _shown(self, f: Any) -> np.ndarray:
        """The weights of the features, in their order."""
        return np.array(weights(f)[:, columns_of(self._learner.map)].astype(self._setting.dtype))

    @property
    def random_weights_(self) -> np.ndarray:
        """The random frequencies, (n_features, n_components)."""
        self._fitted()
        return weights_of_inputs(self._learner.map, self._setting.d)


class _FOGD(LinearRule, _RandomFeatures):
    def _make(self, s: Setting, capacity: int) -> Any:
        f = self._linear(s, self._map_slots(s, capacity))
        return Featured(self._blank(s, capacity), s.task, loss_of(self), self._rule(), f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        return {**named(self._map_shapes(s, capacity)), "f.coef": (s.outputs, self._map_slots(s, capacity))}

    def _most(self) -> int:
        return self._map_size()

    def _widened(self, learner: Any, d: int) -> Any:
        return learner._replace(map=self._wide(learner.map, self._setting._replace(d=d)))

    def _work(self, learner: Any) -> int:
        return int(learner.map.n * (self._setting.d + 16))

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=own_scratch(learner.map), f=with_own_scratch(learner.f))

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, 2 n_components): of all sines, then of all cosines."""
        return self._shown(self._fitted())


@estimator
class FOGDClassifier(OnlineClassifier, _FOGD):
    """FOGD: online gradient descent on random Fourier features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    n_components: int = 400
    features: str = "plain"
    loss: str = "hinge"
    rule: str = "gradient"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES, "kernel": SPECTRA}


@estimator
class FOGDRegressor(OnlineRegressor, _FOGD):
    """FOGD for numbers: online gradient descent on random Fourier features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    n_components: int = 400
    features: str = "plain"
    loss: str = "squared"
    rule: str = "gradient"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES, "kernel": SPECTRA}


class TwoStages(LinearRule):
    """A kernel model that becomes a linear one on features."""

    def _landmarks(self) -> Any:
        """The points whose kernel values the model is made of, at first as they are and later by way of features."""
        raise NotImplementedError

    @property
    def switched_(self) -> bool:
        """Whether the model is a linear one on features by now, and no longer a kernel model."""
        self._fitted()
        return bool(self._learner.map.count[READY])

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use: of the landmarks' kernel values or, after the switch, of the features."""
        w, rank = weights(self._fitted()), self._learner.map.count[RANK]
        return np.array(w[:, : rank if self.switched_ else self._landmarks().count[SIZE]].astype(self._setting.dtype))


class _NOGD(TwoStages, NystroemMap, KernelUser):
    switch: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        f = self._linear(s, slots(capacity, s.dtype))
        moment = MOMENTS.index(self.switch)
        return NOGD(self._blank(s, capacity), s.task, loss_of(self), self._rule(), moment, f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        return {**named(self._map_shapes(s, capacity)), "f.coef": (s.outputs, slots(capacity, s.dtype))}

    def _most(self) -> int:
        return self._map_size()

    def _constant(self) -> tuple[str, ...]:
        return ("map.",) if self.switched_ else ()

    def _settle(self) -> None:
        if self._learner.f.count[PAUSE]:  # the last example of the batch filled the budget
            self._make_room()

    def _make_room(self) -> None:
        switch(self._learner.map, self._learner.f, self._rank(self._capacity()))

    def _interlude(self, rows: Any, t: int) -> None:
        self._make_room()

    def _widened(self, learner: Any, d: int) -> Any:
        return learner._replace(map=self._wide(learner.map, self._setting._replace(d=d)))

    def _work(self, learner: Any) -> int:
        map = learner.map
        return int(map.count[SIZE] + 16) * int(map.points.shape[1] + 16 + map.count[RANK])

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=own_scratch(learner.map), f=with_own_scratch(learner.f))

    def _landmarks(self) -> Any:
        self._fitted()
        return self._learner.map


@estimator
class NOGDClassifier(OnlineClassifier, _NOGD):
    """NOGD: online gradient descent on Nystroem features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    budget: int = 100
    rank: int | None = None
    loss: str = "hinge"
    switch: str = "full"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class NOGDRegressor(OnlineRegressor, _NOGD):
    """NOGD for numbers: online gradient descent on Nystroem features (Lu, Hoi, Wang, Zhao & Liu 2016)."""

    budget: int = 100
    rank: int | None = None
    loss: str = "squared"
    switch: str = "full"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}


class _DualSGD(KernelEstimator, _RandomFeatures):
    budget: Any
    moved: Any
    reg: Any
    loss: Any
    average: Any

    def _make(self, s: Setting, capacity: int) -> Any:
        n, dtype = self._map_size(), np.dtype(s.dtype)
        f = s.expansion(capacity, int(self.budget), self.average)
        g = linear(fourier_slots(n), s.outputs, dtype, average=self.average)
        recalled = Recalled(aligned(fourier_slots(n), dtype))
        return DualSGD(
            s.kernel, self._blank(s, n), s.task, loss_of(self), float(self.reg), int(self.moved), f, g, recalled
        )

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        n = self._map_size()
        weights = {"g.coef": (s.outputs, fourier_slots(n))}
        return {**super()._shapes(s, capacity), **named(self._map_shapes(s, n)), **weights}

    def _most(self) -> int:
        return int(self.budget)

    def _check(self) -> None:
        super()._check()
        if not self.reg > 0:
            raise ValueError("reg must be above 0: the steps are 1 / (reg t).")
        if not self.moved <= self.budget:
            raise ValueError(f"moved must be at most budget, {self.budget}: no more support vectors can leave.")

    def _widened(self, learner: Any, d: int) -> Any:
        map = self._wide(learner.map, self._setting._replace(d=d))
        return learner._replace(f=widened(learner.f, d), map=map)

    def _work(self, learner: Any) -> int:
        return super()._work(learner) + int(learner.map.n * (self._setting.d + 16))

    def _reader(self, d: int) -> Any:
        held = self._learner if d == self._setting.d else self._widened(self._learner, d)
        f, g = with_own_points(held.f), with_own_scratch(held.g)
        return held._replace(map=own_scratch(held.map), f=f, g=g)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features that predictions use, (outputs, 2 n_components): of all sines, then all cosines."""
        self._fitted()
        return self._shown(self._learner.g)


@estimator
class DualSGDClassifier(KernelClassifier, _DualSGD):
    """Dual-SGD (Le, Nguyen, Nguyen & Phung 2016): Pegasos; on a budget, support vectors become random features."""

    budget: int = 100
    moved: int = 20
    n_components: int = 200
    features: str = "plain"
    reg: float = 1e-4
    loss: str = "hinge"
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES, "kernel": SPECTRA}


@estimator
class DualSGDRegressor(TubeRegressor, _DualSGD):
    """Dual-SGD for numbers (Le, Nguyen, Nguyen & Phung 2016)."""

    budget: int = 100
    moved: int = 20
    n_components: int = 200
    features: str = "plain"
    reg: float = 1e-2
    loss: str = "epsilon_insensitive"
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES, "kernel": SPECTRA}


class _FeatureMap(LinearRule):
    """A feature map that is made from the first batch, or was fitted before, and from then on stays as it is."""

    map: Any

    def _inner(self) -> Any:
        return RowsThemselves() if self.map is None else self.map

    def _check(self) -> None:
        super()._check()
        if self.map is None:
            return
        self.map._validate_parameters()
        if self.grow_features and not self.map.grow_features:
            raise ValueError("grow_features=True needs a map that has it too.")

    def _parameters(self) -> dict[str, Any]:
        """The map's own in place of the map, which may be changed where it is."""
        held = super()._parameters()
        return {**held, "map": described(self.map)} if hasattr(self.map, "get_params") else held

    def _kernel(self, X: Any, targets: Any, key: int) -> Any:
        if hasattr(self, "_source"):
            return self._source._setting.kernel
        return None if self.map is None else self.map._kernel(X, None, key)

    def _key(self) -> tuple[Any, int]:
        """The map's own key, which columns to come need."""
        random, key = super()._key()
        return random, self._source._setting.key if hasattr(self, "_source") else key

    def _start(self, X: Any, targets: np.ndarray) -> Any:
        if self.map is None:
            return super()._start(X, targets)
        self._source: Any = self.map if hasattr(self.map, "_map") else clone(self.map)._fit_sound(X)
        s = self._source._setting
        if (s.d, s.dtype) != (X.shape[1], X.dtype.name):
            raise ValueError(f"map was fitted to {s.d} features in {s.dtype}; X has {X.shape[1]} in {X.dtype.name}.")
        random = super()._start(X, targets)
        restore(self._learner.map, arrays(self._source._ready()))
        del self._source
        return random

    def _sound(self, X: Any) -> Any:
        X = super()._sound(X)
        check_values(X, self._setting.kernel if hasattr(self, "_setting") else None)
        return X

    def _make(self, s: Setting, capacity: int) -> Any:
        inner = self._inner()
        f = self._linear(s, inner._map_slots(s, capacity))
        return Featured(inner._blank(s, capacity), s.task, loss_of(self), self._rule(), f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        inner = self._inner()
        coef = (s.outputs, inner._map_slots(s, capacity))
        return {**named(inner._map_shapes(s, capacity)), "f.coef": coef}

    def _most(self) -> int:
        return int(self._inner()._map_size())

    def _constant(self) -> tuple[str, ...]:
        return ("map.",)

    def _widened(self, learner: Any, d: int) -> Any:
        s, inner = self._setting._replace(d=d), self._inner()
        learner = learner._replace(map=inner._wide(learner.map, s))
        n = inner._map_slots(s, self._most())
        if n > learner.f.coef.shape[1]:
            learner = learner._replace(f=transplant(self._linear(s, n), arrays(learner.f)))
            learner.f.count[SIZE] = n
        return learner

    def _work(self, learner: Any) -> int:
        return int((learner.f.coef.shape[1] + self._most()) * (self._setting.d + 16))

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=own_scratch(learner.map), f=with_own_scratch(learner.f))

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, n_features_out)."""
        w = weights(self._fitted())[:, columns_of(self._learner.map)]
        return np.array(w.astype(self._setting.dtype))


@estimator
class FeatureMapClassifier(OnlineClassifier, _FeatureMap):
    """An online linear classifier on the features of any map: RandomFourierFeatures, OnlineNystroem, or the rows."""

    map: Any = None
    loss: str = "hinge"
    rule: str = "gradient"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class FeatureMapRegressor(OnlineRegressor, _FeatureMap):
    """An online linear regressor on the features of any map: RandomFourierFeatures, OnlineNystroem, or the rows."""

    map: Any = None
    loss: str = "squared"
    rule: str = "pa1"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    C: float = 1.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
