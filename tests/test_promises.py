"""What every learner promises, whatever its algorithm: one test per promise, over all cases."""

import copy
import itertools
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    BINARY,
    BUDGET,
    CASES,
    KERNELS,
    MULTICLASS,
    REGRESSION,
    classes_of,
    coefficients,
    each_case,
    group_of,
    rows_of,
    support,
)
from sklearn.base import clone

import onkel
from onkel._jit import COMPILED, _compiled
from onkel.state import arrays, state_dict

N = 240 if COMPILED else 60


def kind_of_map(case):
    """What the compiled code of a learner's features depends on."""
    if "map" in case.params:
        return type(case.params["map"])
    return case.params.get("features") in ("structured", "fastfood")


REPRESENTATIVES = list(
    {
        (group_of(case), *map(case.params.get, ("strategy", "maintenance", "component")), kind_of_map(case)): case
        for case in CASES
    }.values()
)
each_kind = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=pytest.mark.xdist_group(group_of(case))) for case in REPRESENTATIVES],
)


def state(model):
    """All arrays of a model, as bytes."""
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in state_dict(model._learner).items()}


def everything(model):
    """The state and all else that a failed call must leave alone."""
    rest = {name: repr(value) for name, value in vars(model).items() if name != "_learner"}
    return (state(model) if hasattr(model, "_learner") else None), rest


def learnt(case, n=N, **overrides):
    X, y = rows_of(case, n)
    model = case.make(**overrides)
    model.learn(X, y, **case.first)
    return model


