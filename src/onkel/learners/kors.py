"""KORS on its own (Calandriello, Lazaric & Valko, ICML 2017): a dictionary, and the scores of rows against it."""

from typing import Any, NamedTuple

from ..expansion import Expansion, full, predict
from ..factor import leave, weigh
from ..kernels import itself
from ..leverage import Leverage, sample, score_of
from ..stream import glance, look, step


class Kors(NamedTuple):
    kernel: Any
    leverage: Leverage
    f: Expansion  # the points; it has no outputs


@look.register(Kors)
def _(self, rows, t, start, stop, scores):
    predict(self.f, self.kernel, rows, t, scores)
    scores[t, 0] = 0.0


@glance.register(Kors)
def _(self, rows, t, start, stop, scores):
    kernel, leverage, f = self
    predict(f, kernel, rows, t, scores)
    weigh(leverage.factor, 0, f.scratch.k)
    scores[t, 0] = score_of(leverage, leave(leverage.factor, 0, itself(kernel, rows, t), 0.0))


@step.register(Kors)
def _(self, rows, t, y, weight, scores):
    kernel, leverage, f = self
    if not full(f):
        sample(leverage, kernel, f, rows, t)
