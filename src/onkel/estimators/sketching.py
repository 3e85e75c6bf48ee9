"""Learners on sketched features."""

import numbers
from typing import Any, ClassVar

import numpy as np

from .._panels import panel_shape, slots
from ..expansion import SIZE
from ..learners.skegd import SkeGD
from ..linear import with_own_scratch
from ..nystroem import RANK, matrix_of, nystroem, nystroem_shapes
from ..sketching import PROCESSED, begin, renew, sketch
from ..state import arrays, own_scratch, transplant, twin
from ._base import UNLIMITED, KernelUser, Setting, loss_of
from ._maps import Landmarks
from ._online import OnlineClassifier, OnlineRegressor
from ._parameters import estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES
from .features import TwoStages


class _SkeGD(TwoStages, Landmarks, KernelUser):
    budget: Any
    sketch_size: Any
    sample_size: Any
    blocks: Any
    rank: Any
    update_every: Any
    stream_length: Any
    init: Any
    carry: Any
    svd: Any
    max_processed: Any

    def _sizes(self) -> tuple[int, int, int, int]:
        """Budget, sketch size, sample size and rank: by default the paper's parts of the budget."""
        B = int(self.budget)
        size = max(1, 3 * B // 4) if self.sketch_size is None else int(self.sketch_size)
        sample = max(1, size // 5) if self.sample_size is None else int(self.sample_size)
        rank = max(1, min(B // 10, sample)) if self.rank is None else int(self.rank)
        return B, size, sample, rank

    def _rooms(self, capacity: int) -> tuple[int, int, int, int]:
        """The same, none beyond the capacity."""
        B, size, sample, rank = (min(n, capacity) for n in self._sizes())
        return B, size, sample, rank

    def _period(self) -> int:
        every = self.update_every
        if isinstance(every, numbers.Integral):
            return int(every)
        return max(1, int(every * max(self.stream_length - self.budget, 0)))

    def _check(self) -> None:
        super()._check()
        B, size, sample, rank = self._sizes()
        for name, value, most, limit in (
            ("sketch_size", size, B, "budget"),
            ("sample_size", sample, B, "budget"),
            ("rank", rank, min(size, sample), "the smaller of sketch_size and sample_size"),
            ("blocks", self.blocks, size, "sketch_size"),
        ):
            if value > most:
                raise ValueError(f"{name} must be at most {limit}, {most}; got {value}.")
        if self.max_processed is not None and self.max_processed < B:
            raise ValueError(f"max_processed must be at least budget, {B}: the buffer is processed first.")
        if not isinstance(self.update_every, numbers.Integral) and self.stream_length is None:
            raise ValueError("update_every below 1 is a part of stream_length: pass the length, or a whole number.")

    def _most(self) -> int:
        return UNLIMITED if self.max_processed is None else int(self.max_processed)

    def _first_capacity(self, setting: Setting) -> int:
        return int(self.budget)

    def _capacity(self) -> int:
        return len(self._learner.sketch.born)

    def _make(self, s: Setting, capacity: int) -> Any:
        dtype = np.dtype(s.dtype)
        B, size, sample, rank = self._rooms(capacity)
        blocks = min(int(self.blocks), size)
        return SkeGD(
            nystroem(s.kernel, sample, rank, s.d, dtype),
            sketch(s.kernel, capacity, size, sample, s.d, dtype, most=self._most(), blocks=blocks),
            s.task,
            loss_of(self),
            self._rule(),
            self._period(),
            np.zeros(1, np.int64),
            self._linear(s, slots(B, dtype)),
        )

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        B, size, sample, rank = self._rooms(capacity)
        panels, width = panel_shape(capacity, s.dtype)
        points, matrix = nystroem_shapes(sample, rank, s.d, s.dtype)
        return {
            "sketch.points": (panels, s.d, width),
            "sketch.born": (capacity,),
            "sketch.pp": (size, size),
            "sketch.pm": (size, sample),
            "map.points": points,
            "map.matrix": matrix,
            "map.born": (sample,),
            "f.coef": (s.outputs, slots(B, s.dtype)),
        }

    def _constant(self) -> tuple[str, ...]:
        return ("map.", "sketch.") if self.switched_ else ()  # an interlude makes new ones

    def _interlude(self, rows: Any, t: int) -> None:
        learner, key, random = self._roomy(), self._setting.key, self.svd == "randomized"
        rank = self._sizes()[3]
        if self.switched_:
            renew(learner, rows, t, rank, self.carry, key, random)
        else:
            begin(learner, rows, t, rank, self.init, key, random)
        self._learner = learner

    def _roomy(self) -> Any:
        """A copy of the learner, so that Ctrl-C finds the old or the new one, with room for a further point."""
        capacity = self._capacity()
        if self._learner.sketch.count[SIZE] < capacity or not self.switched_ or capacity == self._most():
            return twin(self._learner)
        return transplant(self._make(self._setting, min(2 * capacity, self._most())), arrays(self._learner))

    def _widened(self, learner: Any, d: int) -> Any:
        wide = self._make(self._setting._replace(d=d), self._capacity())
        return learner._replace(
            map=transplant(wide.map, arrays(learner.map)), sketch=transplant(wide.sketch, arrays(learner.sketch))
        )

    def _work(self, learner: Any) -> int:
        pool, rank = self._landmarks(), learner.map.count[RANK]
        return int(pool.count[SIZE] + 16) * int(pool.points.shape[1] + 16 + rank)

    def _reader(self, d: int) -> Any:
        learner = self._learner if d == self._setting.d else self._widened(self._learner, d)
        return learner._replace(map=own_scratch(learner.map), f=with_own_scratch(learner.f))

    def _landmarks(self) -> Any:
        return self._learner.map if self.switched_ else self._learner.sketch

    @property
    def normalization_(self) -> np.ndarray:
        """From kernel values to features, (rank, n_landmarks); no rows before the switch."""
        return np.array(matrix_of(self._learner.map))[:, : self._landmarks().count[SIZE]]

    @property
    def n_processed_(self) -> int:
        """Points that the sketches have been given: the buffer, and one with every renewal of the features."""
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
    init: str = "paper"
    carry: str = "paper"
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
    init: str = "paper"
    carry: str = "paper"
    svd: str = "exact"
    max_processed: int | None = None
    loss: str = "squared"
    eta: float = 0.1
    schedule: str = "constant"
    reg: float = 0.0
    epsilon: float = 0.1
    average: bool = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
