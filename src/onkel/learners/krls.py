"""ALD-KRLS: kernel recursive least squares, approximate linear dependence (Engel, Mannor & Meir, IEEE TSP 52, 2004).

A point further than nu (squared) from the span of the dictionary joins it; every other example only refines the
coefficients, which stay the least-squares fit to the whole past. Sample weights weigh the squares.
"""

from typing import NamedTuple

from .._simd import dot
from ..expansion import SIZE, Expansion, full, insert, spread
from ..kernels import Kernel, itself
from ..outputs import Task
from ..projection import Gram, add_outer, grow, project, times
from ..stream import step


class KRLS(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    gram: Gram
    covariance: Gram  # P = (A'WA)^-1, A the coefficients of the past examples on the dictionary
    nu: float


@step.register(KRLS)
def _(self, rows, t, y, weight, scores):
    kernel, _, f, gram, covariance, nu = self
    P, n, kxx = covariance.inverse, f.count[SIZE], itself(kernel, rows, t)
    a, error = gram.scratch.d, y - scores[t, 0]
    residual = project(gram, f.scratch.k, n, kxx)
    f.scratch.move[0] = 1.0
    if not full(f) and residual > gram.inside * kxx and (residual > nu or n == 0):
        spread(f, a, -error / residual)
        grow(gram, n, residual)
        P[n // P.shape[2], n, n % P.shape[2]] = 1.0 / weight
        insert(f, n, kernel, rows, t, error / residual)
    else:
        row, q = covariance.scratch
        for i in range(n):
            row[0, i] = a[i]
        times(P, row, n, q)
        size = 1.0 / weight + dot(row, 0, q, n)
        add_outer(P, n, q, -1.0 / size)
        for i in range(n):
            row[0, i] = q[i]
        times(gram.inverse, row, n, a)
        spread(f, a, error / size)
