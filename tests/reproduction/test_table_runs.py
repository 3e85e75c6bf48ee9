"""Tables run from end to end, small: on made-up sets, a few rows, two repeats."""

import csv
import json
import signal
import sqlite3
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import is_classifier
from small_sets import write_set

import onkel
from onkel.evaluation.reproduction import Request, Results, compared, run_table, runner, settings, streams, write_csv
from onkel.evaluation.reproduction.comparison import COLUMNS, Ours, _away, _verdict
from onkel.evaluation.reproduction.document import write_markdown
from onkel.evaluation.reproduction.jobs import Job, made, run
from onkel.evaluation.reproduction.page import write_html
from onkel.evaluation.reproduction.published import Figure
from onkel.evaluation.reproduction.streams import TUNING, Source

SMALL = Request(rows=30, repeats=2, heavy=True, jobs=1)


@pytest.fixture
def results(tmp_path):
    with Results(tmp_path / "results.sqlite") as opened:
        yield opened


def runs(results):
    return results._base.execute("SELECT COUNT(*) FROM runs").fetchone()[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", settings.names())
def test_every_table(name, sets, results, tmp_path, monkeypatch):
    """Its first data set, all learners: everything that is not quoted comes out, in all forms of output."""
    table = settings.table(name)
    whole = settings.Cell.candidates
    monkeypatch.setattr(settings.Cell, "candidates", lambda cell: whole(cell)[:2])
    request = SMALL._replace(datasets=(next(iter(table.datasets)),))
    assert run_table(table, request, results) == {}
    view = compared(table, request, results)
    for one in view.judged:
        assert bool(one.ours) == (not one.cell.quoted), one.why
        assert one.why == one.cell.quoted
    assert not any(one.verdict or one.away for one in view.comparisons)  # of thirty rows
    done = runs(results)
    run_table(table, request, results)
    assert runs(results) == done
    write_csv([view], tmp_path / "t.csv")
    write_html([view], tmp_path / "t.html")
    write_markdown([view], tmp_path / "t.md")
    with open(tmp_path / "t.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(COLUMNS)
    assert len(rows) == 1 + len(view.comparisons)
    page = (tmp_path / "t.html").read_text()
    assert page.count("<figure") == 1
    assert "http" not in page
    for algorithm in {one.cell.algorithm for one in view.judged if one.ours}:
        assert f"| {algorithm} |" in (tmp_path / "t.md").read_text()


def test_figures_are_those_of_a_loop_by_hand(sets, results):
    """Mean and deviation over the stored orders, in % of the examples."""
    table = settings.table("thesis-4.4")
    request = Request(datasets=("german",), algorithms=("RBP",), repeats=2, jobs=1)
    run_table(table, request, results)
    X, y, orders = onkel.datasets.load_jmlr16("german")
    rates = []
    for repeat, order in enumerate(orders[:2]):
        model = onkel.RBPClassifier(sigma=8.0, budget=100, random_state=repeat)
        scores = model.learn(X[order], y[order], classes=[-1, 1])
        rates.append(100 * np.mean(np.where(scores >= 0, 1, -1) != y[order]))
    ours = compared(table, request, results).judged[0].ours
    assert ours == Ours(pytest.approx(np.mean(rates)), pytest.approx(np.std(rates, ddof=1)), 2)


def test_grids_are_tuned_on_an_order_of_their_own(sets, results):
    table = settings.table("thesis-4.4")
    request = Request(datasets=("german",), algorithms=("OGD",), repeats=2, jobs=1)
    run_table(table, request, results)
    rows = results._base.execute("SELECT parameters, repeat, outcome FROM runs").fetchall()
    tuning = {json.loads(p)["eta"]: json.loads(o)["error"] for p, repeat, o in rows if repeat == TUNING}
    final = {json.loads(p)["eta"] for p, repeat, _ in rows if repeat != TUNING}
    assert sorted(tuning) == [0.0002, 0.002, 0.02, 0.2, 2]
    assert final == {min(tuning, key=tuning.get)} or len(set(tuning.values())) < 5
    assert final == {one.parameters["eta"] for one in compared(table, request, results).judged}
    orders = [streams.order(60, np.empty((0, 60), np.int64), repeat).tolist() for repeat in (TUNING, 0, 1)]
    assert len({tuple(order) for order in orders}) == 3


def test_finished_runs_serve_other_tables(sets, results):
    """The key is the work, not the table: what two tables ask for alike is run once."""
    request = Request(datasets=("german",), algorithms=("RBP",), repeats=2, jobs=1)
    run_table(settings.table("thesis-4.4"), request, results)
    before = runs(results)
    figure = settings.table("thesis-figure-4.3")
    run_table(figure, request, results)
    assert runs(results) == before + 2 * (len(figure.points) - 1)


def test_other_data_are_other_runs(sets, results, tmp_path, monkeypatch):
    request = Request(datasets=("abalone",), algorithms=("RBP",), repeats=1, jobs=1)
    run_table(settings.table("thesis-4.8"), request, results)
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
    write_set(tmp_path, "abalone", rows=50)
    streams._loaded.cache_clear()
    before = runs(results)
    run_table(settings.table("thesis-4.8"), request, results)
    assert runs(results) == before + 1


def test_missing_data_are_left_out(sets, results, tmp_path, monkeypatch):
    """The rest runs, and a line says how to get what is missing."""
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
    write_set(tmp_path, "mg")
    write_set(tmp_path, "abalone")
    streams._loaded.cache_clear()
    table = settings.table("thesis-4.8")
    request = Request(datasets=("abalone", "cadata"), algorithms=("RBP",), repeats=1, jobs=1)
    missing = run_table(table, request, results)
    assert list(missing) == ["cadata"]
    assert "cadata" in missing["cadata"]
    assert "https://" in missing["cadata"]
    there, gone = compared(table, request, results, missing).judged
    assert there.ours
    assert (gone.ours, gone.why) == (None, "data missing")


def test_a_learner_that_fails_is_an_outcome(sets):
    job = Job("progressive", Source("jmlr16:german"), "", "RBPClassifier", {"budget": 0}, 0)
    assert "budget must be" in run(job)["failed"]


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_backends(backend, sets, tmp_path):
    """joblib's backends, those that return results one by one and those that do not, bring the same."""
    table = settings.table("thesis-4.4")
    request = Request(datasets=("german",), algorithms=("RBP", "Forgetron"), repeats=3, rows=30)
    figures = []
    for name, context in (("one", "sequential"), ("many", backend)):
        with Results(tmp_path / f"{name}.sqlite") as opened, joblib.parallel_config(backend=context, n_jobs=2):
            run_table(table, request, opened)
            figures.append([one.ours for one in compared(table, request, opened).judged])
    assert figures[0] == figures[1]


def test_progress(sets, results):
    seen = []
    request = Request(datasets=("german",), algorithms=("OGD",), repeats=3, rows=30, jobs=1)
    run_table(settings.table("thesis-4.4"), request, results, lambda *step: seen.append(step))
    assert [step for step in seen if "choosing" in step[0]][-1][1:] == (5, 5)
    assert seen[-1] == ("german", 3, 3)


KILLED = """
import os, signal, sys
from onkel.evaluation.reproduction import Request, Results, run_table, table
steps_left = int(sys.argv[2])
def step(*_):
    global steps_left
    steps_left -= 1
    if steps_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
request = Request(datasets=("a9a",), algorithms=("RBP", "OGD"), repeats=40, jobs=2)
with Results(sys.argv[1]) as results:
    run_table(table("thesis-4.4"), request, results, step)
"""


def finished(path):
    with sqlite3.connect(path) as base:
        return dict(base.execute("SELECT key, finished || outcome FROM runs").fetchall())


@pytest.mark.slow
def test_killed_runs_go_on(sets, tmp_path):
    """SIGKILL in the middle, more than once: what was finished stays, and the end is that of a run in one piece."""
    cut, whole = tmp_path / "cut.sqlite", tmp_path / "whole.sqlite"
    command = [sys.executable, "-c", KILLED]
    table = settings.table("thesis-4.4")
    for steps in (3, 20):
        process = subprocess.run([*command, str(cut), str(steps)], check=False)
        assert process.returncode == -signal.SIGKILL, "it was over before it was killed"
    before = finished(cut)
    assert 20 <= len(before) < 85
    for path in (cut, whole):
        subprocess.run([*command, str(path), "0"], check=True)
    after = finished(cut)
    assert {key: after[key] for key in before} == before
    request = Request(datasets=("a9a",), algorithms=("RBP", "OGD"), repeats=40)
    figures = []
    for path in (cut, whole):
        with Results(path) as opened:
            figures.append([one.ours for one in compared(table, request, opened).judged])
    assert figures[0] == figures[1]
    assert len(after) == 85  # 2 x 40, and 5 step sizes


def test_two_writers(sets, tmp_path):
    """A second connection sees what the first has finished, and both may write."""
    job = Job("progressive", Source("jmlr16:german"), "", "RBPClassifier", {}, 0)
    with Results(tmp_path / "r.sqlite") as one, Results(tmp_path / "r.sqlite") as other:
        one.add(job, {"error": 0.5})
        assert other.outcome(job) == {"error": 0.5}
        other.add(job._replace(repeat=1), {"error": 0.25})
        assert one.missing([job, job._replace(repeat=1), job._replace(repeat=2)]) == [job._replace(repeat=2)]


def test_no_database(tmp_path):
    (tmp_path / "text").write_text("no database, but a text of some length, longer than a header would be" * 20)
    with pytest.raises(ValueError, match="results database"):
        Results(tmp_path / "text")
    with pytest.raises(FileNotFoundError, match="no results database"):
        Results(tmp_path / "none", must_exist=True)


def test_standard_errors():
    printed = Figure("35.2 ± 0.9", 35.2, 0.9, 0.05, False)
    ours = Ours(36.0, 1.2, 10)
    wanted = 0.8 / np.sqrt(0.9**2 / 20 + 1.2**2 / 10 + 0.1**2 / 12)
    assert _away(ours, printed, 20) == pytest.approx(wanted)
    alone = 0.8 / np.sqrt(0.9**2 / 20 + 0.9**2 + 0.1**2 / 12)  # one repeat has no deviation of its own
    assert _away(Ours(36.0, None, 1), printed, 20) == pytest.approx(alone)


@pytest.mark.parametrize(
    ("mean", "std", "metric", "verdict"),
    [
        (35.24, 0.93, "mistake_rate_pct", "exact"),
        (35.24, 1.03, "mistake_rate_pct", "agrees"),
        (36.0, 0.9, "mistake_rate_pct", "worse"),
        (34.4, 0.9, "mistake_rate_pct", "better"),
        (36.0, 0.9, "accuracy_pct", "better"),
        (34.4, 0.9, "accuracy_pct", "worse"),
    ],
)
def test_verdicts(mean, std, metric, verdict):
    printed, ours = Figure("35.2 ± 0.9", 35.2, 0.9, 0.05, False), Ours(mean, std, 20)
    assert _verdict(metric, ours, printed, _away(ours, printed, 20)) == verdict


def test_adversarial_streams(sets):
    """Blocks of ten rounds, every second one lies; another draw for every repeat."""
    (X, y), (Z, _) = (streams.stream(Source("adversarial:german-1"), repeat) for repeat in (0, 1))
    assert len(y) == 600
    assert (X[:10] == X[0]).all()
    assert not np.array_equal(X, Z)
    base, labels, _ = onkel.datasets.load_jmlr16("german")
    true = [labels[(base == row).all(axis=1)][0] for row in X[::10]]
    assert np.array_equal(np.array(true) * np.tile([1, -1], 30), y[::10])


def test_scaling(sets):
    X, y = streams.stream(Source("load:abalone", "both"), 0)
    assert [X.min(), X.max(), y.min(), y.max()] == [0, 1, 0, 1]
    assert np.allclose(X.max(axis=0), 1)
    X, _ = streams.stream(Source("load:mnist/test", "largest"), 0)
    assert X.max() == 1


def test_parts(sets):
    """The training part is learnt, the test part predicted; a set in one piece gives up a fifth."""
    learnt, held = streams.stream(Source("load:a9a", parts=True), 0)[1], streams.held_out(Source("load:a9a"))[1]
    assert (len(learnt), len(held)) == (60, 60)
    learnt, held = streams.stream(Source("load:kdd08", parts=True), 0)[1], streams.held_out(Source("load:kdd08"))[1]
    assert (len(learnt), len(held)) == (48, 12)


def test_seeds(sets):
    job = Job("progressive", Source("jmlr16:german"), "", "RBPClassifier", {"budget": 5}, 3)
    assert made(job).random_state == 3
    assert is_classifier(made(job))
    assert job.key != job._replace(repeat=4).key
    assert job.key == job._replace(parameters={"budget": 5}).key


def test_the_whole_is_named_on_request(sets, results):
    """Cells that take hours run only when asked for, and say so."""
    table = settings.table("thesis-3.2")
    request = Request(datasets=("covtype",), algorithms=("Perceptron",), rows=30, repeats=1, jobs=1)
    run_table(table, request, results)
    (one,) = compared(table, request, results).judged
    assert one.ours is None
    assert "not asked for" in one.why
    heavy = request._replace(heavy=True)
    run_table(table, heavy, results)
    assert compared(table, heavy, results).judged[0].ours
    assert runner.runnable(one.cell, True)


@pytest.mark.data
def test_published_cells_exact(tmp_path, monkeypatch):
    """On the authors' data and orders, through the whole machinery."""
    if not (onkel.datasets.folder() / "jmlr16" / "housing.mat").exists():
        pytest.skip("jmlr16/housing.mat is not in the data folder; set ONKEL_DATA to the folder that holds jmlr16/")
    table = settings.table("thesis-4.8")
    request = Request(datasets=("housing", "mg"), algorithms=("OGD", "Perceptron", "NORMA", "NOGD"), jobs=1)
    with Results(tmp_path / "r.sqlite") as results:
        run_table(table, request, results)
        found = compared(table, request, results).judged
    assert [one.verdict for one in found if one.cell.exact] == ["exact"] * 8
