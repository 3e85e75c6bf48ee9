"""Kernel alignment: by hand, in parts, and as the width of every learner."""

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
import thesis
from cases import CASES, MULTICLASS, classes_of, rows_of
from sklearn.exceptions import NotFittedError

import onkel
from onkel import alignment

SIGMAS = [0.25, 0.5, 1.0, 2.0, 4.0]


def gram(X, sigma, kernel="rbf"):
    """The kernel matrix, entry by entry."""
    k = ref.rbf(1 / (2 * sigma**2)) if kernel == "rbf" else ref.laplacian(1 / sigma)
    return np.array([[k(x, z) for z in X] for x in X])


def by_hand(K, T, centred=False):
    """<K, T> / (|K| |T|), centred by the matrix that takes the mean away."""
    H = np.eye(len(K)) - centred / len(K)
    K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T))


def targets(y):
    """T by definition, for labels of any number of classes and for numbers."""
    if y.dtype.kind == "f":
        return np.outer(y - y.mean(), y - y.mean())
    m = len(set(y.tolist()))
    return np.array([[1.0 if a == b else -1 / (m - 1) for b in y] for a in y])


@pytest.fixture(params=["binary", "multiclass", "regression"])
def data(request):
    case = next(case for case in CASES if case.task == request.param)
    return rows_of(case, 40)


@pytest.mark.parametrize("centred", [False, True])
def test_by_hand(data, centred):
    X, y = data
    for sigma in SIGMAS:
        K = gram(X, sigma)
        expected = by_hand(K, targets(y), centred)
        assert onkel.kernel_alignment(K, y, centred=centred) == pytest.approx(expected, rel=1e-12)
    assert onkel.kernel_alignment(targets(y), y, centred=centred) == pytest.approx(1)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("gamma", ["alignment", "centred_alignment"])
def test_every_estimator_can_take_it(data, kernel, gamma):
    """The width of the grid that aligns best, whether rows are dense or sparse, near the origin or far away."""
    X, y = data
    T = targets(y)
    values = [by_hand(gram(X, s, kernel), T, gamma == "centred_alignment") for s in alignment.SIGMAS]
    sigma = alignment.SIGMAS[np.argmax(values)]
    coefficient = 1 / (2 * sigma**2) if kernel == "rbf" else 1 / sigma
    stem = "Regressor" if y.dtype.kind == "f" else "Classifier"
    for name in ("KernelOGD" + stem, "FOGD" + stem):
        for rows in (X, sp.csr_matrix(X)):
            assert getattr(onkel, name)(kernel=kernel, gamma=gamma).fit(rows, y).gamma_ == coefficient
    centred = gamma == "centred_alignment"
    assert onkel.choose_sigma(X + 1e6, y, kernel=kernel, centred=centred) == sigma


def test_increments_equal_the_whole(data):
    X, y = data
    classes = None if y.dtype.kind == "f" else np.unique(y)
    y = y - y.mean() if classes is None else y  # as the whole takes it
    parts = onkel.IncrementalAlignment(sigmas=SIGMAS)
    parts.partial_fit(X[:1], y[:1], classes).partial_fit(sp.csr_matrix(X[1:9]), y[1:9]).partial_fit(X[9:], y[9:])
    expected = [by_hand(gram(X, sigma), targets(y)) for sigma in SIGMAS]
    np.testing.assert_allclose(parts.alignments_, expected, rtol=1e-11)
    assert parts.sigma_ == SIGMAS[np.argmax(expected)]
    assert parts.gamma_ == 1 / (2 * parts.sigma_**2)


def test_labels_plus_minus_one_are_numbers_too():
    X, y = rows_of(CASES[0], 40)
    as_numbers = onkel.IncrementalAlignment().partial_fit(X, y)
    as_classes = onkel.IncrementalAlignment().partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_allclose(as_numbers.alignments_, as_classes.alignments_, rtol=1e-12)


def test_a_reservoir_is_right_on_average():
    X, y = rows_of(CASES[0], 60)

    def sums(**options):
        one = onkel.IncrementalAlignment(sigmas=[1.0, 2.0], **options).partial_fit(X, y)
        return np.array([*one._products, *one._squares])

    whole = sums()
    drawn = np.array([sums(reservoir=10, random_state=seed) for seed in range(100)])
    error = (drawn.mean(0) - whole) / (drawn.std(0, ddof=1) / np.sqrt(len(drawn)))
    assert drawn.std(0).min() > 0
    assert np.abs(error).max() < 4


def test_only_some_rows_are_looked_at():
    X, y = rows_of(CASES[0], 300)
    rows = alignment.sampled(300, 50, 7)
    assert len(set(rows)) == 50
    assert (np.diff(rows) > 0).all()
    chosen = onkel.choose_sigma(X, y, max_rows=50, random_state=7)
    assert chosen == onkel.choose_sigma(X[rows], y[rows])


def test_what_cannot_be_aligned():
    X, y = rows_of(CASES[0], 40)
    with pytest.raises(ValueError, match="targets differ"):
        onkel.RBPClassifier(gamma="alignment").partial_fit(X[:1], y[:1], classes=[-1, 1])
    with pytest.raises(ValueError, match="targets differ"):
        onkel.KernelOGDRegressor(gamma="centred_alignment").fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="'rbf' and 'laplacian'"):
        onkel.RBPClassifier(kernel="poly", gamma="alignment").fit(X, y)
    with pytest.raises(ValueError, match="must be a number above 0 or one of"):
        onkel.RBPClassifier(gamma="aligned").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        onkel.choose_sigma(X, y[:3])
    with pytest.raises(ValueError, match="a transformer learns from none"):
        onkel.KORS(gamma="alignment").fit(X, y)


@pytest.mark.parametrize("align", [onkel.choose_sigma, lambda X, y: onkel.IncrementalAlignment().partial_fit(X, y)])
def test_bad_rows_are_not_aligned(align):
    X, y = rows_of(CASES[0], 40)
    for bad, words in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=words):
            align(np.where(X[7, 0] == X, bad, X), y)
        with pytest.raises(ValueError, match=words):
            align(X, np.where(np.arange(40) == 7, bad, y))
    with pytest.raises(ValueError, match="Expected 2D array"):
        align(X[0], y[: X.shape[1]])


@pytest.mark.parametrize("sigmas", [[], [-1, 0], [1, np.nan], [np.inf], 2.0])
def test_widths_are_above_zero(sigmas):
    X, y = rows_of(CASES[0], 40)
    with pytest.raises(ValueError, match="sigmas must be widths"):
        onkel.choose_sigma(X, y, sigmas=sigmas)
    with pytest.raises(ValueError, match="sigmas must be widths"):
        onkel.IncrementalAlignment(sigmas=sigmas)


def test_a_matrix_of_no_numbers_is_not_aligned():
    with pytest.raises(ValueError, match="NaN"):
        onkel.kernel_alignment(np.full((3, 3), np.nan), [1, -1, 1])


def test_a_bad_batch_is_not_counted():
    X, y = rows_of(CASES[0], 40)
    aligned, expected = (onkel.IncrementalAlignment().partial_fit(X, y) for _ in range(2))
    for rows, labels, words in (
        (np.where(np.arange(40)[:, None] == 39, np.nan, X), y, "NaN"),
        (X[:, 1:], y, "features, but"),
        (X, y.astype(str), r"need classes=\[...\]"),
    ):
        with pytest.raises(ValueError, match=words):
            aligned.partial_fit(rows, labels)
    np.testing.assert_array_equal(aligned.alignments_, expected.alignments_)
    with pytest.raises(NotFittedError):
        onkel.IncrementalAlignment().sigma_  # noqa: B018


def test_files_keep_the_width(tmp_path):
    """Also where the classes of the first batch are fewer than those to come."""
    case = next(case for case in CASES if case.task == MULTICLASS)
    X, y = rows_of(case, 60)
    model = onkel.KernelOGDClassifier(gamma="alignment").partial_fit(X, y, classes=[*classes_of(case), 9])
    onkel.save(model, tmp_path / "m.onkel")
    assert onkel.load(tmp_path / "m.onkel").gamma_ == model.gamma_


@pytest.mark.data
def test_published_width():
    """On the german credit data as they are, the grid's best width is the one that reproduces the published runs."""
    X, y, _ = thesis.read("german")
    assert onkel.choose_sigma(X, y) == pytest.approx(45.25, abs=0.01)
