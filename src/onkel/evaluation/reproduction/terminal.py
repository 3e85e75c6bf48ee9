"""A table on the terminal: ours, published, the difference in standard errors."""

from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from .comparison import WORDS, Comparison, View, away_text, ours_text

COLOURS = {"exact": "green", "agrees": "green", "better": "cyan", "worse": "red", "": ""}


def rendered(view: View) -> RenderableType:
    """Of the metric that is judged a row per cell; of the others what there is, beside it."""
    table, others = view.table, view.table.also
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{table.name}: {table.title}", title_justify="left")
    swept = bool(table.sweep)
    for heading in ("data", *(("at",) if swept else ()), "learner"):
        grid.add_column(heading, no_wrap=True)
    for heading in (WORDS[table.metric], "published", "away", ""):
        grid.add_column(heading, justify="right", no_wrap=True)
    for metric in others:
        grid.add_column(WORDS[metric], justify="right")
    shown = [one for one in view.judged if one.cell.dataset.name not in view.missing]
    before = ""
    for one in shown:
        if one.cell.dataset.name != before and before:
            grid.add_section()
        row = [one.cell.dataset.name if one.cell.dataset.name != before else ""]
        before = one.cell.dataset.name
        row += [one.cell.place] if swept else []
        row += [one.cell.algorithm, ours_text(one) or "–", one.published.text if one.published else "–"]
        ending = Text(one.verdict, COLOURS[one.verdict])
        grid.add_row(*row, away_text(one), ending, *(_beside(view, one, metric) for metric in others))
    return Group(grid, *_notes(view, shown))


def _beside(view: View, one: Comparison, metric: str) -> str:
    other = next(o for o in view.of(metric) if o.cell == one.cell)
    printed = other.published.text if other.published else ""
    return f"{ours_text(other) or '–'} ({printed})" if printed else ours_text(other)


def _notes(view: View, shown: list[Comparison]) -> Iterator[Text]:
    for dataset, advice in view.missing.items():
        yield Text(f"left out: {dataset}: {advice}", "yellow")
    if view.missing:
        yield Text("--download fetches what has a public address")
    whys = dict.fromkeys((one.why, one.cell.algorithm) for one in shown if one.why)
    for why in dict.fromkeys(why for why, _ in whys):
        names = ", ".join(dict.fromkeys(name for other, name in whys if other == why))
        yield Text(f"{names}: {why}")
    yield Text("away: ours less published, in standard errors (within 2: agrees)")


def show(view: View, console: Console) -> None:
    console.print(rendered(view))
