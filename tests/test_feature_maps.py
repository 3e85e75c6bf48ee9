"""Feature maps: what their inner products say of the kernel, and the transformers around them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import reference as ref
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import onkel
from onkel import _simd
from onkel._jit import COMPILED
from onkel._simd import aligned
from onkel.features import KINDS, SPECTRA

GAMMA = {"rbf": 0.3, "laplacian": 0.2, "exponential": 0.4, "matern32": 0.4, "matern52": 0.4}
KERNEL = {
    "rbf": ref.rbf(GAMMA["rbf"]),
    "laplacian": ref.laplacian(GAMMA["laplacian"]),
    "exponential": ref.matern(0.5, GAMMA["exponential"]),
    "matern32": ref.matern(1.5, GAMMA["matern32"]),
    "matern52": ref.matern(2.5, GAMMA["matern52"]),
}
MAPS = [(kernel, kind) for kernel in SPECTRA for kind in KINDS if kernel != "laplacian" or kind == "plain"]
each_map = pytest.mark.parametrize(("kernel", "kind"), MAPS)
SIZES = (64, 256, 1024) if COMPILED else (64, 256)
DRAWS = 50
random = np.random.default_rng(0)
A = 0.6 * random.normal(size=(12, 7))
B = A + random.normal(size=(12, 7)) * np.linspace(0.05, 0.8, 12)[:, None]  # pairs near and far
X = random.normal(size=(40, 7)) * (random.random((40, 7)) < 0.6)


def fourier(kernel, kind, n=300, **params):
    params = {"gamma": GAMMA[kernel], "random_state": 3, **params}
    return onkel.RandomFourierFeatures(kernel=kernel, features=kind, n_components=n, **params)


# ------------------------------------------------------------------ the kernel comes out, at the rate 1 / sqrt(n)
def verdict(kernel, kind, features):
    """What is wrong with a map, by Monte Carlo: `features(n, draw)` gives the features of the rows of A and of B."""
    k = KERNEL[kernel]
    exact = np.array([k(a, b) for a, b in zip(A, B)])
    double = np.array([k(a, 2 * b - a) for a, b in zip(A, B)])
    plain = np.sqrt(np.mean((1 + double - 2 * exact**2) / 2))  # of independent frequencies, times 1 / sqrt(n)
    rates, faults = [], []
    for n in SIZES:
        pairs = [features(n, draw) for draw in range(DRAWS)]
        errors = np.array([np.einsum("ij,ij->i", P, Q) - exact for P, Q in pairs])
        if max(np.abs(np.einsum("ij,ij->i", P, P) - 1).max() for P, _ in pairs) > 1e-12:
            faults.append("length")
        if (np.abs(errors.mean(0)) > 5 * errors.std(0) / np.sqrt(DRAWS) + 0.005).any():
            faults.append("bias")
        rates.append(np.sqrt(np.mean(errors**2) * n) / plain)
    if np.max(np.abs(rates / np.mean(rates) - 1)) > 0.15:
        faults.append("rate")
    if not (0.85 if kind == "plain" else 0.4) < np.mean(rates) < 1.15:
        faults.append("size of the error")
    return faults


@each_map
def test_the_kernel_comes_out(kernel, kind):
    def features(n, draw):
        map = fourier(kernel, kind, n, random_state=draw)
        return map.fit_transform(A), map.transform(B)

    assert verdict(kernel, kind, features) == []


def of_frequencies(W, rows, cosine=np.cos):
    return np.hstack([np.sin(rows @ W), cosine(rows @ W)]) / np.sqrt(W.shape[1])


MUTANTS = {  # frequencies and features with the mistakes that are made
    "2 gamma for its root": (2 * 0.3 / np.sqrt(2 * 0.3), np.cos),
    "a width of a tenth less": (1.1, np.cos),
    "gamma for 2 gamma": (np.sqrt(0.5), np.cos),
    "the cosine's sign": (1.0, lambda angles: np.where(angles < 0, -1, 1) * np.cos(angles)),
    "no cosine's sign": (1.0, lambda angles: np.abs(np.cos(angles))),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_judge_notices(mutant, kind):
    stretch, cosine = MUTANTS[mutant]

    def features(n, draw):
        W = stretch * fourier("rbf", kind, n, random_state=draw).fit(A).random_weights_
        return of_frequencies(W, A, cosine), of_frequencies(W, B, cosine)

    assert "bias" in verdict("rbf", kind, features)


def test_the_judge_notices_other_lengths_and_no_norm():
    """Rows of random rotations need the length of normal vectors in d dimensions, features a 1 / sqrt(n)."""

    def one_degree(n, draw):
        W = fourier("rbf", "orthogonal", n, random_state=draw).fit(A).random_weights_
        length = np.abs(np.random.default_rng(draw).normal(size=n)) * np.sqrt(2 * GAMMA["rbf"])
        W = W / np.linalg.norm(W, axis=0) * length
        return of_frequencies(W, A), of_frequencies(W, B)

    def unnormalised(n, draw):
        map = fourier("rbf", "plain", n, random_state=draw)
        return map.fit_transform(A) * np.sqrt(n), map.transform(B) * np.sqrt(n)

    assert "bias" in verdict("rbf", "orthogonal", one_degree)
    assert {"length", "bias"} <= set(verdict("rbf", "plain", unnormalised))


# ------------------------------------------------------------------ features are what the frequencies say
@each_map
@pytest.mark.parametrize("d", [1, 7, 70])
def test_fast_features_are_those_of_the_written_frequencies(kernel, kind, d):
    rows = np.random.default_rng(d).normal(size=(30, d))
    map = fourier(kernel, kind, 150).fit(rows)
    W = ref.random_frequencies(kind, KERNEL[kernel], 150, d, ref.Draw(map._setting.key))
    np.testing.assert_allclose(map.random_weights_.T, W, rtol=1e-9, atol=1e-12 * np.abs(W).max())
    near = 1e-10 if kernel in ("rbf", "matern32", "matern52") else 1e-14 * np.abs(rows @ W.T).max() * 100
    np.testing.assert_allclose(map.transform(rows), of_frequencies(W.T, rows), rtol=0, atol=near)
    np.testing.assert_allclose(map.transform(sp.csr_matrix(rows)), map.transform(rows), rtol=0, atol=near)


@pytest.mark.parametrize("kind", ["orthogonal", "structured"])
def test_blocks_are_orthogonal(kind):
    """Blocks as wide as the rows, or as the power of 2 above; all blocks of further columns, too."""
    for d, size in ((7, 7), (64, 64)) if kind == "orthogonal" else ((64, 64), (128, 128)):
        W = fourier("rbf", kind, 2 * size).fit(np.zeros((1, d))).random_weights_.T
        for block in (W[:size], W[size:]):
            products = block @ block.T
            np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12 * products.max())
    grown = fourier("rbf", kind, 64, grow_features=True).fit(np.zeros((1, 128))).random_weights_.T
    products = grown @ grown.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12 * products.max())


@pytest.mark.parametrize("p", [16, 32, 128, 512])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hadamard_transform(p, dtype):
    from scipy.linalg import hadamard

    x, diagonals = aligned(p, dtype), aligned((2, 3, p), dtype)
    x[:] = np.random.default_rng(p).integers(-9, 9, p)  # exact in either precision
    diagonals[1, 2] = np.random.default_rng(0).choice([-1.0, 1.0], p)
    expected = hadamard(p) @ (diagonals[1, 2] * x)
    apply_hadamard(x, diagonals, 1, 2)
    np.testing.assert_array_equal(x, expected)


def apply_hadamard(x, diagonals, k, row):
    from onkel.features import hadamard

    assert _simd.HADAMARD == 16
    hadamard(x, diagonals, k, row)


# ------------------------------------------------------------------ columns that come later
@each_map
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_columns_do_not_depend_on_when_they_come(kernel, kind, layout):
    rows = np.random.default_rng(1).normal(size=(20, 150))
    whole = fourier(kernel, kind, 100, grow_features=True).fit(layout(rows))
    narrow = fourier(kernel, kind, 100, grow_features=True).fit(layout(rows[:, :3]))
    np.testing.assert_array_equal(narrow.transform(layout(rows)), whole.transform(layout(rows)))
    np.testing.assert_array_equal(narrow.random_weights_, whole.random_weights_[:3])
    rows[:, 40:] = 0
    np.testing.assert_array_equal(narrow.transform(layout(rows[:, :40])), whole.transform(layout(rows)))


def test_columns_that_may_not_come():
    map = fourier("rbf", "plain").fit(X)
    with pytest.raises(ValueError, match="features"):
        map.transform(X[:, :3])
    for kind in KINDS[1:]:
        with pytest.raises(ValueError, match='kernel="laplacian" has features="plain" only'):
            fourier("laplacian", kind).fit(X)
        with pytest.raises(ValueError, match='kernel="laplacian" has features="plain" only'):
            onkel.FOGDRegressor(kernel="laplacian", features=kind).fit(X, X[:, 0])
    model = onkel.FOGDRegressor(features="orthogonal", n_components=5).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="grow_features cannot change"):
        model.set_params(grow_features=True).partial_fit(X, X[:, 0])


# ------------------------------------------------------------------ transformers among scikit-learn's tools
TRANSFORMERS = [
    *(fourier(kernel, kind, 50) for kernel, kind in MAPS[:6]),
    onkel.OnlineNystroem(gamma=0.2, budget=15, rank=9, random_state=3),
    onkel.OnlineNystroem(gamma=0.2, budget=15, landmarks="uniform", random_state=3),
    onkel.OnlineNystroem(gamma=0.2, budget=15, landmarks="leverage", ridge=0.3, random_state=3),
    onkel.OnlineNystroem(gamma=0.2, landmarks=X[:6] + 0.1, rank=6, random_state=3),
]
each_transformer = pytest.mark.parametrize("made", TRANSFORMERS, ids=lambda made: str(made)[:60].replace("\n", ""))


@each_transformer
def test_transformers(made):
    map = clone(made).fit(X)
    Z = map.transform(X)
    assert Z.shape == (len(X), len(map.get_feature_names_out()))
    assert map.get_feature_names_out()[0] == f"{type(map).__name__.lower()}0"
    np.testing.assert_array_equal(np.vstack([map.transform(X[:1]), map.transform(X[1:])]), Z)
    np.testing.assert_array_equal(clone(made).fit_transform(X), Z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(map)).transform(X), Z)
    np.testing.assert_allclose(map.transform(sp.csr_matrix(X)), Z, atol=1e-12)
    single = clone(made).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(np.abs(single @ single.T), np.abs(Z @ Z.T), atol=2e-4)
    frame = clone(made).set_output(transform="pandas").fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    np.testing.assert_array_equal(frame.to_numpy(), Z)
    y = X[:, 0] > 0
    assert make_pipeline(clone(made), SGDClassifier(random_state=0)).fit(X, y).score(X, y) > 0.6


@each_transformer
def test_bad_rows_are_refused_and_change_nothing(made):
    map = clone(made).fit(X)
    before = map.transform(X)
    for bad in (np.where(np.arange(7) == 2, np.nan, X), X * 1e200, X[:0], X[0]):
        for act in (map.fit, map.transform, getattr(map, "partial_fit", map.fit)):
            with pytest.raises(ValueError):  # noqa: PT011 - the messages are tested with the inputs
                act(bad)
    np.testing.assert_array_equal(map.transform(X), before)
    with pytest.raises(ValueError, match="learns from none"):
        clone(made).set_params(gamma="alignment").fit(X)


# ------------------------------------------------------------------ Nystroem features
def gram(P, Q, kernel=KERNEL["rbf"]):
    return np.array([[kernel(p, q) for q in Q] for p in P])


@pytest.mark.parametrize("landmarks", ["first", "uniform", "leverage", "given"])
def test_landmarks(landmarks):
    """Which they are; and Z Z' is the best approximation of the Gram matrix of the landmarks."""
    chosen = X[5:17] + 0.5 if landmarks == "given" else landmarks
    map = onkel.OnlineNystroem(gamma=GAMMA["rbf"], budget=12, rank=5, landmarks=chosen, random_state=1)
    for start in range(0, 40, 9):
        map.partial_fit(X[start : start + 9])
    S, positions = map.components_, map.component_indices_
    if landmarks == "given":
        np.testing.assert_array_equal(S, chosen)
        assert set(positions) == {-1}
    else:
        np.testing.assert_array_equal(S, X[positions])
        assert (sorted(positions) == list(range(12))) == (landmarks == "first")
    assert map.n_seen_ == (0 if landmarks == "given" else 40)
    if landmarks == "leverage":
        sampler = onkel.KORS(gamma=GAMMA["rbf"], max_dictionary=12, force_first=True, random_state=1).fit(X[:40])
        np.testing.assert_array_equal(positions, sampler.sample_indices_)
    values, V = np.linalg.eigh(gram(S, S))
    np.testing.assert_allclose(map.eigenvalues_, values[:-6:-1], rtol=1e-9)
    Z = map.transform(S)
    np.testing.assert_allclose(Z @ Z.T, V[:, -5:] * values[-5:] @ V[:, -5:].T, atol=1e-10)
    np.testing.assert_allclose(map.transform(X), gram(X, S) @ map.normalization_.T, atol=1e-10)


