"""`onkel reproduce`."""

import sys
from pathlib import Path
from typing import Any

import click

DATABASE = "onkel-results.sqlite"


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    found = tuple(word.strip() for word in (value or "").split(",") if word.strip())
    if value is not None and not found:
        raise click.BadParameter("name one at least", ctx, param)
    return found


def _jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    """As joblib counts them: -1 is one per core, -2 leaves one of them alone."""
    if value == 0:
        raise click.BadParameter("0 runs at a time would never end; -1 stands for one per core", ctx, param)
    return value


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("--list", "listing", is_flag=True, help="List the tables and stop.")
@click.option("--datasets", callback=_names, metavar="A,B,...", help="Only these columns of the table.")
@click.option("--algorithms", callback=_names, metavar="A,B,...", help="Only these rows.")
@click.option("--repeats", type=click.IntRange(1), help="Permutations; by default as many as the paper's.")
@click.option("--rows", type=click.IntRange(2), help="Only the first so many examples of every permutation.")
@click.option(
    "--jobs",
    type=int,
    callback=_jobs,
    metavar="N",
    default=-1,
    show_default=True,
    help="Runs at a time; -1: one per core.",
)
@click.option("--heavy", is_flag=True, help="Also what takes hours.")
@click.option("--download", is_flag=True, help="Fetch data sets that are not there.")
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=DATABASE,
    show_default=True,
    help="Where finished runs are kept.",
)
@click.option("--stored", is_flag=True, help="Run nothing: show what the database holds.")
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a CSV file.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report with plots.")
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Write a page in Markdown.")
def reproduce(
    tables: tuple[str, ...],
    listing: bool,
    datasets: tuple[str, ...],
    algorithms: tuple[str, ...],
    repeats: int | None,
    rows: int | None,
    jobs: int,
    heavy: bool,
    download: bool,
    database: Path,
    stored: bool,
    csv_file: Path | None,
    html: Path | None,
    markdown: Path | None,
) -> None:
    """Run tables of the papers again: our figures beside the published ones.

    TABLE is a name from --list, such as thesis-4.4; "all" stands for all of them. Finished runs are kept, so an
    interrupted command goes on where it was. How each table is run is in docs/reproduction.md.
    """
    from rich.console import Console

    from ..evaluation.reproduction import Request, Results, compared, run_table, settings
    from ..evaluation.reproduction.comparison import write_csv
    from ..evaluation.reproduction.terminal import show

    console = Console(width=None if sys.stdout.isatty() else 160)
    if listing:
        for name in settings.names():
            click.echo(f"{name:<20}{settings.table(name).title}")
        return
    if not tables:
        raise click.UsageError("Name a table; --list shows them all.")
    chosen = _tables(tables)
    if len(chosen) == 1:
        _known_names(chosen[0], datasets, algorithms)
    request = Request(datasets, algorithms, repeats, rows, heavy, download, jobs)
    views = []
    with Results(database, must_exist=stored) as results:
        for table in chosen:
            part = _part_of(table, request) if len(chosen) > 1 else request
            if part is None:
                continue
            missing = {} if stored else _run(table, part, results, run_table)
            views.append(compared(table, part, results, missing))
            show(views[-1], console)
    if csv_file:
        write_csv(views, csv_file)
    if html:
        from ..evaluation.reproduction.page import write_html

        write_html(views, html)
    if markdown:
        from ..evaluation.reproduction.document import write_markdown

        write_markdown(views, markdown)


def _tables(wanted: tuple[str, ...]) -> list[Any]:
    from ..evaluation.reproduction import settings

    try:
        return [settings.table(name) for name in (settings.names() if wanted == ("all",) else wanted)]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TABLE") from error


def _known_names(table: Any, datasets: tuple[str, ...], algorithms: tuple[str, ...]) -> None:
    for kind, wanted in (("datasets", datasets), ("algorithms", algorithms)):
        try:
            table.chosen_names(kind, wanted)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=f"--{kind}") from error


def _part_of(table: Any, request: Any) -> Any:
    """Of several tables, what the one has of the data sets and learners that are asked for; None if nothing."""
    asked = {"datasets": request.datasets, "algorithms": request.algorithms}
    there = {kind: [name.lower() for name in getattr(table, kind)] for kind in asked}
    part = {kind: tuple(name for name in names if name.lower() in there[kind]) for kind, names in asked.items()}
    return None if any(asked[kind] and not part[kind] for kind in asked) else request._replace(**part)


def _run(table: Any, request: Any, results: Any, run_table: Any) -> dict[str, str]:
    """With a bar on the terminal that errors go to."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(table.name, total=None)

        def watch(words: str, done: int, total: int) -> None:
            progress.update(bar, description=f"{table.name} {words}", completed=done, total=total)

        found: dict[str, str] = run_table(table, request, results, watch)
        return found
