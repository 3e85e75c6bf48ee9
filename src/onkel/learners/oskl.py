"""OSKL, online sparse kernel learning (Zhang, Yi, Jin, Lin & He, ICML 2013).

An example is stored with probability |slope| / G, with a step that makes the expected update the gradient's.
"""

from typing import NamedTuple

import numpy as np

from ..budget import Budget, vacancy
from ..expansion import Expansion, insert
from ..kernels import Kernel
from ..losses import Loss, slope
from ..outputs import Task, aim
from ..rng import uniform
from ..stream import step


class OSKL(NamedTuple):
    kernel: Kernel
    task: Task
    loss: Loss
    budget: Budget
    f: Expansion
    eta: float
    G: float
    rng: np.ndarray


@step.register(OSKL)
def _(self, rows, t, y, weight, scores):
    kernel, task, loss, budget, f, eta, G, rng = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    z = slope(loss, gap)
    p = min(z / G, 1.0)
    if p > 0.0 and uniform(rng) < p:
        i = vacancy(budget, f)
        if i >= 0:
            insert(f, i, kernel, rows, t, eta * z / p * weight)
