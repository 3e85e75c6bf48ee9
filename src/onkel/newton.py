"""Online Newton steps: A = alpha I + sum of c z z' over the rounds, w <- w - A^-1 g, predictions in [-clip, clip].

A^-1 = U D U' with a unit triangular U and a diagonal D, which a round changes as it goes (Bierman, Automatica 13,
1977). Unlike an inverse that is corrected by rank-one terms, it cannot lose its symmetry or a positive eigenvalue, and
rounding errors do not build up: it never has to be computed afresh.
"""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from ._panels import slots
from ._simd import add_times, aligned
from ._triangles import stride, triangle_dots, triangle_exchange
from .losses import bend, slope
from .outputs import aim_alone

CONSTANT, HESSIAN = range(2)
LEAST = 1e-14  # z'A^-1 z below it is none: such an example has no direction to move in


class Curve(NamedTuple):
    """What the loss adds to A along g g': half its curvature; or along z z': its second derivative."""

    kind: int
    sigma: float


class Work(NamedTuple):
    q: np.ndarray  # (slots,) A^-1 z
    f: np.ndarray  # (slots,) U'z
    g: np.ndarray  # (slots,) D U'z
    x: np.ndarray  # (slots,) how far a column of U moves along the part of q there is so far
    sums: np.ndarray  # (slots + 1,) 1 + c times the part of z'A^-1 z there is so far


class Newton(NamedTuple):
    """Weights on features z and the inverse of A, for every output; always float64."""

    weights: np.ndarray  # (outputs, slots)
    columns: np.ndarray  # (capacity * outputs, stride) column j of U, of output r, without its 1: row j * outputs + r
    diagonal: np.ndarray  # (outputs, slots) of D
    alpha: float
    clip: float
    scratch: Work


class Turn(NamedTuple):
    """What an output's example asks for."""

    excess: float  # how far the score is outside [-clip, clip]
    push: float  # d loss / d score, times the example's weight
    sharp: float  # c


def newton(capacity, outputs, alpha, clip):
    """Weights of 0 and no features."""
    n = slots(capacity, float)
    return Newton(
        aligned((outputs, n), float),
        aligned((capacity * outputs, stride(n)), float),
        aligned((outputs, n), float),
        float(alpha),
        float(clip),
        Work(*(aligned(size, float) for size in (n, n, n, n, n + 1))),
    )


def inverse_of(newton, n, r=0):
    """A^-1 of output r on n features."""
    U = np.eye(n) + newton.columns[r :: len(newton.weights)][:n, :n].T
    return (U * newton.diagonal[r, :n]) @ U.T


@jit(inline=True, inside=True)
def bounded(score, clip):
    return min(max(score, -clip), clip)


@jit(inline=True, inside=True)
def judge(task, loss, curve, score, clip, y, r, weight):
    """What output r asks for, given its score before the bound; a weight multiplies the loss."""
    f = bounded(score, clip)
    gap, way = aim_alone(task, f, y, r)
    push = -way * slope(loss, gap)
    sharp = bend(loss, gap) if curve.kind == HESSIAN else 0.5 * curve.sigma * push * push
    return Turn(score - f, weight * push, weight * sharp)


@jit(inline=True, inside=True)
def length(turn, size):
    """The step along A^-1 z of a round, size = z'A^-1 z before it: into the bounds, then down the gradient."""
    step = turn.push / (1.0 + turn.sharp * size)
    return step + turn.excess / size if size > LEAST else step


@jit(inline=True, inside=True)
def solve(newton, r, z, n, sharp):
    """Leave A^-1 z in the scratch and return z'A^-1 z, both from before A gains sharp z z'."""
    columns, diagonal, outputs = newton.columns, newton.diagonal, newton.weights.shape[0]
    q, f, g, x, sums = newton.scratch
    triangle_dots(columns, r, outputs, 0, n, z, f)
    size = 0.0
    sums[0] = 1.0
    for j in range(n):
        f[j] += z[j]
        g[j] = diagonal[r, j] * f[j]
        size += f[j] * g[j]
        sums[j + 1] = 1.0 + sharp * size
    for j in range(n):
        x[j] = -sharp * f[j] / sums[j]
    for j in range(n):
        diagonal[r, j] *= sums[j] / sums[j + 1]
    triangle_exchange(columns, r, outputs, n, x, g, q)
    return size


@jit(inline=True, inside=True)
def move(newton, r, n, step):
    """w <- w - step A^-1 z."""
    add_times(newton.weights, r, newton.scratch.q, 0, n, -step)


@jit(inside=True)
def enlarge(newton, n):
    """A feature more, number n, of which nothing is known: A gains a row of alpha on its diagonal."""
    for r in range(newton.weights.shape[0]):
        newton.diagonal[r, n] = 1.0 / newton.alpha


@jit(inside=True)
def restart(newton, n):
    """Back to w = 0 and A = alpha I on n features."""
    for r in range(newton.weights.shape[0]):
        for j in range(n):
            newton.weights[r, j] = 0.0
            newton.diagonal[r, j] = 1.0 / newton.alpha
            for i in range(j):
                newton.columns[j * newton.weights.shape[0] + r, i] = 0.0
