"""DUOL, double updating online learning (Zhao, Hoi & Jin, NIPS 2009; JMLR 12, 2011); two classes.

An example inside the margin enters with a dual variable gamma; the stored example that conflicts with it most, if any
does by more than rho, has its own dual variable optimised together with it.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..expansion import SIZE, Expansion, between, discard, insert
from ..kernels import Kernel, itself
from ..outputs import Task, aim
from ..stream import step


class DUOL(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    C: float
    rho: float
    edge: float  # 1 and a little: a margin of 1, which an update often leaves, is inside whatever its rounding
    margins: np.ndarray  # (slots,) y_i f(x_i)
    most: np.ndarray  # (slots,) bound on the dual variable: C times the example's weight


@step.register(DUOL)
def _(self, rows, t, y, weight, scores):
    kernel, task, f, C, _, _, margins, most = self
    _, loss = aim(task, scores, t, y, f.scratch.move)
    kxx = itself(kernel, rows, t)
    if loss <= 0.0 or kxx <= 0.0:
        return
    n, k, bound = f.count[SIZE], f.scratch.k, C * weight
    b = rival(self, y, n)
    gamma, change = min(bound, loss / kxx), 0.0
    if b >= 0:
        label, old = np.sign(f.coef[0, b]), abs(f.coef[0, b])
        w = y * label * k[b]
        gamma, change = solve_pair(loss, 1.0 - margins[b], kxx, f.diag[b], w, bound, -old, most[b] - old)
        between(rows, kernel, f, b, f.scratch.other)
        for i in range(n):
            margins[i] += np.sign(f.coef[0, i]) * change * label * f.scratch.other[i]
        f.coef[0, b] += change * label
    for i in range(n):
        margins[i] += np.sign(f.coef[0, i]) * gamma * y * k[i]
    if gamma > 0.0:
        margin = 1.0 - loss + gamma * kxx
        margins[n] = margin + change * w if b >= 0 else margin
        most[n] = bound
        insert(f, n, kernel, rows, t, gamma)
    if b >= 0 and f.coef[0, b] == 0.0:
        last = f.count[SIZE] - 1
        margins[b], most[b] = margins[last], most[last]
        discard(f, b)


@jit(inside=True)
def rival(self, y, n):
    """The stored example, not beyond the margin, that conflicts most with x, or -1 if none does by more than rho."""
    f, best, least = self.f, -1, -self.rho
    for i in range(n):
        w = y * np.sign(f.coef[0, i]) * f.scratch.k[i]
        if self.margins[i] <= self.edge and w < 0.0 and (w < least or (best < 0 and w <= least)):
            best, least = i, w
    return best


@jit
def solve_pair(la, lb, ka, kb, w, most, low, high):
    """Maximise la g + lb h - (ka g^2 + kb h^2)/2 - w g h over 0 <= g <= most, low <= h <= high."""
    det = ka * kb - w * w
    if det > 0.0:
        g, h = (kb * la - w * lb) / det, (ka * lb - w * la) / det
        if 0.0 <= g <= most and low <= h <= high:
            return g, h
    best, g, h = -np.inf, 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            p = most if edge == 1 else 0.0
            q = min(max((lb - w * p) / kb, low), high)
        else:
            q = high if edge == 3 else low
            p = min(max((la - w * q) / ka, 0.0), most)
        value = la * p + lb * q - 0.5 * (ka * p * p + kb * q * q) - w * p * q
        if value > best:
            best, g, h = value, p, q
    return g, h
