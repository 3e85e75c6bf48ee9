"""Learners in feature space: what their features are, and how a kernel model becomes a model on features."""

import numpy as np
import pytest
import reference as ref
from cases import CASES, REGRESSION, rows_of
from test_promises import predictions
from test_twins import near

import onkel

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
