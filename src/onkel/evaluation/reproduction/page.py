"""Tables as one HTML page that needs nothing else, with plots."""

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..charts import Range, Series, chart, ranges
from ..pages import document, key
from .comparison import WORDS, Comparison, View, away_text, ours_text

STYLE = """
.exact, .agrees { color: #1a7f37; } .better { color: #0969da; } .worse { color: #cf222e; font-weight: 600; }
td.words { text-align: left; white-space: normal; min-width: 14rem; }
figure.wide { max-width: 44rem; }
"""


def write_html(views: Sequence[View], path: str | Path) -> None:
    """Every view in turn: settings, figures, plots."""
    body = "\n".join(_section(view) for view in views)
    lines = max((len(view.table.algorithms) for view in views), default=2)
    text = document("The papers' tables, run again", body, max(lines, 2), STYLE)
    Path(path).write_text(text, encoding="utf-8")


def _section(view: View) -> str:
    table = view.table
    parts = [f"<section>\n<h2>{_text(table.name)}: {_text(table.title)}</h2>", f"<p>{_text(table.paper)}</p>"]
    settings = (
        ("Stated by the paper", table.stated),
        ("Chosen where it leaves open", table.chosen),
        ("About the published figures", table.caveats),
    )
    for heading, lines in settings:
        parts += [f'<p class="faint">{heading}:</p>', _list(lines)] if lines else []
    for dataset in dict.fromkeys(one.cell.dataset.name for one in view.judged):
        rows = [one for one in view.judged if one.cell.dataset.name == dataset]
        parts.append(f"<h3>{_text(dataset)}</h3>")
        if dataset in view.missing:
            parts.append(f'<p class="faint">Left out: {_text(view.missing[dataset])}</p>')
        elif any(one.ours for one in rows):
            parts += [_figure(view, dataset, rows), _grid(view, rows)]
        else:
            parts.append('<p class="faint">Not run.</p>')
    return "\n".join([*parts, "</section>"])


def _grid(view: View, rows: list[Comparison]) -> str:
    others, swept = view.table.also, bool(view.table.sweep)
    head = ["learner", *(["at"] if swept else []), WORDS[view.table.metric], "published", "standard errors away", ""]
    names = [*head, *(WORDS[metric] for metric in others), "parameters"]
    body = "\n".join(f"<tr>{_row(view, one, swept)}</tr>" for one in rows)
    columns = "".join(f'<th scope="col">{_text(name)}</th>' for name in names)
    texts = _list(dict.fromkeys(text for one in rows for text in one.cell.texts))
    head_and_body = f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="table"><table>\n{head_and_body}\n</table></div>{texts}'


def _row(view: View, one: Comparison, swept: bool) -> str:
    cells = [one.cell.place] if swept else []
    cells += [ours_text(one) or one.why, one.published.text if one.published else "", away_text(one)]
    verdict = f'<td class="{one.verdict}">{one.verdict}</td>'
    beside = [next(o for o in view.of(metric) if o.cell == one.cell) for metric in view.table.also]
    shown = [ours_text(o) + (f" ({o.published.text})" if o.published else "") for o in beside]
    used = ", ".join(f"{name}={value}" for name, value in one.parameters.items())
    return (
        f'<th scope="row">{_key(view, one)}{_text(one.cell.algorithm)}</th>{_cells(cells)}{verdict}{_cells(shown)}'
        f'<td class="words">{_text(used)}</td>'
    )


def _cells(values: Iterable[str]) -> str:
    return "".join(f"<td>{_text(value)}</td>" for value in values)


def _key(view: View, one: Comparison) -> str:
    """Where the chart has a line for each learner, its colour."""
    return key(list(view.table.algorithms).index(one.cell.algorithm)) if _has_lines(view) else ""


def _has_lines(view: View) -> bool:
    return view.table.curve or bool(view.table.sweep and not view.table.source)


def _figure(view: View, dataset: str, rows: list[Comparison]) -> str:
    word = WORDS[view.table.metric]
    title = f"{view.table.name}, {dataset}"
    if not _has_lines(view):
        caption = f"{key(0)} ours {key(1)} published: mean and standard deviation"
        picture = _side_by_side(rows, title, word)
        return f'<figure class="wide">\n{picture}\n<figcaption>{caption}</figcaption>\n</figure>'
    lines, against = _along_stream(view, rows) if view.table.curve else _along_sweep(view, rows)
    picture = chart(lines, title=title, x_label=against, y_label=word, log_x=not view.table.curve, chop=True)
    return f"<figure>\n{picture}\n<figcaption>{_text(word)} against {_text(against)}</figcaption>\n</figure>"


def _along_stream(view: View, rows: list[Comparison]) -> tuple[list[Series], str]:
    found = {one.cell.algorithm: one.curve for one in rows}
    curves = [(name, found.get(name, ())) for name in view.table.algorithms]
    return [Series(name, [t for t, _ in curve], [value for _, value in curve]) for name, curve in curves], "examples"


def _along_sweep(view: View, rows: list[Comparison]) -> tuple[list[Series], str]:
    lines = []
    for name in view.table.algorithms:
        points = [
            (float(one.cell.point[1]), one.ours.mean)
            for one in rows
            if one.cell.algorithm == name and one.cell.point and one.ours
        ]
        lines.append(Series(name, [x for x, _ in points], [y for _, y in points]))
    return lines, next(iter(view.table.sweep))


def _side_by_side(rows: list[Comparison], title: str, word: str) -> str:
    ours = [Range(k, one.ours.mean, one.ours.std or 0.0) for k, one in enumerate(rows) if one.ours]
    printed = [
        Range(k, one.published.value, one.published.std or 0.0)
        for k, one in enumerate(rows)
        if one.published and one.published.value is not None
    ]
    names = [f"{one.cell.algorithm} {one.cell.place}".strip() for one in rows]
    return ranges([ours, printed], names, title=title, x_label=word)


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _text(words: str) -> str:
    return html.escape(str(words))
