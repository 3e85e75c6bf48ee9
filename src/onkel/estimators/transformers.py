"""Feature maps to be used on their own, as scikit-learn transformers."""

from typing import Any, ClassVar

import numpy as np

from ..features import SPECTRA, draw, fourier_columns, fourier_slots, frequencies_of, tile_for, wider
from ._base import KernelParameters
from ._parameters import estimator
from ._transformer import FeatureTransformer


@estimator
class RandomFourierFeatures(KernelParameters, FeatureTransformer):
    """Random Fourier features (Rahimi & Recht 2007): n_components sines, then as many cosines, of random frequencies.

    <z(x), z(x')> is k(x, x') on average, with an error of the order 1 / sqrt(n_components); <z(x), z(x)> is 1.
    """

    n_components: int = 400
    features: str = "plain"
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": SPECTRA}

    def _begin(self, X: Any) -> None:
        _, key = self._key()
        s = self._set(self._kernel(X, None, key), X, key)
        tile = tile_for(self.features, s.d, self.grow_features)
        self._map = draw(self.features, s.kernel, int(self.n_components), s.d, tile, s.key, np.dtype(s.dtype))

    def _widened(self, map: Any, d: int) -> Any:
        return wider(map, self.features, self._setting.kernel, d, self._setting.key)

    def _columns(self) -> np.ndarray:
        return np.asarray(fourier_columns(self._fitted().n))

    def _stride(self) -> int:
        return int(fourier_slots(self._fitted().n))

    @property
    def random_weights_(self) -> np.ndarray:
        """The random frequencies, (n_features, n_components)."""
        return np.array(frequencies_of(self._fitted())[:, : self._setting.d].T)
