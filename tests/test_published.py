"""The thesis's own streams (stored permutations), against its published tables: error in %, or mean squared error.

Exact rows leave nothing open: mean and standard deviation agree to the printed digits. Of the others the paper leaves a
setting or the random numbers open: they agree within two standard errors plus 0.3 points.
"""

from functools import partial

import numpy as np
import pytest
import thesis
from sklearn.base import is_regressor

import onkel

WIDTH = 8.0  # sigma, in all of them

perceptron = partial(onkel.KernelPerceptronRegressor, eta=0.1, epsilon=0.1)
norma = partial(onkel.NORMARegressor, nu=0.4, eta=0.03, reg=0.03, epsilon=0.1)
ogd = partial(onkel.KernelOGDRegressor, loss="half_squared", epsilon=0.1)
nogd = partial(onkel.NOGDRegressor, loss="half_squared", budget=30, rank=6, switch="next_loss", epsilon=0.1)
fogd = partial(onkel.FOGDRegressor, loss="half_squared", n_components=450, eta=450 * 6e-4, epsilon=0.1)
projectron = partial(onkel.ProjectronRegressor, budget=30, eta=0.1, epsilon=0.1)

EXACT = [  # thesis Table 4.8
    ("housing", perceptron, 0.04018, 0.00080),
    ("housing", norma, 0.04329, 0.00065),
    ("housing", partial(ogd, eta=0.3), 0.04017, 0.00043),
    ("mg", perceptron, 0.05682, 0.00084),
    ("mg", norma, 0.06446, 0.00073),
    ("housing", partial(nogd, eta=0.3), 0.04063, 0.00043),
    ("mg", partial(ogd, eta=0.4), 0.05341, 0.00071),
    ("mg", partial(nogd, eta=0.4), 0.05356, 0.00076),
]
CLOSE = [  # thesis Tables 4.4, 4.6 and 4.8; (data, estimator, mean, std)
    ("german", onkel.KernelPerceptronClassifier, 35.2, 0.9),
    ("german", partial(onkel.KernelOGDClassifier, eta=0.2), 29.5, 0.5),
    ("german", onkel.RBPClassifier, 37.5, 1.1),
    ("german", onkel.ForgetronClassifier, 38.1, 0.9),
    ("german", onkel.ProjectronClassifier, 35.6, 1.5),
    ("german", onkel.ProjectronPlusPlusClassifier, 35.1, 1.1),
    ("german", onkel.BPAClassifier, 33.9, 0.9),
    ("german", partial(onkel.BOGDClassifier, eta=0.02), 31.6, 1.5),
    ("spambase", onkel.KernelPerceptronClassifier, 24.5, 0.1),
    ("spambase", onkel.ForgetronClassifier, 34.6, 0.5),
    ("spambase", onkel.ProjectronClassifier, 30.8, 1.2),
    ("spambase", onkel.BPAClassifier, 30.8, 0.8),
    # The thesis prints 33.3 +- 0.4, SkeGD's Table 3 35.5 +- 0.8 for the same learner, budget and data; one public
    # toolbox draws the same victim for a second at a time. An independent implementation of the rule gives 34.3.
    ("spambase", onkel.RBPClassifier, 34.3, 0.7),
    ("dna", onkel.KernelPerceptronClassifier, 20.4, 0.7),
    ("dna", partial(onkel.RBPClassifier, budget=200), 31.1, 1.0),
    ("dna", partial(onkel.KernelOGDClassifier, eta=0.4), 16.1, 0.7),
    ("german", partial(onkel.NOGDClassifier, rank=20, eta=0.2), 30.4, 0.8),
    ("dna", partial(onkel.NOGDClassifier, budget=200, rank=40, eta=0.5), 20.7, 0.9),
    # Public toolboxes leave out 1 / sqrt(D): their step is ours divided by the 400 or 450 components.
    ("german", partial(onkel.FOGDClassifier, n_components=400, eta=0.8), 29.9, 0.7),
    ("spambase", partial(onkel.FOGDClassifier, n_components=400, eta=0.8), 26.9, 1.0),
    ("housing", fogd, 0.04009, 0.00071),
    ("housing", projectron, 0.04023, 0.00080),
    ("mg", projectron, 0.05683, 0.00084),
]


def losses(name, make):
    """One number per stored permutation: the share of wrong labels in %, or the mean squared error."""
    X, y, orders = thesis.read(name)
    out = []
    for number, order in enumerate(orders):
        model = make(sigma=WIDTH, random_state=number)
        if is_regressor(model):
            out.append(np.mean((model.learn(X[order], y[order]) - y[order]) ** 2))
            continue
        classes = np.unique(y)
        scores = model.learn(X[order], y[order], classes=classes)
        said = classes[(scores >= 0).astype(int)] if scores.ndim == 1 else classes[scores.argmax(axis=1)]
        out.append(100 * np.mean(said != y[order]))
    return np.mean(out), np.std(out, ddof=1), len(out)


