"""Second-order learners: what sets them apart from the literal twins, and the sampling of their dictionaries."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
from cases import stream
from reference import second_order as literal
from test_promises import everything, state
from test_twins import near, weights_of

import onkel
from onkel._jit import COMPILED
from onkel.datasets import alternating
from onkel.factor import matrix_of
from onkel.newton import inverse_of

GAUSSIAN = ref.rbf(0.15)
GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text())
FAMILIES = ("KONS", "SketchedKONS", "ProsNKons", "ConKons", "BKons")
N = 240 if COMPILED else 80


def gram(A, B, kernel=GAUSSIAN):
    return np.array([[kernel(a, b) for b in B] for a in A])


def rows(task, n=N):
    return stream(task, n)


def regressor(family, **params):
    return getattr(onkel, f"{family}Regressor")(gamma=0.15, random_state=0, **params)


def classifier(family, **params):
    return getattr(onkel, f"{family}Classifier")(gamma=0.15, random_state=0, **params)


# ------------------------------------------------------------------ recorded traces
@pytest.mark.parametrize("name", ["gauss", "poly2"])
@pytest.mark.parametrize("learner", ["kons", "pros-n-kons", "con-n-kons"])
def test_recorded_traces(learner, name, monkeypatch):
    """Of the twins, whose dictionary a test can prescribe; KONS's also of the engine."""
    X, y = np.array(GOLDEN["X"]), np.array(GOLDEN["target"])
    kernel = ref.rbf(0.5) if name == "gauss" else ref.poly(1.0, 1.0, 2)
    common = {"loss": "squared", "alpha": 1.0, "clip": 1.0, "curvature": 1 / 8}
    sampled = {"accuracy": 0.5, "oversampling": 1.0, "max_dictionary": None, "force_first": True}
    prefix = "dict rounds 1,3,6; " if learner != "kons" else ""
    traces = GOLDEN["scores"]
    expected = traces.get(f"{learner}({prefix}alpha=1,C=1,sigma=1/8,squared,target)|{name}")
    if expected is None:
        assert name == "poly2"  # recorded for the Gaussian kernel only
        return
    if learner == "kons":
        scores = ref.kons(X, y, kernel, "regression", **common).scores
        params = {"sigma": 1.0} if name == "gauss" else {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2}
        engine = onkel.KONSRegressor(curvature=1 / 8, **params).learn(X, y)
        np.testing.assert_allclose(engine, expected, rtol=0, atol=1e-7)
    else:
        monkeypatch.setattr(literal.Sampler, "takes", lambda self, x, draw: any((x == X[i]).all() for i in (0, 2, 5)))
        twin, own = (ref.pros_n_kons, "idle_restarts") if learner == "pros-n-kons" else (ref.con_kons, "literal")
        scores = twin(X, y, kernel, "regression", **common, **sampled, **{own: False}).scores
    np.testing.assert_allclose(scores[:, 0], expected, rtol=0, atol=1e-7)


def test_recorded_leverage_scores():
    """K14: of a dictionary that takes every row with weight 1; the twin's, and by the closed form."""
    X, sampler, closed = np.array(GOLDEN["X"]), None, []
    sampler = ref.Sampler(ref.rbf(0.5), ridge=0.7, accuracy=0.5, oversampling=1e9, force_first=False)
    scores = []
    for x in X[:8]:
        scores.append(sampler.score(x))
        k = np.array([sampler.kernel(p, x) for p in sampler.points])
        M = sampler.K + 0.7 * np.eye(len(k))
        rest = 1.0 - (k @ np.linalg.solve(M, k) if len(k) else 0.0)
        closed.append(1.5 * rest / (0.7 + rest))
        assert sampler.takes(x, ref.Draw(1))
    np.testing.assert_allclose(scores[1:8], [0.85385, 0.86264, 0.86130, 0.79088, 0.68370, 0.61924, 0.63247], atol=6e-6)
    near(scores, closed, 1e-12)


# ------------------------------------------------------------------ KORS
def sampler(**params):
    return onkel.KORS(**{"gamma": 0.15, "random_state": 0, "ridge": 0.5, **params})


def test_kors_is_its_twin():
    X, _ = rows("regression")
    model = sampler().fit(X)
    twin = ref.Sampler(GAUSSIAN, ridge=0.5, accuracy=0.5, oversampling=1.0, force_first=False)
    draw = ref.Draw(model._setting.key)
    taken = [t for t, x in enumerate(X) if twin.takes(x, draw)]
    np.testing.assert_array_equal(model.sample_indices_, taken)
    assert 5 < len(taken) < len(X)
    near(model.weights_, twin.weights, 1e-10)
    np.testing.assert_array_equal(model.components_, X[taken])
    scores = model.leverage_scores(X[:20])
    near(scores, [twin.score(x) for x in X[:20]], 1e-10)
    assert ((scores >= 0) & (scores <= 1.5)).all()
    F, S = matrix_of(model._learner.leverage.factor), np.diag(twin.weights)
    M = S @ twin.K @ S + 0.5 * np.eye(len(S))
    near(F @ M @ F.T, np.eye(len(S)), 1e-10)
    near(model.effective_dimension_, np.trace(M @ F.T @ F) - 0.5 * np.trace(F.T @ F), 1e-10)


def test_kors_keeps_the_common_promises(tmp_path):
    X, _ = rows("regression")
    model, pieces, sparse = sampler().fit(X), sampler(), sampler().fit(sp.csr_matrix(X))
    for a, b in ((0, 1), (1, N // 3), (N // 3, N)):
        pieces.partial_fit(X[a:b])
    assert state(pieces) == state(model)
    np.testing.assert_array_equal(sparse.sample_indices_, model.sample_indices_)
    near(sparse.leverage_scores(X), model.leverage_scores(sp.csr_matrix(X)))
    before = everything(model)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(np.arange(len(X))[:, None] == 5, np.nan, X))
    assert everything(model) == before
    onkel.save(model, tmp_path / "kors")
    for other in (onkel.load(tmp_path / "kors"), pickle.loads(pickle.dumps(model))):
        assert state(other.partial_fit(X[::-1])) == state(sampler().fit(X).partial_fit(X[::-1]))
    assert len(sampler(max_dictionary=7).fit(X).sample_indices_) == 7
    assert sampler(force_first=True, oversampling=1e-9).fit(X).sample_indices_.tolist() == [0]
    single = sampler().fit(X.astype(np.float32))
    assert single.leverage_scores(X.astype(np.float32)).dtype == np.float32


@pytest.mark.slow
def test_the_sample_has_the_covariance_of_the_stream():
    """The effective dimension of the sample is about that of all rows, and so are their quadratic forms."""
    X = np.random.default_rng(0).normal(size=(1500, 3))
    model = onkel.KORS(sigma=2.0, ridge=1.0, oversampling=6.0, random_state=0).fit(X)
    assert len(model.sample_indices_) < 500
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 8)
    values = np.linalg.eigvalsh(K)
    assert model.effective_dimension_ == pytest.approx(np.sum(values / (values + 1)), rel=0.1)
    part = K[:, model.sample_indices_] * model.weights_
    inside = part @ np.linalg.solve(part[model.sample_indices_].T * model.weights_ + np.eye(part.shape[1]), part.T)
    exact = K @ np.linalg.solve(K + np.eye(len(K)), K)
    near(np.trace(inside) / np.trace(exact), 1.0, 0.05)


def test_a_repeated_point_is_sampled_ever_less():
    X, _ = alternating(3000)
    model = onkel.KORS(random_state=1).fit(X)
    assert 1 < len(model.sample_indices_) < 4 * np.log(3000)


