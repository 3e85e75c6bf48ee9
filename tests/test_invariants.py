"""What the mathematics says of each learner, whoever computes it."""

import numpy as np
import pytest
import scipy.stats
from cases import CASES, each_case, rows_of, stream
from compiled import insert
from reference import formulas
from test_promises import predictions

import onkel
from onkel import losses
from onkel._jit import COMPILED
from onkel.datasets import turning_moons
from onkel.expansion import empty
from onkel.kernels import Kernel, linear, rbf
from onkel.learners import bogd, bsgd, duol, forgetron
from onkel.outputs import BINARY, Task
from onkel.projection import STEADY, column, drop, gram, grow, project, renew
from onkel.rng import generator
from onkel.rows import Dense

FAST = COMPILED
KERNEL = {"kernel": "rbf", "gamma": 0.15}


def leading(matrix, n):
    """The n x n part of a symmetric matrix in panels."""
    return np.moveaxis(matrix, 1, 0).reshape(matrix.shape[1], -1)[:n, :n]


def gaussian(A, B, gamma=0.15):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(-1))


def rkhs_sqnorm(model):
    K = gaussian(model.support_vectors_, model.support_vectors_)
    return float(np.einsum("ri,ij,rj->", model.dual_coef_, K, model.dual_coef_))


# ------------------------------------------------------------------ inverses (K1)
@pytest.mark.xdist_group("gram")
@pytest.mark.parametrize("seed", range(3))
def test_inverse_follows_two_hundred_changes(seed):
    rng = np.random.default_rng(seed)
    held = gram(60)
    points = np.zeros((0, 4))
    for _ in range(200):
        n = len(points)
        if n < 50 and (n < 3 or rng.random() < 0.6):
            x = rng.normal(size=4)
            residual = project(held, np.append(gaussian(points, x[None])[:, 0], np.zeros(60 - n)), n, 1.0)
            if residual > 0:
                grow(held, n, residual, 1.0)
                points = np.vstack([points, x])
        else:
            r = rng.integers(n)
            column(held, r, n)
            drop(held, r, n)
            points[r] = points[-1]
            points = points[:-1]
        n, K = len(points), gaussian(points, points)
        np.testing.assert_allclose(leading(held.matrix, n), K, rtol=1e-14)
        exact = np.linalg.inv(K)
        np.testing.assert_allclose(leading(held.inverse, n), exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    assert not held.inverse[:, n:].any()
    renew(held, n)
    np.testing.assert_allclose(leading(held.inverse, n), exact, rtol=0, atol=1e-9 * np.abs(exact).max())


@pytest.mark.xdist_group("gram")
def test_projection_on_a_span_with_near_duplicates():
    """Coefficients reproduce the kernel row, and a point of the span has distance 0."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=(12, 3))
    points = np.vstack([base, base + 1e-3 * rng.normal(size=(12, 3))])
    held, taken = gram(30), []
    for i, x in enumerate(points):
        k = np.append(gaussian(points[taken], x[None])[:, 0], np.zeros(30))
        residual = project(held, k, len(taken), 1.0)
        if residual > 0:
            grow(held, len(taken), residual, 1.0)
            taken.append(i)
    assert 12 < len(taken) <= 24
    K = gaussian(points[taken], points[taken])
    for x in (points[3], rng.normal(size=3), points[3] + 1e-9, *points[12:]):
        k = gaussian(points[taken], x[None])[:, 0]
        residual = project(held, np.append(k, np.zeros(30)), len(taken), 1.0)
        d = held.scratch.d[: len(taken)]
        np.testing.assert_allclose(K @ d, k, atol=1e-12)
        exact = 1 - k @ np.linalg.solve(K, k)
        assert residual == (0 if exact < STEADY * (1 + d @ d) else pytest.approx(exact, abs=1e-9))


# ------------------------------------------------------------------ projection
def test_projectron_without_tolerance_is_the_perceptron():
    """Also where the kernel has only 36 dimensions, so that most mistakes lie in the span (K2)."""
    X, y = stream("binary", 500 if FAST else 150)
    for kernel in (
        {"kernel": "rbf", "gamma": 0.15},
        {"kernel": "poly", "gamma": 0.2, "degree": 2},
        {"kernel": "linear"},
    ):
        exact = onkel.KernelPerceptronClassifier(**kernel).learn(X, y, classes=[-1, 1])
        model = onkel.ProjectronClassifier(budget=None, tolerance=0.0, **kernel)
        np.testing.assert_allclose(model.learn(X, y, classes=[-1, 1]), exact, atol=1e-8 * np.abs(exact).max())
        if kernel["kernel"] != "rbf":
            assert model.n_support_ <= (7 if kernel["kernel"] == "linear" else 36)


def test_projectron_stores_only_what_is_far_from_the_rest():
    X, y = stream("binary", 400 if FAST else 120)
    model = onkel.ProjectronClassifier(budget=None, tolerance=0.5, **KERNEL).fit(X, y)
    K = gaussian(model.support_vectors_, model.support_vectors_)
    n = model.n_support_
    assert 5 < n < 100
    for i in range(1, n):
        assert K[i, i] - K[i, :i] @ np.linalg.solve(K[:i, :i], K[:i, i]) > 0.25
    exact = np.linalg.inv(K)
    np.testing.assert_allclose(
        leading(model._learner.gram.inverse, n), exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max()
    )


@pytest.mark.parametrize(
    "estimator",
    [
        onkel.ProjectronClassifier(budget=None, tolerance=0.1),
        onkel.ProjectronPlusPlusClassifier(budget=None, tolerance=0.1),
        onkel.BPAClassifier(strategy="projecting", budget=20),
        onkel.BSGDClassifier(maintenance="projection", budget=20, reg=0.1),
        onkel.KernelRLSRegressor(threshold=1e-6),
    ],
    ids=lambda e: type(e).__name__,
)
def test_one_point_with_changing_labels_is_stored_once(estimator):
    """Who projects never stores what is in the span (K31)."""
    rng = np.random.default_rng(0)
    X, y = np.tile(rng.normal(size=(3, 4)), (60, 1)), rng.choice([-1.0, 1.0], size=180)
    model = estimator.fit(X, y)
    assert model.n_support_ <= 3
    assert np.isfinite(model.dual_coef_).all()
    assert np.abs(model.predict(X[:3])).max() <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_projections_on_a_smooth_kernel_stay_small(sigma):
    """The kernel matrix of points in the plane is nearly singular: rounding must not grow with every projection."""
    X, y = turning_moons(3000, random_state=0)
    model = onkel.ProjectronClassifier(budget=120, sigma=sigma)
    scores = model.learn(X, y, classes=[-1, 1])
    assert np.abs(scores).max() < 10
    assert np.mean(np.where(scores >= 0, 1, -1) != y) < 0.25


# ------------------------------------------------------------------ passive-aggressive
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
def test_passive_aggressive_steps(task):
    """PA leaves no loss on the example, PA-I steps within C, PA-II leaves the loss that its penalty allows (K3)."""
    X, y = stream(task, 80)
    kind = onkel.KernelPassiveAggressiveRegressor if task == "regression" else onkel.KernelPassiveAggressiveClassifier
    first = {} if task == "regression" else {"classes": np.unique(y)}

    def loss(scores, t):
        if task == "regression":
            return max(abs(y[t] - scores) - 0.1, 0)
        if task == "binary":
            return max(1 - y[t] * scores, 0)
        return max(1 - scores[y[t]] + np.delete(scores, y[t]).max(), 0)

    for variant in ("pa", "pa1", "pa2"):
        model = kind(variant=variant, C=0.4, **KERNEL)
        reach = 2 if task == "multiclass" else 1
        for t in range(80):
            before = loss(model.learn(X[t : t + 1], y[t : t + 1], **(first if t == 0 else {}))[0], t)
            after = loss(predictions(model, X[t : t + 1])[0], t)
            if variant == "pa2":
                expected = before * 1.25 / (reach + 1.25)  # 1 / (2C) = 1.25
            else:
                expected = 0 if variant == "pa" else max(before - 0.4 * reach, 0)
            if task == "multiclass" and variant != "pa":
                continue  # another rival may be ahead after the step
            if task != "multiclass":
                assert after == pytest.approx(expected, abs=1e-12)
        assert np.abs(model.dual_coef_).max() <= 0.4 or variant == "pa" or variant == "pa2"


def test_bpa_margin_after_an_unclipped_step():
    """Whoever takes over for the point that leaves, the new example ends with a margin of 1."""
    X, y = stream("binary", 150)
    for strategy in ("simple", "nearest", "projecting"):
        model = onkel.BPAClassifier(budget=8, C=1e6, strategy=strategy, **KERNEL)
        model.partial_fit(X[:100], y[:100], classes=[-1, 1])
        for t in range(100, 150):
            if y[t] * model.learn(X[t : t + 1], y[t : t + 1])[0] < 1:
                assert y[t] * model.decision_function(X[t : t + 1])[0] == pytest.approx(1, abs=1e-9)


def test_bpa_projecting_loses_least():
    """The point that goes has the least a_r^2 / [K^-1]_rr, which is the least objective (K5)."""
    X, y = stream("binary", 120)
    model = onkel.BPAClassifier(budget=6, C=0.5, strategy="projecting", **KERNEL)
    model.partial_fit(X[:60], y[:60], classes=[-1, 1])
    removed = 0
    for t in range(60, 120):
        points, a, born = model.support_vectors_, model.dual_coef_[0], model.support_
        k = gaussian(points, X[t : t + 1])[:, 0]
        f = a @ k
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        gone = np.flatnonzero(~np.isin(born, model.support_))
        if len(gone) == 0:
            continue
        removed += 1
        all_points = np.vstack([points, X[t]])
        tau = min(0.5, 1 - y[t] * f)
        objectives = []
        for r in range(6):
            heirs = [i for i in range(7) if i != r]
            K = gaussian(all_points, all_points)
            beta = a[r] * np.linalg.solve(K[np.ix_(heirs, heirs)], K[heirs, r])
            beta[-1] += tau * y[t]
            objectives.append(
                formulas.bpa_objective(
                    lambda p, q: gaussian(p[None], q[None])[0, 0], list(points), a, X[t], y[t], r, heirs, beta, 0.5
                )
            )
        assert gone[0] == np.argmin(objectives)
    assert removed > 10


# ------------------------------------------------------------------ Forgetron
@pytest.mark.xdist_group("Forgetron")
def test_forgetron_factor_is_the_largest_allowed():
    rng = np.random.default_rng(5)
    for _ in range(300 if FAST else 60):
        sigma, mu, slack = rng.uniform(0.01, 1), 2 * rng.normal(), rng.uniform(1e-3, 2)
        phi = forgetron.factor_of(sigma, mu, slack)
        assert 0 < phi <= 1
        assert forgetron.damage(sigma, mu, phi) <= slack * (1 + 1e-12)
        grid = np.linspace(0, 1, 200_001)[1:]
        allowed = grid[(sigma * grid) ** 2 + 2 * sigma * grid * (1 - grid * mu) <= slack]
        assert phi == pytest.approx(allowed.max(), abs=1e-4)


@pytest.mark.parametrize("variant", ["selftuned", "greedy"])
def test_forgetron_ledger(variant):
    """Damage within 15/32 of the updates after every row, and coefficients that only shrink (K6)."""
    X, y = stream("binary", 300 if FAST else 100)
    model, last = onkel.ForgetronClassifier(budget=10, variant=variant, **KERNEL), {}
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        ledger = model._learner.ledger
        assert ledger[forgetron.DAMAGE] <= 15 / 32 * ledger[forgetron.UPDATES] + 1e-9
        now = dict(zip(model.support_.tolist(), np.abs(model.dual_coef_[0])))
        assert all(now[i] <= last[i] * (1 + 1e-12) for i in now if i in last)
        last = now


def test_forgetron_basic_stays_in_its_ball():
    """After the shrinking, before the oldest leaves, |f| <= U; the norm is tracked all along."""
    X, y = stream("binary", 200 if FAST else 80)
    budget, size = 10, 11
    model = onkel.ForgetronClassifier(budget=budget, variant="basic", **KERNEL)
    model.partial_fit(X[:20], y[:20], classes=[-1, 1])
    shrunk = 0
    for t in range(20, len(X)):
        old = dict(zip(model.support_.tolist(), model.dual_coef_[0]))
        wrong = y[t] * model.learn(X[t : t + 1], y[t : t + 1])[0] <= 0
        born, a = model.support_, model.dual_coef_[0]
        assert model._learner.ledger[forgetron.SQNORM] == pytest.approx(rkhs_sqnorm(model), rel=1e-8)
        if not (wrong and len(old) == budget):
            continue
        shrunk += 1
        phi = a[born != t][0] / old[born[born != t][0]]
        oldest = min(old)
        assert oldest not in born
        points = np.vstack([model.support_vectors_, X[oldest]])
        a = np.append(a, phi * old[oldest])
        assert np.sqrt(a @ gaussian(points, points) @ a) <= np.sqrt(size / np.log(size)) / 4 + 1e-9
    assert shrunk > 10


# ------------------------------------------------------------------ merging
def test_merging_costs_what_it_says():
    """|f_before - f_after|^2 of one merge is the degradation for its pair, the least among all partners (K7)."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        f, kernel = empty(6, 2), rbf(0.15)
        rows, coef = rng.normal(size=(6, 2)), rng.uniform(0.2, 1, 6) * rng.choice([-1, 1], 6)
        for i in range(6):
            f.scratch.move[0] = 1.0
            insert(f, i, kernel, Dense(rows), i, coef[i])
        learner = bsgd.BSGDMerging(kernel, Task(BINARY), losses.Loss(0), f, 0.1, np.zeros((0, 0)))
        p = bsgd.lightest(f)
        assert p == np.argmin(np.abs(coef))
        bsgd.merge(learner, Dense(rows), p)
        after = np.moveaxis(f.points, 1, 2).reshape(-1, 2)[:5]
        everyone = np.vstack([rows, after])
        signed = np.append(coef, -f.coef[0, :5])
        moved = signed @ gaussian(everyone, everyone) @ signed
        same = [q for q in range(6) if q != p and coef[q] * coef[p] > 0]
        if not same:
            assert moved == pytest.approx(coef[p] ** 2, rel=1e-9)
            continue
        costs = []
        for q in same:
            m, k = bsgd_share(coef, p, q), gaussian(rows[[p]], rows[[q]])[0, 0]
            grid = np.linspace(0, 1, 20_001)
            best = np.max(m * k ** ((1 - grid) ** 2) + (1 - m) * k ** (grid**2))
            total = (abs(coef[p]) + abs(coef[q])) ** 2
            costs.append(coef[p] ** 2 + coef[q] ** 2 + 2 * coef[p] * coef[q] * k - total * best**2)
        assert moved == pytest.approx(min(costs), abs=1e-7)
        assert -1e-12 <= moved <= coef[p] ** 2 + 1e-12


def bsgd_share(coef, p, q):
    return abs(coef[p]) / (abs(coef[p]) + abs(coef[q]))


def test_lookup_table_against_the_search():
    table = bsgd.lookup_table(100)
    rng = np.random.default_rng(3)
    for m, k in zip(rng.random(300), rng.uniform(0.14, 1, 300)):
        h = bsgd.polish(m, k, bsgd.golden_section(m, k))
        exact = m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * k - bsgd.overlap(m, k, h) ** 2
        assert abs(bsgd.look_up(table, m, k) - exact) <= 2e-4
    full = bsgd.lookup_table()
    assert full.min() >= -1e-12
    np.testing.assert_allclose(full, full[::-1], atol=1e-12)  # p and q may change places


# ------------------------------------------------------------------ averages, sampling, expectations
@pytest.mark.parametrize(
    "model",
    [
        onkel.SPAClassifier(beta=1.0, eta=0.5, random_state=0, **KERNEL),
        onkel.OSKLClassifier(G=1.0, random_state=0, **KERNEL),
        onkel.KernelPerceptronClassifier(average=True, **KERNEL),
        onkel.KernelOGDClassifier(average=True, reg=0.3, eta=1.5, **KERNEL),
        onkel.KernelPegasosClassifier(average=True, reg=0.1, **KERNEL),
    ],
    ids=lambda model: type(model).__name__,
)
def test_lazy_average_is_the_mean(model):
    """f-bar at x is the mean of the scores of f_1 .. f_t at x, also when the scale was folded in (K8)."""
    X, y = stream("binary", 150)
    plain = type(model)(**{**model.get_params(), "average": False})
    totals, where = np.zeros(len(X)), X
    for t in range(150):
        if t > 0:
            totals += plain.decision_function(where)
        score = model.learn(X[t : t + 1], y[t : t + 1], classes=[-1, 1])[0]
        plain.learn(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        assert score == pytest.approx(totals[t] / (t + 1), abs=1e-12 * max(1, np.abs(totals).max()))
    mean = (totals + plain.decision_function(where)) / 151
    np.testing.assert_allclose(model.decision_function(where), mean, atol=1e-12 * max(1, np.abs(mean).max()))


def test_spa_stores_as_often_as_it_says():
    """Mean number of support vectors over 50 seeds at most alpha T / beta, within four standard errors (K9)."""
    X, y = stream("binary", 300 if FAST else 100)
    T, seeds = len(X), 50 if FAST else 15
    sizes = [onkel.SPAClassifier(beta=10.0, random_state=s, **KERNEL).fit(X, y).n_support_ for s in range(seeds)]
    assert np.mean(sizes) <= T / 10 + 4 * np.std(sizes, ddof=1) / np.sqrt(seeds)
    assert np.mean(sizes) > T / 40


def test_oskl_is_unbiased():
    """Stored with probability |z| / G; the mean step over many seeds is the gradient's."""
    x, y = np.ones((1, 2)), np.array([1])
    inserted = []
    for seed in range(400 if FAST else 100):
        model = onkel.OSKLClassifier(G=2.0, eta=0.3, average=False, random_state=seed).learn
        model(x, y, classes=[-1, 1])
        inserted.append(model.__self__.dual_coef_.sum())
    inserted = np.array(inserted)
    np.testing.assert_allclose(inserted[inserted != 0], 0.3 * 2.0)
    error = np.std(inserted) / np.sqrt(len(inserted))
    assert abs(inserted.mean() - 0.3 * 0.5) < 4 * error  # z = 1/2 at f = 0


@pytest.mark.parametrize("sampling", [bogd.UNIFORM, bogd.NONUNIFORM])
@pytest.mark.parametrize("skewed", [False, True])
def test_bogd_keeps_the_expected_coefficients(sampling, skewed):
    """sum_i p_i a^(i) = a, a^(i) the coefficients after the removal of point i, before the cap (K10)."""
    rng = np.random.default_rng(4)
    coef = rng.normal(size=6) * (np.array([30, 1, 1, 1, 1, 1]) if skewed else 1)
    counts, mean = np.zeros(6), np.zeros(6)
    draws = 20_000 if FAST else 2000
    f, kernel = empty(6, 2), Kernel(0)
    for i in range(6):
        f.scratch.move[0] = 1.0
        insert(f, i, rbf(1.0), Dense(rng.normal(size=(6, 2))), i, coef[i])
    learner = bogd.BOGD(kernel, Task(BINARY), losses.Loss(0), f, 0.1, 0.0, 1e9, sampling, generator(9))
    p = np.full(6, 1 / 6)
    if sampling == bogd.NONUNIFORM:
        bogd.chances(f, f.scratch.other, 6)
        p = f.scratch.other[:6].copy()
        share = np.abs(coef) / np.abs(coef).sum()
        wanted = np.maximum(1 - 5 * share, 0)
        np.testing.assert_allclose(p, wanted / wanted.sum(), atol=1e-12)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p >= 0).all()
    exact = np.zeros(6)
    for i in range(6):
        exact += p[i] * np.where(np.arange(6) == i, 0, coef / (1 - p))
    np.testing.assert_allclose(exact, coef, atol=1e-12)
    for _ in range(draws):
        f.coef[0, :6], f.lazy[0] = coef, 1.0
        gone = bogd.thin_out(learner)
        counts[gone] += 1
        left = f.lazy[0] * f.coef[0, :6]
        left[gone] = 0
        mean += left / draws
    possible = p > 0
    assert scipy.stats.chisquare(counts[possible], draws * p[possible]).pvalue > 1e-4
    assert counts[~possible].sum() == 0
    np.testing.assert_allclose(mean, coef, atol=5 * np.abs(coef).max() / np.sqrt(draws) * 3)


def test_rbp_removes_uniformly():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(6000 if FAST else 1000, 3)), rng.choice([-1, 1], 6000 if FAST else 1000)
    model, counts = onkel.RBPClassifier(budget=8, gamma=5.0, random_state=1), np.zeros(8)
    model.partial_fit(X[:40], y[:40], classes=[-1, 1])
    born = model._learner.f.born
    for t in range(40, len(X)):
        before = born.copy()
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        counts += born != before
    assert (counts > 0).all()
    assert scipy.stats.chisquare(counts).pvalue > 1e-4
    assert np.abs(model.dual_coef_).tolist() == [[1.0] * 8]


