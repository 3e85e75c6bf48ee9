"""Rows from named columns: CSV, Parquet, Arrow, data frames. One column is the target, the others are features."""

import contextlib
import csv
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .sources import Bytes
from .streams import Batch, Position, Stream, StreamError, check_labels, labels_of
from .svmlight import MOST_LINE

Categorical = Mapping[str | int, int | Sequence[str]]
Column = str | int
Cells = Sequence[Any] | npt.NDArray[Any]
NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
BLOCK = 2**18  # bytes read at once


class Encoding(NamedTuple):
    """How one column becomes features."""

    column: int
    name: str
    width: int  # columns of X
    codes: dict[str, int] | None  # one-hot: the place of every category
    hashed: bool

    @property
    def how(self) -> int | list[str] | None:
        """As it was asked for: hashed to so many columns, a column for each of these words, or a number."""
        return self.width if self.hashed else None if self.codes is None else list(self.codes)


class Roles:
    """Which column is the target, and what becomes of the others.

    `categorical`: for each such column either the list of its categories, which get a column each, or a number of
    columns that its words are hashed to. `leave_out`: columns that are not used. `missing` stands in for empty cells.
    `features`: those that are used, in their order; a table whose columns have no names takes these.
    """

    def __init__(
        self,
        names: Sequence[str],
        target: Column | bool | None = None,
        categorical: Categorical | None = None,
        leave_out: Sequence[Column] = (),
        missing: float | None = None,
        features: Sequence[Column] | None = None,
    ) -> None:
        self.names, self.missing = list(names), missing
        self.named = self.names != [str(i) for i in range(len(names))]
        self.target, chosen = self._chosen(target, leave_out, features)
        words = {self._find(name): how for name, how in (categorical or {}).items()}
        self.plan = [self._encoding(i, words.get(i)) for i in chosen]
        if not self.plan:
            raise ValueError("No column is left to be a feature.")
        self.sparse = any(plan.codes or plan.hashed for plan in self.plan)

    def _chosen(
        self, target: Column | bool | None, leave_out: Sequence[Column], features: Sequence[Column] | None
    ) -> tuple[int | None, list[int]]:
        """The target, and the columns that are features."""
        if features is not None and not self.named and isinstance(target, str) and target not in self.names:
            target = None
        goal = None if target is None or isinstance(target, bool) else self._find(target)
        unused = {self._find(name) for name in leave_out} | {goal}
        rest = [i for i in range(len(self.names)) if i not in unused]
        if features is None:
            if target is None or target is True:
                goal = len(self.names) - 1
            return goal, [i for i in rest if i != goal]
        if self.named or all(isinstance(name, int) or name in self.names for name in features):
            chosen = [self._find(name) for name in features]
        else:
            chosen = self._christened(rest, list(map(str, features)))
        if twice := [self.names[i] for i in chosen if i in unused]:
            raise ValueError(f"Column {twice[0]!r} is named as a feature, and as the target or to be left out.")
        if target is None or target is True:
            goal = max((i for i in rest if i not in chosen), default=None)
        return goal, chosen

    def _christened(self, rest: list[int], features: list[str]) -> list[int]:
        """The columns that are features of a table without names, which get theirs; one more is the target."""
        if not len(features) <= len(rest) <= len(features) + 1:
            few = ", ".join(features[:20]) + (", ..." if len(features) > 20 else "")
            raise ValueError(f"The columns have no names, and {len(rest)} of them cannot be the features {few}.")
        for i, name in zip(rest, features):
            self.names[i] = name
        return rest[: len(features)]

    def _find(self, name: Column) -> int:
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        if isinstance(name, int) and -len(self.names) <= name < len(self.names):
            return name % len(self.names)
        few = ", ".join(self.names[:20]) + (", ..." if len(self.names) > 20 else "")
        raise ValueError(f"There is no column {name!r}; there are: {few}.")

    def _encoding(self, column: int, how: int | Sequence[str] | None) -> Encoding:
        name = self.names[column]
        if how is None:
            return Encoding(column, name, 1, None, False)
        if isinstance(how, int):
            if how < 1:
                raise ValueError(f"Column {name!r} cannot be hashed to {how} columns: at least 1.")
            return Encoding(column, name, how, None, True)
        codes = {str(word): i for i, word in enumerate(how)}
        if not codes or len(codes) < len(how):
            raise ValueError(f"The categories of column {name!r} must be different words, at least one.")
        return Encoding(column, name, len(codes), codes, False)

    def features(self, columns: Sequence[Cells]) -> tuple[Any, dict[int, str]]:
        """X, and what is wrong with rows."""
        flaws: dict[int, str] = {}
        blocks = [self._block(plan, columns[plan.column], flaws) for plan in self.plan]
        if not self.sparse:
            return np.column_stack(blocks), flaws
        return sp.hstack([sp.csr_matrix(block) for block in blocks], "csr"), flaws

    def _block(self, plan: Encoding, cells: Cells, flaws: dict[int, str]) -> Any:
        if plan.codes is None and not plan.hashed:
            return numbers(cells, f"column {plan.name!r}", self.missing, flaws)[:, None]
        n, places = len(cells), []
        for row, cell in enumerate(cells):
            word = "" if cell is None or cell != cell else str(cell)  # NaN differs from itself
            if plan.codes is None:
                if self.missing is None and not word.strip():
                    flaws.setdefault(row, f"column {plan.name!r} is empty; missing=0 would take that as a word")
                places.append(zlib.crc32(f"{plan.name}={word}".encode()) % plan.width)
            else:
                places.append(plan.codes.get(word, 0))
                if word not in plan.codes:
                    flaws.setdefault(row, f"column {plan.name!r} has {word!r}, which is none of its categories")
        return sp.csr_matrix((np.ones(n), places, np.arange(n + 1)), (n, plan.width))


