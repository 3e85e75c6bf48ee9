"""`onkel race`."""

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any, Self

import click

from ..evaluation.names import stem
from .learn import _check_writable, _classes
from .learners import Task, find, learners
from .looking import look
from .options import Sections, Source, stream_options, whole_labels


@click.command(cls=Sections)
@click.argument("source", required=False)
@click.option("-a", "--algorithms", metavar="NAMES", help="Who races, from `onkel list`, such as rbp,fogd,spa.")
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    metavar="N",
    help="Most support vectors or landmarks; four times as many random frequencies.",
)
@click.option(
    "--sigma", type=float, metavar="NUMBER", help="Kernel width. [default: half the median distance of the first rows]"
)
@click.option("--gamma", type=float, metavar="NUMBER", help="The width as 1 / (2 sigma^2).")
@click.option(
    "--repeats", type=click.IntRange(1), metavar="N", help="Runs, each in a random order. [default: 5; of SOURCE, one]"
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of everything random.")
@click.option(
    "--task", type=click.Choice(["classification", "regression"]), help="By default the targets of SOURCE say."
)
@click.option("--classes", metavar="LABELS", help="All labels of SOURCE that may come, such as -1,1.")
@stream_options
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    default="onkel-race.html",
    show_default=True,
    help="Where the report is written, one page of HTML.",
)
@click.option("--no-report", is_flag=True, help="Write none.")
@click.option("--json", "as_json", is_flag=True, help="An object of JSON per line for each stream and learner.")
@click.option("-q", "--quiet", is_flag=True, help="The tables alone.")
def race(
    source: str | None, algorithms: str | None, budget: int, sigma: float | None,
    gamma: float | None, repeats: int | None, seed: int, task: Task | None, classes: str | None, report: str,
    no_report: bool, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Let learners race side by side, and write a report of it.

    Every example is predicted before it is learnt. Without SOURCE they race on handwritten digits and on made-up
    streams that drift. SOURCE is a file, - for standard input, or the name of a data set (`onkel data`).

    \b
    onkel race
    onkel race rows.svm -a fogd,nogd,projectron --budget 200 --report rows.html
    """
    if source is None:
        _only_with_source(["task", "classes", *options])
    stems, width = _stems(algorithms), _width(sigma, gamma)
    if not no_report:
        _check_writable(report)
    from ..evaluation import racing  # loads much

    told = not (quiet or as_json)
    with _Teller(told) as teller:
        settings: dict[str, Any] = {"budget": budget, "sigma": width, "repeats": repeats, "seed": seed}
        settings["say"] = teller.say
        if source is None:
            heats = racing.race(None, stems, **settings)
        else:
            heats = _on_source(Source(source, options), stems, task, classes, settings)
    if as_json:
        for heat in heats:
            for row in heat.to_dicts():
                click.echo(json.dumps(row))
    else:
        _print(heats)
    if not no_report:
        from ..evaluation.pages import page

        _write(report, page(heats))
        if told:
            click.echo(f"\nCurves: {report}")


def _on_source(
    source: Source, stems: list[str] | None, task: Task | None, classes: str | None, settings: dict[str, Any]
) -> Any:
    from ..evaluation import racing

    found, stream, first = look(source, task, None if classes is None else _classes(classes))
    with stream:
        batches: Any = itertools.chain(first, stream)
        if found.task == "classification":
            batches = whole_labels(batches)
        name = "standard input" if source.name == "-" else os.path.basename(source.name)
        heats = racing.race(batches, stems, name=name, task=found.task, classes=found.classes, **settings)
    if stream.skipped:
        click.echo(f"faulty rows passed over: {stream.skipped:,}, the first of them: {stream.first_skipped}", err=True)
    return heats


class _Teller:
    """Says on standard error what goes on: one line that changes on a terminal, else a line for each stream."""

    def __init__(self, aloud: bool) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, quiet=not aloud)
        self._status = self._console.status("") if aloud and self._console.is_terminal else None
        self._stream = ""

    def __enter__(self) -> Self:
        self._console.print("The first race on a machine takes a minute longer: the learners are compiled.")
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def say(self, stream: str, text: str) -> None:
        from rich.markup import escape

        if self._status:
            self._status.update(escape(f"{stream}: {text}"))
        elif stream != self._stream:
            self._stream = stream
            self._console.print(f"racing on {escape(stream)} ...", highlight=False, soft_wrap=True)


def _print(heats: list[Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    for k, heat in enumerate(heats):
        console.print(("\n" if k else "") + f"[bold]{escape(heat.name)}[/bold]")
        for words in filter(None, (heat.about, heat.facts)):
            console.print(escape(words), style="dim")
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for j, (heading, _) in enumerate(heat.report.cells[0]):
            table.add_column(heading, justify="right" if j else "left", no_wrap=True)
        for row in heat.report.cells:
            table.add_row(*(escape(cell) for _, cell in row), style="bold green" if row[0][1] == heat.best else "")
        console.print(table)
        for name, why in heat.left_out.items():
            console.print(escape(f"left out: {name} ({why})"), style="dim")


def _stems(algorithms: str | None) -> list[str] | None:
    """Names of estimators without Classifier and Regressor."""
    if algorithms is None:
        return None
    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names:
        raise click.UsageError("--algorithms names none; " + ", ".join(learners()) + " are there.")
    return [stem((one.classifier or one.regressor).__name__) for one in map(find, names)]


def _width(sigma: float | None, gamma: float | None) -> float | None:
    if sigma is not None and gamma is not None:
        raise click.UsageError("--sigma and --gamma are two names of one thing: give one of them.")
    for name, value in (("--sigma", sigma), ("--gamma", gamma)):
        if value is not None and not 0 < value < float("inf"):
            raise click.UsageError(f"{name} must be a number above 0; got {value:g}.")
    return (2 * gamma) ** -0.5 if gamma is not None else sigma


def _only_with_source(names: list[str]) -> None:
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with a SOURCE.")


def _write(path: str, text: str) -> None:
    """Whole or not at all."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        Path(beside).write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise
