"""Running metrics against their definitions, example by example."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, zero_one_loss

from onkel import losses
from onkel.evaluation import LABEL_LOSSES, LOSSES, NUMBER_LOSSES, Metrics


def streams():
    random = np.random.default_rng(3)
    scores = random.normal(0, 2, 200)
    scores[::17] = 0
    many = random.normal(0, 2, (200, 4))
    many[::13] = 1.0  # ties
    return {
        "labels": (scores, np.array(["no", "yes"])[random.integers(0, 2, 200)], ["no", "yes"]),
        "many": (many, random.integers(0, 4, 200) * 10, [0, 10, 20, 30]),
        "numbers": (scores, random.normal(size=200), None),
    }


STREAMS = streams()
each_stream = pytest.mark.parametrize("name", STREAMS)


def gap_of(f, y, classes):
    """As `outputs` defines it."""
    if classes is None:
        return abs(y - f)
    if np.ndim(f) == 0:
        return 1 - (f if y == classes[1] else -f)
    place = classes.index(y)
    return 1 - (f[place] - max(np.delete(f, place)))


@pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for name in ("labels", "many") for loss in LABEL_LOSSES if (name, loss) != ("many", "logistic")]
    + [("numbers", loss) for loss in NUMBER_LOSSES],
)
def test_loss_is_the_engines(name, loss):
    scores, y, classes = STREAMS[name]
    metrics = Metrics(classes, loss=loss, epsilon=0.2)
    metrics.update(scores, y)
    kind = losses.Loss(losses.NAMES.index(loss), 0.2)
    expected = np.mean([losses.value(kind, float(gap_of(f, t, classes))) for f, t in zip(scores, y)])
    assert metrics.cumulative["loss"] == pytest.approx(expected, rel=1e-12)
    assert metrics.total_loss == pytest.approx(200 * expected, rel=1e-12)


@each_stream
def test_agrees_with_scikit_learn(name):
    scores, y, classes = STREAMS[name]
    metrics = Metrics(classes, window=50)
    metrics.update(scores, y)
    for named, part in ((metrics.cumulative, slice(None)), (metrics.recent, slice(-50, None))):
        f, t = scores[part], y[part]
        if classes is None:
            assert named["squared_error"] == pytest.approx(np.mean((f - t) ** 2), rel=1e-12)
            assert named["absolute_error"] == pytest.approx(np.mean(abs(f - t)), rel=1e-12)
            continue
        winner = (f >= 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        chances = np.exp(np.column_stack([np.zeros(len(f)), f]) if f.ndim == 1 else f)
        chances /= chances.sum(axis=1, keepdims=True)
        assert named["mistake_rate"] == pytest.approx(zero_one_loss(t, np.array(classes)[winner]))
        assert named["accuracy"] == 1 - named["mistake_rate"]
        logistic = Metrics(classes, loss="logistic")
        logistic.update(f, t)
        assert logistic.cumulative["loss"] == logistic.cumulative["log_loss"]
        assert named["log_loss"] == pytest.approx(log_loss(t, chances, labels=classes), rel=1e-9)


@each_stream
@given(cuts=st.lists(st.integers(0, 200), max_size=12), window=st.integers(1, 300))
def test_cuts_do_not_matter(name, cuts, window):
    scores, y, classes = STREAMS[name]
    whole, parts = Metrics(classes, window=window), Metrics(classes, window=window)
    whole.update(scores, y)
    edges = [0, *sorted(cuts), 200]
    for start, stop in itertools.pairwise(edges):
        parts.update(scores[start:stop], y[start:stop])
        resumed = Metrics(classes, window=window)
        resumed.restore(parts.state())
        parts = resumed
    assert (parts.n, parts.cumulative, parts.recent) == (whole.n, whole.cumulative, whole.recent)


def test_a_score_of_zero_predicts_the_second_class():
    metrics = Metrics([-1, 1])
    metrics.update([0.0, 0.0, -0.0], [1, -1, 1])
    assert metrics.cumulative["mistake_rate"] == metrics.error == 1 / 3


def test_losses_are_those_of_the_engine():
    assert tuple(LOSSES) == losses.NAMES
    assert set(LABEL_LOSSES) | set(NUMBER_LOSSES) == set(LOSSES)


def test_before_the_first_example():
    assert math.isnan(Metrics([0, 1]).error)
    assert all(math.isnan(value) for value in Metrics().recent.values())


def test_large_scores_overflow_to_infinity_in_silence():
    metrics = Metrics()
    metrics.update([1e200], [0.0])
    assert metrics.cumulative == {"squared_error": math.inf, "absolute_error": 1e200, "loss": math.inf}
    metrics = Metrics([0, 1, 2])
    metrics.update([[1e300, -1e300, 0.0]], [1])
    assert metrics.cumulative["log_loss"] == 2e300


def test_errors():
    with pytest.raises(ValueError, match="window"):
        Metrics(window=0)
    with pytest.raises(ValueError, match=r"loss must be one of 'squared', .*; got 'hinge'"):
        Metrics(loss="hinge")
    metrics = Metrics(["a", "b"])
    with pytest.raises(ValueError, match=r"not among the classes.*'c'"):
        metrics.update([1.0, 1.0], ["a", "c"])
    with pytest.raises(ValueError, match="2 scores, but 1 targets"):
        metrics.update([1.0, 1.0], ["a"])
    assert metrics.n == 0
    with pytest.raises(ValueError, match="other metrics"):
        metrics.restore(Metrics(window=5).state() | {"n": 7})
