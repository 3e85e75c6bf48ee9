"""Feature maps x -> z(x) with <z(x), z(x')> close to k(x, x'), for chunks of examples at a time."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ._jit import generic, jit
from ._panels import padded
from ._simd import BLOCK, LINE, aligned, double_angles, sincos_of
from .kernels import LAPLACIAN, RBF
from .rng import uniforms
from .rows import dots_in_panel

CHUNK = 32  # examples whose features are computed at once
FIRST_LEVEL = 2**15  # bytes of a panel of frequencies that stay in the processor's first cache over a chunk


@generic
def transform(map, rows, first, last, z, stride):
    """z[c * stride:] = the features of example first + c, up to example last - 1; entries between features are 0."""


class Fourier(NamedTuple):
    """Random Fourier features (Rahimi & Recht, NIPS 2007): all sin <u_i, x> / sqrt(n), then all cosines."""

    weights: np.ndarray  # (panels, d, width) the frequencies u_i / 2^doublings, laid out like points
    n: int
    doublings: int = 0  # of the angles, by the formulas for sin 2x and cos 2x


def fourier_shape(n, d, dtype):
    """(panels, d, width) of the frequencies' array: panels that the first cache holds."""
    line = LINE // np.dtype(dtype).itemsize
    lines = min(max(FIRST_LEVEL // (d * LINE), 4), 16, -(-n // line))
    width = (lines + lines % 2 if lines > 8 else lines) * line
    return -(-n // width), d, width


def fourier_slots(n):
    """Slots that the features of n frequencies take up, whatever the panels."""
    return 2 * padded(n)


def fourier(frequencies, dtype, doublings=0):
    """The map of the frequencies (n, d)."""
    n, d = frequencies.shape
    frequencies = frequencies * 0.5**doublings
    weights = aligned(fourier_shape(n, d, dtype), dtype)
    width = weights.shape[2]
    for p, panel in enumerate(weights):
        part = frequencies[p * width : (p + 1) * width]
        panel[:, : len(part)] = part.T
    return Fourier(weights, n, doublings)


def frequencies_of(map):
    """The frequencies of a map, (n, d)."""
    d = map.weights.shape[1]
    return np.moveaxis(map.weights, 1, 2).reshape(-1, d)[: map.n] * map.weights.dtype.type(2**map.doublings)


def frequencies(kernel, n, d, key, first=0):
    """Columns first..d-1 of n frequencies from the spectrum of a kernel; they are the same whatever d is."""
    u = uniforms(key, 0, (d - first, n), first * n).T
    if kernel.kind == RBF:
        return np.sqrt(2 * kernel.gamma) * ndtri(u)
    if kernel.kind == LAPLACIAN:
        return kernel.gamma * np.tan(np.pi * (u - 0.5))
    raise ValueError("Only shift-invariant kernels have random Fourier features: kernel must be 'rbf' or 'laplacian'.")


@transform.register(Fourier)
def _(map, rows, first, last, z, stride):
    weights, n, doublings = map
    panels, _, width = weights.shape
    half, amplitude = stride // 2, 1.0 / np.sqrt(n)
    for p in range(panels):
        for t in range(first, last):
            dots_in_panel(rows, t, weights, p, min(width, n - p * width), z, (t - first) * stride)
    for c in range(last - first):
        sincos_of(z, c * stride, n, half, amplitude)
        blank(z, c * stride, n, half)
        for _ in range(doublings):
            double_angles(z, c * stride, n, half, amplitude, z, c * stride)


@jit
def blank(z, at, n, half):
    """Zeros where whole vectors were written behind the last sine and the last cosine of the features at `at`."""
    for i in range(at + n, at + (n + 15) // 16 * 16):
        z[i] = z[half + i] = 0


# Several widths of one kernel.

MOST_DOUBLINGS = 12  # from one sine and cosine: each doubles their error, as it doubles that of the angle


class FansTable(NamedTuple):
    """Of every kernel."""

    family: np.ndarray  # (m,) whose projection it uses
    scale: np.ndarray  # (m,) its angles are this times the projection
    source: np.ndarray  # (m,) the kernel whose angles, doubled, are its own; -1 for none
    times: np.ndarray  # (m,) how often
    order: np.ndarray  # (m,) every source before those that use it


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
    size: int  # of the projections of an example on one family's frequencies, with what is written behind them
    scratch: FansWork


def with_doublings(kernels):
    """The kernels, told how often their angles are doubled: the ladders that `Fans` climbs."""
    table = _ladders(kernels)
    out = []
    for i, kernel in enumerate(kernels):
        doublings = 0
        while table.source[i] >= 0:
            doublings, i = doublings + int(table.times[i]), table.source[i]
        out.append(kernel._replace(doublings=doublings))
    return tuple(out)


def fans(kernels, n, d, dtype, key):
    """The maps of several kernels with n frequencies each."""
    table = _ladders(kernels)
    _, first = np.unique(table.family, return_index=True)
    panels = np.concatenate([fourier(frequencies(kernels[i], n, d, key), dtype).weights for i in first])
    weights = aligned(panels.shape, dtype)
    weights[...] = panels
    size = padded(n) + BLOCK
    return Fans(weights, table, n, size, FansWork(aligned(CHUNK * len(first) * size, dtype), np.zeros(1, np.int64)))


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
    return FansTable(family, scale, source, times, order)


def _octaves(kernel, other):
    """The power of two by which the frequencies of two kernels differ, or None."""
    if kernel.kind != other.kind:
        return None
    power = np.frexp(kernel.gamma / other.gamma)[1] - 1
    if kernel.gamma != other.gamma * 2.0**power or (kernel.kind == RBF and power % 2):
        return None
    return power / 2 if kernel.kind == RBF else power


@jit
def project_on(map, rows, t, start, stop):
    """Leave in the scratch the projections of row t, worked out for a chunk of the rows start..stop-1 at a time."""
    weights, _, n, size, scratch = map
    width, place = weights.shape[2], (t - start) % CHUNK
    panels = (n + width - 1) // width
    families = weights.shape[0] // panels
    if place == 0:
        for panel in range(weights.shape[0]):
            g, p = panel // panels, panel % panels
            for u in range(t, min(t + CHUNK, stop)):
                at = ((u - t) * families + g) * size - g * panels * width
                dots_in_panel(rows, u, weights, panel, min(width, n - p * width), scratch.angles, at)
    scratch.at[0] = place * families * size


@jit(inline=True)
def fan_out(map, j, z, stride):
    """Of the kernels in the ladders' order the j-th, after those before it; z[i] = its features, i its number."""
    _, (family, scale, source, times, order), n, size, scratch = map
    half, amplitude, i = stride // 2, 1.0 / np.sqrt(n), order[j]
    if source[i] < 0:
        scaled(scratch.angles, scratch.at[0] + family[i] * size, n, scale[i], z[i])
        sincos_of(z[i], 0, n, half, amplitude)
        blank(z[i], 0, n, half)
    else:
        double_angles(z[source[i]], 0, n, half, amplitude, z[i], 0)
    for _ in range(times[i] - 1):
        double_angles(z[i], 0, n, half, amplitude, z[i], 0)
    return i


@jit(inline=True)
def scaled(angles, at, n, scale, z):
    """z = scale * angles, for n entries of these from `at` on."""
    for i in range(n):
        z[i] = scale * angles[at + i]
