"""Losses as functions of the gap (see outputs): 1 - margin for labels, |y - f| for numbers."""

from typing import NamedTuple

from numpy import exp, inf, log1p

from ._jit import jit

NAMES = ("hinge", "squared_hinge", "logistic", "squared", "half_squared", "epsilon_insensitive", "absolute")
HINGE, SQUARED_HINGE, LOGISTIC, SQUARED, HALF_SQUARED, EPSILON_INSENSITIVE, ABSOLUTE = range(7)


class Loss(NamedTuple):
    kind: int
    epsilon: float = 0.0  # a gap up to this moves nothing


@jit
def slope(loss, gap):
    """d loss / d gap; at a kink the smaller one, and 0 up to epsilon."""
    if loss.kind == LOGISTIC:
        return 1.0 / (1.0 + exp(1.0 - gap))
    if gap <= loss.epsilon:
        return 0.0
    if loss.kind == SQUARED_HINGE or loss.kind == SQUARED:
        return 2.0 * gap
    return gap if loss.kind == HALF_SQUARED else 1.0


@jit(inside=True)
def bend(loss, gap):
    """d^2 loss / d gap^2, 0 up to epsilon."""
    if loss.kind == LOGISTIC:
        p = 1.0 / (1.0 + exp(1.0 - gap))
        return p * (1.0 - p)
    if gap <= loss.epsilon and (loss.epsilon > 0.0 or loss.kind == SQUARED_HINGE):
        return 0.0
    if loss.kind == SQUARED_HINGE or loss.kind == SQUARED:
        return 2.0
    return 1.0 if loss.kind == HALF_SQUARED else 0.0


@jit
def value(loss, gap):
    """The loss itself."""
    if loss.kind == HINGE or loss.kind == ABSOLUTE:
        return max(gap, 0.0)
    if loss.kind == EPSILON_INSENSITIVE:
        return max(gap - loss.epsilon, 0.0)
    if loss.kind == SQUARED_HINGE:
        return max(gap, 0.0) ** 2
    if loss.kind == LOGISTIC:
        return max(gap - 1.0, 0.0) + log1p(exp(-abs(gap - 1.0)))
    return gap * gap if loss.kind == SQUARED else 0.5 * gap * gap


def curvature(name, clip):
    """Largest s with l(u) >= l(w) + l'(w)(u - w) + s/2 (l'(w)(u - w))^2 for all |u|, |w| <= clip, and |y| <= clip.

    Squared hinge: the tightest pair is w = -clip, u = clip, for clip >= 1.
    """
    if clip == inf:
        return 0.0
    if name == "squared_hinge":
        c = max(clip, 1.0)
        return (3 * c - 1) / (8 * c * c * (1 + c))
    if name == "logistic":
        return float(exp(-clip))
    if name == "squared":
        return 1 / (8 * clip * clip)
    if name == "half_squared":
        return 1 / (4 * clip * clip)
    return 0.0
