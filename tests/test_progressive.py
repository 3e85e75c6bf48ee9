"""Progressive evaluation: what it reports is what `learn` says, whatever the batches and checkpoints."""

import json
import math
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

import onkel
from onkel.evaluation import LLSVM, Metrics, least_squares, progressive, repeated
from onkel.evaluation.runs import bytes_of


def moons(n=700, seed=0):
    from onkel.datasets import turning_moons

    return turning_moons(n, turns=0.3, noise=0.3, random_state=seed)


def rbp(**params):
    return onkel.RBPClassifier(**{"budget": 20, "gamma": 2.0, "random_state": 0, **params})


def nogd(**params):
    return onkel.NOGDClassifier(**{"budget": 20, "gamma": 2.0, "random_state": 0, **params})


def batches(X, y, size):
    return ((X[start : start + size], y[start : start + size]) for start in range(0, len(y), size))


def without_times(report):
    return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in report.to_dict()]


def test_the_numbers_are_those_of_learn():
    X, y = moons()
    report = onkel.progressive([rbp(), nogd()], (X, y), window=100)
    assert report.learners == ["RBP", "NOGD"]
    for name, model in (("RBP", rbp()), ("NOGD", nogd())):
        scores = model.learn(X, y)
        for c in report.curve(name):
            wrong = (scores[: c.examples] >= 0) != (y[: c.examples] == 1)
            assert c.metrics["mistake_rate"] == wrong.mean()
            assert c.recent["mistake_rate"] == wrong[-100:].mean()
        assert [c.examples for c in report.curve(name)] == [10, 20, 50, 100, 200, 500, 700]
        assert c.bytes == bytes_of(model)
        assert c.size == 20
        assert report.final[name] == [c]


@pytest.mark.parametrize("gamma", [2.0, "scale", "alignment"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, pd.DataFrame], ids=["array", "csr", "pandas"])
def test_checkpoints_change_no_bit(gamma, layout):
    X, y = moons(300)
    plain, cut = rbp(gamma=gamma, random_state=3), rbp(gamma=gamma, random_state=3)
    plain.partial_fit(layout(X), y)
    progressive(cut, (layout(X), y), checkpoints=[1, 2, 3, 17, 299])
    assert cut.gamma_ == plain.gamma_
    assert np.array_equal(cut.decision_function(layout(X)), plain.decision_function(layout(X)))
    assert hasattr(cut, "feature_names_in_") == hasattr(plain, "feature_names_in_")


def test_batches_do_not_matter():
    X, y = moons()
    runs = [
        progressive([rbp(), nogd()], stream, classes=[-1, 1], checkpoints=150)
        for stream in ((X, y), batches(X, y, 64), [(X[:1], y[:1]), (X[:0], y[:0]), (X[1:], y[1:], "position")])
    ]
    assert [c.examples for c in runs[0].curve("RBP")] == [150, 300, 450, 600, 700]
    assert without_times(runs[0]) == without_times(runs[1]) == without_times(runs[2])


def test_the_end_is_a_checkpoint():
    X, y = moons(30)
    for checkpoints, expected in ((1000, [30]), (10, [10, 20, 30]), ([7], [7, 30]), ([], [30])):
        report = progressive(rbp(), (X, y), checkpoints=checkpoints)
        assert [c.examples for c in report.checkpoints] == expected


def test_the_source_is_read_once_and_its_time_is_kept_apart():
    X, y = moons(60)
    read = []

    def slow():
        for batch in batches(X, y, 20):
            read.append(len(batch[1]))
            time.sleep(0.05)
            yield batch

    watched = []
    report = progressive([rbp(), nogd()], slow(), classes=[-1, 1], watch=watched.append)
    assert read == [20, 20, 20]
    assert tuple(watched) == report.checkpoints
    assert [c.reading for c in report.curve("RBP")] == [c.reading for c in report.curve("NOGD")]
    assert report.curve("RBP")[-1].reading >= 0.15 > report.curve("RBP")[0].reading >= 0.05
    for name in report.learners:
        times = [c.learning for c in report.curve(name)]
        assert 0 < times[0] < times[-1]
        assert times == sorted(times)


