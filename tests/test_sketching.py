"""Incremental sketches: what they are, what features they give, and how SkeGD learns on these."""

import itertools

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
import thesis
from cases import CASES, rows_of
from reference.sketching import Sampled, transform_row
from test_promises import state
from test_twins import near

import onkel
from onkel._jit import COMPILED
from onkel.alignment import distances
from onkel.datasets import load, repeat_blocks
from onkel.estimators import sketching
from onkel.expansion import SIZE
from onkel.nystroem import landmarks_of

GAUSSIAN = ref.rbf(0.15)
LONG = 3000 if COMPILED else 240
together = pytest.mark.xdist_group("SkeGD")


def points(n, d=6, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)) * (random.random((n, d)) < 0.7)


def gram(A, B):
    return np.exp(-0.15 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def by_definition(sketch, landmarks, key):
    """S' K S and S' k(X, landmarks) of the points that a sketch is of."""
    held, draw = landmarks_of(sketch), ref.Draw(key)
    S = np.array([transform_row(draw, i, sketch.blocks, len(sketch.pp)) for i in range(len(held))])
    return S.T @ gram(held, held) @ S, S.T @ gram(held, landmarks)


def error_of(K, approximation):
    return np.sum((approximation - K) ** 2) / np.sum(K**2)


# ------------------------------------------------------------------ the random transform
def test_rows_of_the_transform():
    """One entry of 1/sqrt(d) or its negative in each block; the blocks' sizes differ by one at most."""
    for size, blocks in ((75, 4), (12, 5), (9, 9), (7, 1)):
        rows = np.array([transform_row(ref.Draw(3), i, blocks, size) for i in range(400)])
        edges = [b * size // blocks for b in range(blocks + 1)]
        assert np.ptp(np.diff(edges)) <= 1
        for a, b in itertools.pairwise(edges):
            assert (np.count_nonzero(rows[:, a:b], axis=1) == 1).all()
            assert (rows[:, a:b] != 0).any(axis=0).all()
        np.testing.assert_allclose(np.abs(rows[rows != 0]), 1 / np.sqrt(blocks))


def test_the_transform_keeps_lengths_on_average():
    """K20: E |S'a|^2 = |a|^2 over 2000 draws, with a variance of 2 |a|^4 / s_p at most."""
    a = np.random.default_rng(1).normal(size=6)
    lengths = []
    for key in range(2000):
        S = np.array([transform_row(ref.Draw(key), i, 4, 15) for i in range(6)])
        lengths.append(np.sum((S.T @ a) ** 2))
    assert abs(np.mean(lengths) - a @ a) < 3 * np.std(lengths) / np.sqrt(2000)
    assert np.var(lengths) < 1.2 * 2 * (a @ a) ** 2 / 15


# ------------------------------------------------------------------ both sketches
@together
@pytest.mark.parametrize("most", [None, 50])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_sketches_follow_every_point(most, layout):
    """K19: after thousands of points, some of which left again, they are those of the points from scratch."""
    n = LONG if most else LONG // 4
    X = points(n)
    rows = sp.csr_matrix(X) if layout == "csr" else X
    model = onkel.IncrementalSketch(budget=40, gamma=0.15, max_processed=most, random_state=0)
    for start in range(0, n, 700):
        model.partial_fit(rows[start : start + 700])
    sketch = model._sketches
    assert model.n_processed_ == n
    assert sketch.count[SIZE] == (most or n)
    kept = landmarks_of(sketch)
    np.testing.assert_array_equal(kept[np.argsort(sketch.born[: len(kept)])], X[-len(kept) :] if most else X)
    pp, pm = by_definition(sketch, model.components_, model._setting.key)
    np.testing.assert_array_equal(sketch.pp, sketch.pp.T)
    near(sketch.pp, pp, 1e-10)
    near(sketch.pm, pm, 1e-10)


@together
@pytest.mark.parametrize("svd", ["exact", "randomized"])
def test_features_by_definition(svd):
    X, sizes = points(90), {"size": 22, "sample": 12, "rank": 7, "blocks": 3}
    model = onkel.IncrementalSketch(
        budget=30, sketch_size=22, sample_size=12, rank=7, blocks=3, svd=svd, gamma=0.15, random_state=4
    ).fit(X)
    twin = Sampled(GAUSSIAN, list(X[:30]), ref.Draw(model._setting.key), random=svd == "randomized", **sizes)
    for x in X[30:]:
        twin.add(x)
    near(model.components_, twin.landmarks)
    near(model.normalization_, twin.quotient().T)
    near(model.transform(X), gram(X, model.components_) @ twin.quotient())
    near(model.approximate_kernel(X[:5], X), model.transform(X[:5]) @ model.transform(X).T)


@together
def test_exact_when_nothing_is_left_out():
    """With all points as landmarks, a transform of full rank and all eigenvectors: the kernel matrix itself."""
    X = points(12)
    K, regular = gram(X, X), 0
    for seed in range(40):
        model = onkel.IncrementalSketch(
            budget=12, sketch_size=12, sample_size=12, rank=12, gamma=0.15, random_state=seed
        ).fit(X)
        S = np.array([transform_row(ref.Draw(model._setting.key), i, 4, 12) for i in range(12)])
        if np.linalg.cond(S) < 100:
            regular += 1
            near(model.approximate_kernel(X), K, 1e-6)
    assert regular > 3


@together
def test_a_larger_sketch_comes_close_to_the_best_middle_matrix():
    """With C = k(X, landmarks) no C F C' is closer to K than that of F = C^+ K C^+', the limit of the sketches."""
    X = points(400, d=3)
    K, excess = gram(X, X), []
    for size in (24, 80, 250):
        over = []
        for seed in range(5):
            model = onkel.IncrementalSketch(
                budget=250, sketch_size=size, sample_size=12, rank=12, gamma=0.15, random_state=seed
            ).fit(X)
            C = gram(X, model.components_)
            best = error_of(K, C @ np.linalg.pinv(C) @ K @ np.linalg.pinv(C).T @ C.T)
            own = error_of(K, model.approximate_kernel(X))
            assert own >= best * (1 - 1e-9)
            over.append(own / best - 1)
        excess.append(np.mean(over))
    assert excess[0] > excess[1] > excess[2]
    assert excess[2] < 0.5


# ------------------------------------------------------------------ the transformer
@together
def test_transformer_in_pieces_and_layouts():
    """However the stream is cut the bits are the same; CSR and later columns change nothing."""
    X = points(200)
    X[:90, 4:] = 0
    new = {"budget": 30, "gamma": 0.15, "update_every": 3, "max_processed": 50, "random_state": 1}
    whole = onkel.IncrementalSketch(**new).fit(X)
    pieces, wide = onkel.IncrementalSketch(**new), onkel.IncrementalSketch(grow_features=True, **new)
    for a, b in ((0, 1), (1, 29), (29, 34), (34, 90), (90, 200)):
        pieces.partial_fit(X[a:b])
        wide.partial_fit(X[a:b, : 4 if b <= 90 else 6])
    for other in (pieces, wide):
        np.testing.assert_array_equal(other.transform(X), whole.transform(X))
    assert whole.n_seen_ == 200
    assert whole.n_processed_ == 30 + 170 // 3
    sparse = onkel.IncrementalSketch(**new).fit(sp.csr_matrix(X))
    near(sparse.approximate_kernel(sp.csr_matrix(X)), whole.approximate_kernel(X), 1e-6)
    single = onkel.IncrementalSketch(**new).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert error_of(whole.approximate_kernel(X), single.approximate_kernel(X.astype(np.float32))) < 0.01


@together
def test_features_before_the_buffer_is_full():
    """They are those of a buffer that ends there, and looking at them changes nothing."""
    X = points(60)
    model = onkel.IncrementalSketch(budget=50, sample_size=20, gamma=0.15, random_state=0).partial_fit(X[:20])
    assert error_of(gram(X[:20], X[:20]), model.approximate_kernel(X[:20])) < 0.1
    other = onkel.IncrementalSketch(budget=50, sample_size=20, gamma=0.15, random_state=0).partial_fit(X[:20])
    np.testing.assert_array_equal(model.partial_fit(X[20:]).transform(X), other.partial_fit(X[20:]).transform(X))


@together
def test_a_learner_on_sketched_features(tmp_path):
    X, y = rows_of(CASES[0])
    model = onkel.FeatureMapClassifier(map=onkel.IncrementalSketch(budget=60, gamma=0.15), random_state=0).fit(X, y)
    onkel.save(model, tmp_path / "model")
    np.testing.assert_array_equal(onkel.load(tmp_path / "model").predict(X), model.predict(X))


# ------------------------------------------------------------------ SkeGD
def skegd(name="skegd-binary", **params):
    case = next(case for case in CASES if case.name == name)
    return case, case.make(**params), *rows_of(case)


@together
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_skegd_keeps_the_sketches_of_its_sample(task):
    case, model, X, y = skegd(f"skegd-{task}", update_every=1)
    model.learn(X, y, **case.first)
    sketch = model._learner.sketch
    pp, pm = by_definition(sketch, model.components_, model._setting.key)
    near(sketch.pp, pp, 1e-10)
    near(sketch.pm, pm, 1e-10)


@together
@pytest.mark.parametrize("period", [1, 7, 0.1])
def test_number_of_renewals(period):
    """K21: one at every period-th round after the switch, whatever the losses; rows of weight 0 do not count."""
    case, model, X, y = skegd(update_every=period, stream_length=240)
    switched = None
    for t in range(0, len(y), 2):  # two rows at a time, the second of weight 0
        model.learn(X[t : t + 2], y[t : t + 2], sample_weight=[1, 0], **(case.first if t == 0 else {}))
        if model.switched_ and switched is None:
            switched = t
    rho = period if period >= 1 else int(0.1 * (240 - 13))
    assert model.n_processed_ - model.budget == ((len(y) - switched) // 2 - 1) // rho


@together
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("init", ["paper", "least_squares"])
def test_renewing_keeps_the_score_at_hand(task, init, monkeypatch):
    """K21: right after the switch and every renewal the new model says of the example what the old one said."""
    case, model, X, y = skegd(f"skegd-{task}", update_every=5, init=init)
    said = []

    def watch(change):
        def changed(learner, rows, t, *rest):
            change(learner, rows, t, *rest)
            k = gram(learner_points(learner), rows.values[t : t + 1])[:, 0]
            M = ref_matrix(learner)
            said.append((change.__name__, learner.f.lazy[0] * learner.f.coef[:, : len(M)] @ M @ k))

        return changed

    monkeypatch.setattr(sketching, "begin", watch(sketching.begin))
    monkeypatch.setattr(sketching, "renew", watch(sketching.renew))
    for t in range(120):
        before = len(said)
        score = model.learn(X[t : t + 1], y[t : t + 1], **(case.first if t == 0 else {}))
        if len(said) > before and (init == "paper" or said[-1][0] == "renew"):
            near(said[-1][1], np.ravel(score), 1e-10)
    assert len(said) > 10


def learner_points(learner):
    return landmarks_of(learner.map)


def ref_matrix(learner):
    rank, size = learner.map.count[1], learner.map.count[0]
    return np.moveaxis(learner.map.matrix, 1, 2).reshape(-1, learner.map.matrix.shape[1])[:rank, :size]


@together
def test_ctrl_c_in_an_interlude_loses_nothing(monkeypatch):
    """The rows before count; the same renewal is asked for again by the next row."""
    case, model, X, y = skegd(update_every=6)
    _, other, _, _ = skegd(update_every=6)
    expected = other.learn(X, y, **case.first)
    renew, calls = sketching.renew, []

    def interrupted(*args):
        calls.append(renew(*args))
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(sketching, "renew", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn(X, y, **case.first)
    seen = model.n_seen_
    assert 0 < seen < len(y)
    np.testing.assert_array_equal(model.learn(X[seen:], y[seen:]), expected[seen:])
    assert state(model) == state(other)


@together
def test_a_failed_renewal_is_undone(monkeypatch):
    case, model, X, y = skegd(update_every=6)
    model.learn(X[:30], y[:30], **case.first)
    before = state(model)

    def fails(*args):
        raise np.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(sketching, "renew", fails)
    with pytest.raises(ValueError, match=r"overflowed between rows .* Nothing of the batch was learnt"):
        model.learn(X[30:], y[30:])
    assert state(model) == before


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"sample_size": 21}, "sample_size must be at most budget"),
        ({"rank": 4}, "rank must be at most 3"),
        ({"sketch_size": 3}, "blocks must be at most sketch_size"),
        ({"max_processed": 19}, "max_processed must be at least budget"),
        ({"update_every": 0.5}, "pass the length"),
        ({"update_every": 1.5, "stream_length": 9}, "update_every must be a whole number"),
        ({"carry": "both"}, "carry must be one of"),
    ],
)
def test_parameters_that_do_not_go_together(params, words):
    X, y = rows_of(CASES[0])
    with pytest.raises(ValueError, match=words):
        onkel.SkeGDClassifier(budget=20, **params).fit(X, y)
    with pytest.raises(ValueError, match="whole number here"):
        onkel.IncrementalSketch(update_every=0.5).fit(X)


