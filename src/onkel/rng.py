"""Random numbers whose state is data: draw n is a hash of (key, n), so a stream can be cut and resumed anywhere.

The hash is the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
"""

import numpy as np

from ._jit import jit


def generator(key):
    """(2,) uint64: the key and the number of draws so far."""
    return np.array([key, 0], np.uint64)


@jit
def uniform(rng):
    """The next number, uniform in [0, 1)."""
    rng[1] += np.uint64(1)
    z = rng[0] + rng[1] * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@jit
def below(rng, n):
    """The next random integer in [0, n)."""
    return np.int64(uniform(rng) * n)
