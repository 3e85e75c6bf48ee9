"""Brute-force answers to the small problems inside some learners."""

import numpy as np
from scipy.optimize import lsq_linear, minimize

from .common import gram


def forgetron_phi(sigma, mu, Q, M, steps=200_000):
    """Largest phi on a grid of (0, 1] with (sigma phi)^2 + 2 sigma phi - 2 sigma phi^2 mu + Q <= 15/32 M."""
    phi = np.arange(1, steps + 1) / steps
    spent = (sigma * phi) ** 2 + 2 * sigma * phi - 2 * sigma * phi**2 * mu + Q
    return phi[spent <= 15 / 32 * M].max()


def duol_pair(loss_a, loss_b, k_a, k_b, w, range_a, range_b):
    """The two dual steps of DUOL by a bounded least-squares solver (needs k_a k_b > w^2)."""
    H = np.array([[k_a, w], [w, k_b]])
    R = np.linalg.cholesky(H).T  # 1/2 |R v - R^-T c|^2 differs from 1/2 v'Hv - c'v by a constant
    low, high = np.transpose([range_a, range_b])
    return lsq_linear(R, np.linalg.solve(R.T, [loss_a, loss_b]), (low, high), method="bvls", tol=1e-15).x


def duol_gain(steps, loss_a, loss_b, k_a, k_b, w):
    """Dual objective won by the steps (gamma_a, Delta_b)."""
    H = np.array([[k_a, w], [w, k_b]])
    return np.dot([loss_a, loss_b], steps) - 0.5 * np.dot(steps, H @ steps)


def distance2(kernel, points, rows):
    """|sum_i rows_i phi(x_i)|^2 summed over outputs, from the Gram matrix."""
    rows = np.array(rows, dtype=float).reshape(len(points), -1)
    return float(np.sum(rows * (gram(kernel, points) @ rows)))


def merge_degradation(kernel, xp, ap, xq, aq, z, az):
    """|a_p phi_p + a_q phi_q - a_z phi_z|^2."""
    return distance2(kernel, [xp, xq, z], [ap, aq, -np.asarray(az)])


def best_merge_on_segment(kernel, xp, ap, xq, aq, steps=20_000):
    """Smallest degradation over a grid of z = h x_p + (1-h) x_q, h in [0, 1], for scalar coefficients."""
    best = np.inf, None
    for h in np.linspace(0, 1, steps + 1):
        z = h * xp + (1 - h) * xq
        az = (ap * kernel(xp, z) + aq * kernel(xq, z)) / kernel(z, z)
        left = ap**2 * kernel(xp, xp) + aq**2 * kernel(xq, xq) + 2 * ap * aq * kernel(xp, xq) - az**2 * kernel(z, z)
        best = min(best, (left, h))
    return best


def bpa_objective(kernel, points, coef, x, y, r, heirs, beta, C):
    """1/2 |f' - f|^2 + C hinge(y f'(x)): r leaves, `heirs` (len(points) is x itself) get beta; binary."""
    everyone = [*points, x]
    change = np.zeros(len(everyone))
    change[r] -= coef[r]
    for heir, b in zip(heirs, beta):
        change[heir] += b
    new = np.append(np.asarray(coef, dtype=float), 0.0) + change
    score = sum(a * kernel(p, x) for a, p in zip(new, everyone))
    return 0.5 * distance2(kernel, everyone, change) + C * max(0.0, 1 - y * score)


def bpa_best_objective(kernel, points, coef, x, y, r, heirs, C):
    """Minimum of bpa_objective over beta, by a derivative-free search from a few starts."""

    def cost(beta):
        return bpa_objective(kernel, points, coef, x, y, r, heirs, beta, C)

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 40_000, "adaptive": True}
    best = np.zeros(len(heirs))
    for _ in range(5):
        best = minimize(cost, best, method="Nelder-Mead", options=options).x
    return cost(best)
