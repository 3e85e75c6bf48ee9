"""A linear model on explicit features: FOGD (Lu, Hoi, Wang, Zhao & Liu, JMLR 17, 2016, Algorithm 1) and its like."""

from typing import Any, NamedTuple

from ..features import transform
from ..linear import CHUNK, Linear, Rule, improve, predict
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
    map, _, _, _, f = self
    stride = f.coef.shape[1]
    place = (t - start) % CHUNK
    if place == 0:
        transform(map, rows, t, min(t + CHUNK, stop), f.scratch.z, stride)
    f.scratch.at[0] = place * stride
    predict(f, scores, t)


@step.register(Featured)
def _(self, rows, t, y, weight, scores):
    _, task, loss, rule, f = self
    improve(f, rule, task, loss, t, y, weight, scores)
