"""f_r(x) = scale * sum_i coef[r, i] k(point_i, x) + bias[r], one r per output: what every kernel learner keeps."""

from typing import NamedTuple

import numpy as np

from ._jit import generic, jit
from ._panels import panel_shape, slots
from ._simd import aligned, dot
from .kernels import against, bases, itself, measure, of_bases
from .rows import Dense, Sparse, move_point, store, take_dense, take_sparse

SIZE, INSERTED, SEEN, PAUSE = range(4)  # PAUSE: the dictionary needs more room before the next round
SCALE, TOTAL, ROUNDS = range(3)  # TOTAL: sum of the scales of the rounds so far
UNLIMITED = 2**62
CHUNK = 16  # rows compared with all points at once
FIRST_LEVEL = 2**15  # bytes of points that stay in the processor's first cache: no chunks up to there


class Scratch(NamedTuple):
    """Work space: no part of the model."""

    move: np.ndarray  # (outputs,) direction of the latest update
    mean: np.ndarray  # (outputs,) averaged scores of the latest `predict`
    k: np.ndarray  # (slots,) k(x, points) of the latest `predict`
    other: np.ndarray  # (slots,) k(a stored point, points)
    ahead: np.ndarray  # (CHUNK, slots) what the kernel makes k of, for a chunk of rows; no rows when points are few
    touched: np.ndarray  # [how many of them, points that changed since then]
    dense: Dense  # one example, for a stored point
    sparse: Sparse


class Expansion(NamedTuple):
    points: np.ndarray  # (panels, d, width)
    used: np.ndarray  # (capacity, d / 64) bit j of row i: feature j of point i may differ from 0
    coef: np.ndarray  # (outputs, slots): a row per output, so that every output is one contiguous product
    past: np.ndarray  # (outputs, slots) coef * total at the time it was set; no slots when not averaging
    bias: np.ndarray  # (outputs,)
    norms: np.ndarray  # (slots,) |point|^2, or what the kernel measures instead
    diag: np.ndarray  # (slots,) k(point, point)
    born: np.ndarray  # (capacity,) position in the stream
    count: np.ndarray  # [size, insertions, rounds seen, pause]
    lazy: np.ndarray  # [scale, total, rounds]
    budget: int  # most points; the capacity grows up to it
    scratch: Scratch


def scratch(n, d, outputs, dtype):
    """Work space for n slots."""

    def new(*shape):
        return aligned(shape, dtype)

    chunk = CHUNK if n * d * np.dtype(dtype).itemsize > FIRST_LEVEL and d >= CHUNK // 2 else 0
    held = Sparse(new(d), np.zeros(d, np.int32), np.zeros(2, np.int64))
    touched = np.zeros(1 + CHUNK, np.int64)
    return Scratch(new(outputs), new(outputs), new(n), new(n), new(chunk, n), touched, Dense(new(1, d)), held)


def with_own_scratch(f):
    """The same expansion with work space of its own, to predict with while others use it."""
    return f._replace(scratch=scratch(f.coef.shape[1], f.points.shape[1], f.coef.shape[0], f.coef.dtype))


def dense_points(f):
    """The points as an array (size, d)."""
    d = f.points.shape[1]
    return np.moveaxis(f.points, 1, 2).reshape(-1, d)[: f.count[SIZE]].copy()


