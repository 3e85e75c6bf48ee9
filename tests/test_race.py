"""The race: its numbers are those of the learners alone, its page stands alone, its command says what is wrong."""

import html.parser
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

import onkel
from onkel.cli import main
from onkel.datasets import sea
from onkel.evaluation import charts, pages, race, racing
from onkel.evaluation.charts import Series, chart

TWO = ["RBP", "NOGD"]


def stream(n=600, seed=0):
    return sea(n, noise=0.1, random_state=seed)


def in_batches(X, y, size=128):
    return ((X[k : k + size], y[k : k + size]) for k in range(0, len(y), size))


# ------------------------------------------------------------------ the race itself
def test_a_race_is_the_learners_side_by_side():
    X, y = stream()
    (heat,) = race(in_batches(X, y), TWO, budget=20, seed=3, name="sea")
    sigma = racing.default_sigma(X[:128])
    assert (heat.name, heat.examples, heat.features, heat.classes, heat.sigma) == ("sea", 600, 3, 2, sigma)
    assert heat.gamma == pytest.approx(1 / (2 * sigma**2))
    for kind, row in zip((onkel.RBPClassifier, onkel.NOGDClassifier), heat.report.summary, strict=True):
        scores = kind(budget=20, sigma=sigma, random_state=3).learn(X, y)
        assert row.error == np.mean((scores >= 0) != (y == 1))
        assert row.size == 20
    assert heat.best == min(heat.report.summary, key=lambda row: row.error).learner


def test_default_width():
    X = np.array([[0.0], [0.0], [4.0]])
    assert racing.default_sigma(X) == racing.default_sigma(sp.csr_matrix(X)) == 2.0
    assert racing.default_sigma(np.ones((5, 2))) == 1.0
    many = np.random.default_rng(0).normal(size=(900, 3))
    assert racing.default_sigma(many) == racing.default_sigma(many[:500])


def test_a_stream_may_grow_wider():
    X, y = stream()
    wide = np.hstack([X, np.arange(600)[:, None] % 7 == 0])
    batches = [(sp.csr_matrix(X[:300]), y[:300]), (sp.csr_matrix(wide[300:]), y[300:])]
    (heat,) = race(batches, ["RBP", "FOGD"], sigma=3.0)
    assert heat.features == 4
    (again,) = race(batches, ["RBP"], sigma=3.0, repeats=2)
    assert (again.features, again.report.repeats) == (4, 2)


def test_targets_say_the_task():
    X, y = stream(100)
    for target, classes in ((y, 2), (np.array(["no", "yes"])[(y > 0).astype(int)], 2), (X[:, 0], 0)):
        (heat,) = race((X, target), ["RBP"])
        assert heat.classes == classes
    assert race((X, np.arange(100) % 60), ["RBP"])[0].classes == 0
    X, y = stream(200)
    assert race((X, np.arange(200) % 60), ["RBP"], task="classification")[0].classes == 60
    assert race((X, y), ["RBP"], task="regression")[0].classes == 0
    assert race((X, y), ["RBP"], classes=["-1", "0", "1"])[0].classes == 3


def test_names_are_those_of_the_list():
    X, y = stream(100)
    (heat,) = race((X, y), ["rbp", "RBPClassifier", "kernel_perceptron"], budget=20)
    assert heat.report.learners == ["RBP", "KernelPerceptron"]


