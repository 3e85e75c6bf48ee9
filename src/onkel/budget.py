"""Whose slot a new support vector takes: a free one, or by one policy per integer tag."""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from .expansion import INSERTED, SIZE, full
from .rng import below, generator

OLDEST, RANDOM, NEVER = range(3)


class Budget(NamedTuple):
    kind: int
    rng: np.ndarray  # (2,) uint64: see `rng`


def oldest():
    return Budget(OLDEST, generator(0))


def random(key):
    return Budget(RANDOM, generator(key))


def never():
    return Budget(NEVER, generator(0))


@jit(inline=True, inside=True)
def vacancy(budget, f):
    """The slot the next support vector takes, or -1."""
    if not full(f):
        return f.count[SIZE]
    if budget.kind == OLDEST:
        return f.count[INSERTED] % f.budget
    if budget.kind == RANDOM:
        return below(budget.rng, f.budget)
    return -1
