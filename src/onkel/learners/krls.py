"""ALD-KRLS: kernel recursive least squares, approximate linear dependence (Engel, Mannor & Meir, IEEE TSP 52, 2004).

A point further than nu (squared) from the span of the dictionary joins it; every other example only refines the
coefficients, which stay the least-squares fit to the whole past. Sample weights weigh the squares.
"""

from typing import NamedTuple

import numpy as np

from .._simd import dot
from ..expansion import SIZE, Expansion, full, insert, spread
from ..kernels import Kernel, itself
from ..outputs import Task
from ..projection import Gram, add_outer, grow, project, set_entry, times
from ..stream import step


class KRLS(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    gram: Gram
    P: np.ndarray  # (A'WA)^-1, A the coefficients of the past examples on the dictionary
    nu: float


@step.register(KRLS)
def _(self, rows, t, y, weight, scores):
    kernel, _, f, gram, P, nu = self
    n, kxx = f.count[SIZE], itself(kernel, rows, t)
    _, a, v, q = gram.scratch
    error = y - scores[t, 0]
    residual = project(gram, f.scratch.k, n, kxx)
    f.scratch.move[0] = 1.0
    if not full(f) and residual > 0.0 and (residual > nu or n == 0):
        spread(f, a, -error / residual)
        grow(gram, n, residual, kxx)
        set_entry(P, n, n, 1.0 / weight)
        insert(f, n, kernel, rows, t, error / residual)
    else:
        for i in range(n):
            v[0, i] = a[i]
        times(P, v, n, q)
        size = 1.0 / weight + dot(v, 0, q, n)
        add_outer(P, n, q, -1.0 / size)
        for i in range(n):
            v[0, i] = q[i]
        times(gram.inverse, v, n, a)
        spread(f, a, error / size)