# ------------------------------------------------------------------ Newton steps
def test_kons_is_newton_in_an_exact_embedding():
    """A.8: the dual form against w and A in the coordinates of a Cholesky factor of the whole stream's Gram matrix."""
    X, y = rows("regression", 120 if COMPILED else 60)
    clip, alpha, sigma = 1.5, 0.7, 0.05
    Z = np.linalg.cholesky(gram(X, X) + 1e-13 * np.eye(len(X)))
    w, A, expected = np.zeros(len(X)), alpha * np.eye(len(X)), []
    for z, target in zip(Z, y):
        s = w @ z
        q = np.linalg.solve(A, z)
        w = w - np.sign(s) * max(abs(s) - clip, 0) / (z @ q) * q
        f = w @ z
        expected.append(f)
        g = 2 * (f - target) * z
        A = A + sigma / 2 * np.outer(g, g)
        w = w - np.linalg.solve(A, g)
    assert max(map(abs, expected)) == pytest.approx(clip)
    near(regressor("KONS", clip=clip, alpha=alpha, curvature=sigma).learn(X, y), expected, 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_second_derivatives_kons_is_online_ridge_regression(weighted):
    """sigma_t = 1 / (f - y)^2, which is curvature="hessian": min sum w (f - y)^2 + alpha / 2 |f|^2 over the past."""
    X, y = rows("regression", 100 if COMPILED else 60)
    weights = weights_of(len(y)) if weighted else np.ones(len(y))
    scores = regressor("KONS", clip=np.inf, alpha=0.6, curvature="hessian").learn(X, y, sample_weight=weights)
    K, expected = gram(X, X), [0.0]
    for t in range(1, len(y)):
        past = np.flatnonzero(weights[:t])
        ridge = K[np.ix_(past, past)] + 0.3 * np.diag(1 / weights[past])
        expected.append(K[t, past] @ np.linalg.solve(ridge, y[past]) if len(past) else 0.0)
    near(scores, expected, 1e-8)


@pytest.mark.parametrize("family", ["ProsNKons", "BKons"])
def test_between_restarts_it_is_ridge_regression_on_the_dictionary(family):
    X, y = rows("regression")
    model = regressor(family, clip=np.inf, alpha=0.6, curvature="hessian", oversampling=0.2, max_dictionary=9)
    scores = model.learn(X, y)
    start = model.support_[-1] + 1
    D = model.support_vectors_
    assert start < N - 20
    Z = np.linalg.solve(np.linalg.cholesky(gram(D, D)), gram(D, X[start:]))
    expected = [
        Z[:, t] @ np.linalg.solve(Z[:, :t] @ Z[:, :t].T + 0.3 * np.eye(9), Z[:, :t] @ y[start : start + t])
        for t in range(N - start)
    ]
    near(scores[start:], expected, 1e-8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss", ["squared", "absolute", "hinge", "squared_hinge", "logistic"])
def test_predictions_stay_inside_the_bound(family, loss):
    """K18, of streams that ask for more."""
    task = "regression" if loss in ("squared", "absolute") else "binary"
    X, y = rows(task)
    make = regressor if task == "regression" else classifier
    model = make(family, loss=loss, clip=0.4, alpha=0.01)
    scores = model.learn(X, 3 * y if task == "regression" else y)
    assert np.abs(scores).max() == pytest.approx(0.4, rel=1e-12)
    say = model.predict if task == "regression" else model.decision_function
    assert np.abs(say(X)).max() <= 0.4


def test_it_begins_anew_exactly_after_the_dictionary_grew():
    X, y = rows("regression")
    model = regressor("ProsNKons", clip=3.0, oversampling=0.3)
    grown, sizes = [], [0]
    for t in range(N):
        score = model.learn(X[t : t + 1], y[t : t + 1])[0]
        assert (score == 0.0) == (t == 0 or grown[-1])
        sizes.append(model.n_support_)
        grown.append(sizes[-1] > sizes[-2])
        assert model.n_changes_ == sum(grown)
    assert 5 < sum(grown) < N - 50


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_relatives(task):
    """K17: with all terms kept Sketched-KONS is KONS; with no bound in reach B-KONS is PROS-N-KONS."""
    X, y = rows(task)
    make = regressor if task == "regression" else classifier
    np.testing.assert_array_equal(
        make("SketchedKONS", min_probability=1.0).learn(X, y), make("KONS", alpha=1.0).learn(X, y)
    )
    np.testing.assert_array_equal(make("BKons", max_dictionary=10**6).learn(X, y), make("ProsNKons").learn(X, y))


@pytest.mark.parametrize("family", ["KONS", "ProsNKons", "ConKons"])
def test_many_classes_are_one_against_the_rest(family):
    """Each output is the binary learner of its class, on the dictionary that all share."""
    X, y = rows("multiclass")
    scores = classifier(family).learn(X, y, classes=np.arange(4))
    for r in range(4):
        near(scores[:, r], classifier(family).learn(X, y == r, classes=[False, True]), 1e-12)


# ------------------------------------------------------------------ rounding
def exact_inverse(model, X, y, start):
    """(alpha I + sum of sigma / 2 g g')^-1 of the rounds from `start` on, in the model's own embedding."""
    F, sigma = matrix_of(model._learner.span), model._learner.curve.sigma
    Z = gram_fast(X[start:], model.support_vectors_[model._learner.span.place[0, : model.rank_]]) @ F.T
    scores = X[:, -1]  # the caller put them there
    g = 2 * (scores[start:] - y[start:])[:, None] * Z
    return np.linalg.inv(model.alpha * np.eye(model.rank_) + sigma / 2 * g.T @ g)


def gram_fast(A, B):
    squares = np.square(A[:, :-1]).sum(1)[:, None] + np.square(B).sum(1) - 2 * A[:, :-1] @ B.T
    return np.exp(-0.15 * np.maximum(squares, 0))


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "sigma"), [(1.0, 1 / 8), (1e-4, 1.0)])
def test_the_inverse_does_not_drift(alpha, sigma):
    """K16, over 100,000 rounds; benchmarks/second_order.py goes on to a million."""
    random = np.random.default_rng(0)
    X = random.normal(size=(100_000, 3))
    y = np.sin(X[:, 0]) + 0.5 * random.normal(size=len(X))
    model = regressor("BKons", clip=2.0, alpha=alpha, ridge=1.0, curvature=sigma, max_dictionary=40)
    scores = model.learn(X, y)
    start = model.support_[-1] + 1
    expected = exact_inverse(model, np.column_stack([X, scores]), y, start)
    got = inverse_of(model._learner.newton, model.rank_)
    assert np.abs(got - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(got @ np.linalg.inv(expected) - np.eye(len(got))).max() < 1e-8


@pytest.mark.parametrize("family", ["ProsNKons", "ConKons", "BKons"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dictionaries_without_full_rank(family, dtype):
    """A linear kernel on three features, rows twice over: more points than dimensions, finite and right."""
    random = np.random.default_rng(0)
    X = np.repeat(random.normal(size=(N // 2, 3)), 2, axis=0).astype(dtype)
    y = X @ [0.5, -0.3, 0.2]
    params = {"clip": np.inf, "alpha": 0.1, "ridge": 0.02, "curvature": "hessian"}
    params |= {} if family == "ConKons" else {"idle_restarts": False}
    model = getattr(onkel, f"{family}Regressor")(kernel="linear", random_state=0, **params)
    scores = model.learn(X, y)
    assert model.rank_ == 3 < model.n_support_
    assert np.isfinite(scores).all()
    start = model.support_[model._learner.span.place[0, 2]] + 1
    if family != "ConKons":
        P, v = np.linalg.inv(X[start:].T @ X[start:] + 0.05 * np.eye(3)), X[start:].T @ y[start:]
        near(model.dual_coef_[0] @ model.support_vectors_, P @ v, 1e-8 if dtype == np.float64 else 1e-2)
    assert np.abs(scores[-20:] - y[-20:]).max() < 0.05


def test_nearly_dependent_points_stay_correct():
    """A wide kernel, whose points are all but the same: the embedding still reproduces the kernel on its points."""
    random = np.random.default_rng(1)
    X = random.random((N, 5))
    model = onkel.ConKonsRegressor(sigma=8.0, ridge=1e-6, random_state=0).fit(X, X.sum(axis=1) / 5)
    span = model._learner.span
    D = model.support_vectors_[span.place[0, : model.rank_]]
    K = gram(D, D, ref.rbf(1 / 128))
    Z = K @ matrix_of(span).T
    assert model.rank_ > 15
    near(Z @ Z.T, K, 1e-12)
    assert np.linalg.eigvalsh(inverse_of(model._learner.newton, model.rank_)).min() > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_what_overflowed_leaves_no_trace(family):
    """Not in the work arrays either."""
    X, y = stream("regression", 60)
    model, other = regressor(family, clip=np.inf), regressor(family, clip=np.inf)
    for one in (model, other):
        one.learn(X[:40], y[:40])
    with pytest.raises(ValueError, match="overflowed"):
        model.learn(X[40:], np.where(np.arange(20) < 15, y[40:], 1e250))
    np.testing.assert_array_equal(model.learn(X[40:], y[40:]), other.learn(X[40:], y[40:]))
    assert state(model) == state(other)


# ------------------------------------------------------------------ regret
def test_regret_by_definition():
    X, y = rows("regression", 60)
    K, predictions = gram(X, X), np.linspace(-1, 1, 60)
    got = onkel.ridge_regret(predictions, y, K, reg=0.7)
    for t in (1, 7, 60):
        a = np.linalg.solve(K[:t, :t] + 0.7 * np.eye(t), y[:t])
        f = K[:t, :t] @ a
        least = np.sum((f - y[:t]) ** 2) + 0.7 * a @ f
        assert got[t - 1] == pytest.approx(np.sum((predictions[:t] - y[:t]) ** 2) - least, rel=1e-9)


def test_regret_on_one_point_with_changing_labels_is_logarithmic():
    """The toy stream of the paper: the best answer is 0. Gradient steps of one size pay the same in every round."""
    n = 2000 if COMPILED else 300
    X, y = alternating(n)
    K = np.ones((n, n))

    def later(model):
        """What the second half adds to the regret."""
        regret = onkel.ridge_regret(model.learn(X, y), y, K)
        return regret[-1] - regret[n // 2 - 1]

    for family, most in (("KONS", 10), ("ConKons", 10), ("ProsNKons", 100), ("BKons", 100)):
        assert later(regressor(family)) < most, family
    assert later(onkel.KernelOGDRegressor(eta=0.5, epsilon=0.0, gamma=0.15)) > n / 4
    model = regressor("ProsNKons").fit(X, y)
    assert model.rank_ == 1
    assert model.n_changes_ == model.n_support_ < 4 * np.log(n)
    assert regressor("ProsNKons", idle_restarts=False).fit(X, y).n_changes_ == 1
