"""One way in for all streams."""

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from . import tables
from .arrays import Arrays, Batches
from .streams import BATCH_ROWS, Position, Stream
from .svmlight import Svmlight
from .tables import Categorical, Column, Csv

FORMATS = ("svmlight", "csv", "parquet", "arrow")
PACKED = (".gz", ".bz2", ".xz", ".zst")
SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
OF_TABLES = {"target", "categorical", "leave_out", "missing", "features", "labels"}
OF_FORMATS = {
    "svmlight": {"labels", "zero_based", "n_features", "max_features", "max_line"},
    "csv": {"header", "delimiter", "max_line", *OF_TABLES},
    "parquet": OF_TABLES,
    "arrow": OF_TABLES,
    "frame": OF_TABLES,
    "arrays": set[str](),
    "batches": set[str](),
}


def open_stream(
    source: Any,
    *,
    format: str | None = None,
    batch_rows: int = BATCH_ROWS,
    errors: str = "strict",
    start: Position | None = None,
    labels: str | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    max_features: int | None = None,
    max_line: int | None = None,
    target: Column | bool | None = None,
    categorical: Categorical | None = None,
    leave_out: Sequence[Column] | None = None,
    missing: float | None = None,
    features: Sequence[Column] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Stream:
    """A stream of batches (X, y, position) from wherever rows come; memory does not grow with its length.

    Parameters
    ----------
    source
        A path, "-" for standard input, a binary file; a pair (X, y) in memory; a data frame of pandas or polars or a
        table of Arrow's; or an iterator of pairs (X, y). Files may be packed with gzip, bzip2, xz or (extra `zstd`)
        Zstandard.
    format
        "svmlight", "csv", "parquet" or "arrow"; None: by the file's name, svmlight if that says nothing.
    batch_rows
        Most rows of a batch.
    errors
        "strict": the first faulty row ends the stream with a StreamError; "skip": such rows are left out and counted.
    start
        The position of an earlier batch: the stream goes on behind it.
    labels
        "number" (float64), "integer" (int64), "text" (objects), "ignored" (whatever stands there, y is NaN) or None: as
        the first label is, number or text.
    zero_based, n_features, max_features, max_line
        svmlight: whether indices count from 0; the width of X (None: as wide as the rows so far need, so it may grow);
        limits on the number of columns and on the bytes of a line (also of CSV).
    target, categorical, leave_out, missing, features
        Tables: the target column, by name or position (None: the last; False: there is none, y is NaN); columns of
        words, each with the list of its words (a column of X each) or the number of columns to hash them to; columns
        that are not used; the number that empty cells stand for (None: they are faults); the columns that are features,
        in their order (None: all others, as they stand; with them, the target is by default the last of the others, if
        there is one, and a table without a header takes them for its names).
    header, delimiter
        CSV: whether the first line names the columns (None: if no cell of it is a number); "," or, in .tsv, a tab.
    """
    kind = format_of(source, format)
    given: dict[str, Any] = {
        "labels": labels, "zero_based": zero_based, "n_features": n_features, "max_features": max_features,
        "max_line": max_line, "target": target, "categorical": categorical, "leave_out": leave_out,
        "missing": missing, "features": features, "header": header, "delimiter": delimiter,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    if wrong := sorted(options.keys() - OF_FORMATS[kind]):
        raise ValueError(f"{', '.join(wrong)}: without meaning for a source of format {kind}.")
    options |= {"batch_rows": batch_rows, "errors": errors, "start": start}
    if kind == "arrays":
        return Arrays(*source, **options)
    if kind == "batches":
        return Batches(source, **options)
    if kind == "frame":
        return tables.of_frame(source, **options)
    if kind == "svmlight":
        return Svmlight(source, **options)
    if kind == "csv":
        if delimiter is None and ".tsv" in _suffixes(source):
            options["delimiter"] = "\t"
        return Csv(source, **options)
    reader = tables.of_parquet if kind == "parquet" else tables.of_arrow_file
    return reader(os.fspath(source), **options)


def format_of(source: Any, format: str | None) -> str:
    """What a source is, in the words of OF_FORMATS."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))} or None; got {format!r}.")
    if isinstance(source, str | os.PathLike) or hasattr(source, "read"):
        found = next((SUFFIXES[suffix] for suffix in _suffixes(source) if suffix in SUFFIXES), "svmlight")
        return format or found
    if isinstance(source, tuple) and len(source) == 2:
        return "arrays"
    if hasattr(source, "collect") and hasattr(source, "lazy"):
        raise TypeError(f"A {type(source).__name__} has no rows before it is collected: pass what collect() gives.")
    if hasattr(source, "columns") or hasattr(source, "to_batches"):
        return "frame"
    if hasattr(source, "__iter__"):
        return "batches"
    raise TypeError(f"A stream cannot be made of a {type(source).__name__}: pass a path, (X, y), a frame, an iterator.")


def _suffixes(source: Any) -> list[str]:
    """The last suffix of a file's name, behind those of packers."""
    name = PurePath(str(getattr(source, "name", source)).lower())
    while name.suffix in PACKED:
        name = name.with_suffix("")
    return [name.suffix]