def numbers(cells: Cells, where: str, missing: float | None, flaws: dict[int, str]) -> npt.NDArray[np.float64]:
    """Finite numbers; cells that are none are 0 and have their row among the flaws."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
        values = cells.astype(np.float64)
        if np.isfinite(values).all():
            return values
        cells = values.tolist()
    else:
        try:
            values = np.array([float(cell) for cell in cells])
        except (ValueError, TypeError):
            values = np.array([np.nan])
        if np.isfinite(values).all() and not any(isinstance(cell, str) and _odd(cell) for cell in cells):
            return values
    values = np.zeros(len(cells))
    for row, cell in enumerate(cells):
        value = _number(cell, missing)
        if value is None:
            empty = cell is None or (isinstance(cell, str) and not cell.strip())
            what = "is empty; missing=0 would take it as 0" if empty else f"has {cell!r}, which is no finite number"
            flaws.setdefault(row, f"{where} {what}")
        else:
            values[row] = value
    return values


def _odd(cell: str) -> bool:
    """Whether Python may take a text for a number that is none to others."""
    return "_" in cell or not cell.isascii()


def _number(cell: Any, missing: float | None) -> float | None:
    if cell is None or (isinstance(cell, str) and not cell.strip()) or (isinstance(cell, float) and math.isnan(cell)):
        return missing
    if isinstance(cell, str) and not NUMBER.fullmatch(cell):
        return None
    try:
        value = float(cell)
    except (ValueError, TypeError):
        return None
    return value if math.isfinite(value) else None


class Rows(Stream):
    """What streams of tables share: cells to rows, labels, faults."""

    roles: Roles

    def __init__(self, source: str, *, labels: str | None, **options: Any) -> None:
        check_labels(labels)
        super().__init__(source, **options)
        self.labels = labels

    def _encode(self, columns: Sequence[Cells], n: int, places: Sequence[tuple[int | None, int | None]]) -> Any:
        """X, y of the sound rows, and how many rows were gone through: up to the first fault, if faults end it."""
        X, flaws = self.roles.features(columns)
        y = self._targets(columns, n, flaws)
        for row in sorted(flaws):
            line, offset = places[row]
            problem = flaws[row] if line is not None else f"row {self.rows + row}: {flaws[row]}"
            self._fault(StreamError(self.source, problem, line=line, offset=offset))
            if not self.skip:
                return X[:row], y[:row], row
        if flaws:
            sound = np.setdiff1d(np.arange(n), list(flaws))
            X, y = X[sound], y[sound]
        return X, y, n

    def _targets(self, columns: Sequence[Cells], n: int, flaws: dict[int, str]) -> npt.NDArray[Any]:
        if self.roles.target is None or self.labels == "ignored":
            return np.full(n, np.nan)
        cells = columns[self.roles.target]
        where = f"the target, column {self.roles.names[self.roles.target]!r},"
        if self.labels is None:
            first = cells[0]
            self.labels = "text" if isinstance(first, str) and not NUMBER.fullmatch(first) else "number"
        if self.labels == "text":
            for row, cell in enumerate(cells):
                if cell is None or cell == "":
                    flaws.setdefault(row, f"{where} is empty")
            return labels_of(["" if cell is None else str(cell) for cell in cells])
        y = numbers(cells, where, None, flaws)
        if self.labels == "integer":
            for row in np.flatnonzero(y != np.rint(y)).tolist():
                flaws.setdefault(row, f"{where} has {cells[row]!r}, which is no whole number")
            return y.astype(np.int64)
        return y


class Table(Rows):
    """A table in columns: `chunks(row)` gives, from that row on, pieces of it, each a list of columns."""

    kind = "table"

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        size: int,
        chunks: Callable[[int, int], Iterator[Sequence[Cells]]],
        *,
        start: Position | None = None,
        target: Column | bool | None = None,
        categorical: Categorical | None = None,
        leave_out: Sequence[Column] = (),
        missing: float | None = None,
        features: Sequence[Column] | None = None,
        labels: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(source, labels=labels, **options)
        self.roles = Roles(names, target, categorical, leave_out, missing, features)
        start = self._resume(start)
        self.labels = labels or start.get("labels")
        self._row, self._size = int(start.get("row", 0)), size
        self._chunks, self._at = chunks(self._row, self.batch_rows), 0
        self._chunk: Sequence[Cells] | None = None

    def _read(self) -> Batch | None:
        while True:
            if self._chunk is None or self._at >= len(self._chunk[0]):
                self._chunk, self._at = next(self._chunks, None), 0
                if self._chunk is None:
                    return None
            columns = [column[self._at : self._at + self.batch_rows] for column in self._chunk]
            X, y, n = self._encode(columns, len(columns[0]), [(None, None)] * len(columns[0]))
            self._at, self._row = self._at + n, self._row + n
            if len(y):
                return Batch(X, y, self._position(self.rows + len(y)))
            if self._pending:
                return None

    def _position(self, rows: int) -> Position:
        return {
            "format": self.kind, "rows": rows, "row": self._row, "skipped": self.skipped, "labels": self.labels
        }  # fmt: skip

    @property
    def done(self) -> float | None:
        return self._row / max(self._size, 1)


class Csv(Rows):
    """Lines of cells. `header`: whether the first line has the columns' names; None: if no cell of it is a number."""

    kind = "csv"

    def __init__(
        self,
        source: Any,
        *,
        start: Position | None = None,
        header: bool | None = None,
        delimiter: str = ",",
        target: Column | bool | None = None,
        categorical: Categorical | None = None,
        leave_out: Sequence[Column] = (),
        missing: float | None = None,
        features: Sequence[Column] | None = None,
        labels: str | None = None,
        max_line: int = MOST_LINE,
        **options: Any,
    ) -> None:
        self._bytes = Bytes(source)
        super().__init__(self._bytes.name, labels=labels, **options)
        start = self._resume(start)
        self.labels = labels or start.get("labels")
        if start:
            self._bytes.go_to(int(start["byte"]), list(start["head"]))
        self._lines = Lines(self._bytes, start.get("line", 1), max_line)
        self._delimiter = delimiter
        self._cells = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._again: list[list[str]] = []
        self._names = start.get("columns") or self._first_line(header)
        self.roles = Roles(self._names, target, categorical, leave_out, missing, features)

    def _first_line(self, header: bool | None) -> list[str]:
        """The names of the columns: those of the header, or their numbers."""
        before = self._lines.place
        try:
            first = next((row for row in self._cells if row), None)
        except (csv.Error, StreamError) as error:
            raise error if isinstance(error, StreamError) else self._error(str(error), before) from error
        if first is None:
            raise StreamError(self.source, "there is nothing in it")
        if header or (header is None and not any(map(NUMBER.fullmatch, first))):
            names = [name.strip() for name in first]
            if len(set(names)) < len(names):
                raise self._error("two columns have the same name", before)
            return names
        self._again = [first]
        return [str(i) for i in range(len(first))]

    def _read(self) -> Batch | None:
        while self._pending is None:
            rows, places = self._take()
            if not rows:
                return None
            X, y, n = self._encode(list(zip(*rows)), len(rows), places)
            after = self._lines.place if n == len(rows) else places[n]
            if len(y):
                return Batch(X, y, self._position(self.rows + len(y), after))
        return None

    def _take(self) -> tuple[list[list[str]], list[tuple[int, int]]]:
        """Rows with the right number of cells, and where each begins."""
        rows: list[list[str]] = []
        places: list[tuple[int, int]] = []
        before = (1, 0) if self._again else self._lines.place
        while len(rows) < self.batch_rows and self._pending is None:
            try:
                row = self._again.pop() if self._again else next(self._cells)
                if row and len(row) != len(self.roles.names):
                    raise csv.Error(f"{len(row)} cells in place of {len(self.roles.names)}")
                if row:
                    rows.append(row)
                    places.append(before)
            except StopIteration:
                break
            except StreamError as error:
                if error.line is None:  # the source is damaged
                    self._pending = error
                    break
                self._fault(error)
                self._cells = csv.reader(self._lines, delimiter=self._delimiter, strict=True)
            except csv.Error as error:
                self._fault(self._error(str(error), before))
                self._cells = csv.reader(self._lines, delimiter=self._delimiter, strict=True)
            before = self._lines.place
        return rows, places

    def _error(self, problem: str, place: tuple[int, int]) -> StreamError:
        return StreamError(self.source, problem, line=place[0], offset=place[1])

    def _position(self, rows: int, place: tuple[int, int]) -> Position:
        return {
            "format": self.kind, "rows": rows, "byte": place[1], "line": place[0], "skipped": self.skipped,
            "labels": self.labels, "columns": self._names, "head": self._bytes.head,
        }  # fmt: skip

    @property
    def done(self) -> float | None:
        return self._bytes.done

    def close(self) -> None:
        self._bytes.close()


