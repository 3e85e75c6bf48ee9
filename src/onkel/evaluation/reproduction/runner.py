"""Running a table: which runs it needs, and having them done in parallel."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import joblib

from .formulas import evaluated, mentions
from .jobs import Job, Outcome, class_of, jobs_of, run
from .results import Results
from .settings import Cell, Parameters, Table
from .streams import TUNING, Facts, Source, facts

Watch = Callable[[str, int, int], None]  # called with what is being done, runs done, runs in all
LOT = 4  # runs per worker between two savings, where results cannot be had one by one


class Request(NamedTuple):
    """A part of a table, or a small version of it."""

    datasets: tuple[str, ...] = ()  # none: all
    algorithms: tuple[str, ...] = ()
    repeats: int | None = None
    rows: int | None = None  # only the first so many of every stream
    heavy: bool = False  # also what takes very long
    download: bool = False
    jobs: int | None = None  # None: joblib's default, which `joblib.parallel_config` sets

    def repeats_of(self, table: Table) -> int:
        return table.repeats if self.repeats is None else self.repeats


def source_of(table: Table, dataset: str, rows: int | None) -> Source:
    data = table.datasets[dataset]
    least = min((n for n in (rows, data.rows) if n is not None), default=None)
    return Source(data.data, data.scale, least, table.protocol == "batch")


def needs_width(cell: Cell) -> bool:
    """Whether the cell uses the width that kernel alignment chooses."""
    return mentions([cell.parameters, cell.grid, cell.variables], "aligned")


def candidates(cell: Cell, known: Facts) -> list[Parameters]:
    """What the grid offers, in numbers."""
    variables = {**known.variables, **evaluated(cell.variables, known.variables)}
    return [evaluated(parameters, variables) for parameters in cell.candidates()]


def tuning_jobs(table: Table, cell: Cell, source: Source, known: Facts) -> list[Job]:
    """A run per point of the grid; none if there is nothing to choose."""
    offered = candidates(cell, known)
    if len(offered) < 2:
        return []
    return [
        job
        for parameters in offered
        for job in jobs_of(table.protocol, table.tuning, source, known, cell.learner, parameters, TUNING)
    ]


def best(table: Table, cell: Cell, source: Source, known: Facts, results: Results) -> Parameters | None:
    """The parameters with the least error on the order that tunes; None while there are runs missing."""
    jobs = tuning_jobs(table, cell, source, known)
    if not jobs:
        return candidates(cell, known)[0]
    outcomes = [results.outcome(job) for job in jobs]
    errors = [_error(outcome) for outcome in outcomes if outcome is not None]
    return jobs[errors.index(min(errors))].parameters if len(errors) == len(jobs) else None


def final_jobs(table: Table, cell: Cell, source: Source, known: Facts, parameters: Parameters, n: int) -> list[Job]:
    return jobs_of(table.protocol, table.tuning, source, known, cell.learner, parameters, n)


def runnable(cell: Cell, heavy: bool) -> bool:
    return not cell.quoted and (heavy or not cell.heavy) and class_of(cell.learner) is not None


def run_table(table: Table, request: Request, results: Results, watch: Watch | None = None) -> dict[str, str]:
    """Do all runs that are not in the results yet; returns what is missing of the data, by data set."""
    missing = {}
    algorithms = table.chosen_names("algorithms", request.algorithms)
    for dataset in table.chosen_names("datasets", request.datasets):
        cells = [cell for cell in table.cells(dataset, algorithms) if runnable(cell, request.heavy)]
        try:
            _run_dataset(table, dataset, cells, request, results, watch or (lambda *_: None))
        except OSError as error:  # FileNotFoundError and failed downloads
            missing[dataset] = " ".join(str(error).split())
    return missing


def _run_dataset(
    table: Table, dataset: str, cells: list[Cell], request: Request, results: Results, watch: Watch
) -> None:
    source = source_of(table, dataset, request.rows)
    aligned = any(needs_width(cell) for cell in cells)
    known = facts(source, aligned=aligned, download=request.download)
    results.note(source, known)
    tuning = [job for cell in cells for job in tuning_jobs(table, cell, source, known)]
    _do(tuning, f"{dataset}: choosing parameters", request.jobs, results, watch)
    final = []
    for cell in cells:
        parameters = best(table, cell, source, known, results)
        assert parameters is not None
        final += final_jobs(table, cell, source, known, parameters, request.repeats_of(table))
    _do(final, dataset, request.jobs, results, watch)


def _do(jobs: list[Job], words: str, workers: int | None, results: Results, watch: Watch) -> None:
    """Each result is saved as it comes."""
    todo = results.missing(jobs)
    watch(words, 0, len(todo))
    for done, (job, outcome) in enumerate(_outcomes(todo, workers), 1):
        results.add(job, outcome)
        watch(words, done, len(todo))


def _outcomes(jobs: list[Job], workers: int | None) -> Iterator[tuple[Job, Outcome]]:
    """In any order. Threads by default, since compiled code runs without Python's lock."""
    try:
        parallel = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator_unordered")
    except ValueError:  # a backend that returns all or nothing
        parallel = joblib.Parallel(n_jobs=workers, prefer="threads")
        lot = LOT * parallel._effective_n_jobs()
        for start in range(0, len(jobs), lot):
            yield from _labelled(parallel, jobs[start : start + lot])
        return
    yield from _labelled(parallel, jobs)


def _labelled(parallel: joblib.Parallel, jobs: list[Job]) -> Iterable[tuple[Job, Outcome]]:
    found: Iterable[tuple[Job, Outcome]] = parallel(joblib.delayed(_one)(job) for job in jobs)
    return found


def _one(job: Job) -> tuple[Job, Outcome]:
    return job, run(job)


def _error(outcome: Outcome) -> float:
    return float(outcome.get("error", math.inf))
