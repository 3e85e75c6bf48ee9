"""What several commands take: where rows come from and how they are read."""

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
import numpy as np

from ..io.streams import BATCH_ROWS, Batch, Position, Stream
from .reading import Reading

F = TypeVar("F", bound=Callable[..., Any])

STREAM = (
    click.option("--format", type=click.Choice(["svmlight", "csv", "parquet", "arrow"]),
                 help="What the source is; by default its name says, or else it is svmlight."),
    click.option("--target", metavar="COLUMN", help="Tables: the target, by name or position; 'none' if there is none. "
                 "[default: the last column]"),
    click.option("--categorical", metavar="COLUMN=HOW", multiple=True,
                 help="Tables: a column of words; HOW is the words themselves, a,b,c, each of which becomes a column, "
                 "or the number of columns that they are hashed to. May be repeated."),
    click.option("--leave-out", metavar="COLUMNS", help="Tables: columns that are no features, such as id,time."),
    click.option("--missing", type=float, metavar="NUMBER", help="Tables: what an empty cell stands for. "
                 "[default: it is an error]"),
    click.option("--header/--no-header", default=None, help="CSV: whether the first line names the columns. "
                 "[default: if it has no numbers]"),
    click.option("--delimiter", metavar="CHAR", help="CSV: what stands between cells. [default: comma; tab in .tsv]"),
    click.option("--zero-based/--one-based", default=None, help="svmlight: what indices count from. [default: 1]"),
    click.option("--max-features", type=click.IntRange(1), metavar="N",
                 help="svmlight: the most columns, a guard against wrong indices. [default: 16777216]"),
    click.option("--skip-errors", is_flag=True, help="Pass over faulty rows and count them, rather than stop."),
    click.option("--batch-rows", type=click.IntRange(1), default=BATCH_ROWS, show_default=True, metavar="N",
                 help="Rows read and learnt at once; 1 for a slow pipe."),
)  # fmt: skip


def stream_options(command: F) -> F:
    for option in reversed(STREAM):
        command = option(command)
    return command


READING = {
    "format", "target", "categorical", "leave_out", "missing", "header", "delimiter", "zero_based", "max_features",
    "skip_errors", "batch_rows",
}  # fmt: skip


class Sections(click.Command):
    """A command whose help shows apart how its source is read."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        reading = [record for name, record in records.items() if name in READING and record]
        others = [record for name, record in records.items() if name not in READING and record]
        for title, rows in (("Options", others), ("How the source is read", reading)):
            with formatter.section(title):
                formatter.write_dl(rows)


class Source:
    """A source as the user names it, which may be opened again, and how it is read."""

    def __init__(self, name: str, options: dict[str, Any], labels: str | None = None) -> None:
        self.name, self.labels, self.batch_rows = name, labels, options["batch_rows"]
        self.errors = "skip" if options["skip_errors"] else "strict"
        self.again = name != "-"  # whether it can be read a second time
        given = {
            "format": options["format"], "target": _column(options["target"]),
            "categorical": _categorical(options["categorical"]) or None,
            "leave_out": [_column(name) for name in (options["leave_out"] or "").split(",") if name] or None,
            "missing": options["missing"], "header": options["header"], "delimiter": options["delimiter"],
            "zero_based": options["zero_based"], "max_features": options["max_features"],
        }  # fmt: skip
        self.given = {name: value for name, value in given.items() if value is not None}
        self._found = name if name == "-" or os.path.exists(name) else _data_set(name)
        self._before: Reading | None = None  # how rows were read before, if that binds

    def open(self, start: Position | None = None) -> Stream:
        from ..io import open_stream

        options = dict(self.given)
        if self._before and "features" in self._known():
            options |= self._before.by_name(options, labelled=self.labels != "ignored")
        if "labels" in self._known():
            options["labels"] = self.labels
        stream = open_stream(self._found, batch_rows=self.batch_rows, errors=self.errors, start=start, **options)
        if self._before:
            self._before.check(stream)
        return stream

    def reading(self, stream: Stream) -> Reading:
        """How a stream of it is read."""
        return Reading.of(self.given, stream)

    def with_labels(self, labels: str | None) -> "Source":
        """The same, but for how labels are read."""
        return self._but(labels=labels)

    def going_on(self, before: Reading | None) -> "Source":
        """The same, read as before where nothing else is asked for."""
        return self._but(given={**before.options, **self.given}, _before=before) if before else self

    def like(self, before: Reading | None) -> "Source":
        """The same as rows for a model that has learnt from another source."""
        if before is None:
            return self
        if "missing" in before.changed_by(self.given):
            raise click.UsageError(f"The model has learnt from rows read with --missing {before.options['missing']:g}.")
        return self._but(given=before.for_others(self.given, self._known()), _before=before)

    def _known(self) -> set[str]:
        """The options that its format has."""
        from ..io.opening import OF_FORMATS, format_of

        return OF_FORMATS[format_of(self._found, self.given.get("format"))]

    def _but(self, **changes: Any) -> "Source":
        new = object.__new__(Source)
        new.__dict__.update(self.__dict__, **changes)
        return new


def whole_labels(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Labels that are numbers as integers, where they are."""
    for batch in batches:
        y = batch.y
        whole = y.dtype.kind == "f" and (y == np.rint(y)).all()
        yield batch._replace(y=y.astype(np.int64)) if whole else batch


def _column(name: str | None) -> Any:
    """A column's name, its position, or False."""
    if name is None:
        return None
    if name == "none":
        return False
    try:
        return int(name)
    except ValueError:
        return name


def _categorical(given: tuple[str, ...]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for text in given:
        name, equals, how = text.partition("=")
        if not (name and equals and how):
            raise click.BadParameter(f"{text!r} is not COLUMN=WORDS or COLUMN=NUMBER.", param_hint="--categorical")
        found[_column(name)] = int(how) if how.isdecimal() else how.split(",")
    return found


def _data_set(name: str) -> Any:
    """The file of a data set that the folder of data sets holds, or the arrays of one of scikit-learn's."""
    from .. import datasets

    known, _, part = name.partition(":")
    if os.sep in name or known not in datasets.names():
        raise FileNotFoundError(f"{name}: there is no such file, nor a data set of that name (`onkel data` lists them)")
    if datasets.describe(known).sources or datasets.describe(known).held:
        try:
            return datasets.path(known, part or "all", download=False)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{known} is not on this machine yet: `onkel data fetch {known}` brings it"
            ) from error
    return datasets.load(known, part or "all")
