"""The Gram matrix of the stored points and its inverse, always float64: projections on their span.

Both are symmetric matrices (panels, capacity, width), laid out like an Expansion's points: a product with a vector is
`panel_dots`. The inverse follows every change in O(n^2); the matrix itself is there to check it by.
"""

from typing import NamedTuple

import numpy as np

from ._jit import jit
from ._panels import panel_dots, panel_shape, slots
from ._simd import add_times, aligned, dot
from .expansion import SIZE, discard

DOUBT = 1e-3  # a squared distance below DOUBT * k(x, x) is computed again, with the Gram matrix
RENEWAL = 1000.0  # points dropped until the inverse is computed afresh
STEADY = 1e-9  # how far, squared, a point must stay from the span of all others for the inverse to keep its digits


class Work(NamedTuple):
    k: np.ndarray  # (1, slots) kernel row in float64
    d: np.ndarray  # (slots,) coefficients of the latest projection
    v: np.ndarray  # (1, slots)
    w: np.ndarray  # (slots,)


class Gram(NamedTuple):
    matrix: np.ndarray
    inverse: np.ndarray
    dropped: np.ndarray  # (1,) points that left since the inverse was last computed afresh
    inside: float  # a squared distance up to inside * k(x, x) counts as none: the point lies in the span
    steady: float  # and so does one that, stored, would bring others as close: steady * (k(x, x) + sum of d_i^2 k_ii)
    scratch: Work


def symmetric(capacity):
    """Zeros for a symmetric matrix with a row for every one of `capacity` points."""
    panels, width = panel_shape(capacity, float)
    return aligned((panels, capacity, width), float)


def gram(capacity, dtype=np.float64, inside=1e-12):
    """For an expansion of this capacity whose kernel rows have this dtype."""
    n = slots(capacity, float)
    work = Work(aligned((1, n), float), aligned(n, float), aligned((1, n), float), aligned(n, float))
    eps = float(np.finfo(dtype).eps)
    return Gram(
        symmetric(capacity), symmetric(capacity), np.zeros(1), max(inside, 100 * eps), max(STEADY, 8 * eps), work
    )


@jit(inside=True)
def times(matrix, vector, n, out):
    """out = matrix @ vector[0] for the leading n x n part."""
    width = matrix.shape[2]
    for p in range((n + width - 1) // width):
        panel_dots(vector, vector, 0, n, matrix, p, min(width, n - p * width), out, 0)


@jit(inside=True)
def add_outer(matrix, n, u, factor):
    """matrix += factor u u' on the leading n x n part; u is 0 beyond."""
    panels, capacity, width = matrix.shape
    rows = matrix.reshape(panels * capacity, width)
    for p in range((n + width - 1) // width):
        first = p * width
        for j in range(n):
            add_times(rows, p * capacity + j, u, first, min(width, n - first), factor * u[j])


@jit(inside=True)
def entry(matrix, i, j):
    return matrix[j // matrix.shape[2], i, j % matrix.shape[2]]


@jit(inside=True)
def set_entry(matrix, i, j, value):
    matrix[j // matrix.shape[2], i, j % matrix.shape[2]] = value
    matrix[i // matrix.shape[2], j, i % matrix.shape[2]] = value


@jit
def project(gram, k, n, kxx):
    """Squared distance of x, whose kernel row is k, from the span of the n points; leaves the coefficients in d.

    0 for a point in the span, as far as rounding lets us know.
    """
    row, d = gram.scratch.k, gram.scratch.d
    for i in range(n):
        row[0, i] = k[i]
    times(gram.inverse, row, n, d)
    residual = kxx - dot(row, 0, d, n)
    if residual > DOUBT * kxx:
        return residual
    return distance(gram, n, kxx)


@jit(inside=True)
def distance(gram, n, kxx):
    """The squared distance that `project` returns, for points close to the span: corrects d by what it leaves of k."""
    row, d, v, w = gram.scratch
    misfit(gram, n)
    times(gram.inverse, v, n, w)
    for i in range(n):
        d[i] += w[i]
    misfit(gram, n)
    residual, spread = kxx - dot(row, 0, d, n) - dot(v, 0, d, n), kxx
    for i in range(n):
        spread += d[i] * d[i] * entry(gram.matrix, i, i)
    return residual if residual > max(gram.inside * kxx, gram.steady * spread) else 0.0


@jit(inside=True)
def misfit(gram, n):
    """v = k - K d: what the coefficients d leave of the row k."""
    row, d, v, w = gram.scratch
    for i in range(n):
        v[0, i] = d[i]
    times(gram.matrix, v, n, w)
    for i in range(n):
        v[0, i] = row[0, i] - w[i]


@jit
def grow(gram, n, residual, kxx):
    """Add to the n points the one just projected (bordered inverse)."""
    row, d = gram.scratch.k, gram.scratch.d
    row[0, n] = kxx
    for i in range(n + 1):
        set_entry(gram.matrix, n, i, row[0, i])
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
    d = gram.scratch.d
    add_outer(gram.inverse, n, d, -1.0 / d[r])
    move_last(gram.inverse, r, n)
    move_last(gram.matrix, r, n)
    gram.scratch.k[0, n - 1], d[n - 1] = 0.0, 0.0
    gram.dropped[0] += 1.0
    if gram.dropped[0] >= RENEWAL:
        renew(gram, n - 1)


@jit(inside=True)
def move_last(matrix, r, n):
    """Row and column r = the last ones, which become 0."""
    last = n - 1
    for i in range(n):
        if i != r:
            set_entry(matrix, r, i, entry(matrix, last, i))
    set_entry(matrix, r, r, entry(matrix, last, last))
    for i in range(n):
        set_entry(matrix, last, i, 0.0)


@jit
def renew(gram, n):
    """Compute the inverse from the matrix: sweeping every row turns K into -1/K."""
    inverse, d = gram.inverse, gram.scratch.d
    for i in range(n):
        for j in range(n):
            set_entry(inverse, i, j, entry(gram.matrix, i, j))
    for r in range(n):
        pivot = column(gram, r, n)
        add_outer(inverse, n, d, -1.0 / pivot)
        for i in range(n):
            set_entry(inverse, r, i, d[i] / pivot)
        set_entry(inverse, r, r, -1.0 / pivot)
    for i in range(n):
        for j in range(i + 1):
            set_entry(inverse, i, j, -entry(inverse, i, j))
    gram.dropped[0] = 0.0


@jit(inside=True)
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
