"""A table as far as the results database goes: our figures, the published ones, and how far they are apart."""

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from .jobs import Outcome, class_of
from .published import Figure, published
from .results import Results
from .runner import Request, best, final_jobs, needs_width, source_of
from .settings import Cell, Parameters, Table

Verdict = Literal["exact", "agrees", "better", "worse", ""]
CLOSE = 2.0  # standard errors
FEW = 5  # repeats: of fewer our deviation tells little, so the published one counts if it is larger
OF_OUTCOMES: dict[str, Callable[[Outcome], float]] = {
    "mistake_rate_pct": lambda one: 100 * one["error"],
    "error_rate_pct": lambda one: 100 * one["error"],
    "accuracy_pct": lambda one: 100 * (1 - one["error"]),
    "test_accuracy_pct": lambda one: 100 * (1 - one["error"]),
    "avg_squared_loss": lambda one: one["error"],
    "relative_error_fro2": lambda one: one["error"],
    "avg_loss": lambda one: one["loss"],
    "num_SV": lambda one: one["size"] if one["size"] is not None else math.nan,
    "time_s": lambda one: one["seconds"],
    "train_time_s": lambda one: one["seconds"],
    "test_time_s": lambda one: one["test_seconds"],
}
RISING = ("accuracy_pct", "test_accuracy_pct")  # more is better
WORDS = {
    "mistake_rate_pct": "mistakes in %",
    "error_rate_pct": "errors in %",
    "accuracy_pct": "right in %",
    "test_accuracy_pct": "right in % of the test part",
    "avg_squared_loss": "mean squared error",
    "relative_error_fro2": "squared relative error of the kernel matrix",
    "num_SV": "support vectors",
    "time_s": "seconds",
    "train_time_s": "seconds of learning",
    "test_time_s": "seconds of predicting",
}


class Ours(NamedTuple):
    mean: float
    std: float | None  # None: one repeat
    n: int


class Comparison(NamedTuple):
    """One figure of one cell."""

    cell: Cell
    metric: str
    ours: Ours | None
    published: Figure | None
    away: float | None  # ours - published, in standard errors
    verdict: Verdict
    why: str  # there is no figure of ours
    parameters: Parameters
    curve: tuple[tuple[float, float], ...]  # examples, the metric so far
    seconds: float  # of learning, all repeats together


class View(NamedTuple):
    """A table and what is known of it."""

    table: Table
    request: Request
    comparisons: tuple[Comparison, ...]  # dataset by dataset, algorithm by algorithm
    missing: dict[str, str]  # what to do about data that are not there

    def of(self, metric: str) -> list[Comparison]:
        return [one for one in self.comparisons if one.metric == metric]

    @property
    def judged(self) -> list[Comparison]:
        return self.of(self.table.metric)


def compared(table: Table, request: Request, results: Results, missing: dict[str, str] | None = None) -> View:
    """Only reads: what is not in the results is not there."""
    missing = missing or {}
    algorithms = table.chosen_names("algorithms", request.algorithms)
    found: list[Comparison] = []
    for dataset in table.chosen_names("datasets", request.datasets):
        for cell in table.cells(dataset, algorithms):
            found += _of_cell(table, cell, request, results, missing)
    return View(table, request, tuple(found), missing)


def _of_cell(table: Table, cell: Cell, request: Request, results: Results, missing: dict[str, str]) -> list[Comparison]:
    outcomes, parameters, why = _outcomes(table, cell, request, results, missing)
    curve = _mean_curve(outcomes, table.metric) if table.curve else ()
    seconds = sum(one["seconds"] for one in outcomes)
    made = []
    for metric in (table.metric, *table.also):
        printed = published(table, cell, metric)
        ours = _summary([OF_OUTCOMES[metric](one) for one in outcomes]) if outcomes else None
        away = None if request.rows else _away(ours, printed, table.repeats)  # shorter streams are another thing
        verdict = _verdict(metric, ours, printed, away) if metric == table.metric else ""
        made.append(Comparison(cell, metric, ours, printed, away, verdict, why, parameters, curve, seconds))
    return made


