"""The engine against the slow twins, step by step, against the recorded traces, and its kernels against formulas."""

import json
from pathlib import Path

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
from cases import BINARY, CASES, KERNELS, LAPLACIAN, MATERN, POLY, RBF, REGRESSION, Case, group_of, rows_of
from compiled import insert, predict

import onkel
from onkel import kernels
from onkel._jit import COMPILED
from onkel.expansion import empty
from onkel.rows import Dense, Sparse

TWIN_KERNELS = {
    "rbf": ref.rbf(RBF["gamma"]),
    "poly": ref.poly(POLY["gamma"], POLY["coef0"], POLY["degree"]),
    "laplacian": ref.laplacian(LAPLACIAN["gamma"]),
    "matern32": ref.matern(1.5, MATERN["gamma"]),
}


def near(actual, expected, rtol=1e-9):
    """Equal up to rounding, relative to the largest of the values."""
    scale = np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=rtol * scale)


def rows_for(case: Case) -> int:
    """How many rows: twins that average recompute all past models for every row."""
    if case.twin_params.get("average"):
        return 90 if COMPILED else 50
    return 200 if COMPILED else 70


def weights_of(n: int) -> np.ndarray:
    """Ordinary, small and large weights, and every fifth row left out."""
    weights = np.random.default_rng(3).choice([0.3, 1.0, 1.0, 1.7], size=n)
    weights[::5] = 0
    return weights


def final_coefficients(result: ref.Result) -> list[tuple[int, tuple[float, ...]]]:
    """(stream position, coefficients) of every stored point: the last ones, or their mean over all models."""
    if result.average is None:
        return sorted((born, tuple(row)) for born, row in zip(result.model.born, result.model.coef))
    models = result.average.models
    mean = {born: np.zeros_like(result.model.bias) for born in result.model.born}
    for model in models:
        for born, row in zip(model.born, model.coef):
            mean[born] = mean[born] + row / len(models)
    return sorted((born, tuple(row)) for born, row in mean.items())


def check_model(model, result: ref.Result, X: np.ndarray) -> None:
    """The last models agree: who is stored, with which coefficients, and what they say of new points."""
    if hasattr(model, "support_"):
        check_support(model, result)
        near(getattr(model, "intercept_", 0.0), result.model.bias)
    else:
        models = result.average.models if result.average else [result.model]
        near(model.coef_, np.mean([m.weights for m in models], axis=0))
    say = result.average or result.model
    expected = np.array([say(x) for x in X])
    got = model.predict(X) if not hasattr(model, "decision_function") else model.decision_function(X)
    near(got, expected[:, 0] if expected.shape[1] == 1 else expected)


def check_support(model, result: ref.Result) -> None:
    mine = sorted((int(born), tuple(row)) for born, row in zip(model.support_, model.dual_coef_.T))
    theirs = final_coefficients(result)
    assert [born for born, _ in mine] == [born for born, _ in theirs]
    if mine:
        near([row for _, row in mine], [row for _, row in theirs])


PAIRS = [
    pytest.param(case, kernel, id=f"{case}-{kernel}", marks=pytest.mark.xdist_group(group_of(case)))
    for case in CASES
    for kernel in case.kernels
]


@pytest.mark.parametrize(("case", "kernel"), PAIRS)
def test_scores_and_state(case, kernel):
    n = rows_for(case)
    X, y = rows_of(case, n + 15)
    model = case.make(**KERNELS[kernel])
    scores = model.learn(X[:n], y[:n], **case.first)
    result = case.run_twin(X[:n], y[:n], TWIN_KERNELS[kernel], model._setting.key)
    near(scores, result.scores[:, 0] if result.scores.shape[1] == 1 else result.scores)
    check_model(model, result, X[n:])


@pytest.mark.parametrize(("case", "kernel"), [p for p in PAIRS if p.values[1] == "rbf"])
def test_weights(case, kernel):
    """A weight scales the step of its row; rows of weight 0 are skipped."""
    n = rows_for(case)
    X, y = rows_of(case, n + 5)
    model, weights = case.make(), weights_of(n)
    scores = model.learn(X[:n], y[:n], sample_weight=weights, **case.first)
    result = case.run_twin(X[:n], y[:n], TWIN_KERNELS[kernel], model._setting.key, weights)
    near(scores, result.scores[:, 0] if result.scores.shape[1] == 1 else result.scores)
    check_model(model, result, X[n:])