def test_who_cannot_take_part_is_left_out():
    X, y = stream(100)
    (heat,) = race((X, np.arange(100) % 3), ["RBP", "DUOL", "KernelRLS"])
    assert heat.report.learners == ["RBP"]
    assert heat.left_out == {"DUOL": "two classes only", "KernelRLS": "no classification"}
    for wrong, words in (
        ({"algorithms": ["KernelRLS"]}, "KernelRLS: no classification"),
        ({"algorithms": []}, "no algorithm"),
        ({"algorithms": ["Nobody"]}, "No learner is called 'Nobody'. There are: perceptron, "),
        ({"algorithms": ["KORS"]}, "No learner is called 'KORS'"),
        ({"task": "clustering"}, "task"),
        ({"classes": ["a"]}, "are numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            race((X, y), **{"algorithms": ["RBP"], **wrong})
    with pytest.raises(ValueError, match="no examples"):
        race([], ["RBP"])


def test_checkpoints_are_few_and_dense_wherever_a_stream_ends():
    marks = racing._marks()
    seen = [next(marks) for _ in range(400)]
    assert seen == sorted(set(seen))
    for end in (500, 1000, 12_345, 100_000):
        inside = [n for n in seen if n <= end]
        assert max(np.diff(inside[10:])) <= end / 30


@pytest.mark.slow
def test_the_built_in_race():
    said = []
    heats = race(repeats=2, say=lambda stream, text: said.append((stream, text)))
    assert [heat.name for heat in heats] == [track.name for track in racing.TRACKS]
    for heat in heats:
        assert heat.report.learners == list(racing.FIELD)
        assert heat.report.repeats == 2
        chance = 1 - 1 / heat.classes
        assert all(row.error < 0.6 * chance for row in heat.report.summary)
    assert ("digits", "making RBP ready (its first run on a machine compiles it)") in said


# ------------------------------------------------------------------ the page
def heats(names=TWO, **options):
    X, y = stream(300)
    return race((X, y), names, **options)


class Page(html.parser.HTMLParser):
    """Elements that are open at the end, and every address that is named."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone():
    text = pages.page(heats(repeats=2))
    page = Page(text)
    assert page.open == []
    assert page.addresses == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not re.search(r"@import|url\(|https?://", text)
    assert "prefers-color-scheme: dark" in text
    assert page.tags.count("figure") == page.tags.count("figcaption") == 4
    assert page.tags.count("table") == page.tags.count("caption") == 1


def test_names_are_escaped():
    evil = '<script>alert("1")</script> & more'
    X, y = stream(300)
    (heat,) = race((X, y), ["RBP"], name=evil)
    heat = heat._replace(about=evil, left_out={evil: evil})
    learners = tuple(type(c)(**{**vars(c), "learner": evil}) for c in heat.report.checkpoints)
    text = pages.page([heat._replace(report=type(heat.report)(learners))], title=evil)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 10
    assert Page(text).open == []


def test_the_table_says_what_the_report_says():
    (heat,) = heats()
    text = pages.page([heat])
    for row in heat.report.cells:
        assert all(f">{cell}</t" in text for _, cell in row)
    assert f'class="best"><th scope="row">{pages.key(heat.report.learners.index(heat.best))}{heat.best}<' in text


# ------------------------------------------------------------------ charts
def lines(picture):
    """Points of every line of a chart, by the name of the series; and its text."""
    root = ET.fromstring(picture)
    paths = {p.find("title").text: p.get("d") for p in root.iter("path") if "line" in p.get("class")}
    points = {name: np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", d), float) for name, d in paths.items()}
    return points, [text.text for text in root.iter("text")]


def test_a_chart_puts_values_in_their_places():
    points, words = lines(chart([Series("a<b", [0, 5, 10], [0, 1, 4])], title="t", x_label="x & y", y_label="z"))
    right, bottom = charts.WIDTH - charts.RIGHT, charts.HEIGHT - charts.BOTTOM
    assert points["a<b"][:, 0] == pytest.approx([charts.LEFT, (charts.LEFT + right) / 2, right])
    assert points["a<b"][:, 1] == pytest.approx([bottom, bottom - (bottom - charts.TOP) / 4, charts.TOP])
    assert {"x & y", "z", "0", "1", "2", "3", "4", "10"} <= set(words)


def test_a_chart_in_logarithms_and_percent():
    series = [Series("a", [0.01, 0.1, 1.0], [0.5, 0.25, 0.2])]
    points, words = lines(chart(series, title="t", x_label="s", y_label="e", log_x=True, percent=True))
    assert np.diff(points["a"][:, 0])[0] == pytest.approx(np.diff(points["a"][:, 0])[1], abs=0.11)
    assert {"0.01", "0.1", "1", "20%", "40%"} <= set(words)


def test_a_chart_chops_what_would_flatten_the_rest():
    series = [Series(name, [0, 1, 2], [0.1, 0.1, 0.1]) for name in "abc"] + [Series("far", [0, 1, 2], [0.1, 0.9, 0.9])]
    points, words = lines(chart(series, title="t", x_label="x", y_label="y", chop=True))
    assert "above: far" in words
    assert points["far"][-1, 1] == charts.TOP
    assert points["a"][-1, 1] == pytest.approx(charts.TOP + 0.2 * (charts.HEIGHT - charts.TOP - charts.BOTTOM))
    assert "above: far" not in lines(chart(series, title="t", x_label="x", y_label="y"))[1]


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("points", [[], [(3.0, 0.0)], [(3.0, 0.0), (3.0, 0.0)], [(1e-7, 1e12), (1e-6, 3.0)]])
def test_odd_charts(points, log):
    series = [Series("a", [x for x, _ in points], [y for _, y in points]), Series("empty", [], [])]
    found, words = lines(chart(series, title="t", x_label="x", y_label="y", log_x=log))
    assert "nan" not in words
    assert ("a" in found) == bool(points)


def test_long_lines_are_thinned_but_end_where_they_end():
    points, _ = lines(chart([Series("a", list(range(1000)), list(range(1000)))], title="t", x_label="x", y_label="y"))
    assert 100 <= len(points["a"]) <= charts.MOST_POINTS
    assert points["a"][-1].tolist() == [charts.WIDTH - charts.RIGHT, charts.TOP]


# ------------------------------------------------------------------ the command
@pytest.fixture
def rows(tmp_path):
    X, y = stream()
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def run(*args):
    return CliRunner().invoke(main, ["race", *map(str, args)])


def test_the_command_prints_tables_and_writes_the_page(rows, tmp_path):
    report = tmp_path / "page.html"
    result = run(rows, "-a", "rbp,nogd", "--budget", 20, "--sigma", 3, "--report", report)
    assert result.exit_code == 0, result.output
    (heat,) = race(stream(), TWO, budget=20, sigma=3.0)
    for row in heat.report.cells:
        assert re.search(r"\s+".join(re.escape(cell) for _, cell in row[:3]), result.stdout)
    assert "600 examples, 3 features, 2 classes; one run; sigma = 3, gamma = 0.05556" in result.stdout
    assert f"Curves: {report}" in result.stdout
    assert Page(report.read_text()).tags.count("svg") == 6
    assert [path.name for path in tmp_path.iterdir() if path.name != "rows.svm"] == ["page.html"]


def test_the_command_as_json(rows):
    result = run(rows, "-a", "rbp,rls", "--gamma", 0.5, "--json", "--no-report", "--repeats", 2)
    assert result.stderr == ""
    row = json.loads(result.stdout)
    assert row["learner"] == "RBP"
    assert (row["stream"], row["examples"], row["classes"], row["runs"], row["gamma"], row["sigma"]) == (
        "rows.svm", 600, 2, 2, 0.5, 1.0
    )  # fmt: skip


def test_usage_errors(rows):
    for wrong, words in (
        (["-a", "rpb"], "No learner is called 'rpb'. Did you mean rbp?"),
        (["-a", ","], "names none"),
        ([rows, "--sigma", 1, "--gamma", 1], "two names of one thing"),
        ([rows, "--gamma", 0], "--gamma must be a number above 0"),
        (["--task", "regression"], "--task goes with a SOURCE"),
        (["--leave-out", "a"], "--leave-out goes with a SOURCE"),
        ([rows, "--budget", 0], "0 is not in the range"),
    ):
        result = run(*wrong)
        assert result.exit_code == 2
        assert words in result.stderr


def test_other_errors_are_one_line(rows, tmp_path):
    torn = tmp_path / "torn.svm"
    torn.write_text(rows.read_text() + "1 1:x\n")
    for wrong, words in (
        ([tmp_path / "none.svm"], "there is no such file"),
        ([torn, "-a", "rbp"], "torn.svm, line 601"),
        ([rows, "-a", "rls"], "KernelRLS: no classification"),
        ([rows, "-a", "rbp", "--report", tmp_path / "no" / "page.html"], "page.html cannot be written"),
    ):
        result = run(*wrong, "-q")
        assert result.exit_code == 1
        assert result.stderr.startswith("onkel: ")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    skipped = run(torn, "-a", "rbp", "-q", "--no-report", "--skip-errors")
    assert skipped.exit_code == 0
    assert "faulty rows passed over: 1, the first of them:" in skipped.stderr


def test_a_real_process_reads_standard_input(rows, tmp_path):
    command = [sys.executable, "-m", "onkel", "race", "-", "-a", "rbp", "--classes=-1,1", "--report", "r.html"]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}  # plain Python warns of overflow where machine code does not
    done = subprocess.run(command, input=rows.read_bytes(), capture_output=True, cwd=tmp_path, env=quiet, timeout=300)
    assert done.returncode == 0, done.stderr
    assert b"standard input\n600 examples" in done.stdout
    assert done.stderr.decode().splitlines()[1:] == ["racing on standard input ..."]
    assert (tmp_path / "r.html").exists()