def predictions(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def stored(model):
    """How many points a model holds."""
    return len(getattr(model, "component_indices_", getattr(model, "support_", ())))


# ------------------------------------------------------------------ pieces, copies, seeds
@each_case
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_pieces_equal_the_whole(case, layout):
    X, y = rows_of(case, N)
    X = sp.csr_matrix(X) if layout == "csr" else X
    whole, pieces = case.make(), case.make()
    expected = whole.learn(X, y, **case.first)
    edges = [0, 1, 2, 9, N // 3, N // 3 + 1, N - 1, N]
    scores = [pieces.learn(X[a:b], y[a:b], **(case.first if a == 0 else {})) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    assert state(pieces) == state(whole)


@each_case
def test_partial_fit_and_fit_are_learn(case):
    X, y = rows_of(case, N)
    model = learnt(case)
    assert state(case.make().partial_fit(X, y, **case.first)) == state(model)
    if case.task == REGRESSION or len(np.unique(y)) == len(classes_of(case)):
        assert state(case.make().fit(X, y)) == state(model)


@each_case
def test_csr_equals_dense(case):
    X, y = rows_of(case, N)
    dense, sparse = case.make(), case.make()
    a, b = dense.learn(X, y, **case.first), sparse.learn(sp.csr_matrix(X), y, **case.first)
    scale = np.abs(a).max()
    np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_array_equal(support(sparse), support(dense))
    assert predictions(dense, sp.csr_matrix(X)) == pytest.approx(predictions(sparse, X), rel=1e-9, abs=1e-9 * scale)


@each_case
def test_same_seed_same_model(case):
    assert state(learnt(case, random_state=4)) == state(learnt(case, random_state=4))


def test_another_seed_another_model():
    for name in ("rbp-binary", "bogd-hinge-binary", "bogd-nonuniform-binary", "spa-binary", "oskl-logistic-binary"):
        case = next(case for case in CASES if case.name == name)
        assert state(learnt(case, random_state=4)) != state(learnt(case, random_state=5)), name


@each_case
def test_copies_are_independent_and_carry_on(case):
    X, y = rows_of(case, N)
    model = learnt(case, N // 2)
    before = state(model)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    assert not hasattr(clone(model), "_learner")
    expected = model.learn(X[N // 2 :], y[N // 2 :])
    for other in copies:
        assert state(other) == before
        np.testing.assert_array_equal(other.learn(X[N // 2 :], y[N // 2 :]), expected)
        assert state(other) == state(model)


@each_kind
def test_joblib(case, tmp_path):
    X, _ = rows_of(case, N)
    model = learnt(case)
    joblib.dump(model, tmp_path / "model")
    np.testing.assert_array_equal(predictions(joblib.load(tmp_path / "model"), X), predictions(model, X))


# ------------------------------------------------------------------ what a call may touch
@each_case
def test_predict_changes_nothing(case):
    X, _ = rows_of(case, N)
    model = learnt(case)
    before = everything(model)
    first = predictions(model, X)
    model.predict(X[:3])
    np.testing.assert_array_equal(predictions(model, X), first)
    np.testing.assert_allclose(predictions(model, X[5:6]), first[5:6], rtol=1e-12)
    assert everything(model) == before


@each_case
def test_inputs_are_neither_modified_nor_kept(case):
    X, y = (a.copy() for a in rows_of(case, N))
    model, C, weights = case.make(), sp.csr_matrix(X), np.ones(len(y))
    kept = X.copy(), y.copy(), C.copy()
    model.learn(X, y, sample_weight=weights, **case.first)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    before, expected = state(model), predictions(model, kept[0])
    X[:], y[:], weights[:] = 7, y[::-1].copy(), 0
    assert state(model) == before
    np.testing.assert_array_equal(predictions(model, kept[0]), expected)
    other = case.make()
    other.learn(C, kept[1], **case.first)
    assert (kept[2] != C).nnz == 0


@each_case
def test_a_failed_call_leaves_the_state(case):
    X, y = rows_of(case, N)
    model = learnt(case, N // 2)
    before = everything(model)
    bad = X.copy()
    bad[N - 2, 1] = np.nan
    rest = slice(N // 2, N)
    for X_, y_, kwargs in (
        (bad[rest], y[rest], {}),
        (X[rest, :3], y[rest], {}),
        (X[rest], y[rest][:-1], {}),
        (X[rest], y[rest], {"sample_weight": np.full(N - N // 2, -1.0)}),
        (X[:0], y[:0], {}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the messages are tested with the inputs
            model.learn(X_, y_, **kwargs)
        assert everything(model) == before


# ------------------------------------------------------------------ budgets and memory
@each_case
def test_budget_holds_after_every_row(case):
    budget = case.params.get("budget") or case.params.get("truncation") or case.params.get("max_dictionary")
    X, y = rows_of(case, N)
    model, sizes = case.make(), []
    for t in range(N):
        model.learn(X[t : t + 1], y[t : t + 1], **(case.first if t == 0 else {}))
        sizes.append(stored(model))
    assert max(sizes) <= (budget or N)
    assert model.n_seen_ == N
    if not hasattr(model, "support_"):
        return
    assert len(model.support_vectors_) == model.dual_coef_.shape[1] == len(model.support_) == sizes[-1]
    own = model.support_ >= 0
    np.testing.assert_array_equal(model.support_vectors_[own], X[model.support_[own]])


@each_kind
def test_memory_stops_growing(case):
    """Once the budget is full the arrays keep their sizes: without a budget they double."""
    X, y = rows_of(case, N)
    model = learnt(case)
    if case.stores and stored(model) < (case.params.get("budget") or N + 1):
        return
    shapes = {name: a.shape for name, a in arrays(model._learner).items()}
    model.learn(X, y)
    assert {name: a.shape for name, a in arrays(model._learner).items()} == shapes


STREAMS = ("sorted", "repeated", "one point", "flipping")


@each_case
@pytest.mark.parametrize("kind", STREAMS)
def test_hard_streams(case, kind):
    """Sorted labels, few points, one point with changing labels, labels that flip: finite, within budget."""
    X, y = (a[: N // 2] for a in rows_of(case, N))
    order = {
        "sorted": np.argsort(y, kind="stable"),
        "repeated": np.arange(N // 2) % 7,
        "one point": np.zeros(N // 2, int),
    }
    X = X[order.get(kind, np.arange(N // 2))]
    y = y[order["sorted"]] if kind == "sorted" else y[: N // 2]
    if kind == "flipping":
        y = -y if case.task != MULTICLASS else y[::-1]
    model = case.make()
    for a, b in ((0, 1), (1, N // 4), (N // 4, N // 2)):
        scores = model.learn(X[a:b], y[a:b], **(case.first if a == 0 else {}))
        assert np.isfinite(scores).all()
    assert all(np.isfinite(a).all() for a in arrays(model._learner).values() if a.dtype.kind == "f")
    assert len(support(model)) <= (case.params.get("budget") or N)


PARENTS = {
    "stoptron": "perceptron",
    "rbp": "perceptron",
    "forgetron": "perceptron",
    "budget-perceptron": "perceptron",
    "projectron": "perceptron",
    "bpa": "pa-pa1",
    "bogd": "ogd",
    "bsgd": "ogd-pegasos",
    "dual-sgd": "ogd-pegasos",
}


@pytest.mark.parametrize(
    "case",
    [
        c
        for c in CASES
        if (c.params.get("budget") and c.name.split("-")[0] in PARENTS) or c.name.startswith("budget-perceptron")
    ],
    ids=str,
)
def test_unreached_budget_is_the_parent(case):
    """On a thousand rows, so that the dictionary grows several times on its way."""
    name = next(name for name in PARENTS if case.name.startswith(name))
    stem, n = PARENTS[name].split("-")[0], 500 if COMPILED else 60
    X, y = rows_of(case, n)
    child = case.make(
        budget=2000,
        **({"tolerance": 0.0} if name == "projectron" else {}),
        **({"margin": 0.0} if name == "budget-perceptron" else {}),
        **({"cap": 1e9} if name == "bogd" else {}),
    )
    kind = {"perceptron": "KernelPerceptron", "pa": "KernelPassiveAggressive", "ogd": "KernelOGD"}[stem]
    parent = getattr(onkel, kind + ("Regressor" if case.task == REGRESSION else "Classifier"))()
    shared = {key: value for key, value in child.get_params().items() if key in parent.get_params()}
    if name == "budget-perceptron":
        shared["eta"] = 1.0
    if name in ("bsgd", "dual-sgd"):
        shared["schedule"] = "pegasos"
    parent.set_params(**shared)
    expected = parent.learn(X, y, **case.first)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(child.learn(X, y, **case.first), expected, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_array_equal(np.sort(child.support_), np.sort(parent.support_))


# ------------------------------------------------------------------ precision
@each_case
def test_float32(case):
    """float32 rows give float32 scores, close to those of float64 until rounding tips a decision."""
    X, y = rows_of(case, N)
    single, double = case.make(), case.make()
    scores = single.learn(X.astype(np.float32), y, **case.first)
    exact = double.learn(X.astype(np.float32).astype(float), y, **case.first)
    assert scores.dtype == np.float32
    assert predictions(single, X.astype(np.float32)).dtype == np.float32
    assert coefficients(single).dtype == getattr(single, "support_vectors_", scores).dtype == np.float32
    n = 60
    if case.name.startswith("bsgd"):  # of equal coefficients rounding chooses the one that leaves
        n = BUDGET
    error = np.abs(scores[:n] - exact[:n]).reshape(n, -1).max(axis=1) / np.abs(exact[:n]).max()
    assert np.quantile(error, 0.9) < 1e-3


# ------------------------------------------------------------------ compiled once
@pytest.mark.skipif(not COMPILED, reason="about compiled code")
@each_kind
def test_compiles_once_per_layout_and_dtype(case):
    """Values, sizes, orders and integer types never compile again."""
    from onkel.stream import learn

    X, y = rows_of(case, 60)
    C = sp.csr_matrix(X)
    case.make().learn(X, y, **case.first)
    case.make().learn(C, y, **case.first)
    before = len(learn.signatures), sum(len(f.signatures) for f in _compiled)
    long = sp.csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for rows in (np.asfortranarray(X), X[::-1], X[:, ::-1], C.tocsc(), C.tocoo(), long, X.tolist()):
        for overrides in (
            {},
            {"gamma": 1},
            {"sigma": np.int8(100)},
            KERNELS[case.kernels[-1]],
        ):
            model = case.make(**overrides)
            model.learn(rows, y, **case.first)
            model.predict(rows)
    predicted = len(learn.signatures), sum(len(f.signatures) for f in _compiled)
    case.make(gamma=2).learn(X[:5], y[:5], **case.first)
    if case.params.get("budget"):
        case.make(budget=np.int16(case.params["budget"])).learn(X[:5], y[:5], **case.first)
    assert len(learn.signatures) == before[0]
    assert sum(len(f.signatures) for f in _compiled) == predicted[1]


# ------------------------------------------------------------------ several passes, weights, tasks
@each_case
def test_passes_and_shuffling(case):
    X, y = rows_of(case, 80)
    if case.task != REGRESSION:
        y = y.copy()
        y[: len(classes_of(case))] = classes_of(case)
    twice = case.make(n_passes=2).fit(X, y)
    by_hand = case.make().partial_fit(X, y, **case.first).partial_fit(X, y)
    assert state(twice) == state(by_hand)
    shuffled = case.make(shuffle=True, random_state=1).fit(X, y)
    assert state(shuffled) == state(case.make(shuffle=True, random_state=1).fit(X, y))
    assert shuffled.n_seen_ == 80


@each_case
def test_rows_of_weight_zero_are_skipped(case):
    X, y = rows_of(case, N)
    weights = (np.arange(N) % 3 != 1).astype(float)
    with_zeros, without = case.make(), case.make()
    scores = with_zeros.learn(X, y, sample_weight=weights, **case.first)
    expected = without.learn(X[weights > 0], y[weights > 0], **case.first)
    np.testing.assert_array_equal(scores[weights > 0], expected)
    np.testing.assert_array_equal(coefficients(with_zeros), coefficients(without))


def test_batches_of_weight_zero():
    """Pieces in which no row has a weight are the whole all the same."""
    case = next(case for case in CASES if case.name == "rbp-binary")
    X, y = rows_of(case, N)
    weights = (np.arange(N) // 5 % 2).astype(float)
    whole, pieces = case.make(), case.make()
    scores = whole.learn(X, y, sample_weight=weights, **case.first)
    parts = [
        pieces.learn(X[t : t + 5], y[t : t + 5], sample_weight=weights[t : t + 5], **case.first) for t in range(0, N, 5)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), scores)
    assert state(pieces) == state(whole)


@pytest.mark.parametrize("case", [p for p in each_case.args[1] if p.values[0].task != REGRESSION])
def test_labels_of_any_kind(case):
    """Strings, booleans and other numbers give the same model as the case's own labels."""
    X, y = rows_of(case, N)
    own = classes_of(case)
    model = learnt(case)
    names = np.array(["ant", "bee", "cat", "dog"])[: len(own)]
    kinds = [names, own * 2 + 7] + ([np.array([False, True])] if case.task == BINARY else [])
    for labels in kinds:
        other = case.make()
        other.learn(X, labels[np.searchsorted(own, y)], classes=labels)
        assert state(other) == state(model)
        np.testing.assert_array_equal(other.predict(X), labels[np.searchsorted(own, model.predict(X))])


@each_case
def test_probabilities(case):
    model = case.make()
    assert hasattr(model, "predict_proba") == (
        (case.task != REGRESSION and case.params.get("loss") == "logistic")
        or (case.task != REGRESSION and getattr(model, "loss", None) == "logistic")
    )
    if not hasattr(model, "predict_proba"):
        return
    X, y = rows_of(case, N)
    model.learn(X, y, **case.first)
    p = model.predict_proba(X)
    assert p.shape == (N, len(model.classes_))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(p))
    if case.task == MULTICLASS:
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    else:
        np.testing.assert_array_equal(p[:, 1] >= 0.5, model.decision_function(X) >= 0)


# ------------------------------------------------------------------ features that were never seen before
@pytest.mark.parametrize("case", [p for p in each_case.args[1] if p.values[0].grows])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_features_that_appear_later(case, layout):
    """The model of a stream whose columns appear one after the other is that of the stream with all of them."""
    X, y = (a.copy() for a in rows_of(case, N))
    edges, widths = [0, 10, N // 3, N // 2, N], [2, 5, 4, 7]
    for a, b, d in zip(edges, edges[1:], widths):
        X[a:b, d:] = 0
    X = sp.csr_matrix(X) if layout == "csr" else X
    mixed = case.params.get("features") == "orthogonal"  # in blocks as wide as the first batch, unless it may grow
    whole, growing = case.make(grow_features=mixed), case.make(grow_features=True)
    expected = whole.learn(X, y, **case.first)
    scores = []
    for a, b, d in zip(edges, edges[1:], widths):
        scores.append(growing.learn(X[a:b, :d], y[a:b], **(case.first if a == 0 else {})))
        assert growing.n_features_in_ == max(widths[: widths.index(d) + 1])
        if d == 2:
            early = predictions(growing, X)
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    ends = state(growing), state(whole)
    if layout == "dense":  # dense points count all features of their time as used
        for end, name in itertools.product(ends, ("f.used", "map.used", "sketch.used", "base.used")):
            end.pop(name, None)
    assert ends[0] == ends[1]
    np.testing.assert_array_equal(predictions(growing, X[:, :3]), predictions(whole, keep(X, 3)))
    same = case.make(grow_features=mixed)
    same.learn(X[:10], y[:10], **case.first)
    np.testing.assert_array_equal(early, predictions(same, X))


def keep(X, d):
    """X with zeros from column d on, as wide as before."""
    dense = X.toarray() if sp.issparse(X) else X.copy()
    dense[:, d:] = 0
    return sp.csr_matrix(dense) if sp.issparse(X) else dense


def test_growth_is_undone_with_a_failed_call():
    case = next(case for case in CASES if case.name == "rbp-binary")
    X, y = rows_of(case, N)
    model = case.make(grow_features=True).partial_fit(X[:20, :3], y[:20], **case.first)
    before = everything(model)
    for wide, words in ((np.where(np.arange(7) == 5, np.nan, X), "NaN"), (X * 1e200, "overflow")):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(wide, y)
        assert everything(model) == before
    with pytest.raises(ValueError, match="features"):
        case.make().partial_fit(X[:, :3], y, **case.first).partial_fit(X, y)


@pytest.mark.parametrize("case", [case for case in REPRESENTATIVES if case.params.get("budget")], ids=str)
def test_budgets_of_whole_panels(case):
    """Budgets that fill the first arrays exactly, or just miss to: the dictionary grows past them in time."""
    n = 400 if COMPILED else 150
    X, y = rows_of(case, n)
    more = {"max_processed": 130} if "max_processed" in case.params else {}
    for budget in (127, 128, 129) if COMPILED else (128,):
        model, pieces = (case.make(budget=budget, gamma=3.0, **more) for _ in range(2))
        scores = model.learn(X, y, **case.first)
        assert stored(model) <= budget
        assert np.isfinite(scores).all()
        np.testing.assert_array_equal(
            scores,
            np.concatenate(
                [pieces.learn(X[a : a + 50], y[a : a + 50], **(case.first if a == 0 else {})) for a in range(0, n, 50)]
            ),
        )


@pytest.mark.parametrize("task", [BINARY, MULTICLASS])
def test_classes_of_the_first_batch(task):
    """Without `classes` the labels of the first batch are all; one that comes later says what to pass."""
    case = next(case for case in CASES if case.name == f"rbp-{task}")
    X, y = rows_of(case, 60)
    assert set(y) == set(classes_of(case))
    named, found = case.make(), case.make()
    np.testing.assert_array_equal(found.learn(X, y), named.learn(X, y, **case.first))
    assert state(found.partial_fit(X, y)) == state(named.partial_fit(X, y))
    with pytest.raises(ValueError, match=r"not among the classes .* classes=\[\.\.\.\]"):
        found.partial_fit(X, np.where(y == y[0], 99, y))
