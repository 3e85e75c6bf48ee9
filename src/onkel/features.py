"""Feature maps x -> z(x) with <z(x), z(x')> close to k(x, x'), for chunks of examples at a time."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ._jit import generic, jit
from ._panels import padded
from ._simd import LINE, aligned, sincos_of
from .kernels import LAPLACIAN, RBF
from .rng import uniforms
from .rows import dots_in_panel

FIRST_LEVEL = 2**15  # bytes of a panel of frequencies that stay in the processor's first cache over a chunk


@generic
def transform(map, rows, first, last, z, stride):
    """z[c * stride:] = the features of example first + c, up to example last - 1; entries between features are 0."""


class Fourier(NamedTuple):
    """Random Fourier features (Rahimi & Recht, NIPS 2007): all sin <u_i, x> / sqrt(n), then all cosines."""

    weights: np.ndarray  # (panels, d, width) the frequencies u_i, laid out like points
    n: int


def fourier_shape(n, d, dtype):
    """(panels, d, width) of the frequencies' array: panels that the first cache holds."""
    line = LINE // np.dtype(dtype).itemsize
    lines = min(max(FIRST_LEVEL // (d * LINE), 4), 16, -(-n // line))
    width = (lines + lines % 2 if lines > 8 else lines) * line
    return -(-n // width), d, width


def fourier_slots(n):
    """Slots that the features of n frequencies take up, whatever the panels."""
    return 2 * padded(n)


def fourier(frequencies, dtype):
    """The map of the frequencies (n, d)."""
    n, d = frequencies.shape
    weights = aligned(fourier_shape(n, d, dtype), dtype)
    width = weights.shape[2]
    for p, panel in enumerate(weights):
        part = frequencies[p * width : (p + 1) * width]
        panel[:, : len(part)] = part.T
    return Fourier(weights, n)


def frequencies_of(map):
    """The frequencies of a map, (n, d)."""
    d = map.weights.shape[1]
    return np.moveaxis(map.weights, 1, 2).reshape(-1, d)[: map.n].copy()


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
    weights, n = map
    panels, _, width = weights.shape
    half = stride // 2
    for p in range(panels):
        for t in range(first, last):
            dots_in_panel(rows, t, weights, p, min(width, n - p * width), z, (t - first) * stride)
    for c in range(last - first):
        sincos_of(z, c * stride, n, half, 1.0 / np.sqrt(n))
        blank(z, c * stride, n, half)


@jit
def blank(z, at, n, half):
    """Zeros between the last sine and the first cosine of the features at `at`, and behind the last cosine."""
    for i in range(at + n, at + half):
        z[i] = z[half + i] = 0


@jit
def scaled(angles, at, n, scale, z):
    """z = scale * angles, for n entries from `at` on."""
    for i in range(at, at + n):
        z[i] = scale * angles[i]


class FansWork(NamedTuple):
    angles: np.ndarray  # (CHUNK * slots,)


class FansTable(NamedTuple):
    """Of every kernel."""

    family: np.ndarray  # (m,)
    scale: np.ndarray  # (m,) its frequencies are this times those of the family's first one


class Fans(NamedTuple):
    """The random Fourier features of several widths of one kernel, all from the same directions.

    A family are the widths that differ by powers of two: they share one projection, exactly.
    """

    weights: np.ndarray  # (families * panels, d, width) the frequencies of every family's first kernel
    table: FansTable
    n: int
    scratch: FansWork


def fans(kernels, n, d, dtype, key, room):
    """The maps of several kernels with n frequencies each; work space for `room` examples."""
    first, family, scale = [], [], []
    for kernel in kernels:
        found = [g for g, other in enumerate(first) if _ratio(kernel, other) is not None]
        if not found:
            first.append(kernel)
        family.append(found[0] if found else len(first) - 1)
        scale.append(_ratio(kernel, first[family[-1]]))
    weights = np.concatenate([fourier(frequencies(kernel, n, d, key), dtype).weights for kernel in first])
    aligned_weights = aligned(weights.shape, dtype)
    aligned_weights[...] = weights
    return Fans(aligned_weights, FansTable(np.array(family), np.array(scale)), n, fans_work(n, dtype, room))


def fans_work(n, dtype, room):
    return FansWork(aligned(room * fourier_slots(n), dtype))


def _ratio(kernel, other):
    """By what the frequencies of two kernels differ if it is a power of two, else None."""
    if kernel.kind != other.kind:
        return None
    power = np.frexp(kernel.gamma / other.gamma)[1] - 1
    if (kernel.kind == RBF and power % 2) or kernel.gamma != other.gamma * 2.0**power:
        return None
    return 2.0 ** (power / 2 if kernel.kind == RBF else power)


@transform.register(Fans)
def _(map, rows, first, last, z, stride):
    weights, (family, scale), n, scratch = map
    half, angles, width = stride // 2, scratch.angles, weights.shape[2]
    panels = (n + width - 1) // width
    for g in range(weights.shape[0] // panels):
        for p in range(panels):
            for t in range(first, last):
                at = (t - first) * stride - g * panels * width
                dots_in_panel(rows, t, weights, g * panels + p, min(width, n - p * width), angles, at)
        for i in range(family.shape[0]):
            if family[i] == g:
                for c in range(last - first):
                    scaled(angles, c * stride, n, scale[i], z[i])
                    sincos_of(z[i], c * stride, n, half, 1.0 / np.sqrt(n))
                    blank(z[i], c * stride, n, half)
