"""Streams of what is in memory already, or comes from a Python iterator."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .streams import Batch, Position, Stream


class Arrays(Stream):
    """(X, y) in pieces; X is an array, a sparse matrix or a data frame, and its pieces are of the same kind."""

    kind = "arrays"

    def __init__(self, X: Any, y: Any, *, start: Position | None = None, **options: Any) -> None:
        super().__init__("arrays", **options)
        self._X, self._y = sp.csr_matrix(X) if sp.issparse(X) else _with_shape(X), _with_shape(y)
        if self._X.shape[0] != len(self._y):
            raise ValueError(f"X has {self._X.shape[0]} rows, y {len(self._y)}.")
        self._resume(start)

    def _read(self) -> Batch | None:
        begin, end = self.rows, min(self.rows + self.batch_rows, len(self._y))
        if begin >= end:
            return None
        X, y = piece(self._X, begin, end), np.asarray(piece(self._y, begin, end))
        return Batch(X, y, {"format": self.kind, "rows": end})

    @property
    def done(self) -> float | None:
        return self.rows / max(len(self._y), 1)


class Batches(Stream):
    """Pairs (X, y) from an iterator, cut where they are longer than a batch."""

    kind = "batches"

    def __init__(self, batches: Iterable[Any], *, start: Position | None = None, **options: Any) -> None:
        super().__init__("batches", **options)
        self._batches: Iterator[Any] = iter(batches)
        self._X: Any = None
        self._y, self._at = np.empty(0), 0
        self._to_skip = self._resume(start).get("rows", 0)

    def _read(self) -> Batch | None:
        while self._at >= len(self._y):
            pair = next(self._batches, None)
            if pair is None:
                return None
            X, y = pair[0], np.asarray(pair[1])
            self._X, self._y, self._at = sp.csr_matrix(X) if sp.issparse(X) else _with_shape(X), y, 0
            if self._X.shape[0] != len(y):
                raise ValueError(f"A batch after row {self.rows} has {self._X.shape[0]} rows of X, but {len(y)} of y.")
            self._at = min(self._to_skip, len(y))
            self._to_skip -= self._at
        begin, self._at = self._at, min(self._at + self.batch_rows, len(self._y))
        X, y = piece(self._X, begin, self._at), self._y[begin : self._at]
        return Batch(X, y, {"format": self.kind, "rows": self.rows + len(y)})


def piece(rows: Any, begin: int, end: int) -> Any:
    return rows.iloc[begin:end] if hasattr(rows, "iloc") else rows[begin:end]


def _with_shape(rows: Any) -> Any:
    return rows if hasattr(rows, "shape") else np.asarray(rows)
