"""Examples, dense or CSR: the only file that knows one from the other. Example t of `rows` is the pair (rows, t)."""

from typing import NamedTuple

import numpy as np

from ._jit import generic, jit
from ._panels import (
    block_dots,
    block_l1dists,
    block_sqdists,
    panel_dots,
    panel_l1dists,
    panel_sparse_dots,
    panel_sparse_l1dists,
    panel_sparse_sqdists,
    panel_sqdists,
)
from ._simd import flat, lowest_bit, sum_of_squares

DOTS, SQDISTS, L1DISTS = range(3)
ZERO, ONE, EVERY = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)


class Dense(NamedTuple):
    values: np.ndarray  # (n, d)


class Sparse(NamedTuple):  # CSR
    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@generic
def dots(rows, t, points, n, out):
    """out[i] = <x, point i> for i < n."""


@generic
def dots_in_panel(rows, t, points, p, n, out, at):
    """out[at + i] = <x, point i> for the first n points of panel p, i counted over all panels."""


@generic(inline=True)
def sqdists(rows, t, points, n, out, norms):
    """out[i] = |x - point i|^2 for i < n; norms holds |point|^2."""


@generic
def l1dists(rows, t, points, n, out, norms):
    """out[i] = |x - point i| in the 1-norm for i < n; norms holds |point|."""


@generic(inline=True)
def store(rows, t, points, used, i):
    """Point i = x; bit j of used[i] says that feature j may differ from 0."""


@generic
def copy_columns(rows, t, first, n, out, at):
    """out[at + i] = x_(first + i) for i < n; columns that x does not have are 0."""


@generic(inline=True)
def sqnorm(rows, t):
    """|x|^2."""


@generic
def l1norm(rows, t):
    """|x| in the 1-norm."""


@generic(default=True)
def block(rows, what, first, count, points, start, stop, out, at, stride):
    """out[at + c * stride + i] = DOTS, ... of row first + c and point i, for c < count and start <= i < stop.

    False, and nothing done, for rows that are no faster many at once than one after the other.
    """
    return False


# Dense rows: direct differences, exact far from the origin.


