"""KONS and Sketched-KONS, kernel online Newton steps (Calandriello, Lazaric & Valko, ICML 2017), in their dual form.

f = <w, phi(x)> lives in the kernel's space, A = alpha I + sum of c phi phi'. On the stored points,
for D = diag(sqrt(c)), A^-1 phi(x) has the coefficient 1 / alpha on x and -D (D K D + alpha I)^-1 D k(points, x) / alpha
on the others.
Sketched-KONS adds to A only a sample of the terms, which KORS draws from the vectors sqrt(c) phi.
"""

from typing import Any, NamedTuple

import numpy as np

from .._jit import jit
from .._simd import dot
from ..expansion import SIZE, Expansion, insert, predict
from ..factor import Factor, append, back, leave, weigh
from ..kernels import itself
from ..leverage import Leverage, admit, enrol
from ..losses import Loss
from ..newton import Curve, Turn, bounded, judge, length
from ..outputs import Task
from ..stream import look, step


class KONS(NamedTuple):
    kernel: Any
    task: Task
    loss: Loss
    curve: Curve
    f: Expansion
    A: Factor  # of D K D + alpha I, for every output
    leverage: Leverage  # a floor of 1 adds every term to A
    clip: float


@look.register(KONS)
def _(self, rows, t, start, stop, scores):
    predict(self.f, self.kernel, rows, t, scores)
    for r in range(scores.shape[1]):
        scores[t, r] = bounded(scores[t, r], self.clip)


@step.register(KONS)
def _(self, rows, t, y, weight, scores):
    kernel, task, loss, curve, f, A, leverage, clip = self
    n, k, kxx, needed = f.count[SIZE], f.scratch.k, itself(kernel, rows, t), False
    for r in range(f.coef.shape[0]):
        score = dot(f.coef, r, k, n)
        turn = judge(task, loss, curve, score, clip, y, r, weight)
        f.scratch.move[r] = 0.0
        if turn.excess == 0.0 and turn.push == 0.0 and turn.sharp == 0.0:
            continue
        weigh(A, r, k)
        rest = leave(A, r, kxx, -np.inf)
        back(A, r)
        if turn.sharp > 0.0 and drawn(leverage, r, n, k, kxx, turn.sharp):
            advance(f, A, r, length(turn, rest / A.ridge))
            append(A, r, n, np.sqrt(turn.sharp), rest)
        else:
            advance(f, A, r, length(Turn(turn.excess, turn.push, 0.0), rest / A.ridge))
        needed = True
    if needed:
        insert(f, n, kernel, rows, t, 1.0)


@jit(inside=True)
def advance(f, A, r, step):
    """f <- f - step A^-1 phi(x) in output r, but for the coefficient of x itself, which is left in move."""
    for i in range(A.size[r]):
        f.coef[r, A.place[r, i]] += step / A.ridge * A.roots[r, i] * A.scratch.m[i]
    f.scratch.move[r] = -step / A.ridge


@jit(inside=True)
def drawn(leverage, r, n, k, kxx, sharp):
    """Whether A gains the term of sqrt(sharp) phi(x); x will be point n."""
    if leverage.floor >= 1.0:
        return True
    p = admit(leverage, r, k, kxx, sharp)
    if p > 0.0:
        enrol(leverage, r, n, k, kxx, np.sqrt(sharp / p))
    return p > 0.0
