"""Random numbers whose state is data: draw n is a hash of (key, n), so a stream can be cut and resumed anywhere.

The hash is the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
"""

import numpy as np

from ._jit import jit


def generator(key):
    """(2,) uint64: the key and the number of draws so far."""
    return np.array([key, 0], np.uint64)


@jit
def hashed(key, n):
    """64 random bits: number n of a key."""
    z = key + n * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def uniform(rng):
    """The next number, uniform in [0, 1)."""
    rng[1] += np.uint64(1)
    return fraction(hashed(rng[0], rng[1]))


@jit(inside=True)
def uniform_at(key, n):
    """Number n of a key, uniform in [0, 1): for draws that have a place of their own in the stream."""
    return fraction(hashed(key, np.uint64(n)))


@jit(inside=True)
def fraction(bits):
    """64 random bits as a number in [0, 1)."""
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


@jit
def below(rng, n):
    """The next random integer in [0, n)."""
    return np.int64(uniform(rng) * n)


def key_of(key, stream):
    """The key of a stream of a key's own."""
    plain = getattr(hashed, "py_func", hashed)
    with np.errstate(over="ignore"):
        return plain(np.uint64(key), np.uint64(2**63 + stream))


def uniforms(key, stream, shape, first=0):
    """An array of numbers uniform in (0, 1) from a stream of a key of its own; `first`: the place of its first number.

    Where an array begins does not change its numbers: a longer one has more rows of the same.
    """
    plain = getattr(hashed, "py_func", hashed)
    with np.errstate(over="ignore"):
        places = np.arange(first, first + int(np.prod(shape)), dtype=np.uint64)
        bits = plain(key_of(key, stream), places)
    return ((bits >> np.uint64(11)).astype(float) + 0.5).reshape(shape) * 2.0**-53
