"""The published figures, as the papers print them. `published.csv` holds them all; each table states its caveats."""

import csv
import functools
import io
from importlib import resources
from typing import NamedTuple

from .settings import Cell, Table

DEVIATING = ("OCR-repaired",)  # what the column `settings` says of figures that were not read plainly


class Figure(NamedTuple):
    text: str  # as printed
    value: float | None  # None: words, as "did not complete"
    std: float | None
    half: float  # half a unit of the last printed digit
    repaired: bool  # pieced together from a damaged text


class _Row(NamedTuple):
    settings: str
    figure: Figure


@functools.cache
def _rows() -> dict[tuple[str, str, str, str, str], list[_Row]]:
    found: dict[tuple[str, str, str, str, str], list[_Row]] = {}
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(io.StringIO(text)):
        key = row["source"], row["table"], row["dataset"], row["algorithm"], row["metric"]
        found.setdefault(key, []).append(_Row(row["settings"], _figure(row["value"], row["std"], row["settings"])))
    return found


def published(table: Table, cell: Cell, metric: str) -> Figure | None:
    """What the paper prints for a cell, if it prints anything."""
    key = table.source, table.number, cell.dataset.name, cell.algorithm, metric
    rows = _rows().get(key, [])
    if cell.point is not None:
        rows = [row for row in rows if row.settings.startswith("{}={:g};".format(*cell.point))]
    return rows[0].figure if rows else None


def _figure(value: str, std: str, settings: str) -> Figure:
    repaired = any(word in settings for word in DEVIATING)
    try:
        number = float(value)
    except ValueError:
        return Figure(value, None, None, 0.0, repaired)
    digits = len(value.partition(".")[2])
    text = f"{value} ± {std}" if std else value
    return Figure(text, number, float(std) if std else None, 0.5 * 10.0**-digits, repaired)
