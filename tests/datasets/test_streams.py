"""What defines each made-up stream: block structure, flips, where the drift is, and that seeds repeat it."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from onkel import datasets as d

rng = np.random.default_rng(0)
POINTS = rng.normal(size=(50, 3))
LABELS = np.where(rng.random(50) < 0.4, 1, -1)
CALM = (np.zeros((1000, 2)), np.zeros(1000))
WILD = (np.ones((1000, 2)), np.ones(1000))

SEEDED = {
    "repeat_blocks": partial(d.repeat_blocks, POINTS, LABELS, 20, 5),
    "turning_moons": partial(d.turning_moons, 200),
    "rotating_hyperplane": partial(d.rotating_hyperplane, 200, noise=0.1),
    "sea": partial(d.sea, 200),
    "gradual": partial(d.gradual, CALM, WILD),
}


@pytest.mark.parametrize("make", SEEDED.values(), ids=SEEDED)
def test_seeds_repeat_a_stream(make):
    X, y = make(random_state=3)
    again, labels = make(random_state=3)
    assert np.array_equal(X, again)
    assert (y == labels).all()
    other, _ = make(random_state=4)
    assert not np.array_equal(X, other)
    drawn, _ = make(random_state=np.random.default_rng(3))
    assert np.array_equal(X, drawn)


@pytest.mark.parametrize("make", SEEDED.values(), ids=SEEDED)
def test_the_global_generator_is_left_alone(make):
    state = np.random.get_state()[1].copy()
    make(random_state=3)
    assert (np.random.get_state()[1] == state).all()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_blocks(layout):
    X, y = d.repeat_blocks(layout(POINTS), LABELS, 20, 5, random_state=1)
    X = X.toarray() if sp.issparse(X) else X
    blocks, labels = X.reshape(20, 5, 3), y.reshape(20, 5)
    assert (blocks == blocks[:, :1]).all()
    assert (labels == labels[:, :1]).all()
    source = np.concatenate([np.flatnonzero((block[0] == POINTS).all(axis=1)) for block in blocks])
    assert len(set(source)) == 20
    assert (labels[::2, 0] == LABELS[source[::2]]).all()  # blocks 1, 3, ... tell the truth
    assert (labels[1::2, 0] == -LABELS[source[1::2]]).all()  # blocks 2, 4, ... lie
    honest = d.repeat_blocks(POINTS, LABELS, 20, 5, flip_even=False, random_state=1)[1]
    assert (honest.reshape(20, 5)[:, 0] == LABELS[source]).all()


@pytest.mark.parametrize(("no", "yes"), [(0, 1), (1, 2), ("ham", "spam")])
def test_blocks_flip_labels_of_any_name(no, yes):
    y = np.where(LABELS > 0, yes, no)
    flipped = d.repeat_blocks(POINTS, y, 20, 5, random_state=1)[1]
    signs = d.repeat_blocks(POINTS, LABELS, 20, 5, random_state=1)[1]
    assert (flipped == np.where(signs > 0, yes, no)).all()
    assert set(y) == {no, yes}


def test_blocks_leave_their_input_alone():
    X, y = POINTS.copy(), LABELS.copy()
    d.repeat_blocks(X, y, 50, 2, random_state=1)
    assert np.array_equal(X, POINTS)
    assert (y == LABELS).all()


def test_blocks_that_cannot_be():
    with pytest.raises(ValueError, match="51 blocks need as many examples, but there are only 50"):
        d.repeat_blocks(POINTS, LABELS, 51, 2)
    with pytest.raises(ValueError, match="between two classes only, but there are 3"):
        d.repeat_blocks(POINTS, np.arange(50) % 3, 10, 2)


@pytest.mark.parametrize(("name", "repeats"), [("breast_cancer-1", 10), ("breast_cancer-2", 20)])
def test_adversarial(name, repeats):
    X, y = d.adversarial(name, blocks=100, random_state=5)
    assert X.shape == (100 * repeats, 30)
    expected = d.repeat_blocks(*d.load("breast_cancer"), 100, repeats, random_state=5)
    assert np.array_equal(X, expected[0])
    assert (y == expected[1]).all()
    last, errors = {}, 0
    for point, label in zip(map(bytes, X), y):
        errors += last.get(point) != label
        last[point] = label
    assert errors <= 100  # one who remembers the last label errs once in a block at most


@pytest.mark.parametrize("name", ["german", "german-3", "-1", "1"])
def test_adversarial_names(name):
    with pytest.raises(ValueError, match=f"'{name}' is not the name of a set followed by -1 or -2"):
        d.adversarial(name)


def test_alternating():
    X, y = d.alternating(5, [1.0, 2.0])
    assert (X == [[1, 2]] * 5).all()
    assert (y == [1, -1, 1, -1, 1]).all()
    assert d.alternating(3)[0].shape == (3, 1)


def test_moons_turn():
    still, y = d.turning_moons(4000, turns=0, noise=0, random_state=0)
    moving, labels = d.turning_moons(4000, turns=1, noise=0, random_state=0)
    assert (y == labels).all()
    angle = 2 * np.pi * np.arange(4000) / 4000
    # A complex factor is another way to turn a point than the matrix of the stream.
    turned = (still[:, 0] + 1j * still[:, 1]) * np.exp(1j * angle)
    np.testing.assert_allclose(moving, np.column_stack([turned.real, turned.imag]), atol=1e-12)
    half = moving[2000:2001] + still[2000:2001]
    np.testing.assert_allclose(half, 0, atol=1e-12)  # half-way round
    away = still * y[:, None] + [0.5, 0.25]  # both moons, laid on one arc
    np.testing.assert_allclose(np.hypot(*away.T), 1)
    assert (away[:, 1] >= 0).all()


def test_moons_are_noisy():
    calm, _ = d.turning_moons(4000, noise=0, random_state=0)
    noisy, _ = d.turning_moons(4000, noise=0.2, random_state=0)
    assert np.std(noisy - calm) == pytest.approx(0.2, rel=0.05)


def test_hyperplane_rotates():
    X, fixed = d.rotating_hyperplane(4000, turns=0, random_state=0)
    again, y = d.rotating_hyperplane(4000, turns=0.5, random_state=0)
    assert np.array_equal(X, again)
    assert LogisticRegression(C=1e6, max_iter=1000).fit(X, fixed).score(X, fixed) > 0.999  # a plane divides them
    agreement = (y == fixed).reshape(20, 200).mean(axis=1)
    # A plane that turned by an angle of a agrees on 1 - a/pi of a round cloud.
    np.testing.assert_allclose(agreement, 1 - (np.arange(20) + 0.5) / 20, atol=0.1)
    assert agreement[0] > 0.95
    assert agreement[-1] < 0.05


def test_noise_flips_its_share_of_labels():
    for make in (d.rotating_hyperplane, d.sea):
        X, clean = make(20_000, noise=0, random_state=0)
        again, noisy = make(20_000, noise=0.2, random_state=0)
        assert np.array_equal(X, again)
        assert np.mean(clean != noisy) == pytest.approx(0.2, abs=0.01)
        with pytest.raises(ValueError, match=r"from 0 to 1, but is 1\.5"):
            make(10, noise=1.5)


def test_hyperplane_needs_two_features():
    with pytest.raises(ValueError, match="two features or more"):
        d.rotating_hyperplane(10, 1)


def test_sea_leaps_at_its_drift_points():
    n, thresholds = 1001, (8.0, 9.0, 7.0)
    X, y = d.sea(n, thresholds, noise=0, random_state=0)
    starts = [k * n // 3 for k in range(3)] + [n]
    for threshold, begin, end in zip(thresholds, starts, starts[1:]):
        rows = slice(begin, end)
        assert (y[rows] == np.where(X[rows, 0] + X[rows, 1] <= threshold, 1, -1)).all()
    assert X.min() >= 0
    assert X.max() <= 10
    never_always = d.sea(10, (-1.0, 20.0, -1.0, 20.0), noise=0, random_state=0)[1]
    assert (never_always == [-1, -1, 1, 1, 1, -1, -1, 1, 1, 1]).all()


def test_gradual_change():
    X, y = d.gradual(CALM, WILD, centre=500, width=100, random_state=0)
    assert (X[:, 0] == y).all()
    assert not y[:300].any()
    assert y[700:].all()
    shares = np.mean(
        [d.gradual(CALM, WILD, centre=500, width=100, random_state=seed)[1] for seed in range(400)], axis=0
    )
    assert shares[500] == pytest.approx(0.5, abs=0.1)
    assert shares[525] == pytest.approx(1 / (1 + np.exp(-1)), abs=0.1)
    assert np.mean(d.gradual(CALM, WILD, random_state=0)[1]) == pytest.approx(0.5, abs=0.05)


def test_gradual_keeps_each_row_at_its_time():
    old = (np.arange(100.0)[:, None], np.full(100, "a"))
    new = (1000 + np.arange(100.0)[:, None], np.full(100, "b"))
    X, y = d.gradual(old, new, width=50, random_state=0)
    assert (X[:, 0] % 1000 == np.arange(100)).all()
    assert ((X[:, 0] >= 1000) == (y == "b")).all()
    assert set(y) == {"a", "b"}
    sparse, labels = d.gradual(
        (sp.csr_matrix(old[0]), old[1]), (sp.csr_matrix(new[0]), new[1]), width=50, random_state=0
    )
    assert (sparse.toarray() == X).all()
    assert (labels == y).all()


def test_gradual_without_overflow():
    assert (d.gradual(CALM, WILD, centre=500, width=1e-9, random_state=0)[1] == (np.arange(1000) >= 500))[501:].all()


def test_gradual_of_streams_that_do_not_fit():
    with pytest.raises(ValueError, match=r"equally large, but are \(1000, 2\) and \(10, 2\)"):
        d.gradual(CALM, (np.ones((10, 2)), np.ones(10)))
    with pytest.raises(ValueError, match="width must be positive, but is 0"):
        d.gradual(CALM, WILD, width=0)


def test_permutations():
    orders = d.permutations(30, 5)
    assert orders.shape == (5, 30)
    assert (np.sort(orders, axis=1) == np.arange(30)).all()
    assert (orders[0] == np.random.default_rng(1).permutation(30)).all()
    assert (d.permutations(30, 20)[:5] == orders).all()
    assert (d.permutations(30, 4, seed=2) == orders[1:]).all()
    assert len({bytes(order) for order in orders}) == 5
    assert d.permutations(30, 0).shape == (0, 30)
