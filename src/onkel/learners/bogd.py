"""BOGD and BOGD++, bounded online gradient descent (Zhao, Wang, Wu, Jin & Hoi, ICML 2012).

A full dictionary loses one point at random; the others grow so that the expected coefficients stay. BOGD draws
uniformly, BOGD++ prefers light points.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import clamp, flat
from ..expansion import SCALE, SIZE, Expansion, full, insert, shrink, weights_of
from ..kernels import Kernel
from ..losses import Loss, slope
from ..outputs import Task, aim
from ..rng import below, uniform
from ..stream import step

SAMPLINGS = ("uniform", "nonuniform")
UNIFORM, NONUNIFORM = range(2)


class BOGD(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    f: Expansion
    eta: float
    reg: float
    cap: float  # on every coefficient, in units of eta
    sampling: int
    rng: np.ndarray


@step.register(BOGD)
def _(self, rows, t, y, weight, scores):
    kernel, task, loss, f, eta, reg, _, _, _ = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    if reg > 0.0:
        shrink(f, 1.0 - eta * reg)
    push = slope(loss, gap)
    if push != 0.0:
        if full(f):
            i = thin_out(self)
            clamp(flat(f.coef), f.coef.size, most(self))
            insert(f, i, kernel, rows, t, eta * push * weight)
            clip(self, i)  # by itself: what was just written is slow to read with its neighbours
        else:
            insert(f, f.count[SIZE], kernel, rows, t, eta * push * weight)


@jit(inline=True)
def thin_out(self):
    """Draw the point to replace and divide every other coefficient by its probability of staying."""
    f, p, n = self.f, self.f.scratch.other, self.f.count[SIZE]
    if self.sampling == UNIFORM:
        if n > 1:
            shrink(f, n / (n - 1.0))
        return below(self.rng, n)
    chances(f, p, n)
    u, gone, total = uniform(self.rng), -1, 0.0
    for i in range(n):
        total += p[i]
        if gone < 0 and total > u:
            gone = i
    if gone < 0:  # u within rounding of the sum
        for i in range(n):
            gone = i if p[i] > 0.0 else gone
    for i in range(n):
        if i != gone:
            for r in range(f.coef.shape[0]):
                f.coef[r, i] /= 1.0 - p[i]
    return gone


@jit
def chances(f, p, n):
    """p[i] = 1 - (n - 1) s_i, s_i point i's share in the sum of norms; negative ones become 0, the rest is scaled."""
    total, positive = 0.0, 0.0
    weights_of(f, p)
    for i in range(n):
        p[i] = np.sqrt(p[i] * f.diag[i])
        total += p[i]
    for i in range(n):
        share = p[i] / total if total > 0.0 else 1.0 / n
        p[i] = max(1.0 - (n - 1.0) * share, 0.0)
        positive += p[i]
    for i in range(n):
        p[i] /= positive


@jit(inline=True, inside=True)
def most(self):
    """The largest coefficient, eta cap, as coefficients are stored."""
    return self.eta * self.cap / self.f.lazy[SCALE]


@jit(inline=True, inside=True)
def clip(self, i):
    """No coefficient of point i larger than eta cap."""
    f, limit = self.f, most(self)
    for r in range(f.coef.shape[0]):
        f.coef[r, i] = min(max(f.coef[r, i], -limit), limit)
