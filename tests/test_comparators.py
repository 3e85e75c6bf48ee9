"""Batch comparators against closed forms, optimality conditions and each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import onkel
from onkel.evaluation import LLSVM, hindsight, least_squares

X, y = make_moons(160, noise=0.3, random_state=0)
GAMMA = 1.5
K = np.exp(-GAMMA * ((X[:, None] - X) ** 2).sum(axis=2))


def test_least_squares_is_the_least():
    target, reg = np.where(y == 1, 1.0, -1.0), 0.4
    best = np.linalg.solve(K + reg * np.eye(len(y)), target)

    def objective(a):
        return ((K @ a - target) ** 2).sum() + reg * a @ K @ a

    assert least_squares(K, target, reg) == pytest.approx(objective(best), rel=1e-10)
    random = np.random.default_rng(1)
    for _ in range(20):
        assert objective(best + 0.01 * random.normal(size=len(y))) > least_squares(K, target, reg)


def test_ridge_regret_takes_finite_numbers_of_one_length():
    target = np.where(y == 1, 1.0, -1.0)
    for said, targets, matrix, words in (
        (np.zeros(160), np.where(X[:, 0] > 0, np.nan, target), K, "y contains NaN"),
        (np.full(160, np.inf), target, K, "predictions contains infinity"),
        (np.zeros(160), target, np.where(K[0, 1] == K, np.nan, K), "contains NaN"),
        (np.zeros(159), target, K, "inconsistent numbers"),
        (np.zeros(160), target[:-1], K, "inconsistent numbers"),
        (np.zeros(160), target, K[:, :-1], "inconsistent numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            onkel.ridge_regret(said, targets, matrix)


def test_kernel_ridge_is_the_closed_form():
    found = hindsight(KernelRidge(kernel="rbf", gamma=GAMMA, alpha=0.4), X, y, classes=[0, 1])
    target = np.where(y == 1, 1.0, -1.0)
    assert found.objective == pytest.approx(least_squares(K, target, 0.4), rel=1e-10)
    scores = K @ np.linalg.solve(K + 0.4 * np.eye(len(y)), target)
    assert found.losses == pytest.approx((target - scores) ** 2, rel=1e-8)
    assert found.error == np.mean((scores >= 0) != (y == 1))


def test_svm_in_hindsight_has_no_duality_gap():
    """Strong duality: sum of hinges + |f|^2 / (2 C) = sum of |dual| - |f|^2 / 2, divided by C."""
    C = 3.0
    found = hindsight(SVC(gamma=GAMMA, C=C, tol=1e-9), X, y, classes=[0, 1])
    dual = np.abs(found.model.dual_coef_).sum() / C - found.penalty
    assert found.objective == pytest.approx(dual, rel=1e-6)


@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
def test_llsvm_on_all_points_is_the_kernel_svm(landmarks):
    C = 2.0
    llsvm = LLSVM(n_landmarks=len(y), landmarks=landmarks, gamma=GAMMA, C=C, random_state=0).fit(X, y)
    assert llsvm.features(X) @ llsvm.features(X).T == pytest.approx(K, abs=1e-8)
    ours, dual = svm_without_bias(np.where(y == 1, 1.0, -1.0), C)
    assert np.abs(llsvm.decision_function(X) - ours).max() < 0.02
    assert np.array_equal(llsvm.predict(X)[abs(ours) > 0.02], (ours >= 0).astype(int)[abs(ours) > 0.02])
    assert hindsight(llsvm, X, y, classes=[0, 1]).objective == pytest.approx(dual, rel=1e-3)
    with_bias = SVC(gamma=GAMMA, C=C).fit(X, y)
    assert np.mean(with_bias.predict(X) == llsvm.predict(X)) > 0.97


def svm_without_bias(target, C):
    """Scores and optimum of the kernel SVM without bias, by coordinate ascent on the dual."""
    a = np.zeros(len(target))
    for _ in range(800):
        for i in range(len(a)):
            a[i] = np.clip(a[i] + (1 - target[i] * (K[i] @ (a * target))) / K[i, i], 0, C)
    scores = K @ (a * target)
    return scores, (a.sum() - 0.5 * (a * target) @ scores) / C


def test_llsvm_keeps_the_largest_eigenvectors():
    few = LLSVM(n_landmarks=40, rank=5, gamma=GAMMA, random_state=0).fit(X, y)
    assert few.components_.shape == (40, 2)
    assert few.features(X).shape == (160, 5)
    B = np.exp(-GAMMA * ((few.components_[:, None] - few.components_) ** 2).sum(axis=2))
    values = np.linalg.eigvalsh(B)[::-1][:5]
    features = few.features(few.components_)
    assert np.linalg.eigvalsh(features.T @ features)[::-1] == pytest.approx(values, rel=1e-8)


def test_llsvm_of_sparse_rows_and_of_many_classes():
    names = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0, 1])]
    dense = LLSVM(landmarks="random", n_landmarks=60, gamma=GAMMA, random_state=0).fit(X, names)
    sparse = LLSVM(landmarks="random", n_landmarks=60, gamma=GAMMA, random_state=0).fit(sp.csr_matrix(X), names)
    assert dense.decision_function(X).shape == (160, 3)
    assert np.array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))
    assert dense.score(X, names) > 0.95
    with pytest.raises(ValueError, match="landmarks"):
        LLSVM(landmarks="first").fit(X, y)


@parametrize_with_checks([LLSVM(n_landmarks=20, gamma=0.5, random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
