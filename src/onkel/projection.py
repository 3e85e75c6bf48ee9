"""The inverse Gram matrix of the stored points, always float64: projections on their span."""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from ._panels import panel_dots, panel_shape, slots
from ._simd import aligned, dot
from .expansion import SIZE, discard


class Work(NamedTuple):
    k: np.ndarray  # (1, slots) kernel row in float64
    d: np.ndarray  # (slots,) coefficients of the latest projection


class Gram(NamedTuple):
    inverse: np.ndarray  # (panels, capacity, width): a symmetric matrix laid out like an Expansion's points
    inside: float  # a squared distance below inside * k(x, x) is rounding: the point lies in the span
    scratch: Work


def gram(capacity, dtype=np.float64):
    """For an expansion of this capacity whose kernel rows have this dtype."""
    panels, width = panel_shape(capacity, float)
    n = slots(capacity, float)
    work = Work(aligned((1, n), float), aligned(n, float))
    return Gram(aligned((panels, capacity, width), float), 1e-12 if dtype == np.float64 else 1e-5, work)


@jit
def times(matrix, vector, n, out):
    """out = matrix @ vector[0] for the leading n x n part of a symmetric matrix in panels."""
    width = matrix.shape[2]
    for p in range((n + width - 1) // width):
        panel_dots(vector, vector, 0, n, matrix, p, min(width, n - p * width), out)


@jit
def project(gram, k, n, kxx):
    """Squared distance of x, whose kernel row is k, from the span of the n points; leaves the coefficients in d."""
    row, d = gram.scratch
    for i in range(n):
        row[0, i] = k[i]
    times(gram.inverse, row, n, d)
    return max(kxx - dot(row, 0, d, n), 0.0)


@jit
def add_outer(matrix, n, u, factor):
    """matrix += factor u u' on the leading n x n part."""
    width = matrix.shape[2]
    for p in range((n + width - 1) // width):
        first = p * width
        for j in range(n):
            step = factor * u[j]
            for i in range(min(width, n - first)):
                matrix[p, j, i] += step * u[first + i]


@jit
def entry(matrix, i, j):
    return matrix[j // matrix.shape[2], i, j % matrix.shape[2]]


@jit
def grow(gram, n, residual):
    """Add to the n points the one just projected (bordered inverse)."""
    row, d = gram.scratch
    d[n] = -1.0
    add_outer(gram.inverse, n + 1, d, 1.0 / residual)
    row[0, n], d[n] = 0.0, 0.0


@jit
def column(gram, r, n):
    """Leave column r of the inverse of the n points in the scratch; returns its diagonal entry."""
    for i in range(n):
        gram.scratch.d[i] = entry(gram.inverse, r, i)
    return gram.scratch.d[r]


@jit
def drop(gram, r, n):
    """Remove point r of n, whose `column` is in the scratch; the last takes its place (inverse of a submatrix)."""
    inverse, last, width = gram.inverse, n - 1, gram.inverse.shape[2]
    row, d = gram.scratch
    add_outer(inverse, n, d, -1.0 / d[r])
    for i in range(n):
        inverse[i // width, r, i % width] = entry(inverse, last, i)
    for i in range(n):
        inverse[r // width, i, r % width] = entry(inverse, r, i) if i != r else entry(inverse, last, last)
    for i in range(n):
        inverse[i // width, last, i % width] = 0.0
        inverse[last // width, i, last % width] = 0.0
    row[0, last], d[last] = 0.0, 0.0


@jit
def project_out(f, gram, r):
    """Remove point r from f and from the inverse, after projecting its part of f on the other points."""
    n = f.count[SIZE]
    diagonal, d = column(gram, r, n), gram.scratch.d
    for c in range(f.coef.shape[0]):
        factor = -f.coef[c, r] / diagonal
        for i in range(n):
            f.coef[c, i] += factor * d[i]
    drop(gram, r, n)
    discard(f, r)
