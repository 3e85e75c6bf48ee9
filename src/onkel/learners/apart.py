"""Several kernels whose learners do not depend on each other: the learners first, over many examples, then the weights.

With random features, and where every kernel learns from every example, only the weights need all kernels at once. So
the learners go over a stretch of examples and leave their scores; the weights follow. The features of one kernel make
place for those of the next, which they become when their angles are doubled; so all stays in the first cache. And the
kernels may be shared out among threads: all is, bit for bit, as when `learn` goes from example to example.
"""

import itertools
from typing import NamedTuple

import numpy as np

from .._jit import generic, jit
from .._simd import aligned
from ..expansion import ROUNDS, SEEN
from ..features import CHUNK, fan_on, project_family
from ..linear import Linear, improve, predict
from ..linear import Scratch as LinearScratch
from ..stream import begin_round
from .hedge import LOSS, MultiKernel, cap, judge, mark, penalty, punish, say


class Heard(NamedTuple):
    """What every model says of some examples: those of a thread side by side, far from where other threads write."""

    told: np.ndarray  # (models * examples, outputs)
    more: np.ndarray  # (models * examples,) penalties
    begin: np.ndarray  # (models,) where what a model says of the first example lies,
    stride: np.ndarray  # (models,) and how far apart it is for two examples


class Desk(NamedTuple):
    """Work space of a thread."""

    angles: np.ndarray  # projections on every family's frequencies, for a chunk of examples
    own: LinearScratch


def heard(n, part, order, cuts):
    """Room for n examples; `order`: of the kernels; `cuts`: where in it the threads' parts begin and end."""
    models, outputs, _ = part.f.coef.shape
    each, begin, stride = models // len(order), np.zeros(models, np.int64), np.zeros(models, np.int64)
    for first, last in itertools.pairwise(cuts):
        own = (order[first:last, None] + len(order) * np.arange(each)).reshape(-1)
        begin[own] = n * each * first + np.arange(len(own))
        stride[own] = len(own)
    return Heard(np.empty((models * n, outputs), part.f.coef.dtype), np.zeros(models * n), begin, stride)


def desk(base, part):
    _, outputs, n = part.f.coef.shape
    new = (aligned(shape, part.f.coef.dtype) for shape in (outputs, outputs, n))
    return Desk(aligned(base.scratch.angles.shape, part.f.coef.dtype), LinearScratch(*new, np.zeros(1, np.int64)))


@generic(inline=True)
def go_on(learner, desk, heard, t, y, weight, seen, rounds, i):
    """The models of kernel i predict and, if it has weight, learn example t, whose features are at hand.

    Before it there were `seen` rows and `rounds` with weight.
    """


@generic(inline=True)
def unite(learner, heard, t, scores, at, learning):
    """scores[at] = what all say together of example t, given what each said."""


@generic(inline=True)
def reweigh(learner, heard, t, y):
    """The weights learn from what was said of example t."""


@jit
def learn_apart(learner, desk, heard, rows, y, weights, start, stop, first, last):
    """Rows start..stop-1 for the kernels first..last-1 of the ladders' order, and for what is theirs alone."""
    base, seen, rounds = learner.base, learner.f.count[SEEN], learner.f.lazy[ROUNDS]
    order, families, size = base.table.order, base.table.family, base.size
    for t in range(start, stop):
        c = (t - start) % CHUNK
        if c == 0:
            for g in range(families[order[first]], families[order[last - 1]] + 1):
                project_family(base, g, rows, t, min(CHUNK, stop - t), desk.angles, g * CHUNK * size, size)
        for j in range(first, last):
            i = order[j]
            fan_on(base, i, j == first, desk.angles, (families[i] * CHUNK + c) * size, desk.own.z)
            go_on(learner, desk, heard, t - start, y[t], weights[t], seen + t - start, rounds, i)
        rounds += 1.0 if weights[t] > 0.0 else 0.0


@jit
def weigh_apart(learner, heard, y, weights, scores, start, stop):
    """What `learn` does for all kernels together with rows start..stop-1, of which the models were heard."""
    f = learner.f
    for t in range(start, stop):
        unite(learner, heard, t - start, scores, t, True)
        if weights[t] > 0.0:
            begin_round(f)
            reweigh(learner, heard, t - start, y[t])
        f.count[SEEN] += 1


@jit
def score_apart(learner, heard, scores):
    """What `score` leaves, of rows of which the models were heard."""
    for t in range(scores.shape[0]):
        unite(learner, heard, t, scores, t, False)


@jit(inline=True)
def place(heard, k, t):
    """Where what model k says of example t lies."""
    return heard.begin[k] + t * heard.stride[k]


@jit(inline=True)
def listen(heard, t, told):
    """told[k] = what model k said of example t."""
    for k in range(told.shape[0]):
        q = place(heard, k, t)
        for r in range(told.shape[1]):
            told[k, r] = heard.told[q, r]


# A Hedge over the kernels.


@go_on.register(MultiKernel)
def _(learner, desk, heard, t, y, weight, seen, rounds, i):
    part, f, q = learner.part, learner.part.f, place(heard, i, t)
    one = Linear(f.coef[i], f.past[i], f.squares[i], f.count[i], f.lazy[i], desk.own)
    predict(one, heard.told, q)
    if weight > 0.0:
        heard.more[q] = penalty(part, i)
        one.count[SEEN] = seen
        begin_round(one)
        improve(one, part.rule, part.task, part.loss, q, y, weight, heard.told)


@unite.register(MultiKernel)
def _(learner, heard, t, scores, at, learning):
    hedge = learner.hedge
    listen(heard, t, hedge.scratch.told)
    say(hedge, learner.task, learner.f.lazy[ROUNDS], scores, at, learning)


@reweigh.register(MultiKernel)
def _(learner, heard, t, y):
    _, task, loss, _, _, hedge, f = learner
    judge(hedge, task, loss, y, f.scratch.move)
    for i in range(hedge.cost.shape[0]):
        if hedge.weighting == LOSS:
            cap(hedge, i, heard.more[place(heard, i, t)])
        punish(hedge, i)
    mark(hedge, f.count[SEEN] + 1)
