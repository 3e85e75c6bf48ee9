"""Forgetron: self-tuned, basic and greedy (Dekel, Shalev-Shwartz & Singer, SIAM Journal on Computing 37, 2008).

A mistake is stored; when the budget is exceeded all coefficients shrink and one point leaves. The theory wants
k(x, x) <= 1, for classes <= 1/2. Coefficients count in units of eta.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from .._simd import dot
from ..expansion import INSERTED, SCALE, SIZE, Expansion, between, coefficient, full, insert, shrink
from ..kernels import Kernel, itself
from ..outputs import Task, aim
from ..stream import step

VARIANTS = ("selftuned", "basic", "greedy")
SELFTUNED, BASIC, GREEDY = range(3)
DAMAGE, UPDATES, SQNORM = range(3)


class Forgetron(NamedTuple):
    kernel: Kernel
    task: Task
    f: Expansion
    eta: float
    variant: int
    ledger: np.ndarray  # [Q: damage done by removals, M: updates, |f|^2]


@step.register(Forgetron)
def _(self, rows, t, y, weight, scores):
    kernel, task, f, eta, variant, ledger = self
    wrong, _ = aim(task, scores, t, y, f.scratch.move)
    if wrong:
        ledger[UPDATES] += 1.0
        pace = eta * weight
        if variant == BASIC:
            kxx = itself(kernel, rows, t)
            for r in range(f.coef.shape[0]):
                a = pace * f.scratch.move[r]
                ledger[SQNORM] += 2.0 * a * scores[t, r] + a * a * kxx
        if not full(f):
            insert(f, f.count[SIZE], kernel, rows, t, pace)
        else:
            r, phi = farewell(self, rows, pace)
            shrink(f, phi)
            insert(f, r, kernel, rows, t, phi * pace)


@jit(inline=True)
def farewell(self, rows, pace):
    """Who leaves and the factor by which all shrink: the oldest, or when greedy whoever does least damage."""
    f, ledger, slack = self.f, self.ledger, slack_of(self.ledger)
    oldest = f.count[INSERTED] % f.budget  # slots are taken in turn
    first, end = (0, f.count[SIZE]) if self.variant == GREEDY else (oldest, oldest + 1)
    gone, least, factor, sigma, mu = first, np.inf, 1.0, 0.0, 0.0
    for r in range(first, end):
        sigma, mu = weight_and_margin(self, rows, r, pace)
        phi = factor_of(sigma, mu, slack)
        psi = slack if phi < 1.0 else damage(sigma, mu, phi)  # a factor below 1 uses the slack up: ties are common
        if psi < least or (psi == least and f.born[r] < f.born[gone]):
            gone, least, factor = r, psi, phi
    if self.variant == BASIC:
        return gone, bounded(self, gone, sigma, mu)
    ledger[DAMAGE] += least
    return gone, factor


@jit(inline=True)
def weight_and_margin(self, rows, r, pace):
    """(sigma, mu): size of point r's coefficients, and its margin with the new example included."""
    kernel, _, f, eta, _, _ = self
    k, sigma, mu = f.scratch.other, 0.0, 0.0
    between(rows, kernel, f, r, k)
    for c in range(f.coef.shape[0]):
        sigma = max(sigma, abs(coefficient(f, c, r)) / eta)
    for c in range(f.coef.shape[0]):
        if f.coef[c, r] != 0.0:
            score = f.lazy[SCALE] * dot(f.coef, c, k, f.count[SIZE]) + pace * f.scratch.move[c] * f.scratch.k[r]
            mu += coefficient(f, c, r) / (eta * sigma) * (score / eta)
    return sigma, mu


@jit
def factor_of(sigma, mu, slack):
    """Largest phi <= 1 with (sigma phi)^2 + 2 sigma phi (1 - phi mu) <= slack, slack > 0."""
    a = sigma * sigma - 2.0 * sigma * mu
    if a + 2.0 * sigma <= slack:
        return 1.0
    return slack / (sigma + np.sqrt(sigma * sigma + a * slack))


@jit
def damage(sigma, mu, phi):
    """Psi: the progress lost when a point of weight sigma phi and margin phi mu leaves."""
    return (sigma * phi) ** 2 + 2.0 * sigma * phi * (1.0 - phi * mu)


@jit
def slack_of(ledger):
    """What removals may still cost: 15/32 of the updates, less the damage done."""
    return 15.0 / 32.0 * ledger[UPDATES] - ledger[DAMAGE]


@jit
def bounded(self, r, sigma, mu):
    """The basic factor, which keeps |f| <= U; |f|^2 follows the shrinking and the removal of point r."""
    f, ledger = self.f, self.ledger
    size = f.budget + 1.0
    U = self.eta / 4.0 * np.sqrt(size / np.log(size))
    phi = min(size ** (-0.5 / size), U / np.sqrt(max(ledger[SQNORM], 1e-300)))
    lost = 0.0
    for c in range(f.coef.shape[0]):
        lost += coefficient(f, c, r) ** 2
    removed = phi * phi * (lost * f.diag[r] - 2.0 * self.eta**2 * sigma * mu)
    ledger[SQNORM] = max(phi * phi * ledger[SQNORM] + removed, 0.0)
    return phi