class Lines(Iterator[str]):
    """Text line by line; `place` is the number and the offset of the line that comes next."""

    def __init__(self, source: Bytes, number: int, longest: int) -> None:
        self._source, self._longest = source, longest
        self.place = number, source.offset
        self._block, self._at = b"", 0
        self._room = memoryview(bytearray(BLOCK))

    def __next__(self) -> str:
        parts, size = [], 0
        while True:
            end = self._block.find(b"\n", self._at) + 1
            parts.append(self._block[self._at : end or len(self._block)])
            size, self._at = size + len(parts[-1]), end or len(self._block)
            if size > self._longest:
                parts = parts[:1]  # of a line that is too long, nothing is kept
            if end:
                break
            got = self._source.read(self._room)
            self._block, self._at = bytes(self._room[:got]), 0
            if not got:
                break
        if not size:
            raise StopIteration
        number, offset = self.place
        self.place = number + 1, offset + size
        if size > self._longest:
            raise StreamError(
                self._source.name,
                f"the line is longer than the limit of {self._longest} bytes, which max_line sets",
                line=number,
                offset=offset,
            )
        try:
            return b"".join(parts).decode("utf-8-sig" if offset == 0 else "utf-8")
        except UnicodeDecodeError as error:
            raise StreamError(self._source.name, "the line is not valid UTF-8", line=number, offset=offset) from error


