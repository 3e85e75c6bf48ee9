"""Learners in feature space: what their features are, and how a kernel model becomes a model on features."""

import numpy as np
import pytest
import reference as ref
from cases import CASES, REGRESSION, rows_of
from sklearn.base import clone
from test_promises import predictions
from test_twins import near

import onkel
from onkel.features import KINDS

GAUSSIAN = ref.rbf(0.15)


def gram(A, B):
    return np.array([[GAUSSIAN(a, b) for b in B] for a in A])


def nogd(task, **params):
    """(case, NOGD of that task, kernel online gradient descent of the same parameters, X, y)"""
    case = next(case for case in CASES if case.name == f"nogd-{task}")
    model = case.make(**params)
    parent = onkel.KernelOGDRegressor() if task == REGRESSION else onkel.KernelOGDClassifier()
    parent.set_params(**{name: value for name, value in model.get_params().items() if name in parent.get_params()})
    return case, model, parent, *rows_of(case)


TASKS = pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])


@pytest.mark.xdist_group("NOGD")
@TASKS
def test_until_the_switch_nogd_is_kernel_gradient_descent(task):
    case, model, parent, X, y = nogd(task, budget=1000, rank=3)
    near(model.learn(X, y, **case.first), parent.learn(X, y, **case.first), 1e-12)
    assert not model.switched_
    np.testing.assert_array_equal(model.component_indices_, parent.support_)
    near(model.coef_, parent.dual_coef_, 1e-12)


@pytest.mark.xdist_group("NOGD")
@TASKS
@pytest.mark.parametrize("moment", ["full", "next_loss"])
def test_with_all_eigenvectors_the_switch_changes_no_score(task, moment):
    """K13: right after the switch the linear model is the kernel model; with fewer, its best approximation."""
    case, model, parent, X, y = nogd(task, budget=30, rank=30, switch=moment)
    _, short, _, _, _ = nogd(task, budget=30, rank=6, switch=moment)
    for t in range(len(y)):
        first = case.first if t == 0 else {}
        row = X[t : t + 1], y[t : t + 1]
        short.learn(*row, **first)
        near(model.learn(*row, **first), parent.learn(*row, **first), 1e-8)  # of the round that switches, too
        if model.switched_:
            break
    if moment == "next_loss":  # the step of this round followed the switch
        assert len(parent.support_) == 31
        return
    near(predictions(model, X), predictions(parent, X), 1e-8)
    S, a = parent.support_vectors_, parent.dual_coef_
    values, V = np.linalg.eigh(gram(S, S))
    best = gram(X, S) @ V[:, -6:] @ V[:, -6:].T @ a.T
    near(predictions(short, X), best[:, 0] if best.shape[1] == 1 else best, 1e-8)
    near(short.eigenvalues_, values[:-7:-1], 1e-9)


@pytest.mark.xdist_group("NOGD")
def test_features_of_the_landmarks_have_the_best_gram_matrix():
    case, model, _, X, y = nogd("binary", budget=30, rank=6)
    model.learn(X, y, **case.first)
    S = model.components_
    np.testing.assert_array_equal(S, X[model.component_indices_])
    Z = gram(S, S) @ model.normalization_.T
    values, V = np.linalg.eigh(gram(S, S))
    near(Z @ Z.T, V[:, -6:] * values[-6:] @ V[:, -6:].T, 1e-10)
    near(model.decision_function(X), gram(X, S) @ model.normalization_.T @ model.coef_[0], 1e-10)


@pytest.mark.xdist_group("NOGD")
def test_landmarks_of_low_rank():
    """Repeated points leave eigenvalues that are 0, whatever the rank asked for; rows of zeros leave none."""
    X, y = rows_of(CASES[0])
    few = onkel.NOGDRegressor(budget=20, rank=20, gamma=0.15, loss="absolute", epsilon=0.0).fit(
        X[np.arange(60) % 4], y[:60]
    )
    assert few.normalization_.shape == (4, 20)
    assert np.isfinite(few.predict(X)).all()
    none = onkel.NOGDRegressor(budget=5, kernel="linear", epsilon=0.0).fit(np.zeros((20, 3)), np.arange(20.0))
    assert none.switched_
    assert none.normalization_.shape == (0, 5)
    assert not none.predict(X[:, :3]).any()