@block.register(Dense)
def _(rows, what, first, count, points, start, stop, out, at, stride):
    width = points.shape[2]
    for p in range(start // width, (stop + width - 1) // width):
        low, high = max(start - p * width, 0), min(stop - p * width, width)
        if what == SQDISTS:
            block_sqdists(rows.values, first, count, points, p, low, high, out, at, stride)
        elif what == DOTS:
            block_dots(rows.values, first, count, points, p, low, high, out, at, stride)
        else:
            block_l1dists(rows.values, first, count, points, p, low, high, out, at, stride)
    return True


@dots.register(Dense)
def _(rows, t, points, n, out):
    values, (_, d, width) = rows.values, points.shape
    for p in range(points.shape[0]):
        if p * width < n:
            panel_dots(values, values, t * d, t * d + d, points, p, min(width, n - p * width), out, 0)


@dots_in_panel.register(Dense)
def _(rows, t, points, p, n, out, at):
    values, d = rows.values, points.shape[1]
    panel_dots(values, values, t * d, t * d + d, points, p, n, out, at)


@sqdists.register(Dense)
def _(rows, t, points, n, out, norms):
    values, (_, d, width) = rows.values, points.shape
    for p in range(points.shape[0]):
        if p * width < n:
            panel_sqdists(values, values, t * d, t * d + d, points, p, min(width, n - p * width), out, 0)


@l1dists.register(Dense)
def _(rows, t, points, n, out, norms):
    values, (_, d, width) = rows.values, points.shape
    for p in range(points.shape[0]):
        if p * width < n:
            panel_l1dists(values, values, t * d, t * d + d, points, p, min(width, n - p * width), out, 0)


@store.register(Dense)
def _(rows, t, points, used, i):
    width, d = points.shape[2], points.shape[1]
    p, lane = i // width, i % width
    for j in range(d):
        points[p, j, lane] = rows.values[t, j]
    for word in range(used.shape[1]):
        used[i, word] = EVERY if word < d // 64 else EVERY >> np.uint64(64 - d % 64)


@copy_columns.register(Dense)
def _(rows, t, first, n, out, at):
    there = min(n, rows.values.shape[1] - first)
    for i in range(there):
        out[at + i] = rows.values[t, first + i]
    for i in range(there, n):
        out[at + i] = 0


@sqnorm.register(Dense)
def _(rows, t):
    values, d = rows.values, rows.values.shape[1]
    return norm_of(flat(values), t * d, t * d + d)


@l1norm.register(Dense)
def _(rows, t):
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += abs(rows.values[t, j])
    return total


# CSR rows: stored norms, and only the non-zero columns.


@dots.register(Sparse)
def _(rows, t, points, n, out):
    values, indices, (start, stop), width = rows.values, rows.indices, span(rows, t), points.shape[2]
    for p in range(points.shape[0]):
        if p * width < n:
            panel_sparse_dots(values, indices, start, stop, points, p, min(width, n - p * width), out, 0)


@dots_in_panel.register(Sparse)
def _(rows, t, points, p, n, out, at):
    start, stop = span(rows, t)
    panel_sparse_dots(rows.values, rows.indices, start, stop, points, p, n, out, at)


@sqdists.register(Sparse)
def _(rows, t, points, n, out, norms):
    values, indices, (start, stop), width = rows.values, rows.indices, span(rows, t), points.shape[2]
    xx = norm_of(values, start, stop)
    for p in range(points.shape[0]):
        if p * width < n:
            wide = min(width, n - p * width)
            panel_sparse_sqdists(values, indices, start, stop, points, p, wide, out, 0, norms, xx)


@l1dists.register(Sparse)
def _(rows, t, points, n, out, norms):
    values, indices, (start, stop), width = rows.values, rows.indices, span(rows, t), points.shape[2]
    for p in range(points.shape[0]):
        if p * width < n:
            wide = min(width, n - p * width)
            panel_sparse_l1dists(values, indices, start, stop, points, p, wide, out, 0, norms, 0.0)


@jit(inline=True, inside=True)
def span(rows, t):
    """Where the numbers of row t are."""
    return rows.indptr[t], rows.indptr[t + 1]


@store.register(Sparse)
def _(rows, t, points, used, i):
    width = points.shape[2]
    p, lane = i // width, i % width
    clear(points, used, i)
    word, bits = 0, ZERO
    for q in range(rows.indptr[t], rows.indptr[t + 1]):
        j = np.int64(rows.indices[q])
        points[p, j, lane] = rows.values[q]
        if j // 64 != word:  # columns come in order: a word at a time
            used[i, word] |= bits
            word, bits = j // 64, ZERO
        bits |= ONE << np.uint64(j % 64)
    used[i, word] |= bits


@jit(inside=True)
def clear(points, used, i):
    """Point i = 0, by way of its own features only: they are far apart in memory."""
    width = points.shape[2]
    for word in range(used.shape[1]):
        bits = used[i, word]
        while bits != ZERO:
            points[i // width, 64 * word + lowest_bit(bits), i % width] = 0
            bits &= bits - ONE
        used[i, word] = ZERO


@copy_columns.register(Sparse)
def _(rows, t, first, n, out, at):
    for i in range(at, at + n):
        out[i] = 0
    for q in range(rows.indptr[t], rows.indptr[t + 1]):
        i = rows.indices[q] - first
        if 0 <= i < n:
            out[at + i] = rows.values[q]


@sqnorm.register(Sparse)
def _(rows, t):
    return norm_of(rows.values, rows.indptr[t], rows.indptr[t + 1])


@l1norm.register(Sparse)
def _(rows, t):
    total = 0.0
    for q in range(rows.indptr[t], rows.indptr[t + 1]):
        total += abs(rows.values[q])
    return total


@jit(inline=True)
def norm_of(values, start, stop):
    """Sum of squares of a stretch of a flat array."""
    return sum_of_squares(values, start, stop)


# A stored point as an example, to compare it with its fellows.


@jit(inside=True)
def take_dense(points, i, held):
    """Row 0 of `held`, a Dense, = point i."""
    width = points.shape[2]
    for j in range(points.shape[1]):
        held.values[0, j] = points[i // width, j, i % width]


@jit(inside=True)
def take_sparse(points, used, i, held):
    """Row 0 of `held`, a Sparse, = point i."""
    width, n = points.shape[2], 0
    for word in range(used.shape[1]):
        bits = used[i, word]
        while bits != ZERO:
            j = 64 * word + lowest_bit(bits)
            held.values[n], held.indices[n] = points[i // width, j, i % width], j
            n += 1
            bits &= bits - ONE
    held.indptr[1] = n


@jit(inside=True)
def move_point(points, used, i, to):
    """Point `to` = point i, which becomes 0."""
    width = points.shape[2]
    clear(points, used, to)
    for word in range(used.shape[1]):
        bits = used[i, word]
        used[to, word] = bits
        while bits != ZERO:
            j = 64 * word + lowest_bit(bits)
            points[to // width, j, to % width] = points[i // width, j, i % width]
            bits &= bits - ONE
    clear(points, used, i)
