"""What all readers share: batches, positions, errors that say where."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

BATCH_ROWS = 4096
MOST_LABELS = 50  # numbers of more values than that are no labels
MOST_FEATURES = 2**24  # columns, unless the caller allows more: a wrong index should not cost gigabytes
COUNTS = ("rows", "skipped", "row", "line", "byte", "width")  # in positions
LABELS = ("number", "integer", "text", "ignored")
Position = dict[str, Any]  # of numbers and words; fit for JSON


class Batch(NamedTuple):
    """Some rows of a stream, and where the row after them is found."""

    X: Any
    y: npt.NDArray[Any]
    position: Position


class StreamError(ValueError):
    """The source has something that is no row. `line` (from 1) and `offset` (unpacked bytes) are None in tables."""

    def __init__(self, source: str, problem: str, *, line: int | None = None, offset: int | None = None) -> None:
        place = "" if line is None else f", line {line}"
        place += "" if offset is None else f", byte {offset}"
        super().__init__(f"{source}{place}: {problem}")
        self.source, self.problem, self.line, self.offset = source, problem, line, offset


class Stream(Iterator[Batch]):
    """Batches of (X, y, position), read when they are asked for. Close it, or use it in a `with` statement.

    What is wrong ends the stream with an error, after a batch of the sound rows before it; with errors="skip" faulty
    rows are passed over, `skipped` counts them and `first_skipped` describes the first. `rows` counts those given out.
    `batch_rows` may be changed between two batches.
    """

    kind = ""  # in positions

    def __init__(self, source: str, *, batch_rows: int = BATCH_ROWS, errors: str = "strict") -> None:
        if errors not in ("strict", "skip"):
            raise ValueError(f'errors must be "strict" or "skip"; got {errors!r}.')
        if batch_rows < 1:
            raise ValueError(f"batch_rows must be a whole number of at least 1; got {batch_rows!r}.")
        self.source, self.batch_rows, self.skip = source, batch_rows, errors == "skip"
        self.rows = self.skipped = 0
        self.first_skipped: StreamError | None = None
        self._pending: Exception | None = None  # raised after the rows before it
        self._over = False

    def __next__(self) -> Batch:
        if self._pending is None and not self._over:
            self._over = True  # unless reading goes well
            batch = self._read()
            if batch is not None:
                self._over, self.rows = False, batch.position["rows"]
                return batch
        self._over = True
        self.close()
        if self._pending is not None:
            error, self._pending = self._pending, None
            raise error
        raise StopIteration

    def _read(self) -> Batch | None:
        """The next batch, or none at the end or before an error that is pending."""
        raise NotImplementedError

    @property
    def done(self) -> float | None:
        """The share of the source that was read, if its size is known."""
        return None

    def close(self) -> None:
        """Let go of the source."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resume(self, start: Position | None) -> Position:
        """`start`, or an empty one for the beginning, whose counters go on."""
        if not start:
            return {}
        if start.get("format") != self.kind:
            raise ValueError(f"The position is of a stream of format {start.get('format')!r}, not {self.kind!r}.")
        wrong = [name for name in COUNTS if not _is_count(start.get(name, 0))]
        if wrong or "rows" not in start:
            name = wrong[0] if wrong else "rows"
            raise ValueError(f"The position is none of a stream's: {name} is {start.get(name)!r}.")
        self.rows, self.skipped = start["rows"], start.get("skipped", 0)
        return start

    def _fault(self, error: StreamError) -> None:
        """A faulty row was met: count it, or let it end the stream."""
        if self.skip:
            self.skipped += 1
            self._remember([error])
        else:
            self._pending = error

    def _remember(self, errors: list[StreamError]) -> None:
        """The first of all that were passed over."""
        known = errors if self.first_skipped is None else [self.first_skipped, *errors]
        self.first_skipped = min(known, key=lambda error: error.line or 0, default=None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def check_labels(labels: str | None) -> None:
    if labels is not None and labels not in LABELS:
        raise ValueError(f"labels must be one of {', '.join(map(repr, LABELS))} or None; got {labels!r}.")


def labels_of(words: list[str]) -> npt.NDArray[Any]:
    """Words as an array, of objects: the width of a fixed-width array would change from batch to batch."""
    return np.array(words, dtype=object)
