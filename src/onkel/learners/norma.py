"""NORMA (Kivinen, Smola & Williamson, IEEE Transactions on Signal Processing 52, 2004).

Labels: soft margin `edge` that adapts until a fraction nu of the examples lies below it, with a bias. Numbers: tube of
half width `edge` that adapts until a fraction nu lies outside it.
"""

from typing import NamedTuple

import numpy as np

from ..budget import Budget, vacancy
from ..expansion import Expansion, insert, shrink
from ..kernels import Kernel
from ..outputs import REGRESSION, Task, aim
from ..stream import step


class NORMA(NamedTuple):
    kernel: Kernel
    task: Task
    budget: Budget
    f: Expansion
    eta: float
    reg: float
    nu: float
    adaptive: bool
    least: float  # the edge never goes below
    edge: np.ndarray  # (1,) margin rho, or tube epsilon


@step.register(NORMA)
def _(self, rows, t, y, weight, scores):
    kernel, task, budget, f, eta, reg, nu, adaptive, least, edge = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    if reg > 0.0:
        shrink(f, 1.0 - eta * reg)
    regression = task.kind == REGRESSION
    error = gap > edge[0] if regression else 1.0 - gap <= edge[0]
    pace = eta * weight
    if error:
        i = vacancy(budget, f)
        if i >= 0:
            insert(f, i, kernel, rows, t, pace)
        if not regression:
            for r in range(f.bias.shape[0]):
                f.bias[r] += pace * f.scratch.move[r]
    if adaptive:
        sign = -1.0 if regression else 1.0
        edge[0] = max(edge[0] + sign * pace * (nu - (1.0 if error else 0.0)), least)