# ------------------------------------------------------------------ random features stand for the kernel
def distance(learner, parent, n, seed, X, y):
    """How far the scores of a learner with n frequencies are from its parent's along a stream, on average."""
    expected = clone(parent).learn(X, y, classes=[-1, 1])
    scores = clone(learner).set_params(n_components=n, random_state=seed).learn(X, y, classes=[-1, 1])
    return np.sqrt(np.mean((scores - expected) ** 2)) / np.abs(expected).max()


@pytest.mark.xdist_group("FOGD")
@pytest.mark.parametrize("kind", KINDS)
def test_more_frequencies_bring_fogd_to_kernel_gradient_descent(kind):
    X, y = rows_of(next(case for case in CASES if case.name == "fogd-hinge-binary"), 150)
    parent = onkel.KernelOGDClassifier(gamma=0.15, loss="logistic")
    fogd = onkel.FOGDClassifier(gamma=0.15, loss="logistic", features=kind)
    gaps = [np.mean([distance(fogd, parent, n, seed, X, y) for seed in range(4)]) for n in (100, 6400)]
    assert gaps[1] < 0.02
    assert 4 < gaps[0] / gaps[1] < 16  # the root of 64 is 8


@pytest.mark.xdist_group("DualSGD")
@pytest.mark.parametrize("moved", [1, 6])
def test_more_frequencies_bring_dual_sgd_to_pegasos(moved):
    X, y = rows_of(next(case for case in CASES if case.name == "dual-sgd-binary"), 150)
    parent = onkel.KernelPegasosClassifier(gamma=0.15, reg=0.1, loss="logistic")
    dual = onkel.DualSGDClassifier(gamma=0.15, reg=0.1, loss="logistic", budget=6, moved=moved)
    gaps = [np.mean([distance(dual, parent, n, seed, X, y) for seed in range(4)]) for n in (100, 6400)]
    assert gaps[1] < 0.02
    assert 4 < gaps[0] / gaps[1] < 16


@pytest.mark.xdist_group("DualSGD")
@pytest.mark.parametrize("average", [False, True])
def test_what_moving_points_into_features_changes(average):
    """The scores change by sum a_i (<z(x_i), z(x)> - k(x_i, x)) over the points that leave, the lightest ones."""
    X, y = rows_of(next(case for case in CASES if case.name == "dual-sgd-binary"), 150)
    model = onkel.DualSGDClassifier(
        gamma=0.15, reg=0.1, budget=10, moved=4, n_components=60, average=average, random_state=0
    )
    map = onkel.RandomFourierFeatures(gamma=0.15, n_components=60, random_state=0).fit(X)
    model.learn(X[:1], y[:1], classes=[-1, 1])
    left = 0
    for t in range(1, 150):
        before, points, coef = (
            set(model.support_),
            model.support_vectors_,
            dict(zip(model.support_, model.dual_coef_[0])),
        )
        said = model.decision_function(X[t : t + 1])[0]
        w = model.coef_[0]
        by_hand = list(coef.values()) @ gram(points, X[t : t + 1])[:, 0] + w @ map.transform(X[t : t + 1])[0]
        near(said, by_hand, 1e-9)
        assert model.n_support_ <= 10
        model.learn(X[t : t + 1], y[t : t + 1])
        gone = before - set(model.support_)
        assert len(gone) in (0, 4)
        left += len(gone)
        if gone and not average:  # all coefficients are as heavy here: the oldest leave
            assert gone == set(sorted(before)[:4])
    assert left > 20


# ------------------------------------------------------------------ any map, any rule
@pytest.mark.xdist_group("FeatureMap")
@pytest.mark.parametrize("kind", ["plain", "fastfood"])
def test_fogd_is_a_feature_map_learner(kind):
    case = next(case for case in CASES if case.name == "fogd-adagrad-multiclass")
    X, y = rows_of(case)
    rule = {"rule": "adagrad", "loss": "logistic", "average": True}
    map = onkel.RandomFourierFeatures(gamma=0.15, n_components=40, features=kind, random_state=5)
    fogd = onkel.FOGDClassifier(gamma=0.15, n_components=40, features=kind, random_state=5, **rule)
    expected = fogd.learn(X, y, **case.first)
    for source in (map, clone(map).fit(X[:30])):
        model = onkel.FeatureMapClassifier(map=source, **rule)
        np.testing.assert_array_equal(model.learn(X, y, **case.first), expected)
        np.testing.assert_array_equal(model.coef_, fogd.coef_)


