"""Budget perceptron (Crammer, Kandola & Singer, NIPS 2003).

When the budget is exceeded the older point leaves that would be classified best without itself. Without a budget, such
points leave one after the other while they would still have a margin above beta ("shrinking").
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..expansion import SIZE, UNLIMITED, Expansion, between, coefficient, discard, insert
from ..kernels import Kernel, itself
from ..outputs import BINARY, Task, aim
from ..stream import step


class BudgetPerceptron(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion  # of capacity budget + 1
    beta: float
    labels: np.ndarray  # (slots,)
    own: np.ndarray  # (outputs, slots) the scores of every stored point


@step.register(BudgetPerceptron)
def _(self, rows, t, y, weight, scores):
    kernel, task, f, beta, labels, own = self
    _, gap = aim(task, scores, t, y, f.scratch.move)
    if 1.0 - gap <= beta:
        n, k, kxx = f.count[SIZE], f.scratch.k, itself(kernel, rows, t)
        for c in range(f.coef.shape[0]):
            a = weight * f.scratch.move[c]
            for i in range(n):
                own[c, i] += a * k[i]
            own[c, n] = scores[t, c] + a * kxx
        labels[n] = y
        insert(f, n, kernel, rows, t, weight)
        if f.budget < UNLIMITED:
            if f.count[SIZE] > f.budget:
                remove(self, rows, best_without_itself(self, n))
            return
        i = best_without_itself(self, n + 1)
        while f.count[SIZE] > 1 and margin_without_itself(self, i) > beta:
            remove(self, rows, i)
            i = best_without_itself(self, f.count[SIZE])


@jit(inside=True)
def margin_without_itself(self, i):
    """The margin of stored point i if its own part of f were gone."""
    _, task, f, _, labels, own = self
    if task.kind == BINARY:
        return labels[i] * (own[0, i] - coefficient(f, 0, i) * f.diag[i])
    y, rival = int(labels[i]), -np.inf
    for c in range(f.coef.shape[0]):
        if c != y:
            rival = max(rival, own[c, i] - coefficient(f, c, i) * f.diag[i])
    return own[y, i] - coefficient(f, y, i) * f.diag[i] - rival


@jit(inside=True)
def best_without_itself(self, n):
    """Of the first n points the one with the largest such margin."""
    best, most = 0, -np.inf
    for i in range(n):
        margin = margin_without_itself(self, i)
        if margin > most:
            best, most = i, margin
    return best


@jit(inside=True)
def remove(self, rows, i):
    """Point i leaves, the others' scores follow; the last point takes its slot."""
    kernel, _, f, _, labels, own = self
    k, last = f.scratch.other, f.count[SIZE] - 1
    between(rows, kernel, f, i, k)
    for c in range(f.coef.shape[0]):
        a = coefficient(f, c, i)
        for j in range(last + 1):
            own[c, j] -= a * k[j]
        own[c, i] = own[c, last]
    labels[i] = labels[last]
    discard(f, i)
