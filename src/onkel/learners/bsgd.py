"""BSGD, budgeted stochastic gradient descent (Wang, Crammer & Vucetic, JMLR 13, 2012).

With the look-up table of Glasmachers & Qaadan (arXiv 1806.10180).

Pegasos steps of 1 / (reg t). When the budget is exceeded the lightest point p is removed, projected on the others, or
merged with a partner into one point z = h p + (1 - h) q on the line between them (Gaussian kernel).
"""

import functools
from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import first_least
from ..expansion import ROUNDS, SIZE, Expansion, between, discard, insert, spread, touch, weights_of
from ..kernels import Kernel, itself
from ..losses import Loss, slope
from ..outputs import Task, aim
from ..projection import Gram, grow, project, project_out
from ..stream import step

GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
TWO_PEAKS = np.exp(-2)  # for a smaller kernel value the degradation may have two minima


class BSGDRemoval(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    f: Expansion  # of capacity budget + 1, like the others'
    reg: float


class BSGDProjection(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    f: Expansion
    reg: float
    gram: Gram


class BSGDMerging(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    f: Expansion
    reg: float
    table: np.ndarray  # (n, n) degradation over (m, k) in [0, 1]^2 for |a_p| + |a_q| = 1; no rows: golden section


@step.register(BSGDRemoval)
def _(self, rows, t, y, weight, scores):
    f = self.f
    pace = descend(self, aim(self.task, scores, t, y, f.scratch.move)[1], weight)
    if pace != 0.0:
        insert(f, f.count[SIZE], self.kernel, rows, t, pace)
        if f.count[SIZE] > f.budget:
            discard(f, lightest(f))


@step.register(BSGDProjection)
def _(self, rows, t, y, weight, scores):
    f, gram = self.f, self.gram
    pace = descend(self, aim(self.task, scores, t, y, f.scratch.move)[1], weight)
    if pace != 0.0:
        n, kxx = f.count[SIZE], itself(self.kernel, rows, t)
        residual = project(gram, f.scratch.k, n, kxx)
        if residual == 0.0:  # in the span of the points: only their coefficients move
            spread(f, gram.scratch.d, pace)
        else:
            grow(gram, n, residual, kxx)
            insert(f, n, self.kernel, rows, t, pace)
            if f.count[SIZE] > f.budget:
                project_out(f, gram, lightest(f))


@step.register(BSGDMerging)
def _(self, rows, t, y, weight, scores):
    f = self.f
    pace = descend(self, aim(self.task, scores, t, y, f.scratch.move)[1], weight)
    if pace != 0.0:
        insert(f, f.count[SIZE], self.kernel, rows, t, pace)
        if f.count[SIZE] > f.budget:
            merge(self, rows, lightest(f))


@jit(inside=True)
def descend(self, gap, weight):
    """Shrink f by 1 - 1/t; returns the step towards the example.

    The coefficients themselves shrink: with unit steps they are equal but for rounding, which then decides who is
    lightest, and must not depend on how a scale is kept.
    """
    f, t = self.f, self.f.lazy[ROUNDS]
    for c in range(f.coef.shape[0]):
        for i in range(f.count[SIZE]):
            f.coef[c, i] *= 1.0 - 1.0 / t
    return slope(self.loss, gap) * weight / (self.reg * t)


@jit
def lightest(f):
    """The point whose removal changes f least; of equals the first."""
    loss, n = f.scratch.other, f.count[SIZE]
    weights_of(f, loss)
    for i in range(n):
        loss[i] *= f.diag[i]
    return first_least(loss, n)


@jit
def merge(self, rows, p):
    """Merge p with the partner that degrades f least, or remove it when no point has coefficients of its sign."""
    f, k = self.f, self.f.scratch.other
    between(rows, self.kernel, f, p, k)
    partner, least = -1, np.inf
    for q in range(f.count[SIZE]):
        if q != p and agreement(f, p, q) > 0.0:
            loss = degradation(self, p, q, k[q])
            if loss < least:
                partner, least = q, loss
    if partner < 0:
        discard(f, p)
        return
    m = share(f, p, partner)
    h = polish(m, k[partner], golden_section(m, k[partner]))
    combine(f, p, partner, h, k[partner])
    discard(f, partner)


@jit(inside=True)
def agreement(f, p, q):
    """The inner product of two points' coefficients."""
    total = 0.0
    for c in range(f.coef.shape[0]):
        total += f.coef[c, p] * f.coef[c, q]
    return total


@jit(inside=True)
def share(f, p, q):
    """m = |a_p| / (|a_p| + |a_q|)."""
    a = np.sqrt(agreement(f, p, p))
    return a / (a + np.sqrt(agreement(f, q, q)))


@jit(inside=True)
def degradation(self, p, q, k):
    """|a_p phi_p + a_q phi_q - a_z phi_z|^2 for the best z,"""
    f, values = self.f, self.table
    pp, qq, pq, m = agreement(f, p, p), agreement(f, q, q), agreement(f, p, q), share(f, p, q)
    if values.shape[0] > 0 and f.coef.shape[0] == 1:
        return (np.sqrt(pp) + np.sqrt(qq)) ** 2 * look_up(values, m, k)
    h = golden_section(m, k)
    u, v = k ** ((1.0 - h) ** 2), k ** (h * h)
    return pp + qq + 2.0 * pq * k - (pp * u * u + qq * v * v + 2.0 * pq * u * v)


@jit
def overlap(m, k, h):
    """<m phi_p + (1 - m) phi_q, phi_z>, which the best z maximises."""
    return m * k ** ((1.0 - h) ** 2) + (1.0 - m) * k ** (h * h)


@jit
def golden_section(m, k):
    """The best h, to 1e-4; of two maxima the one on the heavier point's side."""
    low, high = 0.0, 1.0
    if k < TWO_PEAKS:
        low, high = (0.5, 1.0) if m > 0.5 else (0.0, 0.5)
    a, b = high - GOLDEN_RATIO * (high - low), low + GOLDEN_RATIO * (high - low)
    fa, fb = overlap(m, k, a), overlap(m, k, b)
    while high - low > 1e-4:
        if fa >= fb:
            high, b, fb = b, a, fa
            a = high - GOLDEN_RATIO * (high - low)
            fa = overlap(m, k, a)
        else:
            low, a, fa = a, b, fb
            b = low + GOLDEN_RATIO * (high - low)
            fb = overlap(m, k, b)
    return 0.5 * (low + high)


@jit
def polish(m, k, h):
    """Newton steps to where the overlap's slope m (1-h) k^((1-h)^2) - (1-m) h k^(h^2) vanishes."""
    log_k = np.log(k)
    for _ in range(4):
        u, v = m * k ** ((1.0 - h) ** 2), (1.0 - m) * k ** (h * h)
        value = (1.0 - h) * u - h * v
        change = -u * (1.0 + 2.0 * (1.0 - h) ** 2 * log_k) - v * (1.0 + 2.0 * h * h * log_k)
        if change < 0.0:  # at a maximum
            h = min(max(h - value / change, 0.0), 1.0)
    return h


@jit(inside=True)
def combine(f, p, q, h, k):
    """Point p becomes z = h p + (1 - h) q, with the coefficients that project both points on it."""
    width, total = f.points.shape[2], 0.0
    for j in range(f.points.shape[1]):
        z = h * f.points[p // width, j, p % width] + (1.0 - h) * f.points[q // width, j, q % width]
        f.points[p // width, j, p % width] = z
        total += z * z
    for word in range(f.used.shape[1]):
        f.used[p, word] |= f.used[q, word]
    touch(f, p)
    f.norms[p], f.born[p] = total, -1  # no example of the stream any more
    for c in range(f.coef.shape[0]):
        f.coef[c, p] = f.coef[c, p] * k ** ((1.0 - h) ** 2) + f.coef[c, q] * k ** (h * h)


@jit
def look_up(values, m, k):
    """Bilinear interpolation in the table."""
    n = values.shape[0] - 1
    m = m if m > 0.0 else 0.0  # also when squares overflowed and left a NaN
    x, y = min(m, 1.0) * n, min(max(k, 0.0), 1.0) * n
    i, j = min(int(x), n - 1), min(int(y), n - 1)
    x, y = x - i, y - j
    low = values[i, j] * (1.0 - x) + values[i + 1, j] * x
    high = values[i, j + 1] * (1.0 - x) + values[i + 1, j + 1] * x
    return low * (1.0 - y) + high * y


@functools.cache
def lookup_table(n=400):
    """The degradation on an n x n grid of (m, k), by golden section on all of it at once."""
    m, k = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    one_peak = k >= TWO_PEAKS
    low = np.where(one_peak | (m <= 0.5), 0.0, 0.5)
    high = np.where(one_peak | (m > 0.5), 1.0, 0.5)
    of = getattr(overlap, "py_func", overlap)
    for _ in range(48):
        a, b = high - GOLDEN_RATIO * (high - low), low + GOLDEN_RATIO * (high - low)
        left = of(m, k, a) >= of(m, k, b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    best = np.maximum(of(m, k, (low + high) / 2), np.maximum(m, 1 - m))
    return m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * k - best**2
