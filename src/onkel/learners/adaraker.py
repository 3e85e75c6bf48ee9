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
from .apart import go_on, listen, place, reweigh, unite
from .featured import Featured
from .hedge import Course, penalty


class Work(NamedTuple):
    theta: np.ndarray  # (levels, m) weights of the kernels of every interval
    share: np.ndarray  # (levels,) weights of the intervals
    told: np.ndarray  # (levels * m, outputs) scores of every kernel of every interval
    more: np.ndarray  # (levels * m,) what their models add to their losses
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
    new = (np.zeros(shape) for shape in (levels * m, (levels, outputs), (1, outputs)))
    return Work(np.zeros((levels, m)), np.zeros(levels), told, *new)


@jit
def pace(eta, level):
    """The step size on intervals of length 2^level."""
    return min(0.5, eta / np.sqrt(2.0**level))


@jit
def begun(levels, t):
    """Intervals of lengths 1, 2, 4, ... there are in round t: those up to t."""
    n = 0
    while n < levels and 2.0**n <= t:
        n += 1
    return n


@jit
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


@jit(inline=True)
def model_of(f, k, own):
    """Linear model number k, with work space and features of its kernel."""
    return Linear(f.coef[k], f.past[k], f.squares[k], f.count[k], f.lazy[k], own)


@jit(inline=True)
def nth_scratch(s, i):
    """The work space of the models of kernel i, and its features."""
    return LinearScratch(s.move, s.mean, s.z[i], s.at)


@look.register(AdaRaker)
def _(self, rows, t, start, stop, scores):
    f, m = self.part.f, self.log.shape[1]
    project_on(self.base, rows, t, start, stop)
    for j in range(m):
        fan_out(self.base, j, f.scratch.z, f.count[0, SIZE])
    for level in range(begun(self.trust.shape[0], self.f.lazy[ROUNDS] + 1.0)):
        for i in range(m):
            k = level * m + i
            predict(model_of(f, k, nth_scratch(f.scratch, i)), self.scratch.told, k)
    say(self, scores, t)


@jit(inline=True)
def say(self, scores, t):
    """scores[t] = what all say together."""
    work, m, outputs = self.scratch, self.log.shape[1], scores.shape[1]
    n = begun(self.trust.shape[0], self.f.lazy[ROUNDS] + 1.0)
    shares(self.trust, n, work.share)
    for r in range(outputs):
        work.said[0, r] = 0.0
    for level in range(n):
        shares(self.log[level], m, work.theta[level])
        for r in range(outputs):
            work.level[level, r] = 0.0
            for i in range(m):
                work.level[level, r] += work.theta[level, i] * work.told[level * m + i, r]
            work.said[0, r] += work.share[level] * work.level[level, r]
    for r in range(outputs):
        scores[t, r] = work.said[0, r]


@step.register(AdaRaker)
def _(self, rows, t, y, weight, scores):
    f, work, m, rounds = self.part.f, self.scratch, self.log.shape[1], self.f.lazy[ROUNDS]
    n = begun(self.trust.shape[0], rounds)
    for k in range(n * m):
        work.more[k] = penalty(self.part, k)
    weigh(self, y)
    for level in range(n):
        for i in range(m):
            k = level * m + i
            advance(self, model_of(f, k, nth_scratch(f.scratch, i)), level, k, y, weight, work.told)
    for k in range(over(self.trust.shape[0], np.int64(rounds) + 1) * m):
        forget(f, k)


@jit(inline=True)
def advance(self, model, level, q, y, weight, told):
    """One step of a model on an interval of length 2^level, whose scores are told[q]."""
    task, rule = self.part.task, self.part.rule
    own = Rule(rule.kind, pace(rule.eta, level), rule.schedule, rule.reg, rule.C)
    begin_round(model)
    improve(model, own, task, self.part.loss, q, y, weight, told)


@jit(inline=True)
def weigh(self, y):
    """The weights after the round at hand, from what was told in it."""
    task, loss, ceiling, part, _, log, trust, f, work = self
    m, levels, move = log.shape[1], trust.shape[0], f.scratch.move
    together = suffered(task, loss, work.said, 0, y, move, 0.0, ceiling)
    for level in range(begun(levels, f.lazy[ROUNDS])):
        eta = pace(part.rule.eta, level)
        trust[level] += eta * (together - suffered(task, loss, work.level, level, y, move, 0.0, ceiling))
        for i in range(m):
            k = level * m + i
            log[level, i] -= eta * suffered(task, loss, work.told, k, y, move, work.more[k], ceiling)
    for level in range(over(levels, np.int64(f.lazy[ROUNDS]) + 1)):
        trust[level] = np.log(pace(part.rule.eta, level))
        for i in range(m):
            log[level, i] = 0.0


@jit
def suffered(task, loss, scores, t, y, move, more, ceiling):
    """The loss of scores[t], and `more`, as a part of the ceiling."""
    return min(value(loss, aim(task, scores, t, y, move)[1]) + more, ceiling) / ceiling


@jit
def over(levels, t):
    """How many of the intervals, the shortest ones, end before round t."""
    n = 0
    while n < levels and t % (1 << n) == 0:
        n += 1
    return n


@jit
def forget(f, k):
    """Model k begins anew."""
    f.lazy[k, SCALE] = 1.0
    for r in range(f.coef.shape[1]):
        for j in range(f.coef.shape[2]):
            f.coef[k, r, j] = 0.0


# The kernels' models first, then the weights (see `apart`).


@go_on.register(AdaRaker)
def _(self, desk, heard, t, y, weight, seen, rounds, i):
    f, levels, m = self.part.f, self.trust.shape[0], self.log.shape[1]
    for level in range(begun(levels, rounds + 1.0)):
        k = level * m + i
        q, model = place(heard, k, t), model_of(f, k, desk.own)
        predict(model, heard.told, q)
        if weight > 0.0:
            heard.more[q] = penalty(self.part, k)
            advance(self, model, level, q, y, weight, heard.told)
    if weight > 0.0:
        for level in range(over(levels, np.int64(rounds) + 2)):
            forget(f, level * m + i)


@unite.register(AdaRaker)
def _(self, heard, t, scores, at, learning):
    listen(heard, t, self.scratch.told)
    say(self, scores, at)


@reweigh.register(AdaRaker)
def _(self, heard, t, y):
    for k in range(self.scratch.more.shape[0]):
        self.scratch.more[k] = heard.more[place(heard, k, t)]
    weigh(self, y)
