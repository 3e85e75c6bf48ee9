"""The report of a race: one HTML file that needs nothing else, light or dark as the reader's machine is."""

import html
import math
from collections.abc import Sequence

from .charts import Series, chart
from .racing import Heat
from .reports import WORDS, Report

COLOURS = (  # (on white, on black), told apart by most eyes; lines beyond them are dashed
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#008060", "#2fc59b"),
    ("#b0307a", "#f08cc0"),
    ("#8a6d00", "#f0d442"),
    ("#5b4ccc", "#a79bff"),
    ("#4d4d4d", "#c8c8c8"),
    ("#a1371f", "#e0765c"),
)
DASHES = ("", "6 3", "2 3")
STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1a1c20; --faint: #5b6069; --rule: #dcdfe4; --best: #e7f4ee; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181c; --ink: #e8e9ec; --faint: #a2a8b3; --rule: #343943; --best: #1d3a30; }
}
body { background: var(--page); color: var(--ink); max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 46rem; }
.faint, caption, figcaption { color: var(--faint); font-size: .875rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .2rem .9rem .2rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
@media (max-width: 36rem) { th, td { padding-right: .5rem; } table { font-size: .8rem; } }
th:first-child { text-align: left; }
thead th { font-weight: 600; border-bottom-color: var(--faint); }
tbody th { font-weight: 400; }
tr.best > * { background: var(--best); font-weight: 600; }
.key { width: 28px; height: 10px; margin-right: .5rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; }
svg.key { display: inline-block; }
svg text { fill: var(--faint); font-size: 12px; font-family: inherit; }
svg .grid { stroke: var(--rule); }
svg .axis, svg .tick { stroke: var(--faint); fill: none; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .line:hover { stroke-width: 4; }
"""


def page(heats: Sequence[Heat], *, title: str = "A race of online kernel learners") -> str:
    """The whole report."""
    body = "\n".join(_heat(heat) for heat in heats)
    words = """<p class="faint">Every example was predicted before it was learnt. Learning is timed with predicting and
without compiling. The size counts support vectors, landmarks, random frequencies or features; kB is the memory that the
model's state takes.</p>
"""
    return document(title, words + body, max(len(heat.report.learners) for heat in heats))


def document(title: str, body: str, lines: int, style: str = "") -> str:
    """A page with a heading, and with colours for so many lines in one chart."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}{_colours(lines)}{style}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{body}
</body>
</html>
"""


def _heat(heat: Heat) -> str:
    about = f"<p>{html.escape(heat.about)}</p>" if heat.about else ""
    missing = "; ".join(f"{name} ({why})" for name, why in heat.left_out.items())
    absent = f'<p class="faint">Left out: {html.escape(missing)}.</p>' if missing else ""
    return f"""<section>
<h2>{html.escape(heat.name)}</h2>
{about}
<p class="faint">{html.escape(heat.facts)}</p>
{absent}
{_table(heat)}
<div class="charts">
{_charts(heat)}
</div>
</section>"""


def _table(heat: Heat) -> str:
    report = heat.report
    spread = ": mean ± standard deviation of the runs" if report.repeats > 1 else ""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name, _ in report.cells[0])
    rows = []
    for k, row in enumerate(report.cells):
        (_, name), *cells = row
        mark = ' class="best"' if name == heat.best else ""
        values = "".join(f"<td>{html.escape(cell)}</td>" for _, cell in cells)
        rows.append(f'<tr{mark}><th scope="row">{key(k)}{html.escape(name)}</th>{values}</tr>')
    body = "\n".join(rows)
    return f"""<div class="table"><table>
<caption>At the end of the stream{spread}</caption>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>"""


def key(k: int) -> str:
    """A short piece of line k."""
    return f'<svg class="key" viewBox="0 0 28 10" aria-hidden="true"><path class="line s{k}" d="M0 5H28"/></svg>'


def _charts(heat: Heat) -> str:
    report, metric, percent = heat.report, heat.report.metric, heat.report.metric == "mistake_rate"
    word = WORDS[metric]
    drawn = (
        (metric, "examples", f"{word} so far", percent),
        (f"recent_{metric}", "examples", f"{word} of late", percent),
        (metric, "seconds", f"{word} so far", percent),
        ("size", "examples", "size", False),
    )
    figures = []
    for value, against, label, share in drawn:
        series = [_series(report, name, value, against) for name in report.learners]
        late = f" (the last {heat.window:,} examples)" if value.startswith("recent_") else ""
        caption = f"{label[0].upper()}{label[1:]}{late} against {WORDS[against]}"
        picture = chart(
            series,
            title=f"{heat.name}: {caption}",
            x_label=WORDS[against],
            y_label=label,
            log_x=against == "seconds",
            percent=share,
            chop=value != "size",
        )
        figures.append(f"<figure>\n{picture}\n<figcaption>{html.escape(caption)}</figcaption>\n</figure>")
    return "\n".join(figures)


def _series(report: Report, name: str, value: str, against: str) -> Series:
    """A line, without what no chart can show."""
    x, y = report.mean_curve(name, value)
    if against == "seconds":
        seconds = dict(zip(*report.mean_curve(name, "learning_seconds"), strict=True))
        x = [seconds[n] for n in x]
    shown = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    return Series(name, [a for a, _ in shown], [b for _, b in shown])


def _colours(lines: int) -> str:
    light, dark = [], []
    for k in range(lines):
        colours, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
        dashes = f" stroke-dasharray: {dash};" if dash else ""
        light.append(f"svg .s{k} {{ stroke: {colours[0]};{dashes} }}")
        dark.append(f"svg .s{k} {{ stroke: {colours[1]}; }}")
    inside = "\n".join(dark)
    return "\n".join(light) + f"\n@media (prefers-color-scheme: dark) {{\n{inside}\n}}\n"
