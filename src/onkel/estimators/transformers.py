"""Feature maps to be used on their own, as scikit-learn transformers."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from ..expansion import SIZE
from ..features import SPECTRA
from ..leverage import leverage, take_by_leverage
from ..nystroem import READY, find_matrix, set_matrix, take_first, take_uniformly
from ..rng import generator
from ..rows import Dense
from ..sketching import PROCESSED, features_of, found, process_some, seed_of
from ..state import own_scratch, twin
from ._maps import FourierMap, NystroemMap, SketchedMap, columns_of, weights_of_inputs
from ._online import _rows
from ._parameters import estimator
from ._transformer import FeatureTransformer, IncrementalTransformer

__all__ = ["IncrementalSketch", "OnlineNystroem", "RandomFourierFeatures"]


@estimator
class RandomFourierFeatures(FourierMap, FeatureTransformer):
    """Random Fourier features (Rahimi & Recht 2007): n_components sines, then as many cosines, of random frequencies.

    <z(x), z(x')> is k(x, x') on average, with an error of the order 1 / sqrt(n_components); <z(x), z(x)> is 1.
    """

    n_components: int = 400
    features: str = "plain"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": SPECTRA}

    def _begin(self, X: Any) -> None:
        _, key = self._key()
        s = self._set(self._kernel(X, None, key), X, key)
        self._map = self._blank(s, self._map_size())

    def _widened(self, map: Any, d: int) -> Any:
        return self._wide(map, self._setting._replace(d=d))

    def _columns(self) -> np.ndarray:
        return columns_of(self._fitted())

    def _stride(self) -> int:
        return self._map_slots(self._setting, self._fitted().n)

    @property
    def random_weights_(self) -> np.ndarray:
        """The random frequencies, (n_features, n_components)."""
        return weights_of_inputs(self._fitted(), self._setting.d)


@estimator
class OnlineNystroem(NystroemMap, IncrementalTransformer):
    """Nystroem features (Williams & Seeger 2000) whose landmarks come from a stream.

    <z(x), z(x')> is the best approximation of k(x, x') on the landmarks of its rank. There are `rank` features, the
    last ones 0 where the landmarks have fewer eigenvalues. The features change when a landmark does.
    """

    budget: int = 100
    rank: int | None = None
    landmarks: Any = "first"
    ridge: float = 1.0

    def _map_size(self) -> int:
        return int(self.budget) if isinstance(self.landmarks, str) else len(self.landmarks)

    def _begin(self, X: Any) -> None:
        _, key = self._key()
        s = self._set(self._kernel(X, None, key), X, key)
        self._map, self._rng, self._seen = self._blank(s, self._map_size()), generator(key), 0
        if not isinstance(self.landmarks, str):
            given = self._sound(check_array(self.landmarks, dtype=s.dtype, order="C"))
            if given.shape[1] != s.d:
                raise ValueError(f"landmarks has {given.shape[1]} columns, but X has {s.d}.")
            take_first(self._map, _rows(given), len(given), 0)
            self._map.born[:] = -1
        elif self.landmarks == "leverage":
            self._leverage = leverage(self._map_size(), self.ridge, key)

    def _absorb(self, X: Any) -> None:
        n = X.shape[0]
        if not isinstance(self.landmarks, str):
            return
        if self.landmarks == "leverage":
            take_by_leverage(self._map, self._leverage, _rows(X), n, self._seen)
        elif self.landmarks == "uniform":
            take_uniformly(self._map, _rows(X), n, self._seen, self._rng)
        else:
            take_first(self._map, _rows(X), n, self._seen)
        self._seen += n

    def _ready(self) -> Any:
        """The map with its matrix, which is found when it is needed for the first time."""
        map = self._fitted()
        if not map.count[READY]:
            map = map._replace(matrix=map.matrix.copy(), count=map.count.copy())
            find_matrix(own_scratch(map), self._rank(self._map_size()))
            self._map = map
        return self._map

    def _widened(self, map: Any, d: int) -> Any:
        return self._wide(map, self._setting._replace(d=d))

    def _columns(self) -> np.ndarray:
        return np.arange(self._rank(len(self._fitted().born)))

    def _stride(self) -> int:
        return self._map_slots(self._setting, len(self._fitted().born))

    def _landmarks(self) -> Any:
        self._fitted()
        return self._ready()

    @property
    def n_seen_(self) -> int:
        """Rows seen."""
        self._fitted()
        return int(self._seen)


@estimator
class IncrementalSketch(SketchedMap, IncrementalTransformer):
    """Features from incremental randomized sketches of the kernel matrix of a stream (Zhang & Liao 2019).

    The first `budget` rows fill a buffer, of which `sample_size` points are the landmarks; the rows that follow only
    change sketches of fixed size. <z(x), z(x')> approximates k(x, x'). There are `rank` features, the last ones 0 where
    the sketches have fewer eigenvalues. By default sketch_size is 3/4 of the budget, sample_size half and rank a fifth
    of it, as in the paper.
    """

    budget: int = 100
    sketch_size: int | None = None
    sample_size: int | None = None
    blocks: int = 4
    rank: int | None = None
    update_every: int = 1
    svd: str = "exact"
    max_processed: int | None = None

    def _sizes(self) -> tuple[int, int, int, int]:
        B = int(self.budget)
        size = max(1, 3 * B // 4) if self.sketch_size is None else int(self.sketch_size)
        sample = max(1, B // 2) if self.sample_size is None else int(self.sample_size)
        rank = max(1, min(B // 5, sample)) if self.rank is None else int(self.rank)
        return B, size, sample, rank

    def _check(self) -> None:
        super()._check()
        if self.update_every < 1:
            raise ValueError("update_every must be a whole number here: every how many rows one is processed.")

    def _begin(self, X: Any) -> None:
        _, key = self._key()
        s = self._set(self._kernel(X, None, key), X, key)
        self._map, self._sketches = self._blank(s, self._map_size()), self._sketch(s, int(self.budget))
        self._seen, self._made = 0, None

    def _absorb(self, X: Any) -> None:
        rows, n, B = _rows(X), X.shape[0], int(self.budget)
        self._made = None
        if self._sketches.points.shape[1] < self._setting.d:
            self._sketches = self._wide_sketch(self._sketches, self._setting, len(self._sketches.born))
        take_first(self._sketches, rows, n if self._seen < B else 0, self._seen)
        if self._seen < B <= self._seen + n:
            found(self._sketches, self._map, rows, self._setting.key)
        first = max(B + self.update_every - 1, self._seen)  # of the stream, that may be processed
        first += -(first - B + 1) % self.update_every
        todo = range(first - self._seen, n, self.update_every)
        self._grow(len(todo))
        process_some(self._sketches, self._map, rows, todo.start, n, todo.step, self._seen, seed_of(self._setting.key))
        self._seen += n

    def _grow(self, more: int) -> None:
        """Room for that many further points."""
        sketches, most = self._sketches, self._most_processed()
        needed = min(int(sketches.count[SIZE]) + more, most)
        if needed > len(sketches.born):
            capacity = min(max(needed, 2 * len(sketches.born)), most)
            self._sketches = self._wide_sketch(sketches, self._setting, capacity)

    def _ready(self) -> Any:
        """The map with its matrix, which is found when it is needed for the first time."""
        map, sketches = self._fitted(), self._sketches
        if self._made is None:
            map, key = twin(map), self._setting.key
            if not map.count[SIZE]:  # the buffer is not full yet: the features that it gives so far
                sketches = twin(sketches)
                found(sketches, map, Dense(np.zeros((1, self._setting.d), self._setting.dtype)), key)
            rank, dtype = self._rank(self._map_size()), np.dtype(self._setting.dtype)
            set_matrix(map, features_of(sketches, rank, dtype, self._probe(self._setting)).T)
            self._made = map
        return self._made

    def _widened(self, map: Any, d: int) -> Any:
        return self._wide(map, self._setting._replace(d=d))

    def _columns(self) -> np.ndarray:
        self._fitted()
        return np.arange(self._rank(self._map_size()))

    def _stride(self) -> int:
        return self._map_slots(self._setting, self._map_size())

    def _landmarks(self) -> Any:
        self._fitted()
        return self._ready()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_sketches" in self.__dict__:
            self._sketches = twin(self._sketches)

    def approximate_kernel(self, X: Any, Y: Any = None) -> np.ndarray:
        """The kernel matrix of the rows of X and Y (default: X) as the features give it, (n_rows_X, n_rows_Y)."""
        Z = self.transform(X)
        return np.asarray(Z @ (Z if Y is None else self.transform(Y)).T)

    @property
    def n_seen_(self) -> int:
        """Rows seen."""
        self._fitted()
        return int(self._seen)

    @property
    def n_processed_(self) -> int:
        """Rows that the sketches are of, those that left again included."""
        self._fitted()
        return max(int(self._sketches.count[PROCESSED]), int(self._sketches.count[SIZE]))
