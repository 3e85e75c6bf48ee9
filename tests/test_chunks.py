"""Large dictionaries meet chunks of rows at once: the same bits as row by row, whatever the chunks, whoever changes."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES, MULTICLASS, REGRESSION, group_of

from onkel import _simd, expansion, rows
from onkel._jit import COMPILED, jit
from onkel._panels import panel_shape, slots
from onkel.estimators._base import KernelEstimator
from onkel.state import state_dict

N, D = (240, 20) if COMPILED else (60, 9)
STORING = [case for case in CASES if issubclass(case.estimator, KernelEstimator)]
KINDS = list({(group_of(c), c.params.get("strategy"), c.params.get("maintenance")): c for c in STORING}.values())
each_kind = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=pytest.mark.xdist_group(group_of(c))) for c in KINDS]
)


def stream(case):
    random = np.random.default_rng(5)
    X = random.normal(size=(N, D))
    value = X[:, 0] * X[:, 1] + 0.3 * X[:, 2]
    if case.task == REGRESSION:
        return X, value
    return X, np.digitize(value, [-0.7, 0.0, 0.7]) if case.task == MULTICLASS else np.where(value > 0, 1, -1)


def run(case, edges, layout=np.asarray, **overrides):
    """Scores, state and predictions of a model that learns in pieces."""
    X, y = stream(case)
    model = case.make(gamma=0.05, **overrides)
    pieces = [
        model.learn(layout(X[a:b]), y[a:b], **(case.first if a == 0 else {})) for a, b in itertools.pairwise(edges)
    ]
    state = {name: a.tobytes() for name, a in state_dict(model._learner).items()}
    predict = getattr(model, "decision_function", model.predict)
    return np.concatenate(pieces), state, predict(layout(X))


def row_by_row(monkeypatch):
    monkeypatch.setattr(expansion, "FIRST_LEVEL", 2**60)


def in_chunks(monkeypatch):
    monkeypatch.setattr(expansion, "FIRST_LEVEL", 0)


@each_kind
def test_chunks_are_exact(case, monkeypatch):
    """Scores before each update, state and predictions, with points that enter, leave, move and merge."""
    row_by_row(monkeypatch)
    expected = run(case, [0, N])
    in_chunks(monkeypatch)
    for edges in ([0, N], [0, 1, 7, 8, 40, 41, N]):
        scores, state, predicted = run(case, edges)
        np.testing.assert_array_equal(scores, expected[0])
        assert state == expected[1]
        np.testing.assert_array_equal(predicted, expected[2])


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, np.float32], ids=["dense", "csr", "float32"])
def test_chunks_of_every_kernel(kernel, layout, monkeypatch):
    case = next(case for case in KINDS if group_of(case) == "RBP")
    row_by_row(monkeypatch)
    expected = run(case, [0, N], layout, kernel=kernel)
    in_chunks(monkeypatch)
    scores, state, predicted = run(case, [0, N // 2, N], layout, kernel=kernel)
    np.testing.assert_array_equal(scores, expected[0])
    assert state == expected[1]
    np.testing.assert_array_equal(predicted, expected[2])


@pytest.mark.parametrize("d", [7, 8, 40])
def test_when_chunks_are_made(d):
    """Where points no longer fit the first cache, and rows are wide enough for the room that chunks take."""
    few, many = (expansion.empty(n, d).scratch.ahead.shape for n in (8, 4096))
    assert few == (0, 32)
    assert many == (expansion.CHUNK if d >= 8 else 0, 4096)


@jit
def block_from_compiled(X, first, count, points, start, stop, out, at, stride, what):
    return rows.block(rows.Dense(X), what, first, count, points, start, stop, out, at, stride)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 9, 33, 130, 300])
def test_block(dtype, n):
    """All rows and points asked for, and no entry that belongs to others."""
    random = np.random.default_rng(n)
    panels, width = panel_shape(n, dtype)
    points = _simd.aligned((panels, 9, width), dtype)
    points[...] = random.normal(size=points.shape)
    flat = np.moveaxis(points, 1, 2).reshape(-1, 9)
    X, line = random.normal(size=(11, 9)).astype(dtype), 64 // np.dtype(dtype).itemsize
    exact = {
        rows.DOTS: X @ flat.T,
        rows.SQDISTS: ((X[:, None] - flat) ** 2).sum(2),
        rows.L1DISTS: np.abs(X[:, None] - flat).sum(2),
    }
    for what, (first, count), (start, stop) in itertools.product(
        exact, ((0, 11), (3, 1), (2, 4), (4, 7)), ((0, n), (n // 2, n // 2 + 1), (n // 3, n))
    ):
        out = _simd.aligned((15, slots(n, dtype)), dtype)
        out[...] = -7
        stride = out.shape[1]
        assert block_from_compiled(X, first, count, points, start, stop, out, 2 * stride, stride, what)
        got = out[2 : 2 + count]
        tolerance = 1e-12 if dtype == np.float64 else 1e-4
        expected = exact[what][first : first + count, start:stop]
        np.testing.assert_allclose(got[:, start:stop], expected, rtol=tolerance, atol=tolerance)
        assert (out[:2] == -7).all()
        assert (out[2 + count :] == -7).all()
        assert (got[:, : start // line * line] == -7).all()
        assert (got[:, -(-stop // line) * line :] == -7).all()
