"""`onkel list`."""

import json
import re
import sys

import click

from .learners import learners


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def listing(as_json: bool) -> None:
    """List the learners: names, tasks, papers.

    Tasks: 2 two classes, n many classes, r regression. Parameters and formulas are in docs/algorithms.md.
    """
    rows = [(one.name, one.tasks, one.about, one.paper) for one in learners().values()]
    if as_json:
        for row in rows:
            click.echo(json.dumps(dict(zip(("name", "tasks", "about", "paper"), row))))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    cells = [(name, tasks, _brief(paper), about) for name, tasks, about, paper in rows]
    for heading, widest in zip(("learner", "tasks", "paper"), (max(map(len, column)) for column in zip(*cells))):
        table.add_column(heading, min_width=widest, no_wrap=True)
    table.add_column("what it does", no_wrap=True, overflow="ellipsis")
    for row in cells:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _brief(paper: str) -> str:
    """Three authors and more become et al.; the first of several papers stands for all."""
    authors, year = re.fullmatch(r"(.*?)([\d, ]*)", paper.partition("; ")[0]).groups()  # type: ignore[union-attr]
    first, *others = re.split(", | & ", authors.strip())
    return (f"{first} et al." if len(others) > 1 else authors.strip()) + f" {year.split(', ')[0].strip()}".rstrip()
