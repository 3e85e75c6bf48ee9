"""Gradient descent in the kernel space: without a limit, sampled, and on a budget."""

import functools

import numpy as np
from scipy.optimize import brentq

from .common import first_min, most, new_model, online, slope, span

GOLDEN = (np.sqrt(5) - 1) / 2
MERGED = -1  # the stream position of a point that is none of the stream's


def default_loss(task, loss):
    """The hinge loss, or the tube loss for regression."""
    return loss or ("epsilon_insensitive" if task == "regression" else "hinge")


def kernel_ogd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    loss=None,
    eta=1.0,
    schedule="constant",
    reg=0.0,
    radius=np.inf,
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """Kivinen, Smola & Williamson, Online learning with kernels, 2004; Zinkevich, 2003."""
    model = new_model(kernel, task, y, outputs)
    loss = default_loss(task, loss)

    def learn(at):
        step = {"constant": eta, "invsqrt": eta / np.sqrt(at.t)}.get(schedule)
        step = 1 / (reg * at.t) if schedule == "pegasos" else step
        z = slope(task, loss, at.gap, epsilon)
        if reg > 0:
            model.scale(1 - 1 / at.t if schedule == "pegasos" else 1 - step * reg)
        if z != 0:
            model.insert(at.x, step * z * at.weight * at.direction, at.position)
        if np.isfinite(radius):
            norm = np.sqrt(model.squared_norm())
            if norm > radius:
                model.scale(radius / norm)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def pegasos(
    X, y, kernel, task, outputs=1, *, reg, loss=None, project=False, epsilon=0.0, average=False, weights=None, draw=None
):
    """Shalev-Shwartz, Singer, Srebro & Cotter, Pegasos: primal estimated sub-gradient solver, 2011."""
    return kernel_ogd(
        X,
        y,
        kernel,
        task,
        outputs,
        loss=loss,
        schedule="pegasos",
        reg=reg,
        radius=1 / np.sqrt(reg) if project else np.inf,
        epsilon=epsilon,
        average=average,
        weights=weights,
    )


def norma(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    nu=0.5,
    eta=0.1,
    reg=0.0,
    rho=1.0,
    adaptive=True,
    loss=None,
    epsilon=0.1,
    clip_tube=False,
    tau=None,
    weights=None,
    draw=None,
):
    """NORMA: Kivinen, Smola & Williamson, Online learning with kernels, 2004; keeps the last tau points."""
    model = new_model(kernel, task, y, outputs)
    adapts = adaptive and loss in (None, "hinge", "epsilon_insensitive")

    def margin_or_tube_error(at):
        if loss not in (None, "hinge", "epsilon_insensitive") or task == "softmax":
            return slope(task, loss, at.gap)
        return float(at.gap > epsilon) if task == "regression" else float(1 - at.gap <= rho)

    def learn(at):
        nonlocal rho, epsilon
        sigma = margin_or_tube_error(at)
        model.scale(1 - eta * reg)
        if sigma != 0:
            step = eta * sigma * at.weight * at.direction
            model.insert(at.x, step, at.position)
            if task != "regression":
                model.bias = model.bias + step
        if tau is not None and len(model) > tau:
            model.remove(0)
        if adapts and task == "regression":
            epsilon += eta * at.weight * (sigma - nu)
            epsilon = max(epsilon, 0.0) if clip_tube else epsilon
        elif adapts:
            rho += eta * at.weight * (nu - sigma)

    return online(learn, model, X, y, task, weights=weights)


