"""Odd input: the same result as the plain array, or a clear ValueError that leaves the model as it was."""

import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import CASES, REGRESSION, group_of, rows_of
from test_promises import REPRESENTATIVES, everything, predictions, state

import onkel
from onkel._jit import COMPILED
from onkel.state import arrays

N = 120 if COMPILED else 40
each_kind = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=pytest.mark.xdist_group(group_of(case))) for case in REPRESENTATIVES],
)
RBP = next(case for case in CASES if case.name == "rbp-binary")
OGD = next(case for case in CASES if case.name == "ogd-squared-regression")


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def padded(X):
    """A view with a gap behind every row and column."""
    room = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    room[::2, ::3] = X
    return room[::2, ::3]


def unaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    new = raw[1:].view(X.dtype).reshape(X.shape)
    new[...] = X
    return new


def csr(X, index=np.int64):
    C = sp.csr_matrix(X)
    C.indices, C.indptr = C.indices.astype(index), C.indptr.astype(index)
    return C


def unsorted_with_duplicates(X):
    """Every row backwards, every value as the sum of two entries, and some stored zeros."""
    C = sp.csr_matrix(X)
    data, indices, indptr = [], [], [0]
    for t in range(C.shape[0]):
        part = slice(C.indptr[t], C.indptr[t + 1])
        values, columns = C.data[part][::-1], C.indices[part][::-1]
        data += [*(values / 2), *(values / 2), 0.0]
        indices += [*columns, *columns, 0]
        indptr.append(len(data))
    return sp.csr_matrix((data, indices, indptr), shape=C.shape)


SAME = {
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "strided": padded,
    "unaligned": unaligned,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "data frame": pd.DataFrame,
}
SAME_SPARSE = {
    "int64 indices": csr,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_matrix,
    "sparse array": sp.csr_array,
    "read-only": lambda X: frozen(csr(X, np.int32)),
    "unsorted, duplicates": unsorted_with_duplicates,
}


def frozen(C):
    for a in (C.data, C.indices, C.indptr):
        a.flags.writeable = False
    return C


@each_kind
@pytest.mark.parametrize("form", SAME)
def test_forms_of_dense_input(case, form):
    X, y = rows_of(case, N)
    plain, other = case.make(), case.make()
    expected = plain.learn(X, y, **case.first)
    np.testing.assert_array_equal(other.learn(SAME[form](X), y, **case.first), expected)
    assert state(other) == state(plain)
    np.testing.assert_array_equal(predictions(plain, SAME[form](X)), predictions(plain, X))


@each_kind
@pytest.mark.parametrize("form", SAME_SPARSE)
def test_forms_of_sparse_input(case, form):
    X, y = rows_of(case, N)
    plain, other = case.make(), case.make()
    expected = plain.learn(sp.csr_matrix(X), y, **case.first)
    C = SAME_SPARSE[form](X)
    before = C.copy()
    np.testing.assert_array_equal(other.learn(C, y, **case.first), expected)
    assert state(other) == state(plain)
    assert (sp.csr_matrix(C) != sp.csr_matrix(before)).nnz == 0


@each_kind
@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, bool])
def test_other_number_types(case, dtype):
    """They become float64, as everywhere in scikit-learn."""
    X, y = rows_of(case, N)
    X = np.abs(np.round(2 * X)).astype(dtype)
    plain, other = case.make(), case.make()
    np.testing.assert_array_equal(other.learn(X, y, **case.first), plain.learn(X.astype(float), y, **case.first))


@each_kind
def test_all_zero_rows_duplicates_and_constant_features(case):
    X, y = (a.copy() for a in rows_of(case, N))
    X[:, 2], X[::4], X[1::4] = 3.0, 0.0, X[1]
    for rows in (X, sp.csr_matrix(X), np.zeros_like(X)):
        for kernel in filter(case.takes, ("rbf", "cosine", "linear", "poly")):
            model = case.make(kernel=kernel)
            assert np.isfinite(model.learn(rows, y, **case.first)).all()
            assert all(np.isfinite(a).all() for a in arrays(model._learner).values() if a.dtype.kind == "f")