@pytest.mark.xdist_group("FeatureMap")
@pytest.mark.parametrize("landmarks", ["first", "uniform"])
def test_a_fitted_map_is_used_as_it_is(landmarks, tmp_path):
    """The same as transforming first; the map itself is left alone, and the model can be saved."""
    X, y = rows_of(next(case for case in CASES if case.name == "fogd-squared-regression"))
    map = onkel.OnlineNystroem(gamma=0.15, budget=20, rank=8, landmarks=landmarks, random_state=1).fit(X[:100])
    before = map.transform(X)
    one, two = (onkel.FeatureMapRegressor(map=m, rule="pa2", C=0.5) for m in (map, None))
    near(one.learn(X[100:], y[100:]), two.learn(before[100:], y[100:]), 1e-11)
    near(one.coef_, two.coef_, 1e-11)
    near(one.predict(X), two.predict(before), 1e-11)
    np.testing.assert_array_equal(map.transform(X), before)
    onkel.save(one, tmp_path / "model")
    again = onkel.load(tmp_path / "model")
    map.partial_fit(X + 1)
    np.testing.assert_array_equal(again.learn(X[:50], y[:50]), one.learn(X[:50], y[:50]))
    rows = X.astype(np.float32)
    single = onkel.FeatureMapRegressor(map=map.fit(rows[:100])).fit(rows, y)
    assert single.coef_.dtype == np.float32


@pytest.mark.xdist_group("FeatureMap")
def test_an_unfitted_map_is_fitted_to_the_first_batch():
    X, y = rows_of(next(case for case in CASES if case.name == "fogd-squared-regression"))
    map = onkel.OnlineNystroem(gamma=0.15, budget=20, rank=8)
    model = onkel.FeatureMapRegressor(map=map).partial_fit(X[:15], y[:15])
    assert not hasattr(map, "_map")
    assert model.map is map
    same = onkel.FeatureMapRegressor(map=clone(map).fit(X[:15])).partial_fit(X[:15], y[:15])
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.coef_.shape == (1, 8)


@pytest.mark.xdist_group("FeatureMap")
def test_maps_that_are_refused():
    X, y = rows_of(next(case for case in CASES if case.name == "fogd-squared-regression"), 40)
    map = onkel.RandomFourierFeatures(gamma=0.15, n_components=20)
    with pytest.raises(ValueError, match="map was fitted to 3 features in float64; X has 7 in float64"):
        onkel.FeatureMapRegressor(map=clone(map).fit(X[:, :3])).fit(X, y)
    with pytest.raises(ValueError, match="map was fitted to 7 features in float64; X has 7 in float32"):
        onkel.FeatureMapRegressor(map=clone(map).fit(X)).fit(X.astype(np.float32), y)
    with pytest.raises(
        ValueError, match="map must be None, RandomFourierFeatures, OnlineNystroem or IncrementalSketch"
    ):
        onkel.FeatureMapRegressor(map="plain").fit(X, y)
    with pytest.raises(ValueError, match="RandomFourierFeatures: n_components must be"):
        onkel.FeatureMapRegressor(map=onkel.RandomFourierFeatures(n_components=0)).fit(X, y)
    with pytest.raises(ValueError, match="a map that has it too"):
        onkel.FeatureMapRegressor(map=map, grow_features=True).fit(X, y)
    model = onkel.FeatureMapRegressor(map=clone(map)).fit(X, y)
    with pytest.raises(ValueError, match="map cannot change"):
        model.set_params(map__gamma=0.3).partial_fit(X, y)
    poly = onkel.FeatureMapRegressor(map=onkel.OnlineNystroem(kernel="poly", degree=9, budget=20)).fit(X, y)
    for act in (poly.predict, lambda rows: poly.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="too large for a poly kernel"):
            act(X * 1e40)