def _outcomes(
    table: Table, cell: Cell, request: Request, results: Results, missing: dict[str, str]
) -> tuple[list[Outcome], Parameters, str]:
    """What the repeats brought, with which parameters, or why there is nothing."""
    if cell.quoted:
        return [], {}, cell.quoted
    if cell.dataset.name in missing:
        return [], {}, "data missing"
    source = source_of(table, cell.dataset.name, request.rows)
    known = results.facts(source)
    if known and known.aligned is None and needs_width(cell):
        known = None  # from a table without this width
    parameters = best(table, cell, source, known, results) if known else None
    if known is None or parameters is None:
        return [], {}, _why_not(cell, request)
    jobs = final_jobs(table, cell, source, known, parameters, request.repeats_of(table))
    outcomes = [outcome for job in jobs if (outcome := results.outcome(job)) is not None]
    if not outcomes:
        return [], parameters, _why_not(cell, request)
    failed = [outcome["failed"] for outcome in outcomes if "failed" in outcome]
    return ([], parameters, failed[0]) if failed else (outcomes, parameters, "")


def _why_not(cell: Cell, request: Request) -> str:
    if class_of(cell.learner) is None:
        return f"there is no {cell.learner} in this version"
    return "takes very long; not asked for" if cell.heavy and not request.heavy else "not run"


def _summary(values: Sequence[float]) -> Ours | None:
    if any(map(math.isnan, values)):
        return None
    return Ours(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


def _away(ours: Ours | None, printed: Figure | None, repeats: int) -> float | None:
    """The variance of the difference: of both means, and of rounding to the printed digits."""
    if ours is None or printed is None or printed.value is None:
        return None
    own, theirs = ours.std or 0.0, printed.std or 0.0
    if ours.n < FEW:
        own = max(own, theirs)
    variance = own**2 / ours.n + theirs**2 / repeats + printed.half**2 / 3
    return (ours.mean - printed.value) / math.sqrt(variance) if variance else 0.0


def _verdict(metric: str, ours: Ours | None, printed: Figure | None, away: float | None) -> Verdict:
    if ours is None or printed is None or printed.value is None or away is None:
        return ""
    same = abs(ours.mean - printed.value) <= printed.half * (1 + 1e-9)
    same_std = printed.std is None or ours.std is None or abs(ours.std - printed.std) <= printed.half * (1 + 1e-9)
    if same and same_std and printed.std:
        return "exact"
    if abs(away) <= CLOSE:
        return "agrees"
    return "better" if (away > 0) == (metric in RISING) else "worse"


def _mean_curve(outcomes: list[Outcome], metric: str) -> tuple[tuple[float, float], ...]:
    curves = [one["curve"] for one in outcomes if "curve" in one]
    if not curves:
        return ()
    scale = 100 if metric.endswith("_pct") else 1
    values = np.mean([[error for _, error in curve] for curve in curves], axis=0)
    return tuple((float(t), scale * float(value)) for (t, _), value in zip(curves[0], values))


def number(value: float, metric: str) -> str:
    """With the digits that the papers print."""
    if metric == "avg_squared_loss":
        return f"{value:.5f}"
    if metric == "num_SV":
        return f"{value:,.0f}"
    return f"{value:.3f}" if metric in ("relative_error_fro2",) or metric.endswith("time_s") else f"{value:.2f}"


def ours_text(one: Comparison) -> str:
    if one.ours is None:
        return ""
    mean = number(one.ours.mean, one.metric)
    return mean if one.ours.std is None else f"{mean} ± {number(one.ours.std, one.metric)}"


def away_text(one: Comparison) -> str:
    return "" if one.away is None else f"{one.away:+.1f}"


COLUMNS = (
    "table", "dataset", "point", "algorithm", "metric", "ours", "std", "repeats", "published", "published_std",
    "standard_errors_away", "verdict", "parameters", "remark",
)  # fmt: skip


def write_csv(views: Sequence[View], path: str | Path) -> None:
    """A row per figure, numbers in full."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for view in views:
            writer.writerows(_row(view, one) for one in view.comparisons)


def _row(view: View, one: Comparison) -> list[object]:
    ours, printed = one.ours, one.published
    return [
        view.table.name, one.cell.dataset.name, one.cell.place, one.cell.algorithm, one.metric,
        ours and ours.mean, ours and ours.std, ours and ours.n,
        printed and (printed.value if printed.value is not None else printed.text), printed and printed.std,
        one.away, one.verdict, " ".join(f"{name}={value}" for name, value in one.parameters.items()),
        one.why or " ".join(one.cell.texts),
    ]  # fmt: skip