# ------------------------------------------------------------------ errors
def spoilt(X, value, sparse=False):
    X = X.copy()
    X[len(X) // 2, 3] = value
    return sp.csr_matrix(X) if sparse else X


def bad_csr(X, part, value):
    C = csr(X, np.int32)
    getattr(C, part)[5] = value
    return C


BAD_ROWS = {
    "NaN": (lambda X: spoilt(X, np.nan), "NaN"),
    "infinity": (lambda X: spoilt(X, -np.inf), "infinity"),
    "sparse NaN": (lambda X: spoilt(X, np.nan, True), "NaN"),
    "sparse infinity": (lambda X: spoilt(X, np.inf, True), "infinity"),
    "huge": (lambda X: spoilt(X, 1e155), "overflow"),
    "huge, sparse": (lambda X: spoilt(X, -1e155, True), "overflow"),
    "too wide": (lambda X: np.hstack([X, X]), "features"),
    "too narrow": (lambda X: X[:, 1:], "features"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "one dimension": (lambda X: X[0], "2D"),
    "three dimensions": (lambda X: X[None], "dim"),
    "a number": (lambda X: 3.0, "array"),
    "words": (lambda X: [["a"] * X.shape[1]] * len(X), "convert|float"),
    "complex": (lambda X: X + 1j, "[Cc]omplex"),
    "column number too large": (lambda X: bad_csr(X, "indices", X.shape[1]), "CSR|indices"),
    "negative column number": (lambda X: bad_csr(X, "indices", -1), "CSR|indices"),
    "decreasing row pointers": (lambda X: bad_csr(X, "indptr", 10**6), "CSR|index|indptr"),
}


@each_kind
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows(case, name):
    X, y = rows_of(case, N)
    make, words = BAD_ROWS[name]
    model = case.make()
    model.learn(X, y, **case.first)
    before = everything(model)
    for call in (lambda bad: model.learn(bad, y[: len(y)]), model.predict, lambda bad: model.fit(bad, y)):
        if call.__name__ == "<lambda>" and name in ("too wide", "too narrow") and call.__code__.co_names == ("fit",):
            continue  # fit takes any width
        with pytest.raises(ValueError, match=words):
            call(make(X))
        assert everything(model) == before


@each_kind
def test_bad_first_batch_leaves_nothing(case):
    X, y = rows_of(case, N)
    model = case.make()
    for bad in (spoilt(X, np.nan), X[:0], X.tolist()[0]):
        with pytest.raises(ValueError, match=r"2D|0 sample|NaN"):
            model.learn(bad, y, **case.first)
        assert not hasattr(model, "_learner")
        assert not hasattr(model, "classes_")
    other = case.make()
    np.testing.assert_array_equal(model.learn(X, y, **case.first), other.learn(X, y, **case.first))


@each_kind
def test_bad_weights(case):
    X, y = rows_of(case, N)
    model = case.make()
    model.learn(X, y, **case.first)
    before = everything(model)
    for weights in (np.full(N, np.nan), np.full(N, np.inf), -np.ones(N), np.ones(N - 1), np.ones((N, 2)), ["a"] * N):
        with pytest.raises(ValueError, match=r"(?i)weight|infinity|NaN|convert"):
            model.learn(X, y, sample_weight=weights)
        assert everything(model) == before


def test_bad_labels():
    X, y = rows_of(RBP, N)
    model = RBP.make()
    with pytest.raises(ValueError, match=r"needs at least 2 classes.* classes="):
        model.partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="at least 2 classes; the data has one class"):
        model.fit(X, np.ones(N))
    with pytest.raises(ValueError, match="labels that are not among the classes"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "_learner")
    model.partial_fit(X, y, classes=[-1, 1])
    before = everything(model)
    for labels, words in (
        (np.where(np.arange(N) == 7, 5, y), "not among the classes .*5"),
        (y.astype(str), "not among the classes|mix|label"),
        (y + 0.5, "Unknown label type"),
        (np.where(np.arange(N) == 7, np.nan, y), "NaN"),
        (np.column_stack([y, y]), "1d|y should be"),
        (y[:-1], "inconsistent numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, labels)
        assert everything(model) == before
    with pytest.raises(ValueError, match="differs from those of the first call"):
        model.partial_fit(X, y, classes=[-1, 0, 1])
    with pytest.raises(ValueError, match="Only binary classification"):
        onkel.DUOLClassifier().fit(X, np.arange(N) % 3)


def test_bad_targets():
    X, y = rows_of(OGD, N)
    model = OGD.make().partial_fit(X, y)
    before = everything(model)
    for targets, words in (
        (np.where(np.arange(N) == 7, np.nan, y), "NaN"),
        (np.where(np.arange(N) == 7, np.inf, y), "infinity"),
        (["a"] * N, "convert|numeric"),
        (np.full(N, 1e308), "overflowed between rows"),
        (np.column_stack([y, y]), "1d|y should be"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, targets)
        assert everything(model) == before


REGRESSORS = {case.estimator: case for case in CASES if case.task == REGRESSION}.values()


@pytest.mark.parametrize("case", REGRESSORS, ids=lambda case: case.estimator.__name__)
def test_targets_that_are_no_numbers(case):
    """Nothing finite, in an array of objects or words: refused in batches and row by row, by name."""
    X, y = rows_of(case, N)
    model = case.make().partial_fit(X, y)
    before = state(model)
    for bad in (None, "nan", "inf", "-inf"):
        targets = y.astype(object)
        targets[7] = bad
        with pytest.raises(ValueError, match=r"y must be finite numbers; its entry 7 is"):
            case.make().fit(X, targets)
        for call in (lambda: model.partial_fit(X, targets), lambda: model.learn_one(X[0], bad)):  # noqa: B023
            with pytest.raises(ValueError, match="y must be finite numbers"):
                call()
            assert state(model) == before


@pytest.mark.parametrize("labels", [[None, 1], ["a", 1], [None, None]])
def test_labels_without_an_order(labels):
    X, y = rows_of(RBP, N)
    model = RBP.make().partial_fit(X, y, classes=[-1, 1])
    before = state(model)
    with pytest.raises(ValueError, match="no order among them"):
        model.partial_fit(X[:2], np.array(labels, object))
    with pytest.raises(ValueError, match=r"no order among them|Unknown label type"):
        RBP.make().partial_fit(X[:2], np.array(labels, object))
    with pytest.raises(ValueError, match="no order among them"):
        model.learn_one(X[0], None)
    with pytest.raises(ValueError, match="convert"):
        model.learn_one(X[0], 1, "heavy")
    assert state(model) == before


def test_one_sparse_row():
    X, y = rows_of(RBP, N)
    one, other = (RBP.make().partial_fit(X, y) for _ in range(2))
    row = sp.csr_matrix(X[:1])
    assert [one.learn_one(row, y[0])] == list(other.learn(row, y[:1]))
    with pytest.raises(ValueError, match="Expected one row"):
        one.learn_one(sp.csr_matrix(X[:2]), y[0])


@pytest.mark.parametrize("sigma", [1e-320, 1e-160, 1e200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_widths_out_of_range(sigma, dtype):
    X, y = rows_of(RBP, N)
    with pytest.raises(ValueError, match=rf"gamma is .* for sigma={re.escape(repr(sigma))}: {np.dtype(dtype)} cannot"):
        onkel.RBPClassifier(sigma=sigma).fit(X.astype(dtype), y)
    with pytest.raises(ValueError, match="cannot compute with that"):
        onkel.RandomFourierFeatures(gamma=1e308).fit(X.astype(dtype))


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": onkel.kernels.rbf(-1.0)},
        {"kernel": onkel.kernels.rbf(np.nan)},
        {"kernel": onkel.kernels.poly(1.0, np.inf, 2)},
        {"budget": 2**63},
    ],
)
def test_numbers_that_the_engine_cannot_take(params):
    X, y = rows_of(RBP, N)
    with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
        onkel.RBPClassifier(**params).fit(X, y)


def test_overflow_in_the_middle_is_undone():
    """Steps that blow up after the dictionary has grown twice: the model is the one before the call, and learns on."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.normal(size=900)
    model = onkel.KernelOGDRegressor(eta=0.1, random_state=0).partial_fit(X[:50], y[:50])
    other = onkel.KernelOGDRegressor(eta=0.1, random_state=0).partial_fit(X[:50], y[:50])
    before = everything(model)
    y[-1] = 1.7e308
    with pytest.raises(ValueError, match=r"overflowed between rows .* Nothing of the batch was learnt"):
        model.partial_fit(X, np.append(y[:-1], 1.7e308))
    assert everything(model) == before
    np.testing.assert_array_equal(model.learn(X[:-1], y[:-1]), other.learn(X[:-1], y[:-1]))


def test_parameters_that_cannot_change():
    X, y = rows_of(RBP, N)
    model = RBP.make().partial_fit(X, y, classes=[-1, 1])
    before = state(model)
    for change in ({"gamma": 0.3}, {"kernel": "poly"}, {"budget": 5}, {"budget": 50}):
        model.set_params(**change)
        with pytest.raises(ValueError, match=f"{next(iter(change))}.* cannot change after the first batch; call fit"):
            model.partial_fit(X, y)
        assert state(model) == before
        model.set_params(**RBP.params)
    model.set_params(eta=0.25).partial_fit(X, y)
    assert 0.25 in np.abs(model.dual_coef_)


def test_steering_parameters_take_effect_at_once():
    """Their change between two batches is what a model made with them would do from there on."""
    X, y = rows_of(OGD, N)
    half = N // 2
    changed = OGD.make(eta=0.2, reg=0.0).partial_fit(X[:half], y[:half]).set_params(eta=0.1, epsilon=0.5)
    scores = changed.learn(X[half:], y[half:])
    born = changed.support_[changed.support_ >= half]
    residual = y[born] - scores[born - half]
    assert np.abs(residual).min() > 0.5
    np.testing.assert_allclose(changed.dual_coef_[0][changed.support_ >= half], 0.1 * 2 * residual)


def test_not_fitted():
    for name in ("predict", "decision_function"):
        with pytest.raises(ValueError, match="has not learnt anything yet"):
            getattr(RBP.make(), name)(np.zeros((1, 3)))
    with pytest.raises(AttributeError, match="predict_proba"):
        RBP.make().predict_proba(np.zeros((1, 3)))


# ------------------------------------------------------------------ Ctrl-C
INTERRUPTED = """
import os, signal, threading, time
import numpy as np, onkel
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells make background jobs, and what they start, ignore it
rng = np.random.default_rng(0)
X = rng.normal(size=(400_000, 20)); y = np.sign(rng.normal(size=len(X)))
model = onkel.KernelPassiveAggressiveClassifier(gamma=1.0).partial_fit(X[:100], y[:100], classes=[-1, 1])
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    model.learn(X, y)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start < 60)
seen = model.n_seen_
print(100 < seen < len(X), np.isfinite(model.predict(X[:5])).all(), len(model.support_) == model.n_support_)
again = onkel.KernelPassiveAggressiveClassifier(gamma=1.0).partial_fit(X[:100], y[:100], classes=[-1, 1])
again.learn(X[: seen - 100], y[: seen - 100])
print(np.array_equal(again.dual_coef_, model.dual_coef_), again.n_seen_ == seen)
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="plain Python is interrupted between any two statements")
def test_interrupt_leaves_a_usable_model():
    """Ctrl-C in a long batch: the rows learnt so far count, exactly as if the batch had ended there."""
    result = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300)
    assert result.stdout.split() == ["interrupted", "True"] + ["True"] * 5, result.stdout + result.stderr


# ------------------------------------------------------------------ threads
def test_two_threads_learn_at_once():
    """Two models in two threads, and one model predicting in two threads, come to the same as one after the other."""
    X, y = rows_of(RBP, N)
    expected = RBP.make().partial_fit(X, y, classes=[-1, 1])
    models = [RBP.make() for _ in range(4)]
    threads = [threading.Thread(target=m.partial_fit, args=(X, y, [-1, 1])) for m in models]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(state(m) == state(expected) for m in models)
    results = []
    threads = [threading.Thread(target=lambda: results.append(expected.decision_function(X))) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for result in results:
        np.testing.assert_array_equal(result, expected.decision_function(X))
