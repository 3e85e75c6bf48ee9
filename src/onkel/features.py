"""Feature maps x -> z(x) with <z(x), z(x')> close to k(x, x'), for chunks of examples at a time.

Random Fourier features: a shift-invariant kernel is the mean of cos <u, x - x'> over frequencies u from its spectrum,
and n of them give n sines and n cosines (Rahimi & Recht, NIPS 2007). The frequencies are independent ("plain") or, in
blocks, orthogonal: by QR decompositions ("orthogonal": Yu et al., NIPS 2016), or as products of diagonals with Hadamard
matrices, which are never written out ("structured": SORF, same paper; "fastfood": Le, Sarlos & Smola, ICML 2013).

Blocks of p frequencies reach over tiles of p columns: more columns are further tiles, which change no other.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import gammaincinv, ndtri

from ._jit import generic, jit
from ._panels import padded
from ._simd import BLOCK, HADAMARD, LINE, aligned, butterflies, double_angles, scaled, sincos_of, turn
from .kernels import EXPONENTIAL, LAPLACIAN, MATERN32, MATERN52, RBF
from .rng import uniforms
from .rows import DOTS, block, copy_columns, dots_in_panel

CHUNK = 32  # examples whose features are computed at once
FIRST_LEVEL = 2**15  # bytes of a panel of frequencies that stay in the processor's first cache over a chunk
KINDS = ("plain", "orthogonal", "structured", "fastfood")
SPECTRA = ("rbf", "laplacian", "exponential", "matern32", "matern52")  # kernels that have one
SMOOTHNESS = {EXPONENTIAL: 0.5, MATERN32: 1.5, MATERN52: 2.5}
TILE = 64  # least columns of a tile with Hadamard matrices, whose features have a bias that falls with them
# Streams of a key's random numbers.
FREQUENCIES, RADII, GAUSSIANS, LENGTHS, SIGNS, ORDER = range(6)


@generic
def transform(map, rows, first, last, z, stride):
    """z[c * stride:] = the features of example first + c, up to example last - 1; entries between features are 0."""


@jit
def transform_rows(map, rows, first, last, z, stride):
    """The same, to be called from Python."""
    transform(map, rows, first, last, z, stride)


class Given(NamedTuple):
    """The rows themselves as features."""

    n: int  # columns


@transform.register(Given)
def _(map, rows, first, last, z, stride):
    for t in range(first, last):
        at = (t - first) * stride
        copy_columns(rows, t, 0, map.n, z, at)
        for i in range(at + map.n, at + stride):
            z[i] = 0


class Fourier(NamedTuple):
    """All sin <u_i, x> / sqrt(n), then all cosines, for frequencies u_i that are written out."""

    weights: np.ndarray  # (panels, d, width) the frequencies, laid out like points
    n: int
    tile: int  # columns that share orthogonal blocks; 0: none do
    doublings: int = 0  # of the angles: the frequencies written out are so often halved


class Buffers(NamedTuple):
    x: np.ndarray  # (p,) a tile of an example, turned and turned again
    y: np.ndarray  # (p,) the same in another order


class Structured(NamedTuple):
    """The same for products. Block b over tile k is S H D_3 H D_2 H D_1 or, in an order P, S H D_2 P H D_1."""

    diagonals: np.ndarray  # (tiles, blocks * factors, p) D_1, D_2, ...
    order: np.ndarray  # (tiles, blocks, p) P: entry i comes from place P_i; no blocks: without
    stretch: np.ndarray  # (tiles, blocks, p) S
    n: int
    scratch: Buffers


# ------------------------------------------------------------------------------------ the features of a row


@transform.register(Fourier)
def _(map, rows, first, last, z, stride):
    weights, n, _, doublings = map
    panels, _, width = weights.shape
    for p in range(panels):
        if not block(rows, DOTS, first, last - first, weights, p * width, min(p * width + width, n), z, 0, stride):
            for t in range(first, last):
                dots_in_panel(rows, t, weights, p, min(width, n - p * width), z, (t - first) * stride)
    for c in range(last - first):
        waves(z, c * stride, stride // 2, n)
        for _ in range(doublings):
            double_angles(z, c * stride, n, stride // 2, np.sqrt(n), z, c * stride)


@jit(inside=True)
def waves(z, at, half, n):
    """The features from the n angles at z[at:], and zeros where whole vectors were written behind them."""
    sincos_of(z, at, n, half, 1.0 / np.sqrt(n))
    for i in range(at + n, at + (n + 15) // 16 * 16):
        z[i] = z[half + i] = 0


@transform.register(Structured)
def _(map, rows, first, last, z, stride):
    tiles, blocks, p = map.stretch.shape
    for t in range(first, last):
        at = (t - first) * stride
        for i in range(at, at + map.n):
            z[i] = 0
        for k in range(tiles):
            for b in range(blocks):
                copy_columns(rows, t, k * p, p, map.scratch.x, 0)
                add_angles(map, k, b, z, at + b * p)
        waves(z, at, stride // 2, map.n)


@jit(inside=True)
def add_angles(map, k, b, z, at):
    """z[at:] += block b of the angles, as far as tile k goes, whose columns are in the scratch."""
    x, y, p = map.scratch.x, map.scratch.y, map.scratch.x.shape[0]
    if map.order.shape[1] == 0:
        for factor in range(3):
            hadamard(x, map.diagonals, k, 3 * b + factor)
    else:
        hadamard(x, map.diagonals, k, 2 * b)
        for i in range(p):
            y[i] = x[map.order[k, b, i]]
        hadamard(y, map.diagonals, k, 2 * b + 1)
        for i in range(p):
            x[i] = y[i]
    for i in range(min(p, map.n - b * p)):
        z[at + i] += map.stretch[k, b, i] * x[i]


@jit
def hadamard(x, diagonals, k, row):
    """x <- H diag(diagonals[k, row]) x, with the entries +-1 of H not normalised; in O(p log p)."""
    p = x.shape[0]
    turn(x, diagonals, k, row)
    h = HADAMARD
    while h < p:
        butterflies(x, h, p)
        h *= 2


# ------------------------------------------------------------------------------------ frequencies and their shapes


def fourier_shape(n, d, dtype):
    """(panels, d, width) of the frequencies' array: panels that the first cache holds."""
    line = LINE // np.dtype(dtype).itemsize
    lines = min(max(FIRST_LEVEL // (d * LINE), 4), 16, -(-n // line))
    width = (lines + lines % 2 if lines > 8 else lines) * line
    return -(-n // width), d, width


def structured_shape(n, d, tile):
    """(tiles, blocks, p) of n frequencies of d columns."""
    return -(-d // tile), -(-n // tile), tile


def fourier_slots(n):
    """Slots that the features of n frequencies take up, whatever the panels."""
    return 2 * whole(n)


def fourier_columns(n):
    """The slots of the features: n sines, n cosines."""
    return np.concatenate([np.arange(n), whole(n) + np.arange(n)])


def whole(n):
    """Slots of n sines: whole machine vectors, and for sines and cosines together what `dot` reads at once."""
    return -(-n // (BLOCK // 2)) * (BLOCK // 2)


def tile_for(kind, d, growing):
    """How many columns share blocks: all d, or the power of 2 above; a fixed number if more columns may come."""
    if kind == "plain":
        return 0
    if growing:
        return TILE
    return d if kind == "orthogonal" else max(TILE, 1 << (d - 1).bit_length())


def draw(kind, kernel, n, d, tile, key, dtype):
    """A map of n frequencies from the spectrum of a kernel; those of a column are the same whatever d is."""
    if kind == "plain":
        return fourier(frequencies(kernel, n, d, key), dtype, doublings=kernel.doublings)
    if kernel.kind == LAPLACIAN:
        raise ValueError("The laplacian kernel's spectrum has no rotations to make use of: it has plain features only.")
    if kind == "orthogonal":
        return fourier(orthogonal(kernel, n, d, tile, key), dtype, tile)
    return structured(kind, kernel, n, d, tile, key, dtype)


def wider(map, kind, kernel, d, key):
    """The map for d columns."""
    tile = map.tile if isinstance(map, Fourier) else map.stretch.shape[2]
    held = map.weights if isinstance(map, Fourier) else map.stretch
    return draw(kind, kernel, map.n, d, tile, key, held.dtype)


def map_shapes(kind, n, d, tile, dtype):
    """Of the arrays of the map that `draw` makes."""
    if kind in ("plain", "orthogonal"):
        return {"weights": fourier_shape(n, d, dtype)}
    tiles, blocks, p = structured_shape(n, d, tile)
    factors, ordered = (3, 0) if kind == "structured" else (2, blocks)
    return {"diagonals": (tiles, factors * blocks, p), "order": (tiles, ordered, p), "stretch": (tiles, blocks, p)}


def fourier(frequencies, dtype, tile=0, doublings=0):
    """The map of the frequencies (n, d)."""
    n, d = frequencies.shape
    frequencies = frequencies * 0.5**doublings
    weights = aligned(fourier_shape(n, d, dtype), dtype)
    width = weights.shape[2]
    for p, panel in enumerate(weights):
        part = frequencies[p * width : (p + 1) * width]
        panel[:, : len(part)] = part.T
    return Fourier(weights, n, tile, doublings)


def frequencies_of(map):
    """The frequencies of a map, (n, columns): with those of a tile's columns that are not there yet."""
    if isinstance(map, Fourier):
        d = map.weights.shape[1]
        return np.moveaxis(map.weights, 1, 2).reshape(-1, d)[: map.n] * map.weights.dtype.type(2**map.doublings)
    tiles, blocks, p = map.stretch.shape
    H, factors = scipy.linalg.hadamard(p), map.diagonals.shape[1] // blocks
    W = np.empty((blocks, p, tiles, p))
    for k in range(tiles):
        for b in range(blocks):
            block = np.eye(p)
            for f in range(factors):
                block = H @ (map.diagonals[k, factors * b + f][:, None] * block)
                if f == 0 and map.order.shape[1]:
                    block = block[map.order[k, b]]
            W[b, :, k] = map.stretch[k, b][:, None] * block
    return W.reshape(blocks * p, tiles * p)[: map.n].astype(map.stretch.dtype)


def frequencies(kernel, n, d, key):
    """n independent frequencies from the spectrum of a kernel, (n, d)."""
    u = uniforms(key, FREQUENCIES, (d, n)).T
    if kernel.kind == LAPLACIAN:
        return kernel.gamma * np.tan(np.pi * (u - 0.5))
    return radii(kernel, n, key)[:, None] * ndtri(u)


def radii(kernel, n, key):
    """Factors that make frequencies of normal ones: fixed (rbf), or those of Student's t in d dimensions (Matern)."""
    if kernel.kind == RBF:
        return np.full(n, np.sqrt(2 * kernel.gamma))
    if kernel.kind not in SMOOTHNESS:
        raise ValueError(f"Only shift-invariant kernels have random Fourier features: {', '.join(SPECTRA)}.")
    nu = SMOOTHNESS[kernel.kind]
    return kernel.gamma * np.sqrt(nu / gammaincinv(nu, uniforms(key, RADII, n)))


def lengths(p, shape, key, first):
    """Lengths of normal vectors in p dimensions."""
    return np.sqrt(2 * gammaincinv(p / 2, uniforms(key, LENGTHS, shape, first)))


def orthogonal(kernel, n, d, tile, key):
    """Frequencies (n, d) whose blocks are orthogonal: rows of random rotations, as long as normal vectors."""
    tiles, blocks, p = structured_shape(n, d, tile)
    W = np.empty((blocks, p, tiles, p))
    for k in range(tiles):
        normal = ndtri(uniforms(key, GAUSSIANS, (blocks, p, p), k * blocks * p * p))
        Q, R = np.linalg.qr(normal)
        Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
        W[:, :, k] = lengths(p, (blocks, p), key, k * blocks * p)[:, :, None] * Q
    return radii(kernel, n, key)[:, None] * W.reshape(blocks * p, tiles * p)[:n, :d]


def structured(kind, kernel, n, d, tile, key, dtype):
    """The map of structured frequencies or of Fastfood's."""
    tiles, blocks, p = structured_shape(n, d, tile)
    signs = np.sign(uniforms(key, SIGNS, (tiles, 3 * blocks, p)) - 0.5)
    radius = radii(kernel, blocks * p, key).reshape(blocks, p)
    if kind == "structured":
        diagonals, order, stretch = signs, np.zeros((tiles, 0, p)), np.broadcast_to(radius / p, (tiles, blocks, p))
    else:
        normal = ndtri(uniforms(key, GAUSSIANS, (tiles, blocks, p)))
        diagonals = np.stack([signs[:, ::3], normal], axis=2).reshape(tiles, 2 * blocks, p)
        order = np.argsort(uniforms(key, ORDER, (tiles, blocks, p)), axis=2)
        size = np.linalg.norm(normal, axis=2, keepdims=True)
        stretch = radius * lengths(p, (tiles, blocks, p), key, 0) / (np.sqrt(p) * size)
    buffers = Buffers(aligned(p, dtype), aligned(p, dtype))
    return Structured(held(diagonals, dtype), held(order, np.int64), held(stretch, dtype), n, buffers)


def held(values, dtype):
    """The values on cache lines."""
    new = aligned(values.shape, dtype)
    new[...] = values
    return new


# ------------------------------------------------------------------------------------ several widths of one kernel


MOST_DOUBLINGS = 12  # from one sine and cosine: each doubles their error, as it doubles that of the angle


class FansTable(NamedTuple):
    """Of every kernel."""

    family: np.ndarray  # (m,) whose projection it uses
    scale: np.ndarray  # (m,) its angles are this times the projection
    source: np.ndarray  # (m,) the kernel whose angles, doubled, are its own; -1 for none
    times: np.ndarray  # (m,) how often
    order: np.ndarray  # (m,) every source before those that use it
    foot: np.ndarray  # (m,) the kernel at the foot of its ladder, with sines and cosines of its own
    height: np.ndarray  # (m,) how often that one's angles are doubled


class FansWork(NamedTuple):
    angles: np.ndarray  # projections on every family's frequencies, for a chunk of examples
    at: np.ndarray  # (1,) where those of the present one begin


class Fans(NamedTuple):
    """The random Fourier features of several kernels.

    Kernels whose widths differ by powers of two are a family: they share one projection, exactly, and angles that are
    twice those of another kernel need no sines and cosines of their own.
    """

    weights: np.ndarray  # (families * panels, d, width) the frequencies of every family's first kernel
    table: FansTable
    n: int
    root: float  # of n
    size: int  # of the projections of an example on one family's frequencies, with what is written behind them
    scratch: FansWork


def with_doublings(kernels):
    """The kernels, told how often their angles are doubled: the ladders that `Fans` climbs."""
    heights = _ladders(kernels).height
    return tuple(kernel._replace(doublings=int(n)) for kernel, n in zip(kernels, heights, strict=True))


def fans(kernels, n, d, dtype, key):
    """The maps of several kernels with n frequencies each."""
    table = _ladders(kernels)
    _, first = np.unique(table.family, return_index=True)
    panels = np.concatenate([fourier(frequencies(kernels[i], n, d, key), dtype).weights for i in first])
    weights = aligned(panels.shape, dtype)
    weights[...] = panels
    size = padded(n) + BLOCK
    return Fans(
        weights,
        table,
        n,
        float(np.sqrt(n)),
        size,
        FansWork(aligned(CHUNK * len(first) * size, dtype), np.zeros(1, np.int64)),
    )


def _ladders(kernels):
    """Families, in the order of their first kernels, and in each who doubles whose angles: the next wider one's."""
    m, families, scale = len(kernels), [], np.ones(len(kernels))
    for i, kernel in enumerate(kernels):
        for family in families:
            power = _octaves(kernel, kernels[family[0]])
            if power is not None:
                scale[i] = 2.0**power
                family.append(i)
                break
        else:
            families.append([i])
    family, source, times, order = (np.full(m, fill, np.int64) for fill in (0, -1, 0, 0))
    sorted_ones = [i for one in families for i in sorted(one, key=lambda i: scale[i])]
    for g, one in enumerate(families):
        family[one] = g
        climbed, below = 0, None
        for i in sorted(one, key=lambda i: scale[i]):
            step = 0 if below is None else int(np.log2(scale[i] / scale[below]))
            if 0 < step <= MOST_DOUBLINGS - climbed:
                source[i], times[i], climbed = below, step, climbed + step
            else:
                climbed = 0
            below = i
    order[:] = sorted_ones
    foot, height = np.arange(m), np.zeros(m, np.int64)
    for i in order:
        if source[i] >= 0:
            foot[i], height[i] = foot[source[i]], height[source[i]] + times[i]
    return FansTable(family, scale, source, times, order, foot, height)


def _octaves(kernel, other):
    """The power of two by which the frequencies of two kernels differ, or None."""
    if kernel.kind != other.kind:
        return None
    power = np.frexp(kernel.gamma / other.gamma)[1] - 1
    if kernel.gamma != other.gamma * 2.0**power or (kernel.kind == RBF and power % 2):
        return None
    return power / 2 if kernel.kind == RBF else power


@jit
def project_family(map, g, rows, t, many, out, at, stride):
    """out[at + c * stride:] = the projections of row t + c on the frequencies of family g, for c < many."""
    weights, n, width = map.weights, map.n, map.weights.shape[2]
    panels = (n + width - 1) // width
    at -= g * panels * width
    for panel in range(g * panels, g * panels + panels):
        first = panel * width
        size = min(width, n - (first - g * panels * width))
        if not block(rows, DOTS, t, many, weights, first, first + size, out, at, stride):
            for c in range(many):
                dots_in_panel(rows, t + c, weights, panel, size, out, at + c * stride)


@jit
def project_on(map, rows, t, start, stop):
    """Leave in the scratch the projections of row t, worked out for a chunk of the rows start..stop-1 at a time."""
    scratch, size, place = map.scratch, map.size, (t - start) % CHUNK
    families = scratch.angles.shape[0] // (CHUNK * size)
    if place == 0:
        for g in range(families):
            project_family(map, g, rows, t, min(CHUNK, stop - t), scratch.angles, g * size, families * size)
    scratch.at[0] = place * families * size


@jit(inline=True)
def fan_out(map, j, z, stride):
    """Of the kernels in the ladders' order the j-th, after those before it; z[i] = its features, i its number."""
    _, (family, scale, source, times, order, _, _), n, root, size, scratch = map
    half, i = stride // 2, order[j]
    if source[i] < 0:
        scaled(scratch.angles, scratch.at[0] + family[i] * size, n, scale[i], z[i], 0)
        waves(z[i], 0, half, n)
    else:
        double_angles(z[source[i]], 0, n, half, root, z[i], 0)
    for _ in range(times[i] - 1):
        double_angles(z[i], 0, n, half, root, z[i], 0)
    return i


@jit(inline=True)
def fan_on(map, i, begins, angles, at, z):
    """z = the features of kernel i for the row whose projections are angles[at:].

    Unless it `begins`, z holds those of the kernel before it in the ladders' order.
    """
    table, n, half, doublings = map.table, map.n, z.shape[0] // 2, map.table.times[i]
    if begins or table.source[i] < 0:
        foot, doublings = table.foot[i], table.height[i]
        scaled(angles, at, n, table.scale[foot], z, 0)
        waves(z, 0, half, n)
    for _ in range(doublings):
        double_angles(z, 0, n, half, map.root, z, 0)
