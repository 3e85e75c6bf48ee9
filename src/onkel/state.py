"""A learner is nested NamedTuples of numbers and arrays; its state is the arrays, work space and tables apart."""

import numpy as np

from ._jit import jit
from ._simd import aligned, all_finite

SKIPPED = ("scratch", "table")  # work space; constants that are computed anew


def _parts(learner, prefix=""):
    """(dotted name, value) of every leaf that is state or a number."""
    for name, value in zip(learner._fields, learner, strict=True):
        if name in SKIPPED:
            continue
        if hasattr(value, "_fields"):
            yield from _parts(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def arrays(learner):
    """The learner's own arrays, under their dotted names."""
    return {name: value for name, value in _parts(learner) if isinstance(value, np.ndarray)}


def state_dict(learner):
    """Copies of all arrays, under their dotted names: what save, load, send and merge use."""
    return {name: value.copy() for name, value in arrays(learner).items()}


def places(held):
    """Where arrays of floating-point numbers lie, for `sound`: (addresses, sizes, whether they are of doubles)."""
    held = [a for a in held if a.dtype.kind == "f" and a.size]
    figures = ([a.ctypes.data for a in held], [a.size for a in held], [a.itemsize == 8 for a in held])
    return tuple(np.array(numbers, np.int64) for numbers in figures)


@jit
def sound(addresses, sizes, wide):
    """Whether the arrays at these places hold finite numbers only."""
    return all_finite(addresses, sizes, wide)


def restore(learner, state):
    """Write `state` into a learner with arrays of the same shapes."""
    for name, array in arrays(learner).items():
        array[...] = state[name]
    return learner


def transplant(learner, state):
    """Write `state` into the leading part of a learner whose arrays are at least as large."""
    for name, array in arrays(learner).items():
        array[tuple(slice(n) for n in state[name].shape)] = state[name]
    return learner


def twin(learner):
    """An independent copy, on cache lines, with its own scratch."""
    return type(learner)(*(_copy(value) for value in learner))


def _copy(value):
    if hasattr(value, "_fields"):
        return twin(value)
    if not isinstance(value, np.ndarray):
        return value
    new = aligned(value.shape, value.dtype)
    new[...] = value
    return new


def own_scratch(part):
    """The same part with work space of its own, if it needs any: to read from while others use it."""
    return part._replace(scratch=twin(part.scratch)) if "scratch" in part._fields else part
