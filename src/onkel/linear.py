"""f_r(x) = scale * coef[r] . z(x) on features z: what learners in feature space keep, and the rules that change it.

Field names are those of an Expansion where they mean the same, so that its verbs `shrink` and `fold` serve both.
"""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from ._simd import add_times, aligned, dot_from
from .expansion import ROUNDS, SCALE, SIZE, TOTAL, shrink
from .features import CHUNK, transform
from .losses import slope
from .outputs import aim, reach
from .rows import norm_of
from .steps import VARIANTS, least_change, rate_of

RULES = ("gradient", "adagrad", *VARIANTS)
GRADIENT, ADAGRAD, FIRST_PA = range(3)


class Scratch(NamedTuple):
    """Work space: no part of the model."""

    move: np.ndarray  # (outputs,) direction of the latest update
    mean: np.ndarray  # (outputs,) averaged scores of the latest `predict`
    z: np.ndarray  # (CHUNK * slots,) features, a row for every example of a chunk
    at: np.ndarray  # (1,) where those of the present example begin


class Linear(NamedTuple):
    coef: np.ndarray  # (outputs, slots)
    past: np.ndarray  # (outputs, slots) sum of every change times the total before it; no slots when not averaging
    squares: np.ndarray  # (outputs, slots) sum of the squared gradients; no slots but for ADAGRAD
    count: np.ndarray  # [slots in use, 0, rounds seen, pause]
    lazy: np.ndarray  # [scale, total, rounds]
    scratch: Scratch


class Rule(NamedTuple):
    """How a linear model moves."""

    kind: int
    eta: float
    schedule: int
    reg: float
    C: float


def scratch(n, outputs, dtype):
    """Work space for n slots."""
    new = (aligned(shape, dtype) for shape in (outputs, outputs, CHUNK * n))
    return Scratch(*new, np.zeros(1, np.int64))


def linear(n, outputs, dtype, *, average=False, adagrad=False):
    """A model of weights 0 on n slots of features."""
    return Linear(
        coef=aligned((outputs, n), dtype),
        past=aligned((outputs, n if average else 0), dtype),
        squares=aligned((outputs, n if adagrad else 0), dtype),
        count=np.array([n, 0, 0, 0]),
        lazy=np.array([1.0, 0.0, 0.0]),
        scratch=scratch(n, outputs, dtype),
    )


def with_own_scratch(f):
    """The same model with work space of its own, to predict with while others use it."""
    return f._replace(scratch=scratch(f.coef.shape[1], f.coef.shape[0], f.coef.dtype))


def weights(f):
    """The weights that predictions use, (outputs, slots)."""
    coef = f.coef.astype(float)
    if f.past.shape[1] == 0:
        return coef * f.lazy[SCALE]
    return ((f.lazy[TOTAL] + f.lazy[SCALE]) * coef - f.past) / (f.lazy[ROUNDS] + 1)


@jit(inline=True, inside=True)
def ahead(map, f, rows, t, start, stop):
    """Leave in the scratch the features of row t, worked out for a chunk of the rows start..stop-1 at a time."""
    stride, place = f.count[SIZE], (t - start) % CHUNK
    if place == 0:
        transform(map, rows, t, min(t + CHUNK, stop), f.scratch.z, stride)
    f.scratch.at[0] = place * stride


@jit(inline=True, inside=True)
def predict(f, scores, t):
    """scores[t, r] = f_r(z) for the features at hand and, when averaging, the mean of all models so far."""
    z, at, n = f.scratch.z, f.scratch.at[0], f.count[SIZE]
    for r in range(f.coef.shape[0]):
        product = dot_from(f.coef, r, z, at, n)
        scores[t, r] = f.lazy[SCALE] * product
        if f.past.shape[1] > 0:
            total = f.lazy[TOTAL] + f.lazy[SCALE]
            f.scratch.mean[r] = (total * product - dot_from(f.past, r, z, at, n)) / (f.lazy[ROUNDS] + 1.0)


@jit(inline=True, inside=True)
def walk(f, step):
    """f <- f + step * move z."""
    z, at, n = f.scratch.z, f.scratch.at[0], f.count[SIZE]
    for r in range(f.coef.shape[0]):
        factor = step / f.lazy[SCALE] * f.scratch.move[r]
        if factor != 0.0:
            add_times(f.coef, r, z, at, n, factor)
            if f.past.shape[1] > 0:
                add_times(f.past, r, z, at, n, factor * f.lazy[TOTAL])


@jit(inline=True, inside=True)
def improve(f, rule, task, loss, t, y, weight, scores):
    """One step of the rule on example t, whose scores are in scores[t]."""
    _, gap = aim(task, scores, t, y, f.scratch.move)
    if rule.kind == GRADIENT:
        descend(f, rule, loss, gap, weight)
    elif rule.kind == ADAGRAD:
        adapt(f, rule, slope(loss, gap) * weight)
    else:
        correct(f, rule, task, gap - task.epsilon, weight)


@jit(inline=True, inside=True)
def descend(f, rule, loss, gap, weight):
    """w <- (1 - rate reg) w - rate l' z (online gradient descent)."""
    rate = rate_of(rule.schedule, rule.eta, rule.reg, f.lazy[ROUNDS])
    keep = 1.0 - rate * rule.reg
    if 0.0 < keep < 1.0:  # 0: the first round of PEGASOS, when there is nothing to shrink
        shrink(f, keep)
    push = slope(loss, gap)
    if push != 0.0:
        walk(f, rate * push * weight)


@jit(inside=True)
def adapt(f, rule, push):
    """AdaGrad with a diagonal (Duchi, Hazan & Singer, JMLR 12, 2011): a step size for every weight."""
    z, at = f.scratch.z, f.scratch.at[0]
    for r in range(f.coef.shape[0]):
        pull = push * f.scratch.move[r]
        if pull == 0.0 and rule.reg == 0.0:
            continue
        for i in range(f.count[SIZE]):
            down = rule.reg * f.coef[r, i] - pull * z[at + i]
            f.squares[r, i] += down * down
            change = -rule.eta * down / (np.sqrt(f.squares[r, i]) + 1e-8)
            f.coef[r, i] += change
            if f.past.shape[1] > 0:
                f.past[r, i] += change * f.lazy[TOTAL]


@jit(inside=True)
def correct(f, rule, task, loss, weight):
    """The least change that mends the loss (Crammer et al., JMLR 7, 2006)."""
    at = f.scratch.at[0]
    norm = reach(task) * norm_of(f.scratch.z, at, at + f.count[SIZE])
    if loss > 0.0 and norm > 0.0:
        walk(f, least_change(rule.kind - FIRST_PA, loss, norm, rule.C) * weight)
