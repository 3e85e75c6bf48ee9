"""SkeGD: sketched online gradient descent (Zhang & Liao, ICML 2019, Algorithm 1).

Kernel online gradient descent until the buffer is full; from then on a linear model on features that sketches of the
kernel matrix give, which every `period`-th example renews.
"""

from typing import NamedTuple

import numpy as np

from ..expansion import PAUSE
from ..linear import Linear, Rule, descend, improve, predict
from ..losses import Loss, slope
from ..nystroem import READY, Nystroem, complete, present, stand_alone
from ..outputs import Task, aim
from ..sketching import Sketch
from ..stream import INTERLUDE, look, step


class SkeGD(NamedTuple):
    map: Nystroem
    sketch: Sketch  # whose sample, in the first stage, is the buffer
    task: Task
    loss: Loss
    rule: Rule
    period: int  # rho
    budget: int  # size of the buffer
    clock: np.ndarray  # (1,) rounds since the features are what they are
    f: Linear


@look.register(SkeGD)
def _(self, rows, t, start, stop, scores):
    present(self.sketch, self.map, self.f, rows, t, start, stop)
    predict(self.f, scores, t)


@step.register(SkeGD)
def _(self, rows, t, y, weight, scores):
    map, sketch, task, loss, rule, period, _, clock, f = self
    ready = map.count[READY]
    if clock[0] >= period if ready else complete(sketch):
        f.count[PAUSE] = INTERLUDE
    elif ready:
        improve(f, rule, task, loss, t, y, weight, scores)
        clock[0] += 1
    else:
        _, gap = aim(task, scores, t, y, f.scratch.move)
        if slope(loss, gap) != 0.0:
            stand_alone(sketch, f, rows, t)
        descend(f, rule, loss, gap, weight)
