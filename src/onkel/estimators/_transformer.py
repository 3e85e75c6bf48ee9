"""What feature maps share as scikit-learn transformers: rows in, features out. No mathematics."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from .._simd import aligned
from ..features import transform_rows
from ..state import own_scratch, twin
from ._online import RowReader, Setting, _rows
from ._parameters import estimator, validate

CHUNK = 256  # rows whose features are computed at once


@estimator
class FeatureTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowReader):
    """`fit` and `transform` around a feature map of the engine, `_map`: a NamedTuple with a body for `transform`.

    The first batch decides between float64 and float32, as in the learners. Rows are transformed one by one: how they
    are cut into batches does not change a bit.
    """

    # What a transformer's own class says.

    def _begin(self, X: Any) -> None:
        """Everything that the first batch decides: `_setting` (by `_set`) and `_map`."""
        raise NotImplementedError

    def _absorb(self, X: Any) -> None:
        """Learn from rows, if the map does."""

    def _ready(self) -> Any:
        """The map, fit for use."""
        return self._map

    def _widened(self, map: Any, d: int) -> Any:
        """A copy with room for d columns."""
        raise NotImplementedError

    def _columns(self) -> np.ndarray:
        """Which of the map's slots are features, in the order of the output."""
        raise NotImplementedError

    def _stride(self) -> int:
        """How many slots a row's features take."""
        raise NotImplementedError

    # One batch.

    def _validate_parameters(self) -> None:
        validate(self, self._choices)
        self._check()

    def _set(self, kernel: Any, X: Any, key: int) -> Setting:
        """The setting of a first batch, kept."""
        self._setting: Any = Setting(kernel, None, X.shape[1], 0, X.dtype.name, key)
        return self._setting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew with the rows of X; `y` is ignored."""
        with self._all_or_nothing():
            self._learn_rows(X, True)
            self._ready()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of every row, (n_rows, n_features_out)."""
        self._fitted()
        X = self._to_read(X)
        map, columns, stride = self._ready(), self._columns(), self._stride()
        map = own_scratch(map) if X.shape[1] == self._setting.d else self._widened(map, X.shape[1])
        rows, n = _rows(X), X.shape[0]
        out, z = np.empty((n, len(columns)), self._setting.dtype), aligned(CHUNK * stride, self._setting.dtype)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            transform_rows(map, rows, start, stop, z, stride)
            out[start:stop] = z.reshape(CHUNK, stride)[: stop - start, columns]
        return out

    def _fit_sound(self, X: Any) -> Self:
        """`fit` with rows that have come through the door already."""
        self._validate_parameters()
        self.n_features_in_ = X.shape[1]
        self._begin(X)
        self._absorb(X)
        self._ready()
        return self

    def _learn_rows(self, X: Any, first: bool) -> None:
        self._validate_parameters()
        if not first:
            X, self.n_features_in_ = self._fit_width(X)
        dtype = [np.float64, np.float32] if first else self._setting.dtype
        X = validate_data(self, X, reset=first, accept_sparse="csr", dtype=dtype, order="C", accept_large_sparse=True)
        X = self._sound(X)
        if first:
            self._begin(X)
        elif X.shape[1] > self._setting.d:
            self._map = self._widened(self._fitted(), X.shape[1])
            self._setting = self._setting._replace(d=X.shape[1])
        self._absorb(X)

    # What a reader may look at.

    @property
    def _n_features_out(self) -> int:
        return len(self._columns())

    def _fitted(self) -> Any:
        """The map."""
        if not hasattr(self, "_map"):
            raise NotFittedError(f"This {type(self).__name__} has not seen any rows yet: call fit.")
        return self._map

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_map")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_map" in self.__dict__:
            self._map = twin(self._map)


@estimator
class IncrementalTransformer(FeatureTransformer):
    """A transformer that learns from a stream of rows."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from further rows; `y` is ignored."""
        with self._all_or_nothing():
            self._learn_rows(X, not hasattr(self, "_map"))
        return self