def empty(capacity, d, outputs=1, dtype=np.float64, *, budget=None, average=False):
    """An expansion with room for `capacity` points, which may grow to `budget` (default: the capacity)."""
    panels, width = panel_shape(capacity, dtype)
    n = slots(capacity, dtype)

    def new(*shape):
        return aligned(shape, dtype)

    return Expansion(
        points=new(panels, d, width),
        used=np.zeros((capacity, -(-d // 64)), np.uint64),
        coef=new(outputs, n),
        past=new(outputs, n if average else 0),
        bias=new(outputs),
        norms=new(n),
        diag=new(n),
        born=np.zeros(capacity, np.int64),
        count=np.zeros(4, np.int64),
        lazy=np.array([1.0, 0.0, 0.0]),
        budget=capacity if budget is None else int(budget),
        scratch=scratch(n, d, outputs, dtype),
    )


@jit(inline=True)
def predict(f, kernel, rows, t, scores):
    """scores[t, r] = f_r(x); leaves k(x, points) in the scratch."""
    against(kernel, rows, t, f.points, f.norms, f.count[SIZE], f.scratch.k)
    evaluate(f, scores, t)


@jit(inline=True, inside=True)
def evaluate(f, scores, t):
    """scores[t, r] = f_r(x) from the kernel row in the scratch."""
    n, k = f.count[SIZE], f.scratch.k
    for r in range(f.coef.shape[0]):
        scores[t, r] = f.lazy[SCALE] * dot(f.coef, r, k, n) + f.bias[r]


@jit(inside=True)
def foresee(f, kernel, rows, t, start, stop):
    """Leave k(x, points) in the scratch: all points for a chunk at its first row, then those that changed since.

    For rows start..stop-1 in turn; the same bits as `against`. False, and nothing done, where that is as fast.
    """
    if f.scratch.ahead.shape[0] == 0:
        return False
    ahead, touched, n = f.scratch.ahead, f.scratch.touched, f.count[SIZE]
    c = (t - start) % CHUNK
    left, first, last = min(CHUNK - c, stop - t), 0, 1
    if c > 0 and touched[0] < CHUNK:
        first, last = 1, 1 + touched[0]
    for q in range(first, last):
        low, high = (0, n) if q == 0 else (touched[q], touched[q] + 1)
        if not bases(kernel, rows, t, left, f.points, low, high, ahead, c):
            touched[0] = CHUNK  # so it is asked again
            return False
    touched[0] = 0
    of_bases(kernel, rows, t, f.norms, n, ahead, c, f.scratch.k)
    return True


@jit(inline=True, inside=True)
def touch(f, i):
    """Point i changes: what was worked out ahead no longer holds for it. Whatever writes points says so."""
    touched = f.scratch.touched
    if touched[0] < CHUNK:
        touched[0] += 1
        touched[touched[0]] = i


@jit(inside=True)
def average(f):
    """The mean, at the x of the latest `predict`, of the models of all rounds so far and the present one.

    With S the sum of the scales and b_i = a_i S at the insertion of i: (S sum a_i k_i - sum b_i k_i) / rounds.
    """
    n, k, total = f.count[SIZE], f.scratch.k, f.lazy[TOTAL] + f.lazy[SCALE]
    for r in range(f.coef.shape[0]):
        f.scratch.mean[r] = (total * dot(f.coef, r, k, n) - dot(f.past, r, k, n)) / (f.lazy[ROUNDS] + 1.0)


@generic(default=True, inline=True)
def settle(f, rows, t, i):
    """Point i = x, where i == size appends; learners that share their points have bodies of their own."""
    store(rows, t, f.points, f.used, i)


@generic(default=True, inline=True)
def norm_at(f, i, kernel, rows, t):
    """What `norms` keeps of x, which is now point i."""
    return measure(kernel, rows, t)


@jit(inline=True)
def insert(f, i, kernel, rows, t, step):
    """Write x into slot i (i == size appends) with coefficients step * move."""
    settle(f, rows, t, i)
    touch(f, i)
    f.norms[i], f.diag[i] = norm_at(f, i, kernel, rows, t), itself(kernel, rows, t)
    f.born[i] = f.count[SEEN]
    f.count[INSERTED] += 1
    if i == f.count[SIZE]:
        f.count[SIZE] += 1
        f.count[PAUSE] = f.count[SIZE] == f.born.shape[0] and f.count[SIZE] < f.budget
    for r in range(f.coef.shape[0]):
        f.coef[r, i] = step / f.lazy[SCALE] * f.scratch.move[r]
        if f.past.shape[1] > 0:
            f.past[r, i] = f.coef[r, i] * f.lazy[TOTAL]


@jit
def add(f, i, step):
    """Add step * move to the coefficients of point i."""
    for r in range(f.coef.shape[0]):
        change = step / f.lazy[SCALE] * f.scratch.move[r]
        f.coef[r, i] += change
        if f.past.shape[1] > 0:
            f.past[r, i] += change * f.lazy[TOTAL]


@jit
def spread(f, d, step):
    """Add step * d[i] * move to the coefficients of every point i: a move along a projection on the points."""
    for r in range(f.coef.shape[0]):
        factor = step / f.lazy[SCALE] * f.scratch.move[r]
        if factor != 0.0:
            for i in range(f.count[SIZE]):
                f.coef[r, i] += factor * d[i]


@jit
def discard(f, i):
    """Remove point i; the last point takes its slot."""
    last = f.count[SIZE] - 1
    f.count[SIZE] = last
    if i != last:
        move_point(f.points, f.used, last, i)
        touch(f, i)
        f.norms[i], f.diag[i], f.born[i] = f.norms[last], f.diag[last], f.born[last]
    for r in range(f.coef.shape[0]):
        f.coef[r, i] = f.coef[r, last]
        f.coef[r, last] = 0.0
        if f.past.shape[1] > 0:
            f.past[r, i] = f.past[r, last]
            f.past[r, last] = 0.0


@jit(inline=True, inside=True)
def full(f):
    return f.count[SIZE] == f.budget


@jit(inline=True)
def coefficient(f, r, i):
    """The true coefficient of point i in output r."""
    return f.lazy[SCALE] * f.coef[r, i]


@jit(inline=True)
def weights_of(f, out):
    """out[i] = sum over the outputs of the squared coefficients of point i."""
    for i in range(f.count[SIZE]):
        out[i] = 0.0
    for r in range(f.coef.shape[0]):
        for i in range(f.count[SIZE]):
            out[i] += coefficient(f, r, i) ** 2


@jit(inline=True)
def shrink(f, factor):
    """f <- factor * f, in O(1), for factor > 0."""
    f.lazy[SCALE] *= factor
    if f.lazy[SCALE] < 1e-3 or f.lazy[SCALE] > 1e3:  # the average takes differences of coefficients over the scale
        fold(f)


@jit
def fold(f):
    """Put the scale into the coefficients and, when averaging, the total into what is past."""
    for r in range(f.coef.shape[0]):
        for i in range(f.past.shape[1]):
            f.past[r, i] -= f.coef[r, i] * f.lazy[TOTAL]
        for i in range(f.count[SIZE]):
            f.coef[r, i] *= f.lazy[SCALE]
    f.lazy[TOTAL], f.lazy[SCALE] = 0.0, 1.0


@generic(inline=True)
def between(rows, kernel, f, i, k):
    """k[j] = k(point i, point j) for every stored j, computed as for `rows`."""


@between.register(Dense)
def _(rows, kernel, f, i, k):
    held = f.scratch.dense
    take_dense(f.points, place_of(f, i), held)
    row_of(f, kernel, held, 0, k)


@between.register(Sparse)
def _(rows, kernel, f, i, k):
    held = f.scratch.sparse
    take_sparse(f.points, f.used, place_of(f, i), held)
    row_of(f, kernel, held, 0, k)


@generic(default=True, inline=True)
def place_of(f, i):
    """Where in the array of points point i lies."""
    return i


@generic(default=True, inline=True)
def row_of(f, kernel, rows, t, k):
    """k[j] = k(x, point j) for every stored j."""
    against(kernel, rows, t, f.points, f.norms, f.count[SIZE], k)
