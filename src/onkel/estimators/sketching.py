"""Learners on sketched features."""

import numbers
from typing import Any, ClassVar

import numpy as np

from .._panels import panel_shape, slots
from ..expansion import SIZE, UNLIMITED
from ..learners.skegd import SkeGD
from ..linear import with_own_scratch
from ..nystroem import RANK, matrix_of
from ..sketching import PROCESSED, begin, renew
from ..state import own_scratch, twin
from ._base import KernelUser, Setting, loss_of
from ._maps import SketchedMap
from ._online import OnlineClassifier, OnlineRegressor
from ._parameters import estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES
from .features import TwoStages, named


class _SkeGD(TwoStages, SketchedMap, KernelUser):
    update_every: Any
    stream_length: Any
    init: Any
    carry: Any
    _grows: ClassVar[bool] = True

    def _sizes(self) -> tuple[int, int, int, int]:
        """Budget, sketch size, sample size and rank: by default the paper's parts of the budget."""
        B = int(self.budget)
        size = max(1, 3 * B // 4) if self.sketch_size is None else int(self.sketch_size)
        sample = max(1, size // 5) if self.sample_size is None else int(self.sample_size)
        rank = max(1, min(B // 10, sample)) if self.rank is None else int(self.rank)
        return B, size, sample, rank

    def _period(self) -> int:
        every = self.update_every
        if isinstance(every, numbers.Integral):
            return int(every)
        return max(1, int(every * max(self.stream_length - self.budget, 0)))

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.update_every, numbers.Integral) and self.stream_length is None:
            raise ValueError("update_every below 1 is a part of stream_length: pass the length, or a whole number.")

    def _most(self) -> int:
        return self._most_processed()

    def _first_capacity(self, setting: Setting) -> int:
        return int(self.budget)

    def _capacity(self) -> int:
        return len(self._learner.sketch.born)

    def _make(self, s: Setting, capacity: int) -> Any:
        B, _, sample, _ = self._rooms(capacity)
        map, sketch, f = self._blank(s, sample), self._sketch(s, capacity), self._linear(s, slots(B, s.dtype))
        lengths = self._period(), int(self.budget)
        return SkeGD(map, sketch, s.task, loss_of(self), self._rule(), *lengths, np.zeros(1, np.int64), f)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        B, size, sample, _ = self._rooms(capacity)
        panels, width = panel_shape(capacity, s.dtype)
        return {
            **named(self._map_shapes(s, sample)),
            "sketch.points": (panels, s.d, width),
            "sketch.born": (capacity,),
            "sketch.pp": (size, size),
            "sketch.pm": (size, sample),
            "f.coef": (s.outputs, slots(B, s.dtype)),
        }

    def _constant(self) -> tuple[str, ...]:
        return ("map.", "sketch.") if self.switched_ else ()  # an interlude makes new ones

    def _interlude(self, rows: Any, t: int) -> None:
        learner, s, rank = self._roomy(), self._setting, self._sizes()[3]
        if self.switched_:
            renew(learner, rows, t, rank, self.carry, s.key, self._probe(s))
        else:
            begin(learner, rows, t, rank, self.init, s.key, self._probe(s))
        self._learner = learner

    def _roomy(self) -> Any:
        """A copy of the learner, so that Ctrl-C finds the old or the new one, with room for a further point."""
        learner, capacity, most = twin(self._learner), self._capacity(), self._most()
        if learner.sketch.count[SIZE] < capacity or capacity == most or not self.switched_:
            return learner
        return learner._replace(sketch=self._wide_sketch(learner.sketch, self._setting, min(2 * capacity, most)))

    def _widened(self, learner: Any, d: int) -> Any:
        s = self._setting._replace(d=d)
        sketch = self._wide_sketch(learner.sketch, s, self._capacity())
        return learner._replace(map=self._wide(learner.map, s), sketch=sketch)

    def _work(self, learner: Any) -> int:
        pool, rank = self._landmarks(), learner.map.count[RANK]
        return int(pool.count[SIZE] + 16) * int(pool.points.shape[1] + 16 + rank)

    def _stretch(self, learner: Any) -> int:
        """Up to the round that renews the features: those of later rows would be worked out in vain."""
        left = max(0, learner.period - int(learner.clock[0])) if self.switched_ else UNLIMITED
        return min(self._turn(learner), left + 1)

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=own_scratch(learner.map), f=with_own_scratch(learner.f))

    def _landmarks(self) -> Any:
        self._fitted()
        return self._learner.map if self.switched_ else self._learner.sketch

    @property
    def normalization_(self) -> np.ndarray:
        """From kernel values to features, (rank, n_landmarks); no rows before the switch."""
        self._fitted()
        return np.array(matrix_of(self._learner.map))

    @property
    def n_processed_(self) -> int:
        """Points that the sketches were given: the buffer, and one with every renewal of the features."""
        self._fitted()
        return int(self._learner.sketch.count[PROCESSED])


@estimator
class SkeGDClassifier(OnlineClassifier, _SkeGD):
    """SkeGD: online gradient descent on features from incremental sketches (Zhang & Liao 2019)."""

    budget: int = 100
    sketch_size: int | None = None
    sample_size: int | None = None
    blocks: int = 4
    rank: int | None = None
    update_every: float = 100
    stream_length: int | None = None
    init: str = "least_squares"
    carry: str = "least_squares"
    svd: str = "exact"
    max_processed: int | None = None
    loss: str = "hinge"
    eta: float = 0.2
    schedule: str = "constant"
    reg: float = 0.0
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class SkeGDRegressor(OnlineRegressor, _SkeGD):
    """SkeGD for numbers: online gradient descent on features from incremental sketches (Zhang & Liao 2019)."""

    budget: int = 100
    sketch_size: int | None = None
    sample_size: int | None = None
    blocks: int = 4
    rank: int | None = None
    update_every: float = 100
    stream_length: int | None = None
    init: str = "least_squares"
    carry: str = "least_squares"
    svd: str = "exact"
    max_processed: int | None = None
    loss: str = "squared"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
    _slow: ClassVar[bool] = True
