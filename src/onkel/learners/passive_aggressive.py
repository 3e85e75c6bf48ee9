"""Kernel PA, PA-I and PA-II (Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 7, 2006)."""

from typing import NamedTuple

from ..budget import Budget, vacancy
from ..expansion import Expansion, insert
from ..kernels import Kernel, itself
from ..outputs import Task, aim, reach
from ..steps import PA1, least_change
from ..stream import step


class PassiveAggressive(NamedTuple):
    kernel: Kernel
    task: Task
    budget: Budget
    f: Expansion
    C: float
    variant: int = PA1


@step.register(PassiveAggressive)
def _(self, rows, t, y, weight, scores):
    kernel, task, budget, f, C, variant = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    loss = gap - task.epsilon
    norm = reach(task) * itself(kernel, rows, t)
    if loss > 0.0 and norm > 0.0:
        tau = least_change(variant, loss, norm, C)
        i = vacancy(budget, f)
        if i >= 0:
            insert(f, i, kernel, rows, t, tau * weight)
