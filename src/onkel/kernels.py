"""Kernels: a base quantity (inner product, squared or 1-norm distance) of x with every point, then a scalar map.

The kernels of `Kernel` are integer tags: one compile serves them all. A kernel of one's own is a NamedTuple type of
numbers with bodies registered for `against` and `itself` (docs/own_kernel.md).
"""

from typing import NamedTuple

import numpy as np
from numpy import exp, sqrt, tanh

from ._jit import generic, jit
from ._simd import exp_of, take_row
from .rows import DOTS, L1DISTS, SQDISTS, block, dots, l1dists, l1norm, sqdists, sqnorm

LINEAR, RBF, LAPLACIAN, POLY, SIGMOID, COSINE, EXPONENTIAL, MATERN32, MATERN52 = range(9)


class Kernel(NamedTuple):
    kind: int
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    doublings: int = 0  # of the angles of random features, from those of a wider kernel


class Kernels(NamedTuple):
    """Several kernels, a column for every number of theirs: any mix of them is one type."""

    kind: np.ndarray
    gamma: np.ndarray
    coef0: np.ndarray
    degree: np.ndarray
    bases: np.ndarray  # whether any is a function of inner products, of squared distances, of 1-norm distances
    falls: np.ndarray  # (m,) the base b of those that are exp(-gamma b), or -1


def kernels_of(several):
    """The columns of a list of kernels."""
    kinds, gammas, coef0s, degrees, _ = zip(*several)
    bases = [sum(base_of(kernel) == base for kernel in several) for base in (DOTS, SQDISTS, L1DISTS)]
    return Kernels(
        np.array(kinds, np.int64),
        np.array(gammas, float),
        np.array(coef0s, float),
        np.array(degrees, np.int64),
        np.array(bases, np.int64),
        np.array([base_of(kernel) if kernel.kind in (RBF, LAPLACIAN) else -1 for kernel in several], np.int64),
    )


@jit(inline=True)
def nth_kernel(kernels, i):
    return Kernel(kernels.kind[i], kernels.gamma[i], kernels.coef0[i], kernels.degree[i], 0)


@jit(inline=True)
def base_of(kernel):
    """What the kernel is a function of."""
    if kernel.kind == RBF or kernel.kind >= EXPONENTIAL:
        return SQDISTS
    return L1DISTS if kernel.kind == LAPLACIAN else DOTS


def linear():
    """<x, z>"""
    return Kernel(LINEAR)


def rbf(gamma):
    """exp(-gamma |x - z|^2)"""
    return Kernel(RBF, float(gamma))


def laplacian(gamma):
    """exp(-gamma |x - z|), 1-norm"""
    return Kernel(LAPLACIAN, float(gamma))


def poly(gamma, coef0, degree):
    """(gamma <x, z> + coef0)^degree"""
    return Kernel(POLY, float(gamma), float(coef0), int(degree))


def sigmoid(gamma, coef0):
    """tanh(gamma <x, z> + coef0); not positive definite in general"""
    return Kernel(SIGMOID, float(gamma), float(coef0))


def cosine():
    """<x, z> / (|x| |z|); 0 when either is 0"""
    return Kernel(COSINE)


def exponential(gamma):
    """exp(-gamma |x - z|): Matern's kernel of smoothness 1/2"""
    return Kernel(EXPONENTIAL, float(gamma))


def matern32(gamma):
    """(1 + r) exp(-r), r = sqrt(3) gamma |x - z|: Matern's kernel of smoothness 3/2"""
    return Kernel(MATERN32, float(gamma))


def matern52(gamma):
    """(1 + r + r^2 / 3) exp(-r), r = sqrt(5) gamma |x - z|: Matern's kernel of smoothness 5/2"""
    return Kernel(MATERN52, float(gamma))


@generic
def against(kernel, rows, t, points, norms, n, k):
    """k[i] = k(x, point i) for i < n."""


@generic
def itself(kernel, rows, t):
    """k(x, x)."""


@generic(default=True)
def measure(kernel, rows, t):
    """What `norms` keeps of x: |x|^2."""
    return sqnorm(rows, t)


