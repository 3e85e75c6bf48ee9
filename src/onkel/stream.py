"""The loop over examples: predict, then learn. What a learner does with one example is its own `step`."""

from ._jit import generic, jit
from .expansion import PAUSE, ROUNDS, SCALE, SEEN, TOTAL, average, predict


@generic(inline=True)
def step(learner, rows, t, y, weight, scores):
    """Learn from example t, whose scores are in scores[t] and whose kernel row is in the scratch."""


@jit
def learn(learner, rows, y, weights, scores, start, stop):
    """Learn rows start..stop-1, leaving the scores before each update; returns the first row not learnt.

    Stops early when the dictionary needs more room. A row of weight 0 is scored and counted, nothing else.
    """
    f = learner.f
    for t in range(start, stop):
        if f.count[PAUSE] != 0:
            return t
        predict(f, learner.kernel, rows, t, scores)
        averaged = f.past.shape[1] > 0
        if averaged:
            average(f)
        weight = weights[t]
        if weight > 0.0:
            f.lazy[ROUNDS] += 1.0
            f.lazy[TOTAL] += f.lazy[SCALE]
            step(learner, rows, t, y[t], weight, scores)
        if averaged:
            for r in range(scores.shape[1]):
                scores[t, r] = f.scratch.mean[r]
        f.count[SEEN] += 1
    return stop


@jit
def score(f, kernel, rows, scores):
    """scores[t] = the scores of every row t, averaged if the learner averages; changes nothing but the scratch of f."""
    for t in range(scores.shape[0]):
        predict(f, kernel, rows, t, scores)
        if f.past.shape[1] > 0:
            average(f)
            for r in range(scores.shape[1]):
                scores[t, r] = f.scratch.mean[r]
