"""SPA, sparse passive-aggressive learning (Lu, Zhao & Hoi, SDM 2016; Lu's thesis, Algorithm 7).

An example is stored with probability rho = min(alpha, loss) / beta, and then for good. The averaged model predicts.
"""

from typing import NamedTuple

import numpy as np

from ..budget import Budget, vacancy
from ..expansion import Expansion, insert
from ..kernels import Kernel, itself
from ..outputs import Task, aim, reach
from ..rng import uniform
from ..stream import step


class SPA(NamedTuple):
    kernel: Kernel
    task: Task
    budget: Budget
    f: Expansion
    eta: float
    alpha: float
    beta: float
    rng: np.ndarray
    chance: float = 1.0  # of being asked at all, among several kernels


@step.register(SPA)
def _(self, rows, t, y, weight, scores):
    kernel, task, budget, f, eta, alpha, beta, rng, chance = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    loss = gap - task.epsilon
    rho = min(alpha, loss) / beta
    if rho > 0.0 and uniform(rng) < rho * chance:
        norm = reach(task) * itself(kernel, rows, t)
        i = vacancy(budget, f)
        if i >= 0 and norm > 0.0:
            insert(f, i, kernel, rows, t, min(eta / rho, loss / norm) * weight)
