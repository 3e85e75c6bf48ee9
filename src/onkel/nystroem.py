"""Nystroem features: z(x) = M k(S, x) for landmarks S, a kernel row and a small product per example.

From the eigenvalues and eigenvectors of the landmarks' Gram matrix K = V diag(l) V', the largest ones, comes
M = diag(l)^(-1/2) V': then <z(x), z(x')> is the best approximation of k(x, x') of that rank on the landmarks
(Williams & Seeger, NIPS 2000).

While there is no M, the kernel values k(S, x) themselves are the features: a model on them is a kernel model, and what
M makes of it is one product of its coefficients.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ._jit import jit
from ._panels import block_dots, padded, panel_dots, panel_shape, slots
from ._simd import aligned, put_row
from .expansion import CHUNK, PAUSE, SEEN, SIZE, settle
from .features import transform
from .kernels import against, bases, measure, of_bases
from .linear import ahead
from .rng import below
from .rows import Dense

RANK, READY = 1, 2  # beside SIZE, in a map's count


class Work(NamedTuple):
    k: np.ndarray  # (slots,) k(x, landmarks)
    ahead: np.ndarray  # (CHUNK, slots) the same for some rows at once, and what the kernel makes it of


class Nystroem(NamedTuple):
    kernel: Any
    points: np.ndarray  # (panels, d, width) the landmarks
    used: np.ndarray  # as in an Expansion
    norms: np.ndarray  # (slots,)
    born: np.ndarray  # (capacity,) positions in the stream
    matrix: np.ndarray  # (panels, capacity, width) M, laid out like points: row i, lane r is M[r, i]
    count: np.ndarray  # [landmarks, rank, whether there is an M]
    scratch: Work


def nystroem_shapes(capacity, rank, d, dtype):
    """Of the arrays `points` and `matrix`."""
    (panels, width), (more, broad) = panel_shape(capacity, dtype), panel_shape(rank, dtype)
    return (panels, d, width), (more, capacity, broad)


def nystroem(kernel, capacity, rank, d, dtype):
    """A map with room for `capacity` landmarks, of a rank up to `rank`."""
    points, matrix = nystroem_shapes(capacity, rank, d, dtype)
    n = slots(capacity, dtype)
    return Nystroem(
        kernel,
        points=aligned(points, dtype),
        used=np.zeros((capacity, -(-d // 64)), np.uint64),
        norms=aligned(n, dtype),
        born=np.zeros(capacity, np.int64),
        matrix=aligned(matrix, dtype),
        count=np.zeros(3, np.int64),
        scratch=Work(aligned(n, dtype), aligned((CHUNK, n), dtype)),
    )


def landmarks_of(map):
    """The landmarks as an array (size, d)."""
    d = map.points.shape[1]
    return np.moveaxis(map.points, 1, 2).reshape(-1, d)[: map.count[SIZE]].copy()


def matrix_of(map):
    """M, (rank, size)."""
    flat = np.moveaxis(map.matrix, 1, 2).reshape(-1, map.matrix.shape[1])
    return flat[: map.count[RANK], : map.count[SIZE]].copy()


@transform.register(Nystroem)
def _(map, rows, first, last, z, stride):
    kernel, points, _, norms, _, _, count, (k, ahead) = map
    n = count[SIZE]
    for start in range(first, last, CHUNK):
        some = min(CHUNK, last - start)
        many = bases(kernel, rows, start, some, points, 0, n, ahead, 0)
        for c in range(some):
            if many:
                of_bases(kernel, rows, start + c, norms, n, ahead, c, k)
            else:
                against(kernel, rows, start + c, points, norms, n, k)
            put_row(ahead, c, k, n)
        embed_rows(map, some, z, (start - first) * stride, stride)


@jit(inside=True)
def embed_rows(map, rows, z, at, stride):
    """z[at + c * stride:] = M k, with zeros up to the stride, for the rows k = `ahead`[c] of the scratch."""
    rank, matrix = map.count[RANK], map.matrix
    width = matrix.shape[2]
    for p in range((rank + width - 1) // width):
        block_dots(map.scratch.ahead, 0, rows, matrix, p, 0, min(width, rank - p * width), z, at, stride)
    for c in range(rows):
        for i in range(rank, stride):
            z[at + c * stride + i] = 0


@jit(inside=True)
def embed(matrix, count, k, z, at, stride):
    """z[at:] = M k, with zeros up to the stride."""
    n, rank, width = count[SIZE], count[RANK], matrix.shape[2]
    for p in range((rank + width - 1) // width):
        panel_dots(k, k, 0, n, matrix, p, min(width, rank - p * width), z, at)
    for i in range(at + rank, at + stride):
        z[i] = 0


# Landmarks, and the matrix that follows from them.


@jit(inside=True)
def join(map, rows, t, position):
    """Make row t, number `position` of the stream, the next landmark; returns its slot."""
    i = map.count[SIZE]
    seat(map, rows, t, i, position)
    map.count[SIZE] = i + 1
    return i


@jit(inside=True)
def seat(map, rows, t, i, position):
    """Make row t landmark i."""
    settle(map, rows, t, i)
    map.norms[i] = measure(map.kernel, rows, t)
    map.born[i] = position
    map.count[RANK], map.count[READY] = 0, 0


@jit
def take_first(map, rows, n, seen):
    """The first rows of the stream become landmarks, as long as there is room; `seen` is how many came before."""
    for t in range(min(n, map.born.shape[0] - map.count[SIZE])):
        join(map, rows, t, seen + t)


@jit
def take_uniformly(map, rows, n, seen, rng):
    """Every row of the stream so far is a landmark with the same probability (a reservoir)."""
    for t in range(n):
        if not complete(map):
            join(map, rows, t, seen + t)
            continue
        i = below(rng, seen + t + 1)
        if i < map.count[SIZE]:
            seat(map, rows, t, i, seen + t)


@jit
def compare(map, rows, t):
    """Leave k(row t, landmarks) in the scratch."""
    against(map.kernel, rows, t, map.points, map.norms, map.count[SIZE], map.scratch.k)


@jit
def cross(map, rows, out):
    """out[t, i] = k(row t, landmark i)."""
    for t in range(out.shape[0]):
        compare(map, rows, t)
        for i in range(out.shape[1]):
            out[t, i] = map.scratch.k[i]


def gram_of(map):
    """The landmarks' Gram matrix."""
    points = landmarks_of(map)
    K = np.empty((len(points), len(points)))
    cross(map, Dense(points), K)
    return (K + K.T) / 2


