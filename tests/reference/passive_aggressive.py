"""Passive-aggressive learners: without a limit, on a budget, and sampled."""

import numpy as np

from .common import first_min, gram, in_span, most, new_model, online, span


def passive_aggressive(
    X, y, kernel, task, outputs=1, *, C=1.0, variant="pa1", epsilon=0.0, average=False, weights=None, draw=None
):
    """Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, Online passive-aggressive algorithms, 2006."""
    model = new_model(kernel, task, y, outputs)
    learn = pa_rule(model, C, variant)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def pa_rule(model, C, variant="pa1"):
    """What a round does to a passive-aggressive learner."""

    def learn(at):
        norm = at.reach * at.size
        if at.loss == 0 or norm == 0:
            return
        tau = at.loss / (norm + 1 / (2 * C)) if variant == "pa2" else at.loss / norm
        tau = min(C, tau) if variant == "pa1" else tau
        model.insert(at.x, tau * at.weight * at.direction, at.position)

    return learn


def spa(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    eta,
    alpha=1.0,
    beta=1.0,
    budget=None,
    epsilon=0.0,
    average=True,
    weights=None,
    draw=None,
):
    """Lu, Zhao & Hoi, Online sparse passive aggressive learning with kernels (SPA), SDM 2016; full, it stops."""
    model = new_model(kernel, task, y, outputs)
    learn = spa_rule(model, eta, alpha, beta, draw, budget)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def spa_rule(model, eta, alpha, beta, draw, budget=None, chance=lambda: 1.0):
    """What a round does to SPA, which is asked with some chance only."""

    def learn(at):
        rho = min(alpha, at.loss) / beta
        norm = at.reach * at.size
        if rho > 0 and draw.uniform() < rho * chance() and norm > 0 and (budget is None or len(model) < budget):
            tau = min(eta / rho, at.loss / norm)
            model.insert(at.x, tau * at.weight * at.direction, at.position)

    return learn


def bpa(X, y, kernel, task, outputs=1, *, budget, C=1.0, strategy="simple", epsilon=0.0, weights=None, draw=None):
    """Wang & Vucetic, Online passive-aggressive algorithms on a budget, 2010."""
    model = new_model(kernel, task, y, outputs)
    return online(bpa_rule(model, budget, C, strategy), model, X, y, task, epsilon=epsilon, weights=weights)


def bpa_rule(model, budget, C, strategy):
    """What a round does to a budgeted passive-aggressive learner."""

    def learn(at):
        norm = at.reach * at.size
        if at.loss == 0 or norm == 0:
            return
        row = min(C, at.loss / norm) * at.weight * at.direction
        if strategy == "projecting":
            k, K = model.row(at.x), model.gram()
            v = span(K, k)
            if in_span(at.size - k @ v, at.size, v, K, 1e-10):  # a near copy: it adds nothing to the span
                model.add(np.outer(v, row))
                return
        if len(model) < most(budget):
            model.insert(at.x, row, at.position)
        else:
            exchange(model, at, row, strategy)

    return learn


def exchange(model, at, row, strategy):
    """Give the slot of the point that is cheapest to express by its heirs to the new example."""
    points = [*model.points, at.x]
    K = gram(model.kernel, points)
    new = len(model)
    heirs = [heirs_of(r, K, new, strategy) for r in range(new)]
    shares = [share(K, V, r, new, strategy) for r, V in enumerate(heirs)]
    residual = [K[r, r] - K[V, r] @ s for r, (V, s) in enumerate(zip(heirs, shares))]
    r = first_min([np.sum(a**2) * rest for a, rest in zip(model.coef, residual)])
    coef = [*model.coef, row]
    for heir, s in zip(heirs[r], shares[r]):
        coef[heir] = coef[heir] + s * model.coef[r]
    model.coef = coef[:new]
    model.replace(r, at.x, coef[new], at.position)


def heirs_of(r, K, new, strategy):
    """Who may inherit the coefficient of r: the new example, also r's nearest neighbour, or everybody."""
    others = [i for i in range(new) if i != r]
    if strategy == "projecting":
        return [*others, new]
    if strategy == "nearest" and others:
        distance = [K[r, r] - 2 * K[r, i] + K[i, i] for i in others]
        return [others[first_min(distance)], new]
    return [new]


def share(K, V, r, new, strategy):
    """Coefficients of the projection of r on its heirs."""
    KV = K[np.ix_(V, V)]
    if strategy == "nearest" and len(V) == 2 and np.linalg.det(KV) < 1e-10 * KV[0, 0] * KV[1, 1]:
        KV = KV + 1e-8 * K[new, new] * np.eye(2)
    return span(KV, K[V, r])
