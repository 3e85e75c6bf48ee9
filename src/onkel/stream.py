"""The loop over examples: look at one, then learn it. What a learner does with one example is its own `step`."""

from typing import Any, NamedTuple

from ._jit import generic, jit
from .expansion import PAUSE, ROUNDS, SCALE, SEEN, SIZE, TOTAL, Expansion, average, evaluate, foresee
from .kernels import against

ROOM, INTERLUDE = 1, 2  # why a learner pauses: Python's help (room, say) before the next example, or before this one


class Model(NamedTuple):
    """What predicts, of every learner of support vectors: one compilation serves all."""

    kernel: Any
    f: Expansion


@generic(default=True, inline=True)
def look(learner, rows, t, start, stop, scores):
    """Leave in scores[t] the scores of row t before it is learnt and, when averaging, their mean in the scratch.

    Rows start..stop-1 are looked at in turn, so what they have in common may be worked out ahead.
    """
    f, kernel = learner.f, learner.kernel
    if not foresee(f, kernel, rows, t, start, stop):
        against(kernel, rows, t, f.points, f.norms, f.count[SIZE], f.scratch.k)
    evaluate(f, scores, t)
    if f.past.shape[1] > 0:
        average(f)


@generic(default=True, inline=True)
def glance(learner, rows, t, start, stop, scores):
    """What `look` leaves, for a row that is not to be learnt: changes nothing but the scratch."""
    look(learner, rows, t, start, stop, scores)


@generic(inline=True)
def step(learner, rows, t, y, weight, scores):
    """Learn from example t, whose scores are in scores[t] and whose kernel row or features are in the scratch."""


@jit
def learn(learner, rows, y, weights, scores, start, stop):
    """Learn rows start..stop-1, leaving the scores before each update; returns the first row not learnt.

    Stops early when the learner pauses. A row of weight 0 is scored and counted, nothing else.
    """
    f = learner.f
    averaged = f.past.shape[1] > 0
    for t in range(start, stop):
        if f.count[PAUSE] != 0:
            return t
        look(learner, rows, t, start, stop, scores)
        weight = weights[t]
        if weight > 0.0:
            total = f.lazy[TOTAL]
            begin_round(f)
            step(learner, rows, t, y[t], weight, scores)
            if f.count[PAUSE] == INTERLUDE:
                f.lazy[ROUNDS] -= 1.0
                f.lazy[TOTAL] = total
                if averaged:
                    report_mean(f, t, scores)
                return t
        if averaged:
            report_mean(f, t, scores)
        f.count[SEEN] += 1
    return stop


@jit(inline=True, inside=True)
def begin_round(f):
    """Count one more round, and the scale that is in force in it."""
    f.lazy[ROUNDS] += 1.0
    f.lazy[TOTAL] += f.lazy[SCALE]


@jit(inside=True)
def report_mean(f, t, scores):
    """scores[t] = the averaged scores that `look` left."""
    for r in range(scores.shape[1]):
        scores[t, r] = f.scratch.mean[r]


@jit
def score(learner, rows, scores):
    """scores[t] = the scores of every row t, averaged if the learner averages; changes nothing but the scratch."""
    f = learner.f
    for t in range(scores.shape[0]):
        glance(learner, rows, t, 0, scores.shape[0], scores)
        if f.past.shape[1] > 0:
            report_mean(f, t, scores)