def oskl(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    eta,
    G,
    loss=None,
    budget=None,
    epsilon=0.0,
    average=True,
    weights=None,
    draw=None,
):
    """Zhang, Yi, Jin, Lin & He, Online kernel learning with a near optimal sparsity bound, 2013; full, it stops."""
    model = new_model(kernel, task, y, outputs)
    loss = loss or ("squared" if task == "regression" else "logistic")

    def learn(at):
        z = slope(task, loss, at.gap, epsilon)
        if z <= 0:
            return
        p = min(z / G, 1.0)
        if draw.uniform() < p and (budget is None or len(model) < budget):
            model.insert(at.x, eta * z / p * at.weight * at.direction, at.position)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def bogd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    budget,
    eta,
    reg=0.0,
    cap=np.inf,
    sampling="uniform",
    loss=None,
    epsilon=0.0,
    weights=None,
    draw=None,
):
    """Zhao, Wang, Wu, Jin & Hoi, Fast bounded online gradient descent for scalable kernel learning, 2012."""
    model = new_model(kernel, task, y, outputs)
    loss = default_loss(task, loss)
    learn = bogd_rule(model, task, loss, budget, eta, reg, cap, sampling, epsilon, draw)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights)


def bogd_rule(model, task, loss, budget, eta, reg, cap, sampling, epsilon, draw):
    """What a round does to bounded online gradient descent."""

    def learn(at):
        z = slope(task, loss, at.gap, epsilon)
        row = eta * z * at.weight * at.direction
        due = z != 0
        if not due or len(model) < most(budget):
            if reg > 0:
                model.scale(1 - eta * reg)
            if due:
                model.insert(at.x, row, at.position)
            return
        p = removal_probabilities(model, sampling)
        i = draw.below(len(model)) if sampling == "uniform" else pick(p, draw.uniform())
        kept = [j for j in range(len(model)) if j != i]
        for j in kept:
            model.coef[j] = (1 - eta * reg) * model.coef[j] / (1 - p[j])
        model.replace(i, at.x, row, at.position)
        model.coef = [np.clip(a, -eta * cap, eta * cap) for a in model.coef]

    return learn


def term_sizes(model):
    """|a_i|^2 kernel(x_i, x_i) for each slot."""
    return np.array([a @ a * model.kernel(x, x) for a, x in zip(model.coef, model.points)])


def removal_probabilities(model, sampling):
    """Probability of each slot to be the one that leaves."""
    B = len(model)
    size = np.sqrt(term_sizes(model))
    if sampling == "uniform" or size.sum() == 0:
        return np.full(B, 1 / B)
    p = 1 - (B - 1) * size / size.sum()
    if np.any(p < 0):
        p = np.maximum(p, 0)
        p = p / p.sum()
    return p


def pick(p, u):
    """First slot whose cumulative probability exceeds u; rounding may leave only the last possible one."""
    above = np.flatnonzero(np.cumsum(p) > u)
    return int(above[0]) if len(above) else int(np.flatnonzero(p > 0)[-1])


def bsgd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    budget,
    reg,
    maintenance="removal",
    search="golden",
    loss=None,
    epsilon=0.0,
    grid=400,
    ties=1e-12,
    weights=None,
    draw=None,
):
    """Wang, Crammer & Vucetic, Breaking the curse of kernelization: budgeted SGD for SVM training, 2012.

    Hinge coefficients are all 1/(reg t) in exact arithmetic, so the smallest term is often tied: terms
    within `ties` of each other count as equal and the first slot wins; ties=0 lets rounding decide.
    """
    model = new_model(kernel, task, y, outputs)
    loss = default_loss(task, loss)

    def learn(at):
        z = slope(task, loss, at.gap, epsilon)
        model.scale(1 - 1 / at.t)
        if z != 0:
            model.insert(at.x, z * at.weight / (reg * at.t) * at.direction, at.position)
        if len(model) > budget:
            maintain(model, maintenance, search, grid, ties)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights)


def maintain(model, maintenance, search, grid, ties):
    """Reduce the model by one point, the one with the smallest term or a merged pair around it."""
    p = first_min(term_sizes(model), ties)
    partners = [q for q in range(len(model)) if q != p and np.dot(model.coef[p], model.coef[q]) > 0]
    if maintenance == "merging" and partners:
        merge(model, p, partners, search, grid, ties)
        return
    x, row = model.points[p], model.coef[p]
    model.remove_by_swap(p)
    if maintenance == "projection":
        model.add(np.outer(span(model.gram(), model.row(x)), row))


