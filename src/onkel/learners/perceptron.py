"""Kernel perceptron (Rosenblatt 1958; Freund & Schapire, Machine Learning 37, 1999).

With a budget and a random vacancy it is the randomized budget perceptron (Cavallanti, Cesa-Bianchi & Gentile, Machine
Learning 69, 2007); with none, the Stoptron.
"""

from typing import NamedTuple

from ..budget import Budget, vacancy
from ..expansion import Expansion, insert
from ..kernels import Kernel
from ..outputs import Task, aim
from ..stream import step


class Perceptron(NamedTuple):
    kernel: Kernel
    task: Task
    budget: Budget
    f: Expansion
    eta: float = 1.0


@step.register(Perceptron)
def _(self, rows, t, y, weight, scores):
    kernel, task, budget, f, eta = self
    wrong, _ = aim(task, scores, t, y, f.scratch.move)
    if wrong:
        i = vacancy(budget, f)
        if i >= 0:
            insert(f, i, kernel, rows, t, eta * weight)
