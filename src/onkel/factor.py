"""The Gram matrix of some stored points, weighted and with a ridge: M = S K S + ridge I, S = diag(roots).

What is kept is F, the inverse of its Cholesky factor: F M F' = I. A point more is a row more, in O(n^2), and no other
entry changes. With u = F S k(points, x), k(x, x) - |u|^2 is what the points leave of x; with roots of 1 and no ridge, u
is an embedding of the kernel's space: its inner products are those of the projections on the points.

Always float64. Several outputs may have factors of their own: row i of output r is row i * outputs + r of `rows`, so
that an array grows at its end.
"""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from ._panels import slots
from ._simd import BLOCK, aligned
from ._triangles import stride, triangle_dots, triangle_sums


class Work(NamedTuple):
    b: np.ndarray  # (slots,) S k
    u: np.ndarray  # (slots,) F b
    m: np.ndarray  # (slots,) F'u


class Factor(NamedTuple):
    rows: np.ndarray  # (capacity * outputs, stride) lower triangular
    roots: np.ndarray  # (outputs, slots)
    place: np.ndarray  # (outputs, capacity) slots of the points
    size: np.ndarray  # (outputs,)
    ridge: float
    scratch: Work


def factor(capacity, outputs, ridge):
    """Factors without points."""
    n = slots(capacity, float)
    return Factor(
        aligned((capacity * outputs, stride(n)), float),
        aligned((outputs, n), float),
        np.zeros((outputs, capacity), np.int64),
        np.zeros(outputs, np.int64),
        float(ridge),
        Work(aligned(n, float), aligned(n, float), aligned(n, float)),
    )


def matrix_of(factor, r=0):
    """F of output r, (size, size)."""
    n = factor.size[r]
    return factor.rows[r :: len(factor.size)][:n, :n].copy()


@jit(inline=True, inside=True)
def weigh(factor, r, k):
    """b = S k, from the kernel row of all stored points; clears what `dot` reads beyond, here and in u."""
    b, u, _ = factor.scratch
    n = factor.size[r]
    for i in range(-(-n // BLOCK) * BLOCK):
        b[i] = u[i] = 0.0
    for i in range(n):
        b[i] = factor.roots[r, i] * k[factor.place[r, i]]


@jit(inline=True, inside=True)
def embed(factor, r):
    """u = F b."""
    b, u, _ = factor.scratch
    triangle_dots(factor.rows, r, factor.size.shape[0], 0, factor.size[r], b, u)


@jit(inside=True)
def leave(factor, r, kxx, least):
    """kxx - |u|^2, at least 0, for u = F b; gives up, with part of u, once it has fallen to `least`."""
    b, u, _ = factor.scratch
    n, rest = factor.size[r], kxx
    for first in range(0, n, BLOCK):
        if rest <= least:
            break
        last = min(first + BLOCK, n)
        triangle_dots(factor.rows, r, factor.size.shape[0], first, last, b, u)
        for i in range(first, last):
            rest -= u[i] * u[i]
    return max(rest, 0.0)


@jit(inside=True)
def back(factor, r):
    """m = F'u."""
    _, u, m = factor.scratch
    triangle_sums(factor.rows, r, factor.size.shape[0], factor.size[r], u, m)


@jit(inside=True)
def append(factor, r, slot, root, rest):
    """Add the point whose u and m are in the scratch, stored in `slot`; rest = kxx - |u|^2."""
    n, m = factor.size[r], factor.scratch.m
    row = n * factor.size.shape[0] + r
    pivot = np.sqrt(root * root * rest + factor.ridge)
    for i in range(n):
        factor.rows[row, i] = -root * m[i] / pivot
    factor.rows[row, n] = 1.0 / pivot
    factor.roots[r, n], factor.place[r, n] = root, slot
    factor.size[r] = n + 1
