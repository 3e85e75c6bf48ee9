"""Budgeted passive-aggressive learning: BPA-S, BPA-NN and BPA-P (Wang & Vucetic, AISTATS 2010).

The new example and its step tau are those of PA-I. When the budget is full one point r leaves, and the points of a set V
take over the projection of its part of f on their span: V = {x} (simple), {x, the nearest neighbour of r} (nearest) or
all points (projecting). The r that loses least leaves: |a_r|^2 times the squared distance of r from the span of V.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..expansion import SIZE, Expansion, between, coefficient, full, insert, spread, weight_of
from ..kernels import Kernel, itself
from ..outputs import Task, aim, reach
from ..projection import Gram, entry, grow, project, project_out
from ..stream import step

STRATEGIES = ("simple", "nearest", "projecting")
SIMPLE, NEAREST, PROJECTING = range(3)


class BPA(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    C: float
    strategy: int
    gram: Gram  # of capacity budget + 1; used by PROJECTING
    near: np.ndarray  # (slots,) each point's nearest neighbour; used by NEAREST
    near_k: np.ndarray  # (slots,) and the kernel with it


@step.register(BPA)
def _(self, rows, t, y, weight, scores):
    kernel, task, f, C, strategy, _, _, _ = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    kxx = itself(kernel, rows, t)
    loss, norm = gap - task.epsilon, reach(task) * kxx
    if loss > 0.0 and norm > 0.0:
        tau = min(C, loss / norm) * weight
        if strategy == PROJECTING:
            exchange_all(self, rows, t, tau, kxx)
        elif not full(f):
            insert(f, f.count[SIZE], kernel, rows, t, tau)
            if strategy == NEAREST:
                acquaint(self, rows, f.count[SIZE] - 1)
        elif strategy == SIMPLE or f.budget == 1:
            exchange_one(self, rows, t, tau, kxx)
        else:
            exchange_two(self, rows, t, tau, kxx)


@jit
def take_over(f, r, share, tau):
    """Let the direction of the new example be tau move + share a_r."""
    for c in range(f.coef.shape[0]):
        f.scratch.move[c] = tau * f.scratch.move[c] + share * coefficient(f, c, r)


@jit
def exchange_one(self, rows, t, tau, kxx):
    """BPA-S."""
    f, k, best, least = self.f, self.f.scratch.k, 0, np.inf
    for r in range(f.count[SIZE]):
        loss = weight_of(f, r) * (f.diag[r] - k[r] * (k[r] / kxx))
        if loss < least:
            best, least = r, loss
    take_over(f, best, k[best] / kxx, tau)
    insert(f, best, self.kernel, rows, t, 1.0)


@jit
def exchange_two(self, rows, t, tau, kxx):
    """BPA-NN."""
    f, best, least = self.f, 0, np.inf
    for r in range(f.count[SIZE]):
        _, _, distance = share_of_two(self, r, kxx)
        loss = weight_of(f, r) * distance
        if loss < least:
            best, least = r, loss
    own, other, _ = share_of_two(self, best, kxx)
    for c in range(f.coef.shape[0]):
        f.coef[c, self.near[best]] += other * f.coef[c, best]
    take_over(f, best, own, tau)
    insert(f, best, self.kernel, rows, t, 1.0)
    acquaint(self, rows, best)


@jit
def share_of_two(self, r, kxx):
    """Coefficients of point r's projection on x and on r's nearest neighbour n, and r's squared distance from their span."""
    f, n, krn = self.f, self.near[r], self.near_k[r]
    knn, krx, knx = f.diag[n], f.scratch.k[r], f.scratch.k[n]
    a, b = kxx * 1.0, knn * 1.0
    if a * b - knx * knx < 1e-10 * a * b:  # x and n coincide
        a, b = a + 1e-8 * kxx, b + 1e-8 * kxx
    det = a * b - knx * knx
    own, other = (b * krx - knx * krn) / det, (a * krn - knx * krx) / det
    return own, other, f.diag[r] - own * krx - other * krn


@jit
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


@jit
def seek(self, i, k):
    """Enter the nearest neighbour of point i, whose kernel row is k."""
    f, least = self.f, np.inf
    self.near[i] = i
    for j in range(f.count[SIZE]):
        distance = f.diag[j] - 2.0 * k[j]
        if j != i and distance < least:
            self.near[i], self.near_k[i], least = j, k[j], distance


@jit
def exchange_all(self, rows, t, tau, kxx):
    """BPA-P; an example in the span of the points only moves their coefficients."""
    f, gram, n = self.f, self.gram, self.f.count[SIZE]
    residual = project(gram, f.scratch.k, n, kxx)
    if residual <= gram.inside * kxx:
        spread(f, gram.scratch.d, tau)
        return
    overflow = full(f)
    grow(gram, n, residual)
    insert(f, n, self.kernel, rows, t, tau)
    if overflow:
        best, least = 0, np.inf
        for r in range(n):
            loss = weight_of(f, r) / entry(gram.inverse, r, r)
            if loss < least:
                best, least = r, loss
        project_out(f, gram, best)
