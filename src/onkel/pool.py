"""Points that the expansions of several kernels share: every point is stored once, whoever uses it.

One row of inner products or distances from an example to all points serves every kernel that is a function of them: an
expansion gathers those of its own points, in its own order, and goes on as if it had the points to itself.
"""

from typing import Any, NamedTuple

import numpy as np

from . import nystroem
from ._jit import jit
from ._panels import panel_shape, slots
from ._simd import aligned, dot, exps_at
from .expansion import SCALE, SIZE, Scratch, norm_at, place_of, row_of, scratch, settle
from .kernels import LAPLACIAN, base_of, finish, nth_kernel
from .rows import DOTS, SQDISTS, dots, l1dists, l1norm, sqdists, sqnorm, store

FREE = 1  # beside SIZE, in a pool's count
NOBODY = -1


class Work(NamedTuple):
    bases: np.ndarray  # (3, slots) inner products, squared and 1-norm distances of the present example with all points
    latest: np.ndarray  # (1,) where that example is stored, or NOBODY


class Pool(NamedTuple):
    points: np.ndarray  # (panels, d, width)
    used: np.ndarray  # as in an Expansion
    norms: np.ndarray  # (slots,) |point|^2
    lengths: np.ndarray  # (slots,) |point| in the 1-norm
    users: np.ndarray  # (capacity,) expansions that have this point
    free: np.ndarray  # (capacity,) places without users, the first count[FREE] of them
    count: np.ndarray  # [places ever used, free ones among them]
    most: int  # places that the pool may ever need
    scratch: Work


class Bank(NamedTuple):
    """The expansions of m kernels: an Expansion's arrays with one more dimension, and places in the pool for points."""

    place: np.ndarray  # (m, capacity)
    coef: np.ndarray  # (m, outputs, slots)
    past: np.ndarray  # (m, outputs, 0)
    bias: np.ndarray  # (m, outputs)
    norms: np.ndarray  # (m, slots)
    diag: np.ndarray  # (m, slots)
    born: np.ndarray  # (m, capacity)
    count: np.ndarray  # (m, 4)
    lazy: np.ndarray  # (m, 3)
    budget: int  # most points of one kernel
    total: int  # and of all together, counting a point once for every kernel
    scratch: Scratch  # k: (m, slots)


class Member(NamedTuple):
    """One of a bank's expansions, with an Expansion's names."""

    pool: Pool
    place: np.ndarray
    points: np.ndarray
    used: np.ndarray
    coef: np.ndarray
    past: np.ndarray
    bias: np.ndarray
    norms: np.ndarray
    diag: np.ndarray
    born: np.ndarray
    count: np.ndarray
    lazy: np.ndarray
    budget: int
    scratch: Scratch


def pool_work(n, dtype):
    return Work(aligned((3, n), dtype), np.zeros(1, np.int64))