@generic(default=True)
def bases(kernel, rows, first, count, points, start, stop, out, at):
    """out[at + c, i] = what k(row first + c, point i) is a function of, for c < count and start <= i < stop.

    False, and nothing done, where `against` is as fast or all there is.
    """
    return False


@generic(default=True)
def of_bases(kernel, rows, t, norms, n, base, c, k):
    """k[i] = k(x, point i) for i < n, as `against` has it bit for bit, from row c of what `bases` left."""


@against.register(Kernel)
def _(kernel, rows, t, points, norms, n, k):
    if kernel.kind == RBF or kernel.kind >= EXPONENTIAL:
        sqdists(rows, t, points, n, k, norms)
    elif kernel.kind == LAPLACIAN:
        l1dists(rows, t, points, n, k, norms)
    else:
        dots(rows, t, points, n, k)
    finish(kernel, rows, t, norms, n, k)


@bases.register(Kernel)
def _(kernel, rows, first, count, points, start, stop, out, at):
    stride = out.shape[1]
    return block(rows, base_of(kernel), first, count, points, start, stop, out, at * stride, stride)


@of_bases.register(Kernel)
def _(kernel, rows, t, norms, n, base, c, k):
    take_row(base, c, k, n)
    finish(kernel, rows, t, norms, n, k)


@jit(inline=True, inside=True)
def finish(kernel, rows, t, norms, n, k):
    """k = k(x, z) from the base quantities."""
    if kernel.kind == RBF or kernel.kind == LAPLACIAN:
        exp_of(k, n, -kernel.gamma)
    elif kernel.kind >= EXPONENTIAL:
        map_sqdists(kernel, k, n, norms, sqnorm(rows, t))
    elif kernel.kind != LINEAR:
        map_dots(kernel, k, n, norms, sqnorm(rows, t))


@itself.register(Kernel)
def _(kernel, rows, t):
    if kernel.kind == RBF or kernel.kind == LAPLACIAN or kernel.kind >= EXPONENTIAL:
        return 1.0
    xx = sqnorm(rows, t) * 1.0
    if kernel.kind == POLY:
        return (kernel.gamma * xx + kernel.coef0) ** kernel.degree
    if kernel.kind == SIGMOID:
        return tanh(kernel.gamma * xx + kernel.coef0)
    if kernel.kind == COSINE:
        return 1.0 if xx > 0.0 else 0.0
    return xx


@measure.register(Kernel)
def _(kernel, rows, t):
    return l1norm(rows, t) if kernel.kind == LAPLACIAN else sqnorm(rows, t) * 1.0


@jit(inside=True)
def map_dots(kernel, k, n, norms, xx):
    """k = k(x, z) from k = <x, z>, |z|^2 and |x|^2, for the kernels that are functions of inner products."""
    if kernel.kind == POLY:
        for i in range(n):
            base = kernel.gamma * k[i] + kernel.coef0
            k[i] = base
            for _ in range(kernel.degree - 1):
                k[i] *= base
    elif kernel.kind == SIGMOID:
        for i in range(n):
            k[i] = tanh(kernel.gamma * k[i] + kernel.coef0)
    else:
        for i in range(n):
            product = sqrt(norms[i]) * sqrt(xx)
            k[i] = k[i] / product if product > 0.0 else 0.0


@jit(inside=True)
def map_sqdists(kernel, k, n, norms, xx):
    """k = k(x, z) from k = |x - z|^2, for the kernels that are functions of the distance.

    A squared distance that rounding alone could have made is 0: its root would be large.
    """
    noise = 1e-15 if k.itemsize == 8 else 1e-6
    rate = kernel.gamma * sqrt(2.0 * (kernel.kind - EXPONENTIAL) + 1.0)
    for i in range(n):
        r = rate * sqrt(k[i]) if k[i] > noise * (norms[i] + xx) else 0.0
        k[i] = exp(-r) * (1.0 + r * (kernel.kind > EXPONENTIAL) + r * r / 3.0 * (kernel.kind == MATERN52))
