"""Online gradient descent in the kernel's space: KOGD and kernel Pegasos.

Kivinen, Smola & Williamson, NIPS 2001 and IEEE TSP 52, 2004. With the PEGASOS schedule 1 / (reg t), the hinge and the
radius 1 / sqrt(reg): Shalev-Shwartz, Singer, Srebro & Cotter, Mathematical Programming 127, 2011.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..budget import Budget, vacancy
from ..expansion import ROUNDS, Expansion, insert, shrink
from ..kernels import Kernel, itself
from ..losses import Loss, slope
from ..outputs import Task, aim
from ..steps import rate_of
from ..stream import step


class OGD(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    budget: Budget
    f: Expansion
    eta: float
    schedule: int
    reg: float
    radius: float  # of the ball that holds f
    sqnorm: np.ndarray  # (1,) |f|^2, kept when the radius is finite


@step.register(OGD)
def _(self, rows, t, y, weight, scores):
    kernel, task, loss, budget, f, eta, schedule, reg, radius, _ = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    rate = rate_of(schedule, eta, reg, f.lazy[ROUNDS])
    keep = 1.0 - rate * reg
    if 0.0 < keep < 1.0:  # 0: the first round of PEGASOS, when there is nothing to shrink
        shrink(f, keep)
    push = slope(loss, gap)
    if push != 0.0:
        i = vacancy(budget, f)
        if i >= 0:
            insert(f, i, kernel, rows, t, rate * push * weight)
    if radius < np.inf:
        stay_inside(self, keep, rate * push * weight, itself(kernel, rows, t), scores, t)


@jit(inside=True)
def stay_inside(self, keep, pace, kxx, scores, t):
    """Track |f|^2 over f <- keep f + pace move k(x, .) and pull f back into the ball."""
    f, sqnorm = self.f, self.sqnorm
    sqnorm[0] *= keep * keep
    for r in range(f.coef.shape[0]):
        a = pace * f.scratch.move[r]
        sqnorm[0] += 2.0 * keep * a * scores[t, r] + a * a * kxx
    if sqnorm[0] > self.radius**2:
        shrink(f, self.radius / np.sqrt(sqnorm[0]))
        sqnorm[0] = self.radius**2
