"""Budgeted passive-aggressive learning: BPA-S, BPA-NN and BPA-P (Wang & Vucetic, AISTATS 2010).

The new example and its step tau are those of PA-I. When the budget is full one point r leaves, and the points of a
set V take over the projection of its part of f on their span: V = {x} (simple), {x, the nearest neighbour of r}
(nearest) or all points (projecting). The r leaves that loses least: |a_r|^2 times its squared distance from that span.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import first_least, least_alone
from ..expansion import SCALE, SIZE, Expansion, between, coefficient, full, insert, spread, weights_of
from ..kernels import Kernel, itself
from ..outputs import Task, aim, reach
from ..projection import Gram, entry, grow, project, project_out
from ..stream import step


class BPASimple(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    C: float


class BPANearest(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    C: float
    near: np.ndarray  # (slots,) each point's nearest neighbour; itself when it is alone
    near_k: np.ndarray  # (slots,) and the kernel with it


class BPAProjecting(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion  # of capacity budget + 1
    C: float
    gram: Gram  # of capacity budget + 1


@step.register(BPASimple)
def _(self, rows, t, y, weight, scores):
    f, kxx = self.f, itself(self.kernel, rows, t)
    tau = pace_of(self, aim(self.task, scores, t, y, f.scratch.move)[1], kxx, weight)
    if tau > 0.0:
        i = f.count[SIZE]
        if full(f):
            i = cheapest_alone(f, kxx)
            take_over(f, i, f.scratch.k[i] / kxx, tau)
            tau = 1.0
        insert(f, i, self.kernel, rows, t, tau)


@step.register(BPANearest)
def _(self, rows, t, y, weight, scores):
    f, kxx = self.f, itself(self.kernel, rows, t)
    tau = pace_of(self, aim(self.task, scores, t, y, f.scratch.move)[1], kxx, weight)
    if tau > 0.0:
        i = f.count[SIZE]
        if full(f):
            i = cheapest_with_neighbour(self, kxx)
            own, other, _ = share_of_two(self, i, kxx)
            for c in range(f.coef.shape[0]):
                f.coef[c, self.near[i]] += other * f.coef[c, i]
            take_over(f, i, own, tau)
            tau = 1.0
        insert(f, i, self.kernel, rows, t, tau)
        acquaint(self, rows, i)


@step.register(BPAProjecting)
def _(self, rows, t, y, weight, scores):
    f, gram, kxx = self.f, self.gram, itself(self.kernel, rows, t)
    tau = pace_of(self, aim(self.task, scores, t, y, f.scratch.move)[1], kxx, weight)
    if tau > 0.0:
        n = f.count[SIZE]
        residual = project(gram, f.scratch.k, n, kxx)
        if residual == 0.0:  # in the span of the points: only their coefficients move
            spread(f, gram.scratch.d, tau)
        else:
            overflow = full(f)
            grow(gram, n, residual, kxx)
            insert(f, n, self.kernel, rows, t, tau)
            if overflow:
                project_out(f, gram, cheapest_of_all(f, gram, n))


@jit(inline=True, inside=True)
def pace_of(self, gap, kxx, weight):
    """PA-I's step; 0 when there is nothing to learn."""
    loss, norm = gap - self.task.epsilon, reach(self.task) * kxx
    return min(self.C, loss / norm) * weight if loss > 0.0 and norm > 0.0 else 0.0


@jit(inline=True, inside=True)
def take_over(f, r, share, tau):
    """Let the direction of the new example be tau move + share a_r."""
    for c in range(f.coef.shape[0]):
        f.scratch.move[c] = tau * f.scratch.move[c] + share * coefficient(f, c, r)


@jit(inline=True, inside=True)
def cheapest_alone(f, kxx):
    """The point that loses least when x takes over for it."""
    return least_alone(f.coef, f.lazy[SCALE], f.scratch.k, f.diag, 1.0 / kxx, f.count[SIZE])


@jit(inside=True)
def cheapest_with_neighbour(self, kxx):
    """The point that loses least when x and its own nearest neighbour take over for it."""
    loss, n = self.f.scratch.other, self.f.count[SIZE]
    weights_of(self.f, loss)
    for r in range(n):
        loss[r] *= share_of_two(self, r, kxx)[2]
    return first_least(loss, n)


@jit(inside=True)
def cheapest_of_all(f, gram, n):
    """The one of the first n points that loses least when all others take over for it."""
    loss = f.scratch.other
    weights_of(f, loss)
    for r in range(n):
        loss[r] /= entry(gram.inverse, r, r)
    return first_least(loss, n)


@jit(inside=True)
def share_of_two(self, r, kxx):
    """Point r's projection on x and on its nearest neighbour n: both coefficients, and the squared distance."""
    f, n, krn = self.f, self.near[r], self.near_k[r]
    if n == r:
        own = f.scratch.k[r] / kxx
        return own, 0.0, f.diag[r] - own * f.scratch.k[r]
    knn, krx, knx = f.diag[n], f.scratch.k[r], f.scratch.k[n]
    a, b = kxx * 1.0, knn * 1.0
    if a * b - knx * knx < 1e-10 * a * b:  # x and n coincide
        a, b = a + 1e-8 * kxx, b + 1e-8 * kxx
    det = a * b - knx * knx
    own, other = (b * krx - knx * krn) / det, (a * krn - knx * krx) / det
    return own, other, f.diag[r] - own * krx - other * krn


@jit(inside=True)
def acquaint(self, rows, i):
    """Bring the table of nearest neighbours up to date after x entered slot i."""
    f, near, near_k, n = self.f, self.near, self.near_k, self.f.count[SIZE]
    for j in range(n):
        if j != i and near[j] == i:  # its neighbour left
            between(rows, self.kernel, f, j, f.scratch.other)
            seek(self, j, f.scratch.other)
    seek(self, i, f.scratch.k)
    for j in range(n):
        k = f.scratch.k[j]
        if j != i and f.diag[i] - 2.0 * k < f.diag[near[j]] - 2.0 * near_k[j]:
            near[j], near_k[j] = i, k


@jit(inside=True)
def seek(self, i, k):
    """Enter the nearest neighbour of point i, whose kernel row is k."""
    f, least = self.f, np.inf
    self.near[i] = i
    for j in range(f.count[SIZE]):
        distance = f.diag[j] - 2.0 * k[j]
        if j != i and distance < least:
            self.near[i], self.near_k[i], least = j, k[j], distance