def test_sources_are_opened(tmp_path):
    """Whatever open_stream reads: paths, open files, data frames."""
    X, y = moons(60)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    expected = without_times(progressive(rbp(), (X, y)))
    with open(path, "rb") as file:
        for source in (path, str(path), file, frame):
            assert without_times(progressive(rbp(), source)) == expected
    with pytest.raises(FileNotFoundError):
        progressive(rbp(), "german")
    with pytest.raises(TypeError, match="A stream cannot be made of a int"):
        progressive(rbp(), 3)


def test_compiling_is_not_learning(monkeypatch):
    """What is slow only once is done by a copy, before the clock starts."""
    X, y = moons(100)
    called, run = [], onkel.RBPClassifier._run

    def slow_at_first(self, *batch):
        if not called:
            time.sleep(0.3)
        called.append(self)
        return run(self, *batch)

    monkeypatch.setattr(onkel.RBPClassifier, "_run", slow_at_first)
    model = rbp()
    last = progressive(model, (X, y)).checkpoints[-1]
    assert called[0] is not model
    assert all(one is model for one in called[1:])
    assert last.learning < 0.3
    assert model.n_seen_ == 100


def test_a_model_that_overflows_keeps_what_it_learnt_before():
    X, _ = moons(80)
    y = np.where(np.arange(80) < 3, X[:, 0], 1e300)
    model, cut = (onkel.KernelOGDRegressor(eta=1e10, gamma=2.0) for _ in range(2))
    with pytest.raises(ValueError, match=r"KernelOGD, after 3 examples: The model overflowed between rows 0 and 76"):
        progressive(model, (X, y), checkpoints=[3])
    assert model.n_seen_ == 3
    cut.partial_fit(X[:3], y[:3])
    assert np.array_equal(model.predict(X), cut.predict(X))


def test_a_model_goes_on_from_what_it_knows():
    X, y = moons()
    whole, model = rbp(), rbp().partial_fit(X[:300], y[:300])
    scores = whole.learn(X, y)
    report = progressive({"later": model}, (X[300:], y[300:]))
    assert report.checkpoints[-1].metrics["mistake_rate"] == np.mean((scores[300:] >= 0) != (y[300:] == 1))
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))


def test_many_classes_and_numbers():
    X, _ = moons(300)
    many = np.digitize(X[:, 0], [-0.5, 0.5]) * 5
    report = progressive(rbp(), (X, many), loss="logistic")
    scores = rbp().learn(X, many)
    expected = Metrics([0, 5, 10], loss="logistic")
    expected.update(scores, many)
    assert report.checkpoints[-1].metrics == expected.cumulative
    curve = progressive(onkel.FOGDRegressor(gamma=2.0, random_state=0), (X, X[:, 1]))
    scores = onkel.FOGDRegressor(gamma=2.0, random_state=0).learn(X, X[:, 1])
    last = curve.checkpoints[-1]
    assert curve.metric == "squared_error"
    assert last.metrics["squared_error"] == pytest.approx(np.mean((scores - X[:, 1]) ** 2), rel=1e-12)
    assert last.metrics["absolute_error"] == pytest.approx(np.mean(abs(scores - X[:, 1])), rel=1e-12)
    assert last.size == 400