def pool(capacity, d, dtype, most):
    """Room for `capacity` points, which may grow to `most`."""
    panels, width = panel_shape(capacity, dtype)
    n = slots(capacity, dtype)
    return Pool(
        points=aligned((panels, d, width), dtype),
        used=np.zeros((capacity, -(-d // 64)), np.uint64),
        norms=aligned(n, dtype),
        lengths=aligned(n, dtype),
        users=np.zeros(capacity, np.int64),
        free=np.zeros(capacity, np.int64),
        count=np.zeros(2, np.int64),
        most=most,
        scratch=pool_work(n, dtype),
    )


def bank_scratch(m, n, d, outputs, dtype):
    """Work space for m expansions of n slots, which take turns but for their kernel rows."""
    return scratch(n, d, outputs, dtype)._replace(k=aligned((m, n), dtype))


def bank(m, capacity, d, outputs, dtype, budget, total):
    """m empty expansions with room for `capacity` points each."""
    n = slots(capacity, dtype)

    def new(*shape):
        return aligned((m, *shape), dtype)

    return Bank(
        place=np.zeros((m, capacity), np.int64),
        coef=new(outputs, n),
        past=new(outputs, 0),
        bias=new(outputs),
        norms=new(n),
        diag=new(n),
        born=np.zeros((m, capacity), np.int64),
        count=np.zeros((m, 4), np.int64),
        lazy=np.tile([1.0, 0.0, 0.0], (m, 1)),
        budget=budget,
        total=total,
        scratch=bank_scratch(m, n, d, outputs, dtype),
    )


class Landmarks(NamedTuple):
    """Nystroem features (see `nystroem`) of one kernel, or of m with one more dimension, the landmarks in a pool."""

    kernel: Any
    pool: Any
    place: np.ndarray  # (capacity,)
    norms: np.ndarray
    born: np.ndarray
    matrix: np.ndarray
    count: np.ndarray
    scratch: nystroem.Work


def landmarks(m, capacity, rank, dtype):
    """Room for `capacity` landmarks of each of m kernels."""
    n = slots(capacity, dtype)
    return Landmarks(
        kernel=0,
        pool=0,
        place=np.zeros((m, capacity), np.int64),
        norms=aligned((m, n), dtype),
        born=np.zeros((m, capacity), np.int64),
        matrix=aligned((m, *nystroem.nystroem_shapes(capacity, rank, 1, dtype)[1]), dtype),
        count=np.zeros((m, 3), np.int64),
        scratch=nystroem.Work(aligned(n, dtype), aligned((0, n), dtype)),
    )


@jit(inline=True, inside=True)
def nth_landmarks(pool, map, kernel, i):
    """The map of kernel i."""
    return Landmarks(kernel, pool, map.place[i], map.norms[i], map.born[i], map.matrix[i], map.count[i], map.scratch)


@jit(inline=True, inside=True)
def limit(bank, i, held):
    """Most points that expansion i may have when all together hold `held`: at the common limit, as many as it has."""
    return bank.budget if held < bank.total else bank.count[i, SIZE]


@jit(inline=True, inside=True)
def member(pool, bank, i, budget):
    """Expansion i."""
    s = bank.scratch
    return Member(
        pool,
        bank.place[i],
        pool.points,
        pool.used,
        bank.coef[i],
        bank.past[i],
        bank.bias[i],
        bank.norms[i],
        bank.diag[i],
        bank.born[i],
        bank.count[i],
        bank.lazy[i],
        budget,
        Scratch(s.move, s.mean, s.k[i], s.other, s.ahead, s.touched, s.dense, s.sparse),
    )


# Kernel rows.


@jit(inline=True, inside=True)
def measure_from(pool, base, rows, t):
    """The inner products or distances of x with all points."""
    n, out = pool.count[SIZE], pool.scratch.bases[base]
    if base == DOTS:
        dots(rows, t, pool.points, n, out)
    elif base == SQDISTS:
        sqdists(rows, t, pool.points, n, out, pool.norms)
    else:
        l1dists(rows, t, pool.points, n, out, pool.lengths)


@jit(inline=True)
def gather(f, kernel, rows, t, k):
    """k[j] = k(x, point j) from what `measure_from` left."""
    base, place, n = f.pool.scratch.bases[base_of(kernel)], f.place, f.count[SIZE]
    for j in range(n):
        k[j] = base[place[j]]
    finish(kernel, rows, t, f.norms, n, k)


@jit(inline=True, inside=True)
def gather_all(pool, bank, table, rows, t):
    """The kernel rows of all expansions, as `gather` has them bit for bit: the exponentials of all at once."""
    exps_at(pool.scratch.bases, table.falls, table.gamma, bank.place, bank.count, bank.scratch.k)
    for i in range(table.falls.shape[0]):
        if table.falls[i] < 0:
            f = member(pool, bank, i, 0)
            gather(f, nth_kernel(table, i), rows, t, f.scratch.k)


@jit(inline=True, inside=True)
def evaluate_all(bank, scores):
    """scores[i, r] = f^i_r(x) for all expansions i, from their kernel rows."""
    for i in range(bank.place.shape[0]):
        for r in range(bank.coef.shape[1]):
            product = dot(bank.coef[i], r, bank.scratch.k[i], bank.count[i, SIZE])
            scores[i, r] = bank.lazy[i, SCALE] * product + bank.bias[i, r]


@row_of.register(Member)
def _(f, kernel, rows, t, k):
    measure_from(f.pool, base_of(kernel), rows, t)
    gather(f, kernel, rows, t, k)


# Who is stored.


@place_of.register(Member)
def _(f, i):
    return f.place[i]


@norm_at.register(Member)
def _(f, i, kernel, rows, t):
    return (f.pool.lengths if kernel.kind == LAPLACIAN else f.pool.norms)[f.place[i]]


@settle.register(Landmarks)
@settle.register(Member)
def _(f, rows, t, i):
    move_in(f, rows, t, i)


@jit(inline=True, inside=True)
def move_in(f, rows, t, i):
    """Point i of f = x, stored if no other expansion did so in this round; the point that was there loses a user."""
    pool, latest = f.pool, f.pool.scratch.latest
    if i < f.count[SIZE]:
        leave(pool.users, pool.free, pool.count, f.place[i])
    if latest[0] == NOBODY:
        latest[0] = enter(pool, rows, t)
    f.place[i] = latest[0]
    pool.users[latest[0]] += 1


@jit(inline=True, inside=True)
def leave(users, free, count, place):
    """One user less; a place without users is free. No branch, which nobody could foretell."""
    users[place] -= 1
    free[count[FREE]] = place
    count[FREE] += users[place] == 0


@jit(inline=True, inside=True)
def enter(pool, rows, t):
    """Store x in a free place, the one that became free last, or behind all."""
    if pool.count[FREE] > 0:
        pool.count[FREE] -= 1
        place = pool.free[pool.count[FREE]]
    else:
        place = pool.count[SIZE]
        pool.count[SIZE] += 1
    store(rows, t, pool.points, pool.used, place)
    pool.norms[place], pool.lengths[place] = sqnorm(rows, t), l1norm(rows, t)
    return place


@jit(inline=True, inside=True)
def crowded(pool):
    """Whether a further point would need more room."""
    capacity = pool.users.shape[0]
    return pool.count[FREE] == 0 and pool.count[SIZE] == capacity and capacity < pool.most