def test_nystroem_agrees_with_scikit_learn():
    full = onkel.OnlineNystroem(gamma=0.3, landmarks=X[:10], rank=10).fit(X)
    other = Nystroem(gamma=0.3, n_components=10, random_state=0).fit(X[:10])
    P, Q = full.transform(X), other.transform(X)
    np.testing.assert_allclose(P @ P.T, Q @ Q.T, atol=1e-9)


@pytest.mark.parametrize("landmarks", ["first", "uniform"])
def test_batches_do_not_matter(landmarks):
    made = onkel.OnlineNystroem(gamma=0.3, budget=8, landmarks=landmarks, random_state=2)
    whole, pieces = clone(made).fit(X), clone(made)
    for t in range(len(X)):
        pieces.partial_fit(X[t : t + 1])
        if t % 7 == 0:
            pieces.transform(X)
    np.testing.assert_array_equal(pieces.transform(X), whole.transform(X))
    grown = clone(made).set_params(grow_features=True)
    rows = X.copy()
    rows[:20, 3:] = 0
    grown.partial_fit(rows[:20, :3]).partial_fit(rows[20:])
    np.testing.assert_array_equal(grown.transform(X), clone(made).fit(rows).transform(X))


def test_every_row_is_a_landmark_as_often():
    counts, n = np.zeros(40), 400 if COMPILED else 100
    for seed in range(n):
        map = onkel.OnlineNystroem(gamma=0.3, budget=10, rank=1, landmarks="uniform", random_state=seed)
        counts[map.partial_fit(X).component_indices_] += 1
    assert counts.sum() == 10 * n
    assert np.abs(counts / n - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / n)


def test_few_landmarks():
    """While there are fewer than wanted, or equal ones, the last features are 0."""
    map = onkel.OnlineNystroem(gamma=0.3, budget=10, rank=8).partial_fit(X[:3]).partial_fit(X[:3])
    Z = map.transform(X)
    assert Z.shape == (40, 8)
    assert not Z[:, 3:].any()
    assert map.normalization_.shape == (3, 6)


def test_landmarks_that_are_refused():
    for landmarks in ("best", X[0], np.full((3, 7), np.nan), X[:4, :3], 3, None):
        with pytest.raises(ValueError, match=r"landmarks|NaN"):
            onkel.OnlineNystroem(landmarks=landmarks, rank=1).fit(X)
    with pytest.raises(ValueError, match="rank must be at most 4"):
        onkel.OnlineNystroem(landmarks=X[:4], rank=5).fit(X)
