"""`onkel data`."""

import json
from pathlib import Path
from typing import Any

import click

from .. import datasets


@click.group(invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> None:
    """List, describe and fetch the data sets that onkel knows by name.

    They are kept in the folder $ONKEL_DATA, or else among the caches of your account. Their names can stand in
    the place of files: onkel learn german; a set in two parts as a9a:train and a9a:test.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_sets)


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def list_sets(as_json: bool = False) -> None:
    """List all sets; those with a dot are on this machine."""
    for name in datasets.names():
        known = datasets.describe(name)
        here = bool(known.held) or not (known.sources or _by_hand(known))
        if as_json:
            facts = {"rows": known.rows, "features": known.features, "classes": known.classes, "here": here}
            click.echo(json.dumps({"name": name, "task": known.task, **facts}))
        else:
            kind = f"{known.classes} classes" if known.classes else "regression"
            click.echo(
                f"{'•' if here else ' '} {name:<14} {known.rows:>11,} rows {known.features:>7,} features  {kind}"
            )
    if not as_json:
        click.echo(f"\n• in {datasets.folder()}, or part of scikit-learn; `onkel data fetch NAME` brings others")


@data.command("describe")
@click.argument("name")
def describe_set(name: str) -> None:
    """What is known of the set NAME: size, sources, whom to cite."""
    click.echo(str(datasets.describe(name)))


@data.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def fetch_sets(names: tuple[str, ...], quiet: bool) -> None:
    """Download sets, unless they are there; a broken download is taken up where it stopped."""
    for name in names:
        for path in _fetch(name, quiet):
            click.echo(str(path))


def _fetch(name: str, quiet: bool) -> list[Path]:
    import sys

    if quiet or not sys.stderr.isatty():
        return datasets.fetch(name)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(name), BarColumn(30), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task(name, total=None)
        return datasets.fetch(name, progress=lambda done, total: bar.update(task, completed=done, total=total))


def _by_hand(known: datasets.Description) -> bool:
    """Whether a set has no address, but is no part of scikit-learn either."""
    from ..datasets.catalogue import CATALOGUE

    return known.name not in CATALOGUE or not CATALOGUE[known.name].loader
