"""One row at a time by the short way: the same bits as whole batches, and as safe."""

import copy
import pickle
import threading

import numpy as np
import pytest
from cases import CASES, MULTICLASS, REGRESSION, classes_of, group_of, rows_of

import onkel
from onkel._jit import COMPILED
from onkel.estimators._short import MOST, SMALL
from onkel.state import state_dict

N = 240 if COMPILED else 60
REPRESENTATIVES = list(
    {(group_of(c), c.params.get("strategy"), c.params.get("maintenance")): c for c in CASES}.values()
)
each_kind = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=pytest.mark.xdist_group(group_of(c))) for c in REPRESENTATIVES]
)
FEW = [
    c
    for c in CASES
    if c.name in ("rbp-multiclass", "nogd-binary", "projectron-budget-binary", "ogd-squared-regression")
]
each_of_few = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=pytest.mark.xdist_group(group_of(c))) for c in FEW]
)


def state(model):
    return {name: a.tobytes() for name, a in state_dict(model._learner).items()}


def first(case):
    return {"classes": classes_of(case)} if case.task != REGRESSION else {}


def one_by_one(model, case, X, y):
    return np.array([model.learn_one(x, t, **first(case)) for x, t in zip(X, y)])


@each_kind
def test_learn_one_is_learn(case):
    X, y = rows_of(case, N)
    whole, single = case.make(), case.make()
    np.testing.assert_array_equal(one_by_one(single, case, X, y), whole.learn(X, y, **case.first))
    assert state(single) == state(whole)


@each_of_few
def test_the_short_way_is_taken(case, monkeypatch):
    """Else nothing here is tested: after the first rows, the long way is for rows that change the arrays."""
    X, y = rows_of(case, N)
    model, long = case.make(), []
    learn = type(model)._learn
    monkeypatch.setattr(type(model), "_learn", lambda self, *args, **more: long.append(1) or learn(self, *args, **more))
    one_by_one(model, case, X, y)
    assert 1 <= len(long) < N / 10


@each_of_few
def test_predict_one_is_predict(case):
    X, y = rows_of(case, N)
    model = case.make().partial_fit(X, y, **case.first)
    before = state(model)
    assert [model.predict_one(x) for x in X[:20]] == model.predict(X[:20]).tolist()
    if case.task != REGRESSION:
        np.testing.assert_array_equal([model.decision_one(x) for x in X[:20]], model.decision_function(X[:20]))
    assert state(model) == before
    model.learn(X[:50], y[:50])  # what is learnt meanwhile is seen
    assert [model.predict_one(x) for x in X[:20]] == model.predict(X[:20]).tolist()


