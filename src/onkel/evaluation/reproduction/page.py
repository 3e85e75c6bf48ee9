"""Tables as one HTML page without links to anything, with plots. Needs matplotlib: the extra `plot`."""

import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .comparison import WORDS, Comparison, View, away_text, ours_text

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: 0.15rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, td.name, th:first-child, th.name { text-align: left; }
.exact, .agrees { color: #1a7f37; } .better { color: #0969da; } .worse { color: #cf222e; font-weight: 600; }
.note { color: #666; } svg { max-width: 100%; height: auto; }
"""


def write_html(views: Sequence[View], path: str | Path) -> None:
    """Every view in turn: settings, figures, plots."""
    body = "\n".join(_section(view) for view in views)
    head = f'<meta charset="utf-8"><title>The papers\' tables, run again</title><style>{STYLE}</style>'
    text = f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'
    Path(path).write_text(text, encoding="utf-8")


def _section(view: View) -> str:
    table = view.table
    parts = [f"<h1>{_text(table.name)}: {_text(table.title)}</h1>", f"<p>{_text(table.paper)}</p>"]
    for heading, lines in (
        ("Stated by the paper", table.stated), ("Chosen where it leaves open", table.chosen),
        ("About the published figures", table.caveats),
    ):  # fmt: skip
        parts += [f"<h3>{heading}</h3>", _list(lines)] if lines else []
    for dataset in dict.fromkeys(one.cell.dataset.name for one in view.judged):
        of_set = [one for one in view.judged if one.cell.dataset.name == dataset]
        parts.append(f"<h2>{_text(dataset)}</h2>")
        if dataset in view.missing:
            parts.append(f'<p class="note">Left out: {_text(view.missing[dataset])}</p>')
        elif any(one.ours for one in of_set):
            parts += [_figure(view, of_set), _grid(view, of_set)]
        else:
            parts.append('<p class="note">Not run.</p>')
    return "\n".join(parts)


def _grid(view: View, rows: list[Comparison]) -> str:
    others = view.table.also
    swept = bool(view.table.sweep)
    names = ["learner", *(["at"] if swept else []), WORDS[view.table.metric], "published", "standard errors away", ""]
    cells = [[_text(name) for name in [*names, *(WORDS[metric] for metric in others), "parameters"]]]
    for one in rows:
        row = [one.cell.algorithm, *([one.cell.place] if swept else []), ours_text(one) or one.why]
        row += [one.published.text if one.published else "", away_text(one)]
        beside = [next(o for o in view.of(metric) if o.cell == one.cell) for metric in others]
        shown = [ours_text(o) + (f" ({o.published.text})" if o.published else "") for o in beside]
        used = ", ".join(f"{name}={value}" for name, value in one.parameters.items())
        verdict = f'<span class="{one.verdict}">{one.verdict}</span>' if one.verdict else ""
        cells.append([*map(_text, row), verdict, *map(_text, shown), _text(used)])
    lines = [
        "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(cells, ["th"] + ["td"] * len(rows))
    ]
    texts = dict.fromkeys(text for one in rows for text in one.cell.texts)
    return "<table>" + "\n".join(lines) + "</table>" + _list(texts)


def _figure(view: View, rows: list[Comparison]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    if view.table.curve:
        _along_stream(axes, rows)
        axes.set_xlabel("examples")
    elif view.table.sweep and not view.table.source:
        _along_sweep(axes, rows)
        axes.set_xlabel(next(iter(view.table.sweep)))
    else:
        _side_by_side(axes, rows)
    label = WORDS[view.table.metric]
    axes.set_ylabel(label) if view.table.curve or not view.table.source else axes.set_xlabel(label)
    axes.legend()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _along_stream(axes: Any, rows: list[Comparison]) -> None:
    for one in rows:
        if one.curve:
            axes.plot([t for t, _ in one.curve], [100 * value for _, value in one.curve], label=one.cell.algorithm)


def _along_sweep(axes: Any, rows: list[Comparison]) -> None:
    for algorithm in dict.fromkeys(one.cell.algorithm for one in rows):
        points = [(one.cell.point[1], one.ours) for one in rows if one.cell.algorithm == algorithm and one.cell.point]
        there = [(x, ours.mean, ours.std or 0.0) for x, ours in points if ours]
        if there:
            axes.errorbar(*zip(*there), marker="o", markersize=3, capsize=2, label=algorithm)
    axes.set_xscale("log", base=2)


def _side_by_side(axes: Any, rows: list[Comparison]) -> None:
    labels = [f"{one.cell.algorithm} {one.cell.place}".strip() for one in rows]
    ours = [(k, one.ours.mean, one.ours.std) for k, one in enumerate(rows) if one.ours]
    printed = [
        (k, one.published.value, one.published.std)
        for k, one in enumerate(rows)
        if one.published and one.published.value is not None
    ]
    for shift, (points, marker, name) in zip((-0.12, 0.12), ((ours, "o", "ours"), (printed, "s", "published"))):
        if points:
            y, x, spread = zip(*points)
            bars = [value or 0.0 for value in spread]
            axes.errorbar(x, [k + shift for k in y], xerr=bars, fmt=marker, markersize=4, capsize=2, label=name)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _text(words: str) -> str:
    return html.escape(str(words))