def regret_by_definition(losses, best, penalty):
    return np.cumsum(losses) - np.cumsum(best) - penalty


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (rbp(), 20),
        (nogd(), 20),
        (onkel.FOGDClassifier(n_components=31), 31),
        (onkel.FeatureMapClassifier(), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_size(model, size):
    report = progressive(model, moons(100), checkpoints=100)
    assert report.checkpoints[-1].size == size


def test_regret_of_the_hinge():
    X, y = moons(200)
    svm = SVC(gamma=2.0, C=5.0, tol=1e-8)
    report = progressive([rbp(), nogd()], batches(X, y, 33), classes=[-1, 1], comparator=svm)
    svm.fit(X, y)
    K = np.exp(-2.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    a = np.zeros(200)
    a[svm.support_] = svm.dual_coef_[0]
    best = np.maximum(0, 1 - y * (K @ a + svm.intercept_[0]))
    for name, model in (("RBP", rbp()), ("NOGD", nogd())):
        expected = regret_by_definition(np.maximum(0, 1 - y * model.learn(X, y)), best, a @ K @ a / 10)
        for c in report.curve(name):
            assert c.regret == pytest.approx(expected[c.examples - 1], rel=1e-6)
    assert report.summary[0].regret == report.curve("RBP")[-1].regret


@pytest.mark.parametrize("labels", [True, False])
def test_regret_of_the_squared_loss_is_counted_from_the_closed_form(labels):
    X, y = moons(150)
    y = y if labels else X[:, 0] * X[:, 1]
    model = nogd(loss="squared_hinge") if labels else onkel.NOGDRegressor(gamma=2.0, random_state=0)
    report = progressive(model, (X, y), comparator=KernelRidge(kernel="rbf", gamma=2.0, alpha=0.3))
    K = np.exp(-2.0 * ((X[:, None] - X) ** 2).sum(axis=2))
    last = report.checkpoints[-1]
    assert last.regret == pytest.approx(150 * last.metrics["loss"] - least_squares(K, y, 0.3), rel=1e-9)


def test_regret_of_the_tube_and_of_many_classes():
    X, y = moons(150)
    model = onkel.KernelOGDRegressor(loss="epsilon_insensitive", epsilon=0.1, gamma=2.0)
    svr = SVR(gamma=2.0, epsilon=0.1, C=2.0)
    last = progressive(model, (X, X[:, 0]), comparator=svr).checkpoints[-1]
    svr.fit(X, X[:, 0])
    misses = np.maximum(0, abs(svr.predict(X) - X[:, 0]) - 0.1).sum()
    assert 0 < 150 * last.metrics["loss"] - last.regret - misses < 150  # the penalty
    many = np.digitize(X[:, 0], [-0.5, 0.5])
    report = progressive(rbp(), (X, many), comparator=LLSVM(n_landmarks=50, gamma=2.0, random_state=0))
    assert math.isfinite(report.checkpoints[-1].regret)
    with pytest.raises(ValueError, match="only LLSVM"):
        progressive(rbp(), (X, many), comparator=SVC())
    with pytest.raises(ValueError, match="minimises the loss 'hinge', not 'logistic'"):
        progressive(rbp(), (X, y), comparator=SVC(), loss="logistic")
    with pytest.raises(TypeError, match="one of SVC, LLSVM"):
        progressive(rbp(), (X, y), comparator=rbp())


def test_repeats_show_permutations_to_fresh_models():
    X, y = moons(200)
    model = rbp()
    report = repeated({"a": model, "b": nogd()}, (X, y), repeats=3, seed=5, checkpoints=[100])
    assert not hasattr(model, "_learner")
    errors = []
    for repeat in range(3):
        order = np.random.default_rng(5 + repeat).permutation(200)
        scores = rbp(random_state=5 + repeat).learn(X[order], y[order])
        errors.append(np.mean((scores >= 0) != (y[order] == 1)))
        assert report.curve("a", repeat)[-1].metrics["mistake_rate"] == errors[-1]
    assert report.repeats == 3
    summary = report.summary[0]
    assert summary.error == pytest.approx(np.mean(errors), rel=1e-12)
    assert summary.error_deviation == pytest.approx(np.std(errors, ddof=1), rel=1e-12)
    assert report.mean_curve("a", "mistake_rate")[0] == [100, 200]
    assert without_times(report) == without_times(
        repeated({"a": model, "b": nogd()}, (X, y), repeats=3, seed=5, checkpoints=[100])
    )


def test_repeats_of_a_generator():
    watched = []
    report = repeated(rbp(), lambda seed: moons(100, seed), repeats=2, seed=7, watch=watched.append)
    one = progressive(rbp(random_state=8), moons(100, 8))
    assert report.curve("RBP", 1)[-1].metrics == one.checkpoints[-1].metrics
    assert tuple(watched) == report.checkpoints


def test_a_report_turns_into_other_forms(tmp_path):
    X, y = moons(120)
    report = progressive([rbp(), nogd()], (X, y))
    rows = report.to_dict()
    assert rows[0] == {**rows[0], "learner": "RBP", "repeat": 0, "examples": 10}
    path = tmp_path / "report.jsonl"
    assert report.to_jsonl(path) == path.read_text()
    assert [json.loads(line) for line in path.read_text().splitlines()] == rows
    assert report.to_pandas().to_dict("records") == rows
    lines = str(report).splitlines()
    assert lines[0].split() == ["learner", "mistakes", "size", "kB", "µs", "per", "example"]
    assert lines[1].split()[:3] == ["RBP", f"{100 * report.summary[0].error:.2f}%", "20"]
    with pytest.raises(KeyError, match="SPA"):
        report.curve("SPA")


def test_what_is_not_finite_is_null_in_json():
    report = progressive(rbp(), moons(20))
    c = report.checkpoints[0]
    broken = type(report)((type(c)(**{**vars(c), "metrics": {"mistake_rate": math.inf}}),))
    assert json.loads(broken.to_jsonl())["mistake_rate"] is None


def test_polars_and_plots():
    polars, pyplot = pytest.importorskip("polars"), pytest.importorskip("matplotlib.pyplot")
    report = progressive([rbp(), nogd()], moons(120))
    frame = report.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.to_dicts() == report.to_dict()
    pyplot.switch_backend("agg")
    for value, against in ((None, "examples"), ("recent_mistake_rate", "seconds"), ("size", "examples")):
        axes = report.plot(value, against=against)
        named = report.metric if value is None else value
        for line, name in zip(axes.get_lines(), report.learners, strict=True):
            assert line.get_label() == name
            assert line.get_ydata().tolist() == [c.to_dict()[named] for c in report.curve(name)]
        pyplot.close(axes.figure)
    with pytest.raises(ValueError, match="against"):
        report.plot(against="days")


def test_curves_of_nothing():
    report = progressive(rbp(), moons(30))
    for curves in (report.plot, lambda value: report.mean_curve("RBP", value)):
        with pytest.raises(
            ValueError, match="Checkpoints have no 'foo'; they have: examples, mistake_rate, accuracy, "
        ):
            curves("foo")


def test_errors_say_what_and_whose():
    X, y = moons(60)
    model = rbp()
    with pytest.raises(ValueError, match="no examples"):
        progressive(model, [])
    with pytest.raises(ValueError, match="no model"):
        progressive([], (X, y))
    with pytest.raises(TypeError, match="not an estimator of onkel"):
        progressive(SVC(), (X, y))
    with pytest.raises(ValueError, match="named twice"):
        progressive([model, model], (X, y))
    with pytest.raises(ValueError, match="do not learn from the same stream"):
        progressive([model, onkel.RBPRegressor()], (X, y))
    for bad in ("linear", 0, [0, 5], [5, 5]):
        with pytest.raises(ValueError, match="checkpoints"):
            progressive(model, (X, y), checkpoints=bad)
    with pytest.raises(ValueError, match="60 rows, but 59 targets"):
        progressive(model, (X, y[:59]))
    with pytest.raises(ValueError, match=r"RBP, after 60 examples: y has labels .*7"):
        progressive(model, [(X, y), (X, np.full(60, 7))])
    with pytest.raises(ValueError, match="repeats"):
        repeated(model, (X, y), repeats=0)
    with pytest.raises(TypeError, match="function from a seed"):
        repeated(model, batches(X, y, 10))
