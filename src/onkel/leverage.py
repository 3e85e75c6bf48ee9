"""KORS, kernel online row sampling (Calandriello, Lazaric & Valko, ICML 2017): who joins the dictionary.

A row is sampled with a probability of about its ridge leverage score: how much of it those before cannot explain. Times
1 / sqrt(p) the sampled rows have about the covariance of all.
"""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from .expansion import SIZE, insert
from .factor import Factor, append, back, factor, leave, weigh
from .kernels import against, itself
from .nystroem import complete, join
from .rng import generator, uniform


class Leverage(NamedTuple):
    factor: Factor  # of S K S + ridge I
    rng: np.ndarray
    accuracy: float
    oversampling: float
    floor: float  # least probability
    force_first: bool


def leverage(capacity, ridge, key, *, outputs=1, accuracy=0.5, oversampling=1.0, floor=0.0, force_first=True):
    """KORS with an empty dictionary, one for every output."""
    kept = factor(capacity, outputs, ridge)
    return Leverage(kept, generator(key), float(accuracy), float(oversampling), float(floor), bool(force_first))


@jit(inside=True)
def score_of(leverage, rest):
    """The estimate of the ridge leverage score: 1 + accuracy times rest / (ridge + rest)."""
    return (1.0 + leverage.accuracy) / (1.0 + leverage.factor.ridge / rest) if rest > 0.0 else 0.0


@jit(inside=True)
def admit(leverage, r, k, kxx, scale):
    """The probability with which sqrt(scale) x is sampled if it is, else 0; k is the kernel row of x.

    The random number comes first: the sum that lowers the score ends where it cannot be above that number any more.
    """
    factor = leverage.factor
    if factor.size[r] == 0 and leverage.force_first:
        return 1.0
    draw, top = uniform(leverage.rng), leverage.oversampling * (1.0 + leverage.accuracy)
    least = -np.inf
    if draw >= leverage.floor:
        if top <= draw:
            return 0.0
        least = draw * factor.ridge / (top - draw) / scale  # score * oversampling = draw
    if kxx <= least:
        return 0.0
    weigh(factor, r, k)
    rest = leave(factor, r, kxx, least)
    if rest <= least:
        return 0.0
    return max(min(leverage.oversampling * score_of(leverage, scale * rest), 1.0), leverage.floor)


@jit(inside=True)
def enrol(leverage, r, slot, k, kxx, root):
    """Add root times the row that `admit` let in, stored in `slot`."""
    factor = leverage.factor
    weigh(factor, r, k)
    rest = leave(factor, r, kxx, -np.inf)
    back(factor, r)
    append(factor, r, slot, root, rest)


@jit(inside=True)
def sample(leverage, kernel, f, rows, t):
    """Let KORS decide whether row t, whose kernel row is in the scratch, joins the points of f; returns whether."""
    n, kxx = f.count[SIZE], itself(kernel, rows, t)
    p = admit(leverage, 0, f.scratch.k, kxx, 1.0)
    if p > 0.0:
        enrol(leverage, 0, n, f.scratch.k, kxx, 1.0 / np.sqrt(p))
        insert(f, n, kernel, rows, t, 0.0)
    return p > 0.0


@jit
def take_by_leverage(map, leverage, rows, n, seen):
    """Rows join the landmarks of a map as KORS samples them, as long as there is room; `seen`: how many came before."""
    for t in range(n):
        if complete(map):
            return
        k, kxx = map.scratch.k, itself(map.kernel, rows, t)
        against(map.kernel, rows, t, map.points, map.norms, map.count[SIZE], k)
        p = admit(leverage, 0, k, kxx, 1.0)
        if p > 0.0:
            enrol(leverage, 0, join(map, rows, t, seen + t), k, kxx, 1.0 / np.sqrt(p))
