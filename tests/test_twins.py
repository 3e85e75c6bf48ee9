"""The engine against the slow twins, step by step, and its kernels against their formulas."""

import itertools

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
from cases import CASES, POLY, RBF, Case, rows_of

from onkel import kernels
from onkel._jit import COMPILED
from onkel._panels import slots
from onkel.expansion import discard, empty, insert
from onkel.rows import Dense, Sparse

TWIN_KERNELS = {
    "rbf": ref.rbf(RBF["gamma"]),
    "poly": ref.poly(POLY["gamma"], POLY["coef0"], POLY["degree"]),
}


def near(actual, expected, rtol=1e-9):
    """Equal up to rounding, relative to the largest of the values."""
    scale = np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=rtol * scale)


def rows_for(case):
    """How many rows: twins that average recompute all past models for every row."""
    if case.twin_params.get("average"):
        return 90 if COMPILED else 50
    return 200 if COMPILED else 80


def weights_of(n):
    """Ordinary, small and large weights, and every fifth row left out."""
    weights = np.random.default_rng(3).choice([0.3, 1.0, 1.0, 1.7], size=n)
    weights[::5] = 0
    return weights


def kernel_params(case, kernel):
    return {**RBF, **POLY} if kernel == "poly" else {}


def final_coefficients(result):
    """Stream position -> coefficients the predictions use: the last ones, or their mean over all models."""
    models = result.average.models if result.average else [result.model]
    mean = {position: 0.0 for position in models[-1].born}
    for model in models:
        for position, row in zip(model.born, model.coef):
            mean[position] = mean[position] + row / len(models)
    return mean


def check_model(case, model, result):
    """The final models agree: who is stored, with which coefficients, and what they say of new points."""
    twin = result.model
    assert model.n_support_ == len(twin)
    if model.params_of_merging:
        pass