def title(row):
    name, make = row[0], row[1]
    return f"{name}-{getattr(make, 'func', make).__name__}"


@pytest.mark.data
@pytest.mark.parametrize("row", EXACT, ids=title)
def test_exact(row):
    name, make, mean, std = row
    got_mean, got_std, _ = losses(name, make)
    assert got_mean == pytest.approx(mean, abs=1e-5)
    assert got_std == pytest.approx(std, abs=1e-5)


@pytest.mark.data
@pytest.mark.parametrize("row", CLOSE, ids=title)
def test_close(row):
    name, make, mean, std = row
    got_mean, got_std, n = losses(name, make)
    margin = 0.3 if mean > 1 else 0.003 * mean
    assert abs(got_mean - mean) < 2 * np.sqrt((std**2 + got_std**2) / n) + margin


# ------------------------------------------------------------------ PROS-N-KONS, Tables 1 and 2
NEWTON = [  # (data, estimator, average squared loss, alpha); the paper prints alpha = 1, see docs/algorithms.md
    ("parkinsons", onkel.ProsNKonsRegressor, 0.05798, 1.0),
    ("parkinsons", onkel.ConKonsRegressor, 0.05696, 1.0),
    ("parkinsons", onkel.BKonsRegressor, 0.05795, 1.0),
    ("cpusmall", onkel.ProsNKonsRegressor, 0.02494, 0.1),
    ("cpusmall", onkel.ConKonsRegressor, 0.02269, 1.0),
    ("cpusmall", onkel.BKonsRegressor, 0.02496, 0.1),
    ("cadata", onkel.ProsNKonsRegressor, 0.03095, 0.1),
    ("cadata", onkel.ConKonsRegressor, 0.02850, 1.0),
    ("cadata", onkel.BKonsRegressor, 0.03095, 0.1),
]


def scaled(a):
    """To [0, 1], column by column."""
    low, high = a.min(axis=0), a.max(axis=0)
    return (a - low) / np.where(high > low, high - low, 1)


@pytest.mark.data
@pytest.mark.parametrize(("name", "kind", "published", "alpha"), NEWTON)
def test_newton_regression(name, kind, published, alpha):
    """At most a tenth above the published loss, with tens of points."""
    X, y = map(scaled, thesis.read_svm(name))
    losses, sizes = [], []
    for number in range(3):
        order = np.random.default_rng(number).permutation(len(y))
        model = kind(sigma=WIDTH, alpha=alpha, ridge=1.0, curvature="hessian", random_state=number)
        losses.append(np.mean((model.learn(X[order], y[order]) - y[order]) ** 2))
        sizes.append(model.n_support_)
    assert np.mean(losses) < 1.1 * published
    assert 15 < np.mean(sizes) < 50  # published: 18 to 20


@pytest.mark.data
def test_newton_classification():
    """B-KONS on all 141,691 examples of ijcnn1, without a bound: within a point of the published 4.85 %."""
    X, y = thesis.read_svm("ijcnn1.train", "ijcnn1.test")
    order = np.random.default_rng(0).permutation(len(y))
    model = onkel.BKonsClassifier(sigma=WIDTH, alpha=0.01, loss="hinge", clip=np.inf, random_state=0)
    scores = model.learn(X[order], y[order])
    assert model.n_support_ == 100
    assert 100 * np.mean(np.where(scores >= 0, 1, -1) != y[order]) < 5.85


@pytest.mark.data
def test_between_two_rules_for_ties():
    """BOGD on spambase: far from all stored points every kernel value underflows, and f = 0 in one round of forty.

    The paper leaves open what such a round counts; its figure lies between the two answers.
    """
    X, y, orders = thesis.read("spambase")
    right, wrong = [], []
    for number, order in enumerate(orders):
        model = onkel.BOGDClassifier(sigma=WIDTH, eta=0.2, cap=1.0, random_state=number)
        margins = y[order] * model.learn(X[order], y[order], classes=np.unique(y))
        right.append(100 * np.mean(margins < 0))
        wrong.append(100 * np.mean(margins <= 0))
    margin = 2 * 0.6 / np.sqrt(len(orders)) + 0.3
    assert np.mean(right) - margin < 32.2 < np.mean(wrong) + margin
    assert np.mean(wrong) - np.mean(right) < 4