def test_norma_reaches_its_fraction():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000 if FAST else 600, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0, 1, -1)
    for nu in (0.2, 0.5):
        model = onkel.NORMAClassifier(nu=nu, eta=0.05, reg=0.01, gamma=1.0, truncation=400)
        edges, scores = [], []
        for t in range(0, len(X), 20):
            edges += [float(model._learner.edge[0]) if t else 1.0] * 20
            scores.append(model.learn(X[t : t + 20], y[t : t + 20], classes=[-1, 1]))
        errors = y * np.concatenate(scores) <= np.array(edges)
        assert np.mean(errors[len(X) // 2 :]) == pytest.approx(nu, abs=0.05)


def test_pegasos_stays_in_its_ball():
    X, y = stream("binary", 150)
    model = onkel.KernelPegasosClassifier(reg=0.05, project=True, **KERNEL)
    for t in range(150):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        assert np.sqrt(rkhs_sqnorm(model)) <= 1 / np.sqrt(0.05) + 1e-9


# ------------------------------------------------------------------ dual updates, least squares
@pytest.mark.xdist_group("DUOL")
def test_duol_pair_is_the_optimum():
    rng = np.random.default_rng(2)
    for _ in range(300 if FAST else 100):
        ka, kb = rng.uniform(0.5, 3, 2)
        w = -rng.uniform(0, 0.98) * np.sqrt(ka * kb)
        la, lb, most, old = rng.uniform(0, 2), rng.uniform(-0.5, 2), rng.uniform(0.2, 1), rng.uniform(0, 1)
        g, h = duol.solve_pair(la, lb, ka, kb, w, most, -old, 1 - old)
        best = formulas.duol_pair(la, lb, ka, kb, w, (0.0, most), (-old, 1 - old))
        gain = formulas.duol_gain(np.array([g, h]), la, lb, ka, kb, w)
        assert gain == pytest.approx(formulas.duol_gain(best, la, lb, ka, kb, w), abs=1e-8)
        assert 0 <= g <= most
        assert -old <= h <= 1 - old


def test_duol_never_loses_dual_objective():
    X, y = stream("binary", 200 if FAST else 80)
    model, last = onkel.DUOLClassifier(C=1.0, rho=0.0, **KERNEL), 0.0
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        a = model.dual_coef_[0]
        gamma = a * y[model.support_]
        assert (gamma > 0).all()
        assert (gamma <= 1 + 1e-12).all()
        objective = gamma.sum() - rkhs_sqnorm(model) / 2
        assert objective >= last - 1e-9
        last = objective
        margins = y[model.support_] * model.decision_function(model.support_vectors_)
        np.testing.assert_allclose(model._learner.margins[: len(a)], margins, atol=1e-9)


def test_krls_is_least_squares_on_its_dictionary():
    """With every example's coefficients on the dictionary of its time, as the papers' recursion has it (K23)."""
    X, y = stream("regression", 300 if FAST else 100)
    model = onkel.KernelRLSRegressor(threshold=0.1, **KERNEL).fit(X, y)
    K = gaussian(model.support_vectors_, model.support_vectors_)
    n = model.n_support_
    A = np.zeros((len(X), n))
    for t in range(len(X)):
        known = np.flatnonzero(model.support_ <= t)
        A[t, known] = np.linalg.solve(
            K[np.ix_(known, known)], gaussian(model.support_vectors_[known], X[t : t + 1])[:, 0]
        )
    fitted = np.linalg.solve(K, np.linalg.lstsq(A, y, rcond=None)[0])
    np.testing.assert_allclose(model.dual_coef_[0], fitted, rtol=1e-6, atol=1e-6 * np.abs(fitted).max())
    assert 5 < n < 0.7 * len(X)


# ------------------------------------------------------------------ two classes, linear kernels, losses
def test_two_prototypes_are_one_binary_model():
    """f_1 - f_0 of a multi-class model is a binary score: OGD with twice the step, PA, PA-I with twice C (K27)."""
    from onkel import outputs
    from onkel.budget import never
    from onkel.learners import ogd
    from onkel.learners import passive_aggressive as pa
    from onkel.steps import CONSTANT, PA, PA1
    from onkel.stream import learn

    X, y = stream("binary", 120)
    rows, weights = Dense(np.ascontiguousarray(X)), np.ones(120)

    def run(make, kind, outputs_, target):
        scores = np.empty((120, outputs_))
        learn(make(empty(128, 7, outputs_), Task(kind)), rows, target, weights, scores, 0, 120)
        return scores

    def make_ogd(eta):
        return lambda f, task: ogd.OGD(
            rbf(0.15), task, losses.Loss(losses.HINGE), never(), f, eta, CONSTANT, 0.0, np.inf, np.zeros(1)
        )

    def make_pa(C, variant):
        return lambda f, task: pa.PassiveAggressive(rbf(0.15), task, never(), f, C, variant)

    label, index = y.astype(float), (y > 0).astype(float)
    for two, one in (
        (make_ogd(0.2), make_ogd(0.4)),
        (make_pa(1.0, PA),) * 2,
        (make_pa(0.2, PA1), make_pa(0.4, PA1)),
    ):
        many, single = run(two, outputs.MULTICLASS, 2, index), run(one, BINARY, 1, label)
        np.testing.assert_allclose(many[:, 1] - many[:, 0], single[:, 0], atol=1e-10)


def test_linear_kernel_is_the_linear_perceptron():
    X, y = stream("binary", 200)
    model, w = onkel.KernelPerceptronClassifier(kernel="linear"), np.zeros(7)
    scores = model.learn(X, y, classes=[-1, 1])
    for t in range(200):
        assert scores[t] == pytest.approx(w @ X[t], abs=1e-9)
        if y[t] * (w @ X[t]) <= 0:
            w = w + y[t] * X[t]
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, [w], atol=1e-9)
    assert linear().kind == Kernel(0).kind


@pytest.mark.parametrize("name", losses.NAMES)
def test_slope_is_the_derivative(name):
    loss = losses.Loss(losses.NAMES.index(name), 0.3 if name == "epsilon_insensitive" else 0.0)
    gaps = np.linspace(0.02, 3, 150) if name not in ("hinge", "squared_hinge", "logistic") else np.linspace(-3, 4, 281)
    for gap in gaps[np.abs(gaps - 0.3) > 1e-3]:
        if abs(gap) < 1e-3:
            continue
        numeric = (losses.value(loss, gap + 1e-6) - losses.value(loss, gap - 1e-6)) / 2e-6
        assert losses.slope(loss, gap) == pytest.approx(numeric, abs=1e-5)


@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "squared", "half_squared"])
@pytest.mark.parametrize("clip", [0.5, 1.0, 2.0])
def test_curvature_inequality(name, clip):
    """l(u) >= l(w) + l'(w)(u - w) + s/2 (l'(w)(u - w))^2, and hardly any larger s does (K28)."""
    grid = np.linspace(-clip, clip, 161)
    u, w = grid[:, None], grid[None]
    if name in ("squared_hinge", "logistic"):
        sides = [(1.0, 1.0)]
    else:
        sides = [(target, 0.0) for target in (-clip, 0.0, clip)]

    def pieces(target):
        if name == "squared_hinge":
            return (lambda f: np.maximum(0, 1 - f) ** 2), (lambda f: -2 * np.maximum(0, 1 - f))
        if name == "logistic":
            return (lambda f: np.logaddexp(0, -f)), (lambda f: -1 / (1 + np.exp(f)))
        half = 0.5 if name == "half_squared" else 1.0
        return (lambda f: half * (f - target) ** 2), (lambda f: 2 * half * (f - target))

    s, slackest = losses.curvature(name, clip), np.inf
    for target, _ in sides:
        value, derivative = pieces(target)
        step = derivative(w) * (u - w)
        rest = value(u) - value(w) - step
        assert (rest - s / 2 * step**2).min() >= -1e-12
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(np.abs(step) > 1e-6, 2 * rest / step**2, np.inf)
        slackest = min(slackest, bound.min())
    if clip >= 1:  # below, the constant of clip = 1 is safe but not tight
        assert slackest < s * (1.6 if name == "logistic" else 1.02)


# ------------------------------------------------------------------ every learner
@each_case
def test_the_past_does_not_depend_on_the_future(case):
    X, y = rows_of(case, 100)
    other = np.arange(100)
    other[50:] = other[50:][::-1]
    first, second = case.make(), case.make()
    a, b = first.learn(X, y, **case.first), second.learn(X[other], y[other], **case.first)
    np.testing.assert_array_equal(a[:51], np.concatenate([b[:50], a[50:51]]))


DETERMINED = [c for c in CASES if c.name.endswith("-binary") and c.stores and not hasattr(c.estimator, "n_components")]


@pytest.mark.parametrize("case", DETERMINED, ids=str)  # columns have random frequencies of their own
def test_order_of_the_features_does_not_matter(case):
    X, y = rows_of(case, 100)
    a = case.make().learn(X, y, **case.first)
    b = case.make().learn(np.ascontiguousarray(X[:, ::-1]), y, **case.first)
    np.testing.assert_allclose(b, a, atol=1e-10 * np.abs(a).max())