def spectrum(K, rank, dtype, probes=None):
    """The largest eigenvalues of a Gram matrix, `rank` at most, and a column for the eigenvector of each.

    They descend; those that are 0 but for rounding are left out. The largest entry of each eigenvector is positive.
    `probes`: random columns, whose images under K, twice refined, span what is searched (Halko, Martinsson & Tropp,
    SIAM Review 53, 2011); without them the answer is exact.
    """
    n = len(K)
    if probes is None:
        values, vectors = scipy.linalg.eigh(K, subset_by_index=(max(n - rank, 0), n - 1))
    else:
        for _ in range(3):
            probes, _ = np.linalg.qr(K @ probes)
        values, vectors = scipy.linalg.eigh(probes.T @ K @ probes)
        values, vectors = values[-rank:], probes @ vectors[:, -rank:]
    least = 1e-10 if dtype == np.float64 else 1e-6
    kept = [i for i in range(len(values))[::-1] if values[i] > max(least * values[-1], 0)]
    values, vectors = values[kept], vectors[:, kept]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, range(len(kept))])


def set_matrix(map, matrix):
    """M = matrix, (rank, size)."""
    rank, size = matrix.shape
    width = map.matrix.shape[2]
    map.matrix[...] = 0
    for r in range(rank):
        map.matrix[r // width, :size, r % width] = matrix[r]
    map.count[RANK], map.count[READY] = rank, 1


def find_matrix(map, rank):
    """M from the `rank` largest eigenvalues of the landmarks' Gram matrix."""
    values, vectors = spectrum(gram_of(map), rank, map.points.dtype)
    set_matrix(map, (vectors / np.sqrt(values)).T)
    return values, vectors


# Learning in two stages: a kernel model until the landmarks are complete, then a linear one on the features they give.


@jit(inside=True)
def present(pool, map, f, rows, t, start, stop):
    """Leave in f's scratch the features of row t: the kernel values of the pool, or z once the map is ready."""
    if map.count[READY]:
        ahead(map, f, rows, t, start, stop)
    else:
        against(pool.kernel, rows, t, pool.points, pool.norms, pool.count[SIZE], f.scratch.z)
        f.scratch.at[0] = 0


@jit(inside=True)
def stand_alone(map, f, rows, t):
    """Make row t a landmark, in the first stage, and its own kernel values those of the row: only itself.

    A step on these features is the insertion of k(x, .) into the kernel model.
    """
    z = f.scratch.z
    for i in range(f.count[SIZE]):
        z[i] = 0
    f.scratch.at[0] = 0
    z[join(map, rows, t, f.count[SEEN])] = 1


@jit(inside=True)
def complete(map):
    """Whether there is no room for a further landmark."""
    return map.count[SIZE] == map.born.shape[0]


def change_features(f, matrix):
    """Weights w become w @ matrix, (old features, new ones), and so does what the average knows of their past."""
    old, new = matrix.shape
    for weights in (f.coef, f.past):
        if weights.shape[1] > 0:
            w = weights[:, :old] @ matrix
            weights[...] = 0
            weights[:, :new] = w
    f.count[SIZE] = padded(max(new, 1))


def switch(map, f, rank):
    """From kernel values to the features of the `rank` largest eigenvalues, carrying the model over.

    w = diag(l)^(1/2) V' a makes <w, z(x)> the kernel model a'k(S, x) itself, or its best approximation of that rank.
    """
    values, vectors = find_matrix(map, rank)
    change_features(f, vectors * np.sqrt(values))
    f.count[PAUSE] = 0