@each_of_few
def test_bad_rows_change_nothing(case):
    X, y = rows_of(case, N)
    model = case.make()
    one_by_one(model, case, X[: N // 2], y[: N // 2])
    before, d = state(model), X.shape[1]
    bad = [
        (np.full(d, np.nan), y[0], "NaN"),
        (np.full(d, np.inf), y[0], "infinity"),
        (np.full(d, 1e200), y[0], "overflow"),
        (X[0, :-1], y[0], "features"),
        (np.append(X[0], 0.0), y[0], "features"),
        (X[:1], y[0], "one row"),
        (np.float64(3), y[0], "one row"),
        (["a"] * d, y[0], "could not convert"),
        (X[0], np.nan, "NaN"),
    ]
    if case.task != REGRESSION:
        bad += [(X[0], 77, "not among the classes"), (X[0], "spam", "not among|types")]
    for x, target, words in bad:
        with pytest.raises((ValueError, TypeError), match=words):
            model.learn_one(x, target)
        assert state(model) == before, (x, target)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.learn_one(X[0], y[0], sample_weight=-1.0)
    for x, _, words in bad[:7]:
        with pytest.raises(ValueError, match=words):
            model.predict_one(x)
    assert state(model) == before
    rest = one_by_one(model, case, X[N // 2 :], y[N // 2 :])
    np.testing.assert_array_equal(rest, case.make().learn(X, y, **case.first)[N // 2 :])


def test_odd_rows_are_understood():
    X, y = rows_of(next(c for c in CASES if c.name == "rbp-binary"), N)
    model = onkel.RBPClassifier(budget=13, gamma=0.15, random_state=0)
    model.learn(X, y)
    rows = [X[0].tolist(), tuple(X[0]), X[0].astype(np.float32), np.round(X[0]).astype(int), X[0].astype(object)]
    for x in rows:
        expected = model.decision_function(np.array([x], float))[0]
        assert model.decision_one(x) == expected
        assert copy.deepcopy(model).learn_one(x, y[0]) == expected
    assert model.learn_one(X[1], np.int64(1), sample_weight=0.0) == model.decision_one(X[1])


def test_labels_of_any_kind():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for labels in (["no", "yes"], [False, True], ["a", "b", "c"], [3.0, 7.0]):
        y = np.array(labels)[np.arange(60) % len(labels)]
        whole, single = (onkel.RBPClassifier(budget=5, random_state=0) for _ in range(2))
        expected = whole.learn(X, y)
        scores = [single.learn_one(x, label, classes=labels) for x, label in zip(X, y)]
        np.testing.assert_array_equal(scores, expected)
        assert single.predict_one(X[0]) == whole.predict(X[:1])[0]
        assert single.predict_one(X[0]) in labels


def overflowing(scale=1.0):
    """A learner whose coefficients overflow when a large number comes, and rows that do not."""
    random = np.random.default_rng(3)
    return onkel.KernelOGDRegressor(loss="squared", eta=0.3, gamma=0.5), random.normal(size=(2 * MOST, 3)), random


@pytest.mark.parametrize("rows", [1, 5, MOST - 1, MOST, MOST + 3])
def test_an_overflow_is_undone(rows):
    """Also behind rows that were learnt since the state was copied; and learning goes on."""
    model, X, random = overflowing()
    y = random.normal(size=len(X))
    for x, target in zip(X[:rows], y):
        model.learn_one(x, target)
    before = state(model)
    with pytest.raises(ValueError, match="overflowed"):
        model.learn_one(X[0], 1.7e308)
    assert state(model) == before
    assert model.n_seen_ == rows
    scores = [model.learn_one(x, target) for x, target in zip(X[rows : rows + 20], y[rows:])]
    np.testing.assert_array_equal(scores, overflowing()[0].learn(X, y)[rows : rows + 20])


@pytest.mark.parametrize("sizes", [(1, 1, 1), (40, 1, 3), (SMALL, SMALL + 1, 2), (3, 200, 100, 2)])
def test_an_overflow_is_undone_behind_small_batches(sizes):
    model, X, random = overflowing()
    y, start = random.normal(size=len(X)), 0
    for size in sizes:
        model.partial_fit(X[start : start + size], y[start : start + size])
        start += size
    before = state(model)
    for bad in (1, 30, 200):
        with pytest.raises(ValueError, match="overflowed"):
            model.partial_fit(X[:bad], np.append(y[: bad - 1], 1.7e308))
        assert state(model) == before
    model.learn_one(X[start], y[start])
    with pytest.raises(ValueError, match="overflowed"):
        model.partial_fit(X[:2], [0.0, 1.7e308])
    model.partial_fit(X[start + 1 : 400], y[start + 1 : 400])
    expected = overflowing()[0].partial_fit(X[:400], y[:400])
    assert state(model) == state(expected)


def test_new_parameters_count_from_the_next_row():
    X, y = rows_of(next(c for c in CASES if c.name == "rbp-binary"), N)
    models = [onkel.RBPClassifier(budget=13, gamma=0.15, random_state=0) for _ in range(2)]
    for x, label in zip(X[:50], y):
        models[0].learn_one(x, label, classes=[-1, 1])
    models[1].learn(X[:50], y[:50])
    for model in models:
        model.set_params(eta=0.25)
    for x, label in zip(X[50:], y[50:]):
        models[0].learn_one(x, label)
    models[1].learn(X[50:], y[50:])
    assert state(models[0]) == state(models[1])
    with pytest.raises(ValueError, match="budget cannot change"):
        models[0].set_params(budget=4).learn_one(X[0], y[0])
    models[0].set_params(budget=13, eta=-1)
    with pytest.raises(ValueError, match="eta must be"):
        models[0].learn_one(X[0], y[0])


def test_before_anything_was_learnt():
    x = np.zeros(3)
    with pytest.raises(ValueError, match="has not learnt anything"):
        onkel.RBPClassifier().predict_one(x)
    with pytest.raises(ValueError, match="one class"):
        onkel.RBPClassifier().learn_one(x, 1)
    assert onkel.RBPRegressor().learn_one(x, 1.0) == 0.0


def test_wider_rows():
    X = np.random.default_rng(0).normal(size=(40, 6))
    y = X[:, 0]
    whole, single = (onkel.RBPRegressor(budget=5, grow_features=True, random_state=0, gamma=0.3) for _ in range(2))
    for i in range(40):
        d = 3 + i // 15
        assert single.learn_one(X[i, :d], y[i]) == whole.learn(X[i : i + 1, :d], y[i : i + 1])[0]
    assert state(single) == state(whole)
    assert single.predict_one(X[0, :2]) == whole.predict(X[:1, :2])[0]


def test_copies_and_pickles_hold_no_buffers():
    X, y = rows_of(next(c for c in CASES if c.name == "rbp-multiclass"), N)
    model = onkel.RBPClassifier(budget=13, gamma=0.15, random_state=0)
    for x, label in zip(X[:50], y):
        model.learn_one(x, label, classes=range(4))
    model.predict_one(X[0])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not {"_past", "_watch", "_door", "_windows"} & set(vars(other))
        np.testing.assert_array_equal(other.learn_one(X[50], y[50]), model.decision_one(X[50]))


def test_threads_that_look_at_one_model():
    X, y = rows_of(next(c for c in CASES if c.task == MULTICLASS and group_of(c) == "RBP"), N)
    model = onkel.RBPClassifier(budget=13, gamma=0.15, random_state=0).fit(X, y)
    expected, wrong = model.decision_function(X), []

    def look(order):
        for _ in range(20):
            wrong.extend(i for i in order if (model.decision_one(X[i]) != expected[i]).any())

    threads = [threading.Thread(target=look, args=(np.random.default_rng(k).permutation(len(X)),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