def merge(model, p, partners, search, grid, ties):
    """Replace p and its cheapest partner by one point on the segment between them."""
    x, a, kernel = model.points, model.coef, model.kernel
    if search == "lookup":
        cost = [tabled_degradation(kernel(x[p], x[q]), a[p], a[q], grid) for q in partners]
    else:
        cost = [merged(kernel, x[p], a[p], x[q], a[q])[2] for q in partners]
    q = partners[first_min(cost, ties)]
    z, row, _ = merged(kernel, x[p], a[p], x[q], a[q])
    model.replace(p, z, row, MERGED)
    model.remove_by_swap(q)


def merged(kernel, xp, ap, xq, aq):
    """Point z = h x_p + (1-h) x_q, its best row, and the squared norm lost by the exchange; for gaussian kernels."""
    m = np.linalg.norm(ap) / (np.linalg.norm(ap) + np.linalg.norm(aq))
    h = gaussian_merge(m, kernel(xp, xq))[0]
    z = h * xp + (1 - h) * xq
    row = ap * kernel(xp, z) + aq * kernel(xq, z)
    before = ap @ ap + aq @ aq + 2 * (ap @ aq) * kernel(xp, xq)
    return z, row, before - row @ row


def half(m):
    """The half of [0, 1] that holds the best h: near the larger coefficient, the lower half when equal."""
    return (0.5, 1.0) if m > 0.5 + 1e-12 else (0.0, 0.5)


def golden_section(score, low, high, width):
    """Maximiser of a function with one peak in [low, high]."""
    while high - low > width:
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if score(left) >= score(right):
            high = right
        else:
            low = left
    return (low + high) / 2


def gaussian_merge(m, kappa):
    """h and degradation per (a_p + a_q)^2 of two gaussian terms, m the share of p, kappa their similarity.

    A search by values finds h to the root of the machine's precision; the zero of the slope is sharp.
    """

    def similarity(h):
        return m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)

    def slope(h):
        return m * (1 - h) * kappa ** ((1 - h) ** 2) - (1 - m) * h * kappa ** (h**2)

    h = golden_section(similarity, *half(m), 1e-6)
    low, high = max(h - 1e-5, 0.0), min(h + 1e-5, 1.0)
    if slope(low) > 0 > slope(high):
        h = brentq(slope, low, high, xtol=1e-16, rtol=1e-15)
    return h, m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - similarity(h) ** 2


@functools.cache
def degradation_table(grid):
    """Degradation on a grid of (m, kappa) in [0, 1]^2 (Glasmachers & Qaadan, 2018)."""
    ticks = np.arange(grid) / (grid - 1)
    m, kappa = np.meshgrid(ticks, ticks, indexing="ij")
    low = np.where(m > 0.5 + 1e-12, 0.5, 0.0)
    high = low + 0.5

    def similarity(h):
        return m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2)

    for _ in range(50):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        better = similarity(left) >= similarity(right)
        low, high = np.where(better, low, left), np.where(better, right, high)
    best = similarity((low + high) / 2)
    return m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - best**2


def tabled_degradation(kappa, ap, aq, grid=400):
    """Degradation of a merge read from the table by bilinear interpolation."""
    if not 0 <= kappa <= 1:
        raise ValueError("the table is for gaussian kernels")
    wd, total = degradation_table(grid), np.linalg.norm(ap) + np.linalg.norm(aq)
    u, v = np.linalg.norm(ap) / total * (grid - 1), kappa * (grid - 1)
    i, j = min(int(u), grid - 2), min(int(v), grid - 2)
    u, v = u - i, v - j
    return total**2 * (np.array([1 - u, u]) @ wd[i : i + 2, j : j + 2] @ np.array([1 - v, v]))
