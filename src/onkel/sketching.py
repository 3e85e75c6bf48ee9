"""Incremental randomized sketching: features from two sketches of the kernel matrix of a growing sample of a stream.

X is the sample, X~ a few landmarks chosen among its first points, S a sparse random matrix with a row for every point
of X. Of the kernel matrix K = k(X, X) all that is kept are A = S' K S and C = S' k(X, X~); a further point changes them
by a few outer products. With the k largest eigenvalues, A ~ V diag(l) V': Q = C^+ V diag(l)^(1/2), and the features are
z(x) = Q' k(X~, x) (Zhang & Liao, ICML 2019, section 4).

A row of S has a 1 or -1 in each of d blocks of columns, over sqrt(d): a sparse Johnson-Lindenstrauss transform (Kane &
Nelson, JACM 61, 2014). Rows are hashes of their numbers, so none is kept.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ._jit import generic, jit
from ._panels import panel_shape, slots
from ._simd import aligned
from .expansion import PAUSE, SEEN, SIZE
from .kernels import against
from .nystroem import change_features, compare, gram_of, matrix_of, seat, set_matrix, spectrum
from .rng import hashed, key_of, uniforms
from .rows import Dense, Sparse, take_dense, take_sparse

PROCESSED = 3  # in a sketch's count, beside what a map counts
SIGNS, LANDMARKS, PROBES = 1, 2, 3  # streams of a key's random numbers
CARRY = ("paper", "keep", "least_squares")
EXTRA = 10  # probes beyond the rank


class Work(NamedTuple):
    k: np.ndarray  # (slots,) k(x, X)
    v: np.ndarray  # (sketch size,) S' k(X, x)
    dense: Dense  # one example, for a stored point
    sparse: Sparse


class Sketch(NamedTuple):
    kernel: Any
    points: np.ndarray  # (panels, d, width) the sample X
    used: np.ndarray  # as in an Expansion
    norms: np.ndarray  # (slots,)
    born: np.ndarray  # (capacity,) positions in the stream
    count: np.ndarray  # [points, 0, 0, points so far]
    pp: np.ndarray  # A, always float64
    pm: np.ndarray  # C
    most: int  # points kept: then a new one takes the place of the oldest
    blocks: int  # d
    scratch: Work


def sketch(kernel, capacity, size, sample, d, dtype, *, most, blocks):
    """Sketches of no points, with room for `capacity` of them."""
    panels, width = panel_shape(capacity, dtype)
    n = slots(capacity, dtype)
    held = Sparse(aligned(d, dtype), np.zeros(d, np.int32), np.zeros(2, np.int64))
    return Sketch(
        kernel,
        points=aligned((panels, d, width), dtype),
        used=np.zeros((capacity, -(-d // 64)), np.uint64),
        norms=aligned(n, dtype),
        born=np.zeros(capacity, np.int64),
        count=np.zeros(4, np.int64),
        pp=np.zeros((size, size)),
        pm=np.zeros((size, sample)),
        most=most,
        blocks=blocks,
        scratch=Work(aligned(n, dtype), np.zeros(size), Dense(aligned((1, d), dtype)), held),
    )


@jit(inline=True, inside=True)
def spot(seed, i, b, blocks, size):
    """(column, sign) of the entry of row i of S in block b."""
    bits = hashed(seed, np.uint64(i * blocks + b))
    first = b * size // blocks
    width = (b + 1) * size // blocks - first
    column = first + np.int64(np.float64(bits >> np.uint64(11)) * 2.0**-53 * width)
    return column, 1.0 - 2.0 * np.float64(bits & np.uint64(1))


@jit(inside=True)
def tally(sketch, map, rows, t, i, sign, seed):
    """Count point i, which is row t, into both sketches or, with sign -1, out of them."""
    n, size, blocks, k, v = sketch.count[SIZE], sketch.pp.shape[0], sketch.blocks, sketch.scratch.k, sketch.scratch.v
    against(sketch.kernel, rows, t, sketch.points, sketch.norms, n, k)
    for e in range(size):
        v[e] = 0.0
    for j in range(n):
        for b in range(blocks):
            c, s = spot(seed, j, b, blocks, size)
            v[c] += s * k[j]
    for b in range(blocks):  # v has the point itself, which both products below would count
        c, s = spot(seed, i, b, blocks, size)
        v[c] -= s * k[i] / 2
    compare(map, rows, t)
    for b in range(blocks):
        c, s = spot(seed, i, b, blocks, size)
        factor = sign * s / blocks
        for e in range(size):
            sketch.pp[c, e] += factor * v[e]
            sketch.pp[e, c] += factor * v[e]
        for j in range(sketch.pm.shape[1]):
            sketch.pm[c, j] += factor * np.sqrt(blocks) * map.scratch.k[j]


@generic
def tally_stored(rows, sketch, map, i, sign, seed):
    """`tally` for the stored point i, computed as for `rows`."""


@tally_stored.register(Dense)
def _(rows, sketch, map, i, sign, seed):
    held = sketch.scratch.dense
    take_dense(sketch.points, i, held)
    tally(sketch, map, held, 0, i, sign, seed)


@tally_stored.register(Sparse)
def _(rows, sketch, map, i, sign, seed):
    held = sketch.scratch.sparse
    take_sparse(sketch.points, sketch.used, i, held)
    tally(sketch, map, held, 0, i, sign, seed)


@jit
def gather(sketch, map, rows, seed):
    """Both sketches of the points that are there."""
    n = sketch.count[SIZE]
    for i in range(n):
        sketch.count[SIZE] = i + 1
        tally_stored(rows, sketch, map, i, 1.0, seed)
    sketch.count[PROCESSED] = n


@jit
def process(sketch, map, rows, t, position, seed):
    """Row t, number `position` of the stream, joins the sample, for which there is room."""
    i = sketch.count[PROCESSED] % sketch.most
    if i < sketch.count[SIZE]:
        tally_stored(rows, sketch, map, i, -1.0, seed)
    else:
        sketch.count[SIZE] = i + 1
    seat(sketch, rows, t, i, position)
    sketch.count[PROCESSED] += 1
    tally(sketch, map, rows, t, i, 1.0, seed)


@jit
def process_some(sketch, map, rows, first, last, step, seen, seed):
    """Rows first, first + step, ... before `last` join the sample; the batch begins at number `seen` of the stream."""
    for t in range(first, last, step):
        process(sketch, map, rows, t, seen + t, seed)


def choose_landmarks(map, pool, key):
    """A random choice of the pool's points fills the map; returns their numbers."""
    n = pool.count[SIZE]
    chosen = np.sort(np.argsort(uniforms(key, LANDMARKS, n))[: len(map.born)])
    width, wide = map.points.shape[2], pool.points.shape[2]
    for j, i in enumerate(chosen):
        map.points[j // width, :, j % width] = pool.points[i // wide, :, i % wide]
        map.used[j], map.norms[j], map.born[j] = pool.used[i], pool.norms[i], pool.born[i]
    map.count[SIZE] = len(chosen)
    return chosen


def seed_of(key):
    """What the rows of S are hashed with."""
    return key_of(key, SIGNS)


def found(sketch, map, rows, key):
    """Landmarks and sketches of the buffer; returns the landmarks' numbers in it."""
    chosen = choose_landmarks(map, sketch, key)
    gather(sketch, map, rows, seed_of(key))
    return chosen


def features_of(sketch, rank, dtype, key):
    """Q, (landmarks, rank); by a random search for the eigenvectors, unless the key is None."""
    if not (np.isfinite(sketch.pp).all() and np.isfinite(sketch.pm).all()):
        raise OverflowError("the sketches have overflowed")
    size, probes = len(sketch.pp), None
    if key is not None:
        shape = size, min(rank + EXTRA, size)
        probes = ndtri(uniforms(key, PROBES, shape, int(sketch.count[PROCESSED]) * shape[0] * shape[1]))
    values, vectors = spectrum(sketch.pp, rank, dtype, probes)
    least = 1e-8 if dtype == np.float64 else 1e-4
    return np.linalg.pinv(sketch.pm, least) @ (vectors * np.sqrt(values))


# Learning on such features: how a model follows when they change. Weights w become w @ the matrix that these give.


def at_one_point(before, after):
    """The score at one point stays, nothing else: w <- <w, before> after / |after|^2, before and after its features."""
    size = after @ after
    return np.outer(before, after / size if size > 0 else after)


def at_many_points(before, after):
    """The scores at some points stay as nearly as they can; before and after: a row of features for each."""
    return (np.linalg.pinv(after) @ before).T


def carried(carry, map, old, new, k):
    """From features Q_old' k(X~, x) to Q_new' k(X~, x); k: those of the present example."""
    if carry == "paper":
        return at_one_point(old.T @ k, new.T @ k)
    if carry == "keep":
        return np.eye(old.shape[1], new.shape[1])
    K = gram_of(map)
    return at_many_points(K @ old, K @ new)


def begin(learner, rows, t, rank, init, key, probe):
    """From the kernel model to the first features, before example t is learnt."""
    sketch, map, dtype = learner.sketch, learner.map, learner.map.points.dtype
    compare(sketch, rows, t)
    k = sketch.scratch.k[: sketch.count[SIZE]].astype(float)
    chosen = found(sketch, map, rows, key)
    Q = features_of(sketch, rank, dtype, probe)
    if init == "paper":
        change = at_one_point(k, Q.T @ k[chosen])
    else:
        K = gram_of(sketch)
        change = at_many_points(K, K[:, chosen] @ Q)
    move(learner, Q, change)


def renew(learner, rows, t, rank, carry, key, probe):
    """Example t joins the sample, before it is learnt; new features."""
    sketch, map, f = learner.sketch, learner.map, learner.f
    process(sketch, map, rows, t, f.count[SEEN], seed_of(key))
    k = map.scratch.k[: map.count[SIZE]].astype(float)
    old = matrix_of(map).T.astype(float)
    Q = features_of(sketch, rank, map.points.dtype, probe)
    move(learner, Q, carried(carry, map, old, Q, k))


def move(learner, Q, change):
    """Features Q' k(X~, x) from now on; weights w become w @ change."""
    change_features(learner.f, change)
    set_matrix(learner.map, Q.T)
    learner.f.count[PAUSE] = learner.clock[0] = 0
