"""Several kernels whose learners do not depend on each other: one learner after the other, over many examples.

With random features, and where every kernel learns from every example, only the weights need all kernels at once. So
the learners go over a stretch of examples and leave their scores; the weights follow. The features of one kernel make
place for those of the next, which they become when their angles are doubled; so all stays in the first cache. And the
kernels may be shared out among threads: all is, bit for bit, as when `hedge` goes from example to example.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import aligned
from ..expansion import ROUNDS, SEEN
from ..features import CHUNK, fan_on, project_family
from ..linear import Linear, improve, predict
from ..linear import Scratch as LinearScratch
from ..stream import begin_round
from .hedge import LOSS, cap, combine, judge, mark, penalty, punish, say, weigh


class Heard(NamedTuple):
    """What the learners of m kernels say of n examples, kernel after kernel: threads write far from each other."""

    told: np.ndarray  # (m * n, outputs)
    more: np.ndarray  # (m * n,) penalties


class Desk(NamedTuple):
    """Work space of a thread."""

    angles: np.ndarray  # projections on every family's frequencies, for a chunk of examples
    own: LinearScratch


def heard(m, n, part):
    return Heard(np.empty((m * n, part.f.coef.shape[1]), part.f.coef.dtype), np.zeros(m * n))


def desk(base, part):
    _, outputs, n = part.f.coef.shape
    new = (aligned(shape, part.f.coef.dtype) for shape in (outputs, outputs, n))
    return Desk(aligned(base.scratch.angles.shape, part.f.coef.dtype), LinearScratch(*new, np.zeros(1, np.int64)))


@jit
def learn_apart(base, part, desk, heard, rows, y, weights, seen, start, stop, first, last):
    """Rows start..stop-1 for the learners first..last-1 of the ladders' order; `seen` rows came before.

    As in `learn`, a row of weight 0 is scored, nothing else.
    """
    order, families, size = base.table.order, base.table.family, base.size
    for t in range(start, stop):
        c = (t - start) % CHUNK
        if c == 0:
            for g in range(families[order[first]], families[order[last - 1]] + 1):
                project_family(base, g, rows, t, min(CHUNK, stop - t), desk.angles, g * CHUNK * size, size)
        for j in range(first, last):
            i = order[j]
            fan_on(base, i, j == first, desk.angles, (families[i] * CHUNK + c) * size, desk.own.z)
            q = i * (stop - start) + t - start
            go_on(part, desk, heard, q, y[t], weights[t], seen + t - start, i)


@jit(inline=True)
def go_on(part, desk, heard, q, y, weight, seen, i):
    """The learner of kernel i on the features at hand; what it says is number q."""
    f = part.f
    one = Linear(f.coef[i], f.past[i], f.squares[i], f.count[i], f.lazy[i], desk.own)
    predict(one, heard.told, q)
    if weight > 0.0:
        heard.more[q] = penalty(part, i)
        one.count[SEEN] = seen
        begin_round(one)
        improve(one, part.rule, part.task, part.loss, q, y, weight, heard.told)


@jit
def weigh_apart(learner, heard, y, weights, scores, start, stop):
    """What `learn` leaves of all kernels together for rows start..stop-1, of which their learners were heard."""
    _, task, loss, _, _, hedge, f = learner
    n = stop - start
    for t in range(start, stop):
        listen(hedge, heard, t - start, n)
        say(hedge, task, f.lazy[ROUNDS], scores, t)
        if weights[t] > 0.0:
            begin_round(f)
            judge(hedge, task, loss, y[t], f.scratch.move)
            for i in range(hedge.cost.shape[0]):
                if hedge.weighting == LOSS:
                    cap(hedge, i, heard.more[i * n + t - start])
                punish(hedge, i)
            mark(hedge, f.count[SEEN] + 1)
        f.count[SEEN] += 1


@jit
def score_apart(learner, heard, scores):
    """What `score` leaves of all kernels together."""
    weigh(learner.hedge)
    for t in range(scores.shape[0]):
        listen(learner.hedge, heard, t, scores.shape[0])
        combine(learner.hedge, learner.task, scores, t, False)


@jit(inline=True)
def listen(hedge, heard, t, n):
    """Take what was said of example t of n."""
    told = hedge.scratch.told
    for i in range(told.shape[0]):
        for r in range(told.shape[1]):
            told[i, r] = heard.told[i * n + t, r]