# ------------------------------------------------------------------ the recorded traces
GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text())
TRACES = {
    "perceptron": (onkel.KernelPerceptronClassifier, {}),
    "kogd(eta=.5,lam=.1,hinge)": (onkel.KernelOGDClassifier, {"eta": 0.5, "reg": 0.1}),
    "kogd(eta=.1,squared,target)": (onkel.KernelOGDRegressor, {"eta": 0.1, "epsilon": 0.0}),
    "PA": (onkel.KernelPassiveAggressiveClassifier, {"variant": "pa"}),
    "PA-I(C=.3)": (onkel.KernelPassiveAggressiveClassifier, {"C": 0.3}),
    "PA-II(C=.3)": (onkel.KernelPassiveAggressiveClassifier, {"variant": "pa2", "C": 0.3}),
    "pegasos(lam=.1)": (onkel.KernelPegasosClassifier, {"reg": 0.1}),
    "stoptron(B=4)": (onkel.StoptronClassifier, {"budget": 4}),
    "budget_perceptron(B=4,beta=.1)": (onkel.BudgetPerceptronClassifier, {"budget": 4, "margin": 0.1}),
    "forgetron_selftuned(B=4)": (onkel.ForgetronClassifier, {"budget": 4}),
    "forgetron_basic(B=4)": (onkel.ForgetronClassifier, {"budget": 4, "variant": "basic"}),
    "projectron(eta=.6)": (onkel.ProjectronClassifier, {"budget": None, "tolerance": 0.6}),
    "projectron++(eta=.6)": (onkel.ProjectronPlusPlusClassifier, {"budget": None, "tolerance": 0.6}),
    "BPA-S(B=4,C=.8)": (onkel.BPAClassifier, {"budget": 4, "C": 0.8}),
    "BPA-NN(B=4,C=.8)": (onkel.BPAClassifier, {"budget": 4, "C": 0.8, "strategy": "nearest"}),
    "BPA-P(B=4,C=.8)": (onkel.BPAClassifier, {"budget": 4, "C": 0.8, "strategy": "projecting"}),
    "duol(C=1,rho=.1)": (onkel.DUOLClassifier, {"C": 1.0, "rho": 0.1}),
    "krls(nu=.3,target)": (onkel.KernelRLSRegressor, {"threshold": 0.3}),
    **{
        f"nogd(B=4,k={k},eta=.4,hinge, switch right after buffer full)": (
            onkel.NOGDClassifier,
            {"budget": 4, "rank": k, "eta": 0.4},
        )
        for k in (2, 4)
    },
    "bsgd_merge(B=3,lam=.1)": (
        onkel.BSGDClassifier,
        {"budget": 3, "reg": 0.1, "maintenance": "merging", "search": "golden"},
    ),
}
ROWS = {"duol(C=1,rho=.1)|poly2": 6}  # from then on the trace follows a margin of 1 that rounding put outside


@pytest.mark.parametrize("trace", [trace for trace in GOLDEN["scores"] if trace.split("|")[0] in TRACES])
def test_recorded_traces(trace):
    name, kernel = trace.split("|")
    estimator, params = TRACES[name]
    gaussian = {"kernel": "rbf", "sigma": 1.0}
    model = estimator(**(gaussian if kernel == "gauss" else {**POLY, "gamma": 1.0}), **params)
    regression = "target" in name
    first = {} if regression else {"classes": [-1, 1]}
    scores = model.learn(GOLDEN["X"], GOLDEN["target" if regression else "y"], **first)
    n = ROWS.get(trace)
    tolerance = 1e-5 if "merge" in name else 1e-7
    np.testing.assert_allclose(scores[:n], GOLDEN["scores"][trace][:n], rtol=0, atol=tolerance)


# ------------------------------------------------------------------ kernels, by formula
FORMULAS = {
    "linear": (kernels.linear(), ref.linear()),
    "rbf": (kernels.rbf(0.3), ref.rbf(0.3)),
    "laplacian": (kernels.laplacian(0.2), ref.laplacian(0.2)),
    "poly": (kernels.poly(0.2, 1.0, 3), ref.poly(0.2, 1.0, 3)),
    "sigmoid": (kernels.sigmoid(0.1, -0.2), ref.sigmoid(0.1, -0.2)),
    "cosine": (kernels.cosine(), ref.cosine()),
    "exponential": (kernels.exponential(0.3), ref.matern(0.5, 0.3)),
    "matern32": (kernels.matern32(0.3), ref.matern(1.5, 0.3)),
    "matern52": (kernels.matern52(0.3), ref.matern(2.5, 0.3)),
}


def engine_rows(X, sparse):
    if not sparse:
        return Dense(np.ascontiguousarray(X))
    C = sp.csr_matrix(X)
    return Sparse(C.data, C.indices.astype(np.int32), C.indptr.astype(np.int64))


@pytest.mark.xdist_group("kernels")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [1, 7, 16, 33, 130, 300])
def test_kernel_rows(size, sparse, dtype):
    """Every kernel of every stored point, for dictionaries of one panel, odd ends, and several panels."""
    rng = np.random.default_rng(size)
    X = (rng.normal(size=(size + 3, 70)) * (rng.random((size + 3, 70)) < 0.5)).astype(dtype)
    X[0] = 0  # cosine's special case
    rows, scores = engine_rows(X, sparse), np.empty((len(X), 1), dtype)
    for name, (kernel, formula) in FORMULAS.items():
        f = empty(size, 70, 1, dtype)
        f.scratch.move[:] = 1
        for i in range(size):
            insert(f, i, kernel, rows, i, 1.0)
        expected = np.array([[formula(a.astype(float), b.astype(float)) for b in X[:size]] for a in X])
        tolerance = 1e-12 if dtype == np.float64 else 2e-5
        for t in (0, size - 1, size, size + 2):
            predict(f, kernel, rows, t, scores)
            error = np.abs(f.scratch.k[:size] - expected[t]) / np.maximum(np.abs(expected[t]), 1)
            assert error.max() < tolerance, (name, t)
            assert scores[t, 0] == pytest.approx(
                expected[t].sum(),
                rel=1e-4 if dtype == np.float32 else 1e-11,
                abs=1e-3 if dtype == np.float32 else 1e-10,
            )
        np.testing.assert_allclose(
            f.diag[:size],
            [formula(a.astype(float), a.astype(float)) for a in X[:size]],
            rtol=1e-5 if dtype == np.float32 else 1e-13,
        )


def test_tasks_of_the_cases():
    """Each estimator is in the table, and each in every task that it is for."""
    for name in onkel.__all__:
        kind = getattr(onkel, name)
        if not name.endswith(("Classifier", "Regressor")):
            continue
        tasks = {case.task for case in CASES if case.estimator is kind}
        if name.endswith("Regressor"):
            assert tasks == {REGRESSION}
        else:
            assert tasks == ({BINARY, "multiclass"} if kind._multiclass else {BINARY})
