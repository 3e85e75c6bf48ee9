"""A first look at a source: classification or regression, and of what."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np

from ..io.streams import MOST_LABELS, Batch, Stream, StreamError
from .learners import Task
from .options import Source

PEEK = 500  # rows of the first batch


class Found(NamedTuple):
    """What is known of a source before learning."""

    task: Task
    labels: str | None  # as open_stream takes it
    classes: Any  # array, or None
    rows: int | None


def look(source: Source, task: Task | None, classes: Any) -> tuple[Found, Stream, list[Batch]]:
    """What is known of a source, the stream to learn from, and batches that were taken from it already."""
    if task == "regression" or classes is not None:
        if task == "regression" and classes is not None:
            raise click.UsageError("--classes are for classification.")
        labels = "number" if classes is None else "text" if classes.dtype.kind == "O" else "integer"
        found = Found("regression" if classes is None else "classification", labels, classes, None)
        return found, source.with_labels(labels).open(), []
    if source.again:
        found = _found(source.open(), task, everything=True)[0]
        return found, source.with_labels(found.labels).open(), []
    stream = source.open()
    stream.batch_rows = PEEK
    found, first = _found(stream, task, everything=False)
    return found, stream, first


def _found(stream: Stream, task: Task | None, *, everything: bool) -> tuple[Found, list[Batch]]:
    """From all batches, or the first, which is given back: is this classification, and of what?"""
    labels: set[Any] = set()
    first, whole, rows, kind = [], True, 0, "O"
    for batch in _sound(stream) if everything else itertools.islice(stream, 1):
        kind, rows = batch.y.dtype.kind, rows + len(batch.y)
        whole = whole and kind != "O" and bool((batch.y == np.rint(batch.y)).all())
        if len(labels) <= 10 * MOST_LABELS or kind == "O":
            labels.update(np.unique(batch.y).tolist())
        first = [] if everything else [batch]
    if not rows:
        raise ValueError(f"{stream.source}: there are no rows in it")
    if task is None:
        task = "classification" if kind == "O" or (whole and len(labels) <= MOST_LABELS) else "regression"
    if task == "regression":
        if kind == "O":
            raise ValueError(
                f"{stream.source}: the targets are words, such as {min(labels)!r}, and regression needs numbers"
            )
        return Found(task, "number", None, rows if everything else None), first
    if len(labels) < 2:
        where = "" if everything else f" in the first {rows:,} rows"
        only = int(min(labels)) if whole else min(labels)
        raise ValueError(
            f"{stream.source}: there is one label only{where}, {only!r}; --classes names all that may come"
        )
    form = "text" if kind == "O" else "integer" if whole else "number"
    known = np.array(sorted(labels), dtype=object if kind == "O" else np.int64 if whole else np.float64)
    return Found(task, form, known, rows if everything else None), first


def _sound(stream: Stream) -> Iterator[Batch]:
    """The rows before an error: learning will meet it in its place."""
    try:
        yield from stream
    except StreamError:
        if not stream.rows:
            raise
