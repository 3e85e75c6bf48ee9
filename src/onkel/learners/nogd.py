"""NOGD: Nystroem online gradient descent (Lu, Hoi, Wang, Zhao & Liu, JMLR 17, 2016, Algorithm 2).

Kernel online gradient descent until the budget is full; then its support vectors are the landmarks of features, and a
linear model on them goes on where the kernel model was.
"""

from typing import NamedTuple

from ..expansion import PAUSE
from ..linear import Linear, Rule, descend, improve, predict
from ..losses import Loss, slope
from ..nystroem import READY, Nystroem, complete, present, stand_alone
from ..outputs import Task, aim
from ..stream import INTERLUDE, ROOM, look, step

MOMENTS = ("full", "next_loss")
FULL, NEXT_LOSS = range(2)


class NOGD(NamedTuple):
    map: Nystroem
    task: Task
    loss: Loss
    rule: Rule
    moment: int  # of the switch: when the budget is full, or when a further example would have to be stored
    f: Linear


@look.register(NOGD)
def _(self, rows, t, start, stop, scores):
    present(self.map, self.map, self.f, rows, t, start, stop)
    predict(self.f, scores, t)


@step.register(NOGD)
def _(self, rows, t, y, weight, scores):
    map, task, loss, rule, moment, f = self
    if map.count[READY]:
        improve(f, rule, task, loss, t, y, weight, scores)
        return
    _, gap = aim(task, scores, t, y, f.scratch.move)
    if slope(loss, gap) != 0.0:
        if complete(map):
            f.count[PAUSE] = INTERLUDE
            return
        stand_alone(map, f, rows, t)
        if moment == FULL and complete(map):
            f.count[PAUSE] = ROOM
    descend(f, rule, loss, gap, weight)
