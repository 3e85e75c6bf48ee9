"""A linear model on explicit features: FOGD (Lu, Hoi, Wang, Zhao & Liu, JMLR 17, 2016, Algorithm 1) and its like."""

from typing import Any, NamedTuple

from ..linear import Linear, Rule, ahead, improve, predict
from ..losses import Loss
from ..outputs import Task
from ..stream import look, step


class Featured(NamedTuple):
    map: Any
    task: Task
    loss: Loss
    rule: Rule
    f: Linear


@look.register(Featured)
def _(self, rows, t, start, stop, scores):
    ahead(self.map, self.f, rows, t, start, stop)
    predict(self.f, scores, t)


@step.register(Featured)
def _(self, rows, t, y, weight, scores):
    _, task, loss, rule, f = self
    improve(f, rule, task, loss, t, y, weight, scores)
