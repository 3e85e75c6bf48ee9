"""AdaRaker: kernels weighed by their losses, on intervals of many lengths (Shen, Chen & Giannakis, JMLR 20, 2019).

A Raker is a linear model on random features for every kernel, and a weight for each (see `hedge`). Here one starts anew
in every round, one in every second round, every fourth, eighth, ..., with steps that fit its interval, and those that
do better than all together gain weight: when the best kernel changes, the short intervals know first.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import aligned
from ..expansion import ROUNDS, SCALE, SIZE
from ..features import Fans, fan_out, project_on
from ..linear import Linear, Rule, improve, predict
from ..linear import Scratch as LinearScratch
from ..losses import Loss, value
from ..outputs import Task, aim
from ..stream import begin_round, look, step
from .featured import Featured
from .hedge import Course, penalty


class Work(NamedTuple):
    theta: np.ndarray  # (levels, m) weights of the kernels of every interval
    share: np.ndarray  # (levels,) weights of the intervals
    told: np.ndarray  # (levels * m, outputs) scores of every kernel of every interval
    level: np.ndarray  # (levels, outputs) of every interval
    said: np.ndarray  # (1, outputs) of all together


class AdaRaker(NamedTuple):
    task: Task
    loss: Loss
    ceiling: float  # larger losses count as this
    part: Featured  # for every interval the models of all kernels; the rule's eta is that of intervals of length 1
    base: Fans
    log: np.ndarray  # (levels, m) logarithms of the weights of the kernels
    trust: np.ndarray  # (levels,) and of the intervals
    f: Course
    scratch: Work


def work(levels, m, outputs, dtype):
    told = aligned((levels * m, outputs), dtype)
    return Work(np.zeros((levels, m)), np.zeros(levels), told, np.zeros((levels, outputs)), np.zeros((1, outputs)))


@jit
def pace(eta, level):
    """The step size on intervals of length 2^level."""
    return min(0.5, eta / np.sqrt(2.0**level))


@jit(inside=True)
def begun(levels, t):
    """Intervals of lengths 1, 2, 4, ... there are in round t: those up to t."""
    n = 0
    while n < levels and 2.0**n <= t:
        n += 1
    return n


@jit(inside=True)
def shares(log, n, out):
    """out = the first n weights, of which `log` are the logarithms, made to sum to 1."""
    top, total = log[0], 0.0
    for i in range(n):
        top = max(top, log[i])
    for i in range(n):
        out[i] = np.exp(log[i] - top)
        total += out[i]
    for i in range(n):
        out[i] /= total


@jit(inline=True, inside=True)
def model_of(f, k, i):
    """Linear model number k, which is one of kernel i."""
    s = f.scratch
    own = LinearScratch(s.move, s.mean, s.z[i], s.at)
    return Linear(f.coef[k], f.past[k], f.squares[k], f.count[k], f.lazy[k], own)


@look.register(AdaRaker)
def _(self, rows, t, start, stop, scores):
    f, work, m = self.part.f, self.scratch, self.log.shape[1]
    n, outputs = begun(self.trust.shape[0], self.f.lazy[ROUNDS] + 1.0), work.said.shape[1]
    project_on(self.base, rows, t, start, stop)
    for j in range(m):
        fan_out(self.base, j, f.scratch.z, f.count[0, SIZE])
    shares(self.trust, n, work.share)
    for r in range(outputs):
        work.said[0, r] = 0.0
    for level in range(n):
        shares(self.log[level], m, work.theta[level])
        for r in range(outputs):
            work.level[level, r] = 0.0
        for i in range(m):
            k = level * m + i
            predict(model_of(f, k, i), work.told, k)
            for r in range(outputs):
                work.level[level, r] += work.theta[level, i] * work.told[k, r]
        for r in range(outputs):
            work.said[0, r] += work.share[level] * work.level[level, r]
    for r in range(outputs):
        scores[t, r] = work.said[0, r]


@step.register(AdaRaker)
def _(self, rows, t, y, weight, scores):
    task, loss, ceiling, part, _, log, trust, f, work = self
    m, move, rule = log.shape[1], f.scratch.move, part.rule
    together = suffered(task, loss, work.said, 0, y, move, 0.0, ceiling)
    for level in range(begun(trust.shape[0], f.lazy[ROUNDS])):
        eta = pace(rule.eta, level)
        trust[level] += eta * (together - suffered(task, loss, work.level, level, y, move, 0.0, ceiling))
        own = Rule(rule.kind, eta, rule.schedule, rule.reg, rule.C)
        for i in range(m):
            k = level * m + i
            log[level, i] -= eta * suffered(task, loss, work.told, k, y, move, penalty(part, k), ceiling)
            for r in range(work.told.shape[1]):
                scores[t, r] = work.told[k, r]
            model = model_of(part.f, k, i)
            begin_round(model)
            improve(model, own, part.task, loss, t, y, weight, scores)
    for r in range(work.told.shape[1]):
        scores[t, r] = work.said[0, r]
    restart(self, np.int64(f.lazy[ROUNDS]) + 1)


@jit(inside=True)
def suffered(task, loss, scores, t, y, move, more, ceiling):
    """The loss of scores[t], and `more`, as a part of the ceiling."""
    return min(value(loss, aim(task, scores, t, y, move)[1]) + more, ceiling) / ceiling


@jit(inside=True)
def restart(self, t):
    """Forget what belongs to intervals that end before round t."""
    f, m = self.part.f, self.log.shape[1]
    for level in range(self.trust.shape[0]):
        if t % (1 << level) != 0:
            return
        self.trust[level] = np.log(pace(self.part.rule.eta, level))
        for i in range(m):
            k = level * m + i
            self.log[level, i], f.lazy[k, SCALE] = 0.0, 1.0
            for r in range(f.coef.shape[1]):
                for j in range(f.coef.shape[2]):
                    f.coef[k, r, j] = 0.0
