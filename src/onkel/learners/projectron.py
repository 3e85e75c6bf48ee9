"""Projectron and Projectron++ (Orabona, Keshet & Caputo, JMLR 10, 2009).

A mistake is projected on the stored points when they nearly span it, or when the budget is full. Projectron++ also
steps along the projection on correct examples inside the margin, when the step pays for what the projection loses.
"""

from typing import NamedTuple

from numpy import sqrt

from .._jit import jit
from ..expansion import SIZE, Expansion, full, insert, spread
from ..kernels import Kernel, itself
from ..outputs import Task, aim, reach
from ..projection import Gram, grow, project
from ..stream import step

NEVER, TOLERANCE, BUDGET = range(3)  # when to step inside the margin: Projectron; the two forms of Projectron++


class Projectron(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    gram: Gram
    eta: float  # largest distance from the span that is projected away
    pace: float  # the step on a mistake
    margin: int
    bound: float  # on the norm of the competitors: 1 / eta, or U of the budget


@step.register(Projectron)
def _(self, rows, t, y, weight, scores):
    kernel, task, f, gram, eta, pace, margin, _ = self
    wrong, gap = aim(task, scores, t, y, f.scratch.move)
    if wrong or (margin != NEVER and gap > 0.0):
        n, kxx = f.count[SIZE], itself(kernel, rows, t)
        residual = project(gram, f.scratch.k, n, kxx)
        if not wrong:
            along = reach(task) * (kxx - residual)
            if along > 1e-12 * kxx:
                distance = sqrt(reach(task) * residual)
                spread(f, gram.scratch.d, margin_step(self, gap, along, distance) * weight)
        elif residual == 0.0 or (n > 0 and (full(f) or reach(task) * residual <= eta * eta)):
            spread(f, gram.scratch.d, pace * weight)
        else:
            grow(gram, n, residual, kxx)
            insert(f, n, kernel, rows, t, pace * weight)


@jit(inside=True)
def margin_step(self, loss, along, distance):
    """The step along the projection, whose squared length is `along`, `distance` being what it leaves out."""
    if self.margin == TOLERANCE:
        gain = 2.0 * (loss - self.bound * distance) if distance > 0.0 else 2.0 * loss
        return max(min(loss / along, gain / along, 1.0), 0.0)
    tau = min(loss / along, 1.0)
    return tau if 2.0 * loss - tau * along - 2.0 * self.bound * distance >= 0.0 else 0.0
