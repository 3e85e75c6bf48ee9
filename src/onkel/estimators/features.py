"""Learners in feature space."""

from typing import Any, ClassVar

import numpy as np

from .._panels import slots
from ..expansion import PAUSE, SIZE
from ..features import fourier, fourier_shape, fourier_slots, frequencies, frequencies_of
from ..learners.featured import Featured
from ..learners.nogd import MOMENTS, NOGD
from ..linear import RULES, Rule, linear, weights, with_own_scratch
from ..nystroem import (
    RANK,
    READY,
    landmarks_of,
    matrix_of,
    nystroem,
    nystroem_shapes,
    switch,
    with_own_work,
)
from ..state import arrays, transplant
from ..steps import SCHEDULES
from ._base import KernelUser, loss_of
from ._online import OnlineClassifier, OnlineRegressor, Setting
from ._parameters import estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class LinearRule(KernelUser):
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
        if self.schedule == "pegasos" and not self.reg > 0:
            raise ValueError('schedule="pegasos" steps by 1 / (reg t): reg must be above 0.')
        if self.schedule != "pegasos" and not self.eta * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use, (outputs, n_features_out)."""
        raise NotImplementedError


class _FOGD(LinearRule):
    n_components: Any

    def _constant(self) -> tuple[str, ...]:
        return ("map.",)

    def _map(self, s: Setting, n: int) -> Any:
        return fourier(frequencies(s.kernel, n, s.d, s.key), s.dtype)

    def _make(self, s: Setting, capacity: int) -> Any:
        f = self._linear(s, fourier_slots(capacity))
        return Featured(self._map(s, capacity), s.task, loss_of(self), self._rule(), f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        return {"map.weights": fourier_shape(capacity, s.d, s.dtype), "f.coef": (s.outputs, fourier_slots(capacity))}

    def _most(self) -> int:
        return int(self.n_components)

    def _widened(self, learner: Any, d: int) -> Any:
        return learner._replace(map=self._map(self._setting._replace(d=d), learner.map.n))

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


class TwoStages(LinearRule):
    """Kernel models that become linear ones on features."""

    def _pool(self, learner: Any) -> Any:
        """The points whose kernel values are what the model is made of, as a model or by way of features."""
        return learner.map

    @property
    def switched_(self) -> bool:
        """Whether the model is a linear one on features by now, and no longer a kernel model."""
        self._fitted()
        return bool(self._learner.map.count[READY])

    @property
    def components_(self) -> np.ndarray:
        """The landmarks: the first examples that were learnt, (n_landmarks, n_features)."""
        self._fitted()
        return np.array(landmarks_of(self._pool(self._learner)))

    @property
    def component_indices_(self) -> np.ndarray:
        """Positions of the landmarks in the stream, counted from 0."""
        self._fitted()
        pool = self._pool(self._learner)
        return np.array(pool.born[: pool.count[SIZE]])

    @property
    def normalization_(self) -> np.ndarray:
        """From kernel values to features, (rank, n_landmarks); no rows before the switch."""
        self._fitted()
        map, pool = self._learner.map, self._pool(self._learner)
        return np.array(matrix_of(map)) if self.switched_ else np.empty((0, pool.count[SIZE]), map.matrix.dtype)

    @property
    def coef_(self) -> np.ndarray:
        """Weights that predictions use: of the landmarks' kernel values or, after the switch, of the features."""
        w, map, pool = weights(self._fitted()), self._learner.map, self._pool(self._learner)
        return np.array(w[:, : map.count[RANK] if map.count[READY] else pool.count[SIZE]].astype(self._setting.dtype))


class _NOGD(TwoStages):
    budget: Any
    rank: Any
    switch: Any

    def _rank(self, capacity: int) -> int:
        """The largest rank: by default a fifth of the budget, as in the paper."""
        return min(capacity, max(1, int(self.budget) // 5 if self.rank is None else int(self.rank)))

    def _map(self, s: Setting, capacity: int) -> Any:
        return nystroem(s.kernel, capacity, self._rank(capacity), s.d, np.dtype(s.dtype))

    def _make(self, s: Setting, capacity: int) -> Any:
        f = self._linear(s, slots(capacity, s.dtype))
        moment = MOMENTS.index(self.switch)
        return NOGD(self._map(s, capacity), s.task, loss_of(self), self._rule(), moment, f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        points, matrix = nystroem_shapes(capacity, self._rank(capacity), s.d, s.dtype)
        coef = (s.outputs, slots(capacity, s.dtype))
        return {"map.points": points, "map.matrix": matrix, "map.born": (capacity,), "f.coef": coef}

    def _most(self) -> int:
        return int(self.budget)

    def _check(self) -> None:
        super()._check()
        if self.rank is not None and not self.rank <= self.budget:
            raise ValueError(f"rank must be at most budget, {self.budget}: there are no more eigenvectors.")

    def _constant(self) -> tuple[str, ...]:
        return ("map.",) if self.switched_ else ()

    def _run(self, rows: Any, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        scores = super()._run(rows, targets, weights)
        if self._learner.f.count[PAUSE]:  # the last example of the batch filled the budget
            self._make_room()
        return scores

    def _make_room(self) -> None:
        switch(self._learner.map, self._learner.f, self._rank(self._capacity()))

    def _interlude(self, rows: Any, t: int) -> None:
        self._make_room()

    def _widened(self, learner: Any, d: int) -> Any:
        map = self._map(self._setting._replace(d=d), self._capacity())
        return learner._replace(map=transplant(map, arrays(learner.map)))

    def _work(self, learner: Any) -> int:
        map = learner.map
        return int(map.count[SIZE] + 16) * int(map.points.shape[1] + 16 + map.count[RANK])

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=with_own_work(learner.map), f=with_own_scratch(learner.f))

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The largest eigenvalues of the landmarks' Gram matrix, descending; none before the switch."""
        return np.array(1 / np.square(self.normalization_, dtype=np.float64).sum(axis=1))


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
