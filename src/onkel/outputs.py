"""Binary, multi-class and regression as one idea: how far the scores miss the target, and which way to move them.

The gap is 1 - margin for labels and |y - f| for numbers: a loss is a function of the gap, a step shortens it.
The direction has one entry per output: binary (y); multi-class (+1 true class, -1 strongest wrong class, or the
true indicator minus the softmax); regression (sign of the residual).
"""

from typing import NamedTuple

from numpy import abs, exp, inf, sign

from ._jit import jit

BINARY, MULTICLASS, SOFTMAX, REGRESSION = range(4)


class Task(NamedTuple):
    kind: int
    epsilon: float = 0.0  # regression: a miss up to epsilon is none


@jit(inline=True, inside=True)
def aim(task, scores, t, y, move):
    """(wrong, gap) of example t's scores against y; leaves the direction in move."""
    if task.kind == BINARY:
        move[0] = y
        margin = y * scores[t, 0]
        return margin <= 0.0, 1.0 - margin
    if task.kind == REGRESSION:
        miss = y - scores[t, 0]
        move[0] = sign(miss)
        return abs(miss) > task.epsilon, abs(miss)
    return aim_class(task, scores, t, int(y), move)


@jit(inside=True)
def aim_alone(task, f, y, r):
    """(gap, direction) of output r by itself, whose score is f: of many classes, is it class r or not?"""
    if task.kind == REGRESSION:
        return abs(y - f), sign(y - f)
    side = y if task.kind == BINARY else (1.0 if r == int(y) else -1.0)
    return 1.0 - side * f, side


@jit(inside=True)
def aim_class(task, scores, t, y, move):
    rival = -1
    for r in range(move.shape[0]):
        move[r] = 0.0
        if r != y and (rival < 0 or scores[t, r] > scores[t, rival]):
            rival = r
    margin = scores[t, y] - scores[t, rival]
    if task.kind == MULTICLASS:
        move[y], move[rival] = 1.0, -1.0
        return margin <= 0.0, 1.0 - margin
    top, total = max(scores[t, y], scores[t, rival]), 0.0
    for r in range(move.shape[0]):
        move[r] = -exp(scores[t, r] - top)
        total -= move[r]
    for r in range(move.shape[0]):
        move[r] /= total
    move[y] += 1.0
    return margin <= 0.0, inf  # the loss's whole slope lies in the direction


@jit(inside=True)
def reach(task):
    """|direction|^2: how much a unit step shortens the gap, per unit of k(x, x)."""
    return 2.0 if task.kind == MULTICLASS else 1.0