# Where tables come from, apart from CSV.


def of_frame(frame: Any, **options: Any) -> Table:
    """A data frame of pandas or polars, or a table of Arrow's, in memory."""
    if hasattr(frame, "to_batches"):
        return _of_arrow(
            "table", frame.schema.names, frame.num_rows, lambda row, n: iter(frame[row:].to_batches(n)), **options
        )
    names = [str(name) for name in frame.columns]

    def chunks(row: int, n: int) -> Iterator[list[Cells]]:
        for begin in range(row, len(frame), n):
            part = frame.iloc[begin : begin + n] if hasattr(frame, "iloc") else frame[begin : begin + n]
            yield [np.asarray(part[name]) for name in part.columns]

    return Table("data frame", names, len(frame), chunks, **options)


def of_parquet(path: str, **options: Any) -> Table:
    """A Parquet file, a piece of a row group at a time."""
    parquet = _pyarrow("parquet")
    with _told(path):
        file = parquet.ParquetFile(path)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]

    def batches(row: int, n: int) -> Iterator[Any]:
        ends = np.cumsum(sizes)
        first = int(np.searchsorted(ends, row, side="right"))
        if first == len(sizes):
            return
        to_skip = row - int(ends[first]) + sizes[first]
        for batch in file.iter_batches(n, row_groups=range(first, len(sizes))):
            yield batch[min(to_skip, len(batch)) :]
            to_skip -= min(to_skip, len(batch))

    return _of_arrow(path, file.schema_arrow.names, sum(sizes), batches, **options)


