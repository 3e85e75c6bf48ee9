"""PROS-N-KONS, CON-KONS and B-KONS (Calandriello, Lazaric & Valko, NIPS 2017, Algorithm 1 and section 5).

KORS samples a dictionary. Online Newton steps run on the embedding that its points span: u(x) = L^-1 k(points, x) for
the Cholesky factor L of their Gram matrix, which differs from the paper's by a rotation that no prediction shows. When
the dictionary has grown the next round begins anew (PROS-N-KONS) or goes on with the same function (CON-KONS). B-KONS
stops sampling once the dictionary is full.
"""

from typing import Any, NamedTuple

import numpy as np

from .._jit import jit
from .._simd import dot
from ..expansion import SIZE, Expansion, full, predict
from ..factor import Factor, append, back, embed, weigh
from ..kernels import itself
from ..leverage import Leverage, sample
from ..losses import Loss
from ..newton import Curve, Newton, Turn, bounded, enlarge, judge, length, move, restart, solve
from ..outputs import Task
from ..rows import norm_of
from ..stream import glance, look, step

RESTART, CARRY, LITERAL = range(3)  # LITERAL: the text's w <- Q w, without the pending step and the bound
CHANGES, CHANGED = range(2)


class ProsNKons(NamedTuple):
    kernel: Any
    task: Task
    loss: Loss
    curve: Curve
    leverage: Leverage
    f: Expansion  # the points of the dictionary; it has no outputs
    span: Factor  # of the Gram matrix of those points that widened the span
    newton: Newton
    manner: int
    idle_restarts: bool  # whether to begin anew even after points that did not widen the span
    inside: float  # a squared distance up to inside * k(x, x) counts as none
    count: np.ndarray  # [changes of the model by the dictionary, whether one came with the latest round]


@look.register(ProsNKons)
def _(self, rows, t, start, stop, scores):
    glance(self, rows, t, start, stop, scores)
    if restarts(self):
        for r in range(scores.shape[1]):
            scores[t, r] = 0.0


@glance.register(ProsNKons)
def _(self, rows, t, start, stop, scores):
    predict(self.f, self.kernel, rows, t, scores)
    span, newton = self.span, self.newton
    weigh(span, 0, self.f.scratch.k)
    embed(span, 0)
    for r in range(scores.shape[1]):
        scores[t, r] = bounded(dot(newton.weights, r, span.scratch.u, span.size[0]), bound(self))


@step.register(ProsNKons)
def _(self, rows, t, y, weight, scores):
    kernel, span, newton, count = self.kernel, self.span, self.newton, self.count
    u, n, kxx = span.scratch.u, span.size[0], itself(kernel, rows, t)
    if restarts(self):
        restart(newton, n)
    sampled = not full(self.f) and sample(self.leverage, kernel, self.f, rows, t)
    rest = kxx - norm_of(u, 0, n) if sampled else 0.0
    wider = sampled and rest > self.inside * kxx
    for r in range(scores.shape[1]):
        learn_output(self, r, y, weight, wider)
    count[CHANGED] = 0
    if wider:
        back(span, 0)
        append(span, 0, self.f.count[SIZE] - 1, 1.0, rest)
        enlarge(newton, n)
    if wider or (sampled and self.manner == RESTART and self.idle_restarts):
        count[CHANGES] += 1
        count[CHANGED] = 1


@jit(inline=True, inside=True)
def restarts(self):
    """Whether the next round begins anew. Until it comes, the model is the old one."""
    return self.manner == RESTART and self.count[CHANGED] == 1


@jit(inline=True, inside=True)
def bound(self):
    """That of the predictions of the next round."""
    return np.inf if self.manner == LITERAL and self.count[CHANGED] else self.newton.clip


@jit(inline=True, inside=True)
def learn_output(self, r, y, weight, wider):
    """The Newton step of one output on the embedding in the scratch."""
    newton, u, n = self.newton, self.span.scratch.u, self.span.size[0]
    score = dot(newton.weights, r, u, n)
    turn = judge(self.task, self.loss, self.curve, score, bound(self), y, r, weight)
    if turn.excess != 0.0 or turn.push != 0.0 or turn.sharp != 0.0:
        size = solve(newton, r, u, n, turn.sharp)
        if wider and self.manner == LITERAL:
            turn = Turn(turn.excess, 0.0, turn.sharp)
        move(newton, r, n, length(turn, size))
