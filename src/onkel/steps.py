"""Step sizes: over time, and as large as the loss asks for."""

from numpy import sqrt

from ._jit import jit

SCHEDULES = ("constant", "invsqrt", "pegasos")
CONSTANT, INVSQRT, PEGASOS = range(3)
VARIANTS = ("pa", "pa1", "pa2")  # of passive-aggressive steps
PA, PA1, PA2 = range(3)


@jit(inside=True)
def rate_of(schedule, eta, reg, t):
    """The step size of round t."""
    if schedule == PEGASOS:
        return 1.0 / (reg * t)
    return eta / sqrt(t) if schedule == INVSQRT else eta


@jit(inside=True)
def least_change(variant, loss, norm, C):
    """The step that mends a loss, which a unit step lowers by `norm`, softened as the variant has it."""
    if variant == PA2:
        return loss / (norm + 0.5 / C)
    return min(C, loss / norm) if variant == PA1 else loss / norm