# ------------------------------------------------------------------ the paper's experiments
@pytest.mark.data
@together
def test_labels_that_turn_in_blocks():
    """Table 4 on german-1: ahead of NOGD and FOGD at every step size, at one of them at the published number."""
    X, y, _ = thesis.read("german")
    sigma, theta = 2**5.5, 0.005  # the width by kernel alignment
    assert sigma == onkel.choose_sigma(X, y)
    for eta in (0.1, 0.4, 1.0):
        wrong = []
        for seed in range(6):
            rows, labels = repeat_blocks(X, y, 500, 10, random_state=seed)
            common = {"sigma": sigma, "eta": eta, "random_state": seed}
            rivals = (
                onkel.SkeGDClassifier(
                    budget=100, update_every=theta, stream_length=5000, init="paper", carry="paper", **common
                ),
                onkel.NOGDClassifier(budget=100, rank=10, **common),
                onkel.FOGDClassifier(n_components=400, **common),
            )
            scores = [rival.learn(rows, labels, classes=[-1, 1]) for rival in rivals]
            wrong.append([100 * np.mean(np.where(s >= 0, 1, -1) != labels) for s in scores])
        ours, nogd, fogd = np.mean(wrong, axis=0)
        assert ours < min(nogd, fogd) - 0.5, eta
        if eta == 0.4:
            spread = np.std([row[0] for row in wrong], ddof=1)
            assert abs(ours - 16.578) < 2 * np.sqrt((0.360**2 / 20) + spread**2 / 6) + 0.3


@pytest.mark.data
@together
@pytest.mark.parametrize("name", ["german", "svmguide3"])
def test_kernel_matrices_of_table_2(name):
    """A larger budget helps; the best middle matrix for the same landmarks is a bound, and not far."""
    try:
        X, y = load(name, dense=True, dtype=np.float64, folder=thesis.DATA.parent, download=False)
    except FileNotFoundError:
        pytest.skip(f"{name} is not in the data folder; set ONKEL_DATA to it")
    X = X[np.random.default_rng(1).permutation(len(y))]
    sigma, errors = onkel.choose_sigma(X, y), []
    K = np.exp(-distances(X, X, "rbf") / (2 * sigma**2))
    for budget in (100, 200):
        sketch = onkel.IncrementalSketch(budget=budget, sigma=sigma, random_state=0).fit(X)
        Q, _ = np.linalg.qr(K[:, sketch.component_indices_])
        errors.append(error_of(K, sketch.approximate_kernel(X)))
        assert error_of(K, Q @ (Q.T @ K @ Q) @ Q.T) < errors[-1] < 0.03
    assert errors[1] < errors[0]
