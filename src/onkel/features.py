"""Feature maps x -> z(x) with <z(x), z(x')> close to k(x, x'), for chunks of examples at a time."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ._jit import generic
from ._panels import padded
from ._simd import LINE, aligned, sincos_of
from .kernels import LAPLACIAN, RBF
from .rng import uniforms
from .rows import DOTS, block, dots_in_panel

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
        if not block(rows, DOTS, first, last - first, weights, p * width, min(p * width + width, n), z, 0, stride):
            for t in range(first, last):
                dots_in_panel(rows, t, weights, p, min(width, n - p * width), z, (t - first) * stride)
    for c in range(last - first):
        sincos_of(z, c * stride, n, half, 1.0 / np.sqrt(n))
        for i in range(c * stride + n, c * stride + half):
            z[i] = z[half + i] = 0
