"""Feature maps to be used on their own, as scikit-learn transformers."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from ..features import SPECTRA
from ..leverage import leverage, take_by_leverage
from ..nystroem import READY, find_matrix, take_first, take_uniformly
from ..rng import generator
from ..state import own_scratch
from ._maps import FourierMap, NystroemMap, columns_of, weights_of_inputs
from ._online import _rows
from ._parameters import estimator
from ._transformer import FeatureTransformer, IncrementalTransformer

__all__ = ["OnlineNystroem", "RandomFourierFeatures"]


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
