"""docs/reproduction.md: what was obtained on which data, as far as the results database goes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .comparison import WORDS, Comparison, View, away_text, ours_text

VERDICTS = ("exact", "agrees", "better", "worse")
INTRODUCTION = """# The papers' tables, run again

This page is written by `onkel reproduce all --stored --markdown docs/reproduction.md` from a database of finished runs;
nothing on it is typed by hand. A table of your own, on what is there of its data:

```sh
onkel reproduce thesis-4.4 --datasets german --html report.html
```

Finished runs are kept in a database, `onkel-results.sqlite` by default, and never run again: an interrupted command
goes on where it was. Runs are spread over threads, or by joblib's backends over a cluster: in Python, call
`onkel.evaluation.reproduction.run_table` inside `joblib.parallel_config`.

Tables are named after the paper and the number. One file per table, `NAME.toml` in
`src/onkel/evaluation/reproduction/tables`, holds what the paper states, what it leaves open and what was chosen there,
the learners with their parameters, and the grids, which are tuned on one permutation of their own. A value that begins
with `=` is a formula over the variables of the table, the number of examples `T`, of features `d`, of classes `m`, and
the width `aligned` that kernel alignment chooses. The published figures are in `published.csv` one folder above.

A cell reads: ours ± standard deviation over the permutations (published ± deviation; the difference in standard
errors). The standard error counts both deviations (of fewer than 5 repeats the larger one, twice) and the rounding of
the printed figure. **Exact**: the same printed
digits, of mean and deviation. **Agrees**: at most 2 standard errors away. **Better**, **worse**: further away, on one
or the other side; worse figures are in bold. Minutes are those of the repeats that the table shows, without tuning.
"""


def write_markdown(views: Sequence[View], path: str | Path) -> None:
    """A summary of all views, then each in turn."""
    lines = [INTRODUCTION, *_summary(views)]
    for view in views:
        lines += _section(view)
    Path(path).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _summary(views: Sequence[View]) -> Iterator[str]:
    yield "| table | figures run | " + " | ".join(VERDICTS) + " | minutes of learning |"
    yield "|---|---|" + "---|" * (len(VERDICTS) + 1)
    for view in views:
        run = [one for one in view.judged if one.ours]
        counts = [sum(one.verdict == verdict for one in run) for verdict in VERDICTS]
        judged = map(str, counts) if view.table.source else [""] * len(counts)
        row = [f"[{view.table.name}](#{_anchor(view)})", str(len(run)), *judged]
        yield "| " + " | ".join([*row, f"{sum(one.seconds for one in run) / 60:.1f}"]) + " |"
    yield ""


def _anchor(view: View) -> str:
    """As pages make it of a heading."""
    plain = "".join(c for c in _heading(view).lower() if c.isalnum() or c in " -_")
    return plain.replace(" ", "-")


def _heading(view: View) -> str:
    return f"{view.table.name}: {view.table.title}"


def _section(view: View) -> Iterator[str]:
    table = view.table
    run = [one for one in view.judged if one.ours]
    yield f"## {_heading(view)}\n"
    yield f"{table.paper}. Figures: {WORDS[table.metric]}.\n"
    if not run:
        yield "Nothing was run.\n"
        return
    for word, lines in (("Stated", table.stated), ("Chosen", table.chosen), ("Published figures", table.caveats)):
        if lines:
            yield f"{word}: {' '.join(lines)}\n"
    yield from _grid(view, run)
    yield from _explained(view)
    yield from _left_out(view)


def _grid(view: View, run: list[Comparison]) -> Iterator[str]:
    """Learners by data sets; with a sweep a table per data set, learners by its values."""
    algorithms = list(dict.fromkeys(one.cell.algorithm for one in run))
    for title, columns in _columns(view, run):
        if title:
            yield f"{title}:\n"
        yield f"| learner | {' | '.join(columns)} |"
        yield "|---|" + "---|" * len(columns)
        for algorithm in algorithms:
            row = [_cell(_found(columns[name], algorithm), view.table.repeats) for name in columns]
            if any(row):
                yield f"| {algorithm} | {' | '.join(row)} |"
        yield ""


def _columns(view: View, run: list[Comparison]) -> Iterator[tuple[str, dict[str, list[Comparison]]]]:
    datasets: dict[str, list[Comparison]] = {}
    for one in run:
        datasets.setdefault(one.cell.dataset.name, []).append(one)
    if not view.table.sweep:
        yield "", datasets
        return
    for name, of_set in datasets.items():
        places: dict[str, list[Comparison]] = {}
        for one in of_set:
            places.setdefault(one.cell.place, []).append(one)
        yield name, places


def _found(column: list[Comparison], algorithm: str) -> Comparison | None:
    return next((one for one in column if one.cell.algorithm == algorithm), None)


def _cell(one: Comparison | None, repeats: int) -> str:
    if one is None or one.ours is None:
        return ""
    beside = f" ({one.published.text}; {away_text(one)})" if one.published and one.away is not None else ""
    few = "" if one.ours.n >= repeats else f" [{one.ours.n} of {repeats} repeats]"
    text = ours_text(one) + beside + few
    return f"**{text}**" if one.verdict == "worse" else text


def _explained(view: View) -> Iterator[str]:
    """Every figure that is off, with what the settings say about it."""
    for verdict in ("worse", "better"):
        off = [one for one in view.judged if one.verdict == verdict]
        by_text: dict[str, list[str]] = {}
        for one in off:
            place = f" at {one.cell.place}" if one.cell.place else ""
            name = f"{one.cell.algorithm} on {one.cell.dataset.name}{place}"
            by_text.setdefault(" ".join(one.cell.texts), []).append(name)
        for text, names in by_text.items():
            unknown = "The reason is not known." if verdict == "worse" else ""
            yield f"**{verdict.capitalize()}**: {', '.join(names)}. {text or unknown}".rstrip() + "\n"


def _left_out(view: View) -> Iterator[str]:
    """What was not run, in the words of why."""
    run = {one.cell.dataset.name for one in view.judged if one.ours}
    whole = [name for name in view.table.datasets if name not in run]
    absent = [name for name in whole if any(one.cell.dataset.name == name for one in view.judged)]
    if absent:
        yield f"Data sets without a run: {', '.join(absent)}.\n"
    learners: dict[tuple[str, str], list[str]] = {}  # why and where
    for one in view.judged:
        if one.ours is None and one.cell.dataset.name in run:
            learners.setdefault((one.why, one.cell.dataset.name), []).append(one.cell.algorithm)
    places: dict[tuple[str, str], list[str]] = {}  # why and who
    for (why, name), algorithms in learners.items():
        places.setdefault((why, _names(algorithms)), []).append(name)
    for (why, who), found in places.items():
        yield f"Left out: {who} on {', '.join(found)} ({why}).\n"


def _names(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
