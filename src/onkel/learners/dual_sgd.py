"""Dual-SGD (Le, Nguyen, Nguyen & Phung, NIPS 2016): kernel Pegasos whose lightest points become random features.

f(x) = sum_i a_i k(x_i, x) + w.z(x): when the budget is full, a_i z(x_i) goes into w for those with the smallest |a_i|.
"""

from typing import Any, NamedTuple

import numpy as np

from .. import expansion, linear
from .._jit import generic, jit
from .._simd import add_times
from ..expansion import ROUNDS, SIZE, Expansion, average, discard, full, insert, shrink, weights_of
from ..features import transform
from ..linear import Linear, ahead
from ..losses import Loss, slope
from ..outputs import Task, aim
from ..rows import Dense, Sparse, take_dense, take_sparse
from ..steps import PEGASOS, rate_of
from ..stream import look, step


class Recalled(NamedTuple):
    z: np.ndarray  # (slots,) the features of a stored point


class DualSGD(NamedTuple):
    kernel: Any
    map: Any
    task: Task
    loss: Loss
    reg: float
    moved: int  # points that leave at once
    f: Expansion
    g: Linear  # w; after every step its scale, total and rounds are those of f
    scratch: Recalled


@look.register(DualSGD)
def _(self, rows, t, start, stop, scores):
    f, g = self.f, self.g
    ahead(self.map, g, rows, t, start, stop)
    linear.predict(g, scores, t)
    for r in range(scores.shape[1]):
        g.scratch.move[r] = scores[t, r]
    expansion.predict(f, self.kernel, rows, t, scores)
    for r in range(scores.shape[1]):
        scores[t, r] += g.scratch.move[r]
    if f.past.shape[1] > 0:
        average(f)
        for r in range(scores.shape[1]):
            f.scratch.mean[r] += g.scratch.mean[r]


@step.register(DualSGD)
def _(self, rows, t, y, weight, scores):
    f, g = self.f, self.g
    for i in range(g.lazy.shape[0]):
        g.lazy[i] = f.lazy[i]
    _, gap = aim(self.task, scores, t, y, f.scratch.move)
    rate = rate_of(PEGASOS, 0.0, self.reg, f.lazy[ROUNDS])
    keep = 1.0 - rate * self.reg
    if keep > 0.0:
        shrink(f, keep)
        shrink(g, keep)
    push = slope(self.loss, gap)
    if push != 0.0:
        if full(f):
            move_lightest(self, rows)
        insert(f, f.count[SIZE], self.kernel, rows, t, rate * push * weight)


@jit(inside=True)
def move_lightest(self, rows):
    """The lightest points become features, with the coefficients that they have."""
    f, g, z = self.f, self.g, self.scratch.z
    n, size = g.count[SIZE], f.scratch.other
    weights_of(f, size)
    for _ in range(self.moved):
        i = lightest(f, size)
        recall(rows, self.map, f, i, z)
        for r in range(f.coef.shape[0]):
            add_times(g.coef, r, z, 0, n, f.coef[r, i])
            if f.past.shape[1] > 0:
                add_times(g.past, r, z, 0, n, f.past[r, i])
        size[i] = size[f.count[SIZE] - 1]
        discard(f, i)


@jit(inside=True)
def lightest(f, size):
    """The point of the smallest size; of those that are equal but for rounding, the oldest."""
    least = size[0]
    for i in range(f.count[SIZE]):
        least = min(least, size[i])
    first, ties = -1, 1e-9 if size.itemsize == 8 else 1e-5
    for i in range(f.count[SIZE]):
        if size[i] <= least * (1.0 + ties) and (first < 0 or f.born[i] < f.born[first]):
            first = i
    return first


@generic
def recall(rows, map, f, i, z):
    """z = the features of point i, computed as for `rows`."""


@recall.register(Dense)
def _(rows, map, f, i, z):
    take_dense(f.points, i, f.scratch.dense)
    transform(map, f.scratch.dense, 0, 1, z, z.shape[0])


@recall.register(Sparse)
def _(rows, map, f, i, z):
    take_sparse(f.points, f.used, i, f.scratch.sparse)
    transform(map, f.scratch.sparse, 0, 1, z, z.shape[0])