def of_arrow_file(path: str, **options: Any) -> Table:
    """A file of Arrow's IPC format, also called Feather, a record batch at a time."""
    pyarrow = _pyarrow()
    with _told(path):
        file = pyarrow.ipc.open_file(pyarrow.memory_map(path))
        sizes = [len(file.get_batch(i)) for i in range(file.num_record_batches)]

    def batches(row: int, n: int) -> Iterator[Any]:
        for i, size in enumerate(sizes):
            if row < size:
                yield file.get_batch(i)[row:]
            row = max(row - size, 0)

    return _of_arrow(path, file.schema.names, sum(sizes), batches, **options)


def _of_arrow(
    source: str, names: Sequence[str], size: int, batches: Callable[[int, int], Iterator[Any]], **options: Any
) -> Table:
    def chunks(row: int, n: int) -> Iterator[list[Cells]]:
        with _told(source):
            for batch in batches(row, n):
                if len(batch):
                    yield [_cells(column) for column in batch.columns]

    return Table(source, names, size, chunks, **options)


@contextlib.contextmanager
def _told(source: str) -> Iterator[None]:
    """What Arrow finds wrong with a file is an error of the source."""
    try:
        yield
    except (_pyarrow().ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # there is no such file, or the like
            raise
        raise StreamError(source, f"the file is damaged, or of another format: {error}") from error


def _cells(column: Any) -> Cells:
    """A column of Arrow's as numbers, or as a list of words and None."""
    import pyarrow.types as kinds

    number = kinds.is_floating(column.type) or kinds.is_integer(column.type) or kinds.is_boolean(column.type)
    if number and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    cells: list[Any] = column.to_pylist()
    return cells


def _pyarrow(part: str = "") -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet and Arrow files need: pip install 'onkel[arrow]'") from error
    return getattr(pyarrow, part) if part else pyarrow
