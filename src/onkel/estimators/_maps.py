"""From parameters to feature maps of the engine, for transformers and learners alike. No mathematics."""

from typing import Any

import numpy as np

from .._panels import padded, slots
from ..expansion import SIZE, UNLIMITED
from ..features import (
    Fourier,
    Given,
    Structured,
    draw,
    fourier_columns,
    fourier_slots,
    frequencies_of,
    map_shapes,
    tile_for,
    wider,
)
from ..nystroem import RANK, landmarks_of, matrix_of, nystroem, nystroem_shapes
from ..sketching import sketch
from ..state import arrays, transplant
from ._base import KernelParameters
from ._online import Setting

Shapes = dict[str, tuple[int, ...]]


class RowsThemselves:
    """What a map would be that changes nothing."""

    kernel = None

    def _map_size(self) -> int:
        return 1

    def _blank(self, s: Setting, size: int) -> Any:
        return Given(s.d)

    def _map_shapes(self, s: Setting, size: int) -> Shapes:
        return {}

    def _map_slots(self, s: Setting, size: int) -> int:
        return padded(s.d)

    def _wide(self, map: Any, s: Setting) -> Any:
        return Given(s.d)


class FourierMap(KernelParameters):
    """Random Fourier features: a map of `n_components` frequencies."""

    n_components: Any
    features: Any

    def _check(self) -> None:
        super()._check()
        if self.features != "plain" and self.kernel == "laplacian":
            raise ValueError('kernel="laplacian" has features="plain" only: its spectrum knows no rotations to use.')

    def _map_size(self) -> int:
        """How many frequencies."""
        return int(self.n_components)

    def _tile(self, s: Setting) -> int:
        return int(tile_for(self.features, s.d, self.grow_features))

    def _blank(self, s: Setting, size: int) -> Any:
        """The map of that many frequencies."""
        return draw(self.features, s.kernel, size, s.d, self._tile(s), s.key, np.dtype(s.dtype))

    def _map_shapes(self, s: Setting, size: int) -> Shapes:
        """Of its arrays, without making any."""
        return dict(map_shapes(self.features, size, s.d, self._tile(s), s.dtype))

    def _map_slots(self, s: Setting, size: int) -> int:
        """Slots that the features of a row take."""
        return int(fourier_slots(size))

    def _wide(self, map: Any, s: Setting) -> Any:
        """The map for the columns of the setting."""
        return wider(map, self.features, s.kernel, s.d, s.key)


class LandmarkMap(KernelParameters):
    """Features made of kernel values of landmarks, at most `budget` of them: `rank` features at most."""

    budget: Any
    rank: Any

    def _check(self) -> None:
        super()._check()
        if self.rank is not None and not self.rank <= self._map_size():
            raise ValueError(f"rank must be at most {self._map_size()}: there are no more landmarks than that.")

    def _map_size(self) -> int:
        """The most landmarks."""
        return int(self.budget)

    def _rank(self, size: int) -> int:
        """The largest rank: by default a fifth of the landmarks, as in the paper."""
        return min(size, max(1, self._map_size() // 5 if self.rank is None else int(self.rank)))

    def _blank(self, s: Setting, size: int) -> Any:
        """The map with room for that many landmarks."""
        return nystroem(s.kernel, size, self._rank(size), s.d, np.dtype(s.dtype))

    def _map_shapes(self, s: Setting, size: int) -> Shapes:
        """Of its large arrays, without making any."""
        points, matrix = nystroem_shapes(size, self._rank(size), s.d, s.dtype)
        return {"points": points, "matrix": matrix, "born": (size,)}

    def _map_slots(self, s: Setting, size: int) -> int:
        """Slots that the features of a row take."""
        return int(slots(self._rank(size), s.dtype))

    def _wide(self, map: Any, s: Setting) -> Any:
        """The map for the columns of the setting; the new ones of all landmarks are 0."""
        return transplant(self._blank(s, len(map.born)), arrays(map))

    def _landmarks(self) -> Any:
        """The map at hand."""
        raise NotImplementedError

    @property
    def components_(self) -> np.ndarray:
        """The landmarks, (n_landmarks, n_features)."""
        return np.array(landmarks_of(self._landmarks()))

    @property
    def component_indices_(self) -> np.ndarray:
        """Positions of the landmarks in the stream, counted from 0; -1 for those that were given."""
        map = self._landmarks()
        return np.array(map.born[: map.count[SIZE]])

    @property
    def normalization_(self) -> np.ndarray:
        """From kernel values to features, (rank, n_landmarks); no rows while there are no features."""
        return np.array(matrix_of(self._landmarks()))


class NystroemMap(LandmarkMap):
    """Nystroem features."""

    @property
    def eigenvalues_(self) -> np.ndarray:
        """The largest eigenvalues of the landmarks' Gram matrix, descending; none while there are no features."""
        return np.array(1 / np.square(self.normalization_, dtype=np.float64).sum(axis=1))


class SketchedMap(LandmarkMap):
    """Features from sketches, whose landmarks are `sample_size` points of the buffer."""

    sketch_size: Any
    sample_size: Any
    blocks: Any
    max_processed: Any
    svd: Any

    def _sizes(self) -> tuple[int, int, int, int]:
        """Budget, sketch size, sample size and rank."""
        raise NotImplementedError

    def _rooms(self, capacity: int) -> tuple[int, int, int, int]:
        """The same, where there is room for the buffer; else none beyond the capacity."""
        B, size, sample, rank = self._sizes() if capacity >= self.budget else (min(n, capacity) for n in self._sizes())
        return B, size, sample, rank

    def _check(self) -> None:
        super()._check()
        B, size, sample, rank = self._sizes()
        for name, value, most, limit in (
            ("sample_size", sample, B, "budget"),
            ("rank", rank, size, "sketch_size"),
            ("blocks", self.blocks, size, "sketch_size"),
        ):
            if value > most:
                raise ValueError(f"{name} must be at most {limit}, {most}; got {value}.")
        if self.max_processed is not None and self.max_processed < B:
            raise ValueError(f"max_processed must be at least budget, {B}: the buffer is processed first.")

    def _map_size(self) -> int:
        return self._sizes()[2]

    def _rank(self, size: int) -> int:
        return min(size, self._sizes()[3])

    def _most_processed(self) -> int:
        return UNLIMITED if self.max_processed is None else int(self.max_processed)

    def _sketch(self, s: Setting, capacity: int) -> Any:
        """Sketches of no points, with room for that many."""
        _, size, sample, _ = self._rooms(capacity)
        most, blocks = self._most_processed(), min(int(self.blocks), size)
        return sketch(s.kernel, capacity, size, sample, s.d, np.dtype(s.dtype), most=most, blocks=blocks)

    def _wide_sketch(self, held: Any, s: Setting, capacity: int) -> Any:
        """The sketches with more columns or more room for points."""
        return transplant(self._sketch(s, capacity), arrays(held))

    def _probe(self, s: Setting) -> int | None:
        """The key of the random search for eigenvectors, or None for none."""
        return s.key if self.svd == "randomized" else None


def columns_of(map: Any) -> np.ndarray:
    """The slots of a map's features, in order."""
    if isinstance(map, Fourier | Structured):
        return np.asarray(fourier_columns(map.n))
    return np.arange(map.n if isinstance(map, Given) else map.count[RANK])


def weights_of_inputs(map: Any, d: int) -> np.ndarray:
    """The frequencies of a map of random Fourier features, (n_features, n_components)."""
    return np.array(frequencies_of(map)[:, :d].T)
