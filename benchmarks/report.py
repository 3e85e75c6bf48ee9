"""Write docs/performance.md and its plots from the figures in benchmarks/results.

python benchmarks/report.py
"""

import json

import matplotlib as mpl
from common import RESULTS, ROOT
from matplotlib.figure import Figure

PLOTS = ROOT / "docs" / "performance"
mpl.rcParams.update(
    {
        "svg.hashsalt": "onkel",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

STEPS = {
    "budget": "RBP on dense rows, the compiled loop alone, dictionary full, 30 % of the rows inserted",
    "features": "Linear learners on features, the compiled loop alone",
    "second_order": "Second order: B-KONS with a dictionary of j points, the compiled loop alone",
    "a9a": "One pass over a9a (CSR) from the making of the model on, validation included",
}
HEAD = """\
# Performance

Measured by `benchmarks/`, one command each; this page is written by `benchmarks/report.py` from the figures that they
left in `benchmarks/results`. Machines differ and are noisy: what counts are ratios within one run, to the machine's
limits or to what a user could pick instead. Times are processor time on one core unless said, the least of many short
windows.

How it is done is told in [architecture.md](architecture.md): the vectors, the chunks of rows that meet all points at
once, the rules of compiled code.
"""


def figures(name):
    """The figures of a benchmark, and the machine it ran on."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return [], {}
    held = json.loads(path.read_text())
    return held["figures"], held["machine"]


def shown(value):
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(rows):
    """Rows of figures as a table in Markdown; those with the same columns."""
    columns = [column for column in dict.fromkeys(column for row in rows for column in row) if column != "part"]
    if not rows:
        return "(not measured in this run)\n"
    lines = ["| " + " | ".join(c.replace("_", " ") for c in columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(shown(row.get(c, "")) for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def bars(name, rows, value, title, log=False):
    """Horizontal bars, saved as docs/performance/<name>.svg."""
    figure = Figure(figsize=(7, 0.6 + 0.2 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.barh([row["what"] for row in rows], [row[value] for row in rows], color="#4878a8")
    axes.invert_yaxis()
    axes.set_xlabel(title)
    if log:
        axes.set_xscale("log")
    save(figure, name)
    return f"![{title}](performance/{name}.svg)\n"


def line(name, rows, x, y):
    """Lines through figures whose names end with a number, one for all those that have the rest of it in common."""
    figure = Figure(figsize=(4.5, 2.8), layout="constrained")
    axes, lines = figure.subplots(), {}
    for row in rows:
        label, number = row["what"].rsplit(" ", 1)
        lines.setdefault(label, []).append((float(number), row[y]))
    for label, points in lines.items():
        axes.loglog(*zip(*points, strict=True), "o-", label=label.removeprefix(f"{x}, ").removesuffix(":"))
    if len(lines) > 1:
        axes.legend(fontsize=6)
    axes.set_xlabel(x)
    axes.set_ylabel("ns per example")
    save(figure, name)
    return f"![ns per example over {x}](performance/{name}.svg)\n"


def save(figure, name):
    PLOTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})


def of(rows, part):
    return [row for row in rows if row["part"] == part]


def having(rows, *columns):
    return [row for row in rows if all(column in row for column in columns)]


def machine(held):
    lines = [f"The machine of these figures: {held['cores']} cores, {held['processor']}.\n"]
    rows = []
    for name, value in held.items():
        if isinstance(value, dict):
            rows.append({"limit": name, "": ", ".join(f"{key}: {number}" for key, number in value.items())})
    return "\n".join(lines) + "\n" + table(rows)


def step():
    rows, held = figures("step")
    if not rows:
        return ""
    limited = having(rows, "times_the_limit", "limit")
    parts = ["## What an example costs\n", machine(held)]
    parts += [
        "The limit is what the multiply-adds take at the machine's peak, plus an exponential for each support vector "
        "(a sine and a cosine for each random frequency). For sparse rows, whose columns are read once for each row, "
        "reading the points counts where that takes longer than the multiply-adds.\n",
        bars("step", limited, "times_the_limit", "times the machine's limit"),
        *(f"{words}:\n\n{table(of(limited, part))}" for part, words in STEPS.items()),
        "### Every learner, defaults\n",
        table(of(rows, "learners")),
        "### Kinds of features\n",
        table(of(rows, "maps")),
        "### Predicting, single rows, small batches\n",
        "`learn_one` and `predict_one` take one row, an array, past scikit-learn's validation.\n",
        table(having(rows, "share_of_peak")),
        table(having(rows, "seconds_for_the_pass")),
        table(having(rows, "partial_fit_us")),
        table(having(rows, "us_to_copy_the_state")),
    ]
    return "\n".join(parts)


def peers():
    rows, _ = figures("peers")
    if not rows:
        return ""
    rivals = having(rows, "times_ours")
    return "\n".join(
        [
            "## What one could pick instead\n",
            "One pass over a9a (32,561 examples, 14 of 123 columns set), the same budgets and numbers of features. "
            "Ours look at all of it, validation included; slow ones at the first rows only, which favours those that "
            "grow.\n",
            bars("peers", rivals, "times_ours", "times the time of the learner of ours that does the same", log=True),
            table(having(rows, "error")),
            table(rivals),
        ]
    )


def scale():
    rows, _ = figures("scale")
    if not rows:
        return ""
    parts = ["## How costs grow\n"]
    for word, name in (("budget", "budget"), ("columns", "width"), ("classes", "classes"), ("kernels", "kernels")):
        some = [row for row in rows if row["what"].startswith(word)]
        if some:
            parts += [line(name, some, word, "ns"), table(some)]
    parts.append("Streams of up to 10^7 rows: a row costs as much at the end as at the beginning, and memory stays.\n")
    parts.append(table(having(rows, "rss_mb")))
    parts.append("Threads (by the clock on the wall):\n")
    parts.append(table(having(rows, "ratio_to_one")))
    return "\n".join(parts)


def compiling():
    rows, _ = figures("compile")
    if not rows:
        return ""
    return "\n".join(
        [
            "## The first call\n",
            "Seconds in fresh processes: on a machine that never ran onkel (cold), and later (warm). Each line counts "
            "what the lines above it have not loaded yet.\n",
            table([row for row in rows if "cpu" in row]),
            "Every learner in a process of its own, after those above it filled the cache:\n",
            table(having(rows, "signatures")),
        ]
    )


def end_to_end():
    rows, _ = figures("end_to_end")
    if not rows:
        return ""
    return "\n".join(
        ["## `onkel learn`, from a compressed file\n", "a9a, RBP with 1000 support vectors.\n", table(rows)]
    )


if __name__ == "__main__":
    sections = [HEAD, step(), peers(), scale(), compiling(), end_to_end()]
    (ROOT / "docs" / "performance.md").write_text("\n".join(section for section in sections if section))
