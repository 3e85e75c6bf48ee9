"""`onkel race`."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from .learners import find, learners


@click.command()
@click.argument("source", required=False, metavar="[FILE]")
@click.option("-a", "--algorithms", metavar="A,B,...", help="Who races, by the names of `onkel list`.")
@click.option("--budget", type=click.IntRange(min=1), default=50, show_default=True, help="Most points kept.")
@click.option("--sigma", type=float, help="Width of the Gaussian kernel; default: half the median distance of rows.")
@click.option("--gamma", type=float, help="The same as 1 / (2 sigma^2).")
@click.option(
    "--task", type=click.Choice(["classification", "regression"]), help="Default: by the look of the targets."
)
@click.option("--classes", metavar="A,B,...", help="All labels of FILE; default: those among the first rows.")
@click.option("--format", "kind", type=click.Choice(["svmlight", "csv", "parquet", "arrow"]), help="Of FILE.")
@click.option("--target", metavar="COLUMN", help="Of tables: the column to predict; default: the last.")
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Runs, over random orders; default: 5, with FILE 1 in order."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of everything random.")
@click.option(
    "--report", type=click.Path(dir_okay=False), default="onkel-race.html", show_default=True, help="Where it goes."
)
@click.option("--no-report", is_flag=True, help="Write none.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON per stream and learner, no tables.")
@click.option("-q", "--quiet", is_flag=True, help="Do not say what is going on.")
def race(
    source: str | None,
    algorithms: str | None,
    budget: int,
    sigma: float | None,
    gamma: float | None,
    task: str | None,
    classes: str | None,
    kind: str | None,
    target: str | None,
    repeats: int | None,
    seed: int,
    report: str,
    no_report: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let learners race side by side, and write a report of it.

    Without FILE they race on handwritten digits and on streams that drift. FILE is svmlight, CSV, Parquet or Arrow,
    perhaps compressed; - is standard input. Every example is predicted before it is learnt.
    """
    if source is None:
        _only_with_file(task=task, classes=classes, format=kind, target=target)
    stems, width = _stems(algorithms), _width(sigma, gamma)
    from ..evaluation import racing  # loads much

    teller = _Teller(quiet or as_json)
    common: dict[str, Any] = {"budget": budget, "sigma": width, "repeats": repeats, "seed": seed, "say": teller.say}
    with teller:
        if source is None:
            heats = racing.race(None, stems, **common)
        else:
            from ..io import open_stream

            with open_stream(source, format=kind, target=target) as stream:
                name = "standard input" if source == "-" else Path(source).name
                labels = [label.strip() for label in classes.split(",")] if classes else None
                heats = racing.race(stream, stems, name=name, task=task, classes=labels, **common)
    if as_json:
        for heat in heats:
            for row in heat.to_dicts():
                click.echo(json.dumps(row))
    else:
        _print(heats)
    if not no_report:
        from ..evaluation.pages import page

        _write(report, page(heats))
        if not (quiet or as_json):
            click.echo(f"\nCurves: {report}")


class _Teller:
    """Says on standard error what goes on: one line that changes, on a terminal; else a line for each new thing."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        self.console = Console(stderr=True, quiet=quiet)
        self.status = self.console.status("starting") if self.console.is_terminal and not quiet else None
        self.last = ""

    def __enter__(self) -> None:
        if self.status:
            self.status.start()
        self.console.print("The first race on a machine takes a minute longer: it compiles the learners.")

    def __exit__(self, *_: object) -> None:
        if self.status:
            self.status.stop()

    def say(self, text: str) -> None:
        from rich.markup import escape

        if self.status:
            self.status.update(escape(text))
        elif (stage := text.partition(":")[0]) != self.last:
            self.last = stage
            self.console.print(escape(stage), highlight=False, soft_wrap=True)


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
    kinds = [one.classifier or one.regressor for one in map(find, names)]
    return [kind.__name__.removesuffix("Classifier").removesuffix("Regressor") for kind in kinds]


def _width(sigma: float | None, gamma: float | None) -> float | None:
    if sigma is not None and gamma is not None:
        raise click.UsageError("--sigma and --gamma are two names of one thing: give one of them.")
    for name, value in (("--sigma", sigma), ("--gamma", gamma)):
        if value is not None and not 0 < value < float("inf"):
            raise click.UsageError(f"{name} must be a number above 0; got {value:g}.")
    return (2 * gamma) ** -0.5 if gamma is not None else sigma


def _only_with_file(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"--{name} goes with a FILE.")


def _write(path: str, text: str) -> None:
    """Whole or not at all."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        Path(beside).write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise
