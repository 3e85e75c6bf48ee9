"""Perceptrons: without a limit, and with the ways of keeping at most `budget` points."""

import numpy as np
from scipy.optimize import brentq

from .common import best_rival, first_min, in_span, most, new_model, online, span


def kernel_perceptron(X, y, kernel, task, outputs=1, *, eta=1.0, epsilon=0.0, average=False, weights=None, draw=None):
    """Freund & Schapire, Large margin classification using the perceptron algorithm, 1999."""
    model = new_model(kernel, task, y, outputs)
    learn = perceptron_rule(model, eta)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def perceptron_rule(model, eta):
    """What a round does to a perceptron."""

    def learn(at):
        if at.wrong:
            model.insert(at.x, eta * at.weight * at.direction, at.position)

    return learn


def stoptron(X, y, kernel, task, outputs=1, *, budget, eta=1.0, epsilon=0.0, weights=None, draw=None):
    """The Perceptron that stops learning when its budget is full (Orabona, Keshet & Caputo, 2009)."""
    model = new_model(kernel, task, y, outputs)

    def learn(at):
        if at.wrong and len(model) < budget:
            model.insert(at.x, eta * at.weight * at.direction, at.position)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights)


def rbp(X, y, kernel, task, outputs=1, *, budget, eta=1.0, epsilon=0.0, weights=None, draw=None):
    """Cavallanti, Cesa-Bianchi & Gentile, Tracking the best hyperplane with a simple budget Perceptron."""
    model = new_model(kernel, task, y, outputs)
    return online(rbp_rule(model, budget, eta, draw), model, X, y, task, epsilon=epsilon, weights=weights)


def rbp_rule(model, budget, eta, draw):
    """What a round does to a randomized budget perceptron."""

    def learn(at):
        if not at.wrong:
            return
        row = eta * at.weight * at.direction
        if len(model) < most(budget):
            model.insert(at.x, row, at.position)
        else:
            model.replace(draw.below(len(model)), at.x, row, at.position)

    return learn


def budget_perceptron(X, y, kernel, task, outputs=1, *, budget=None, beta=0.0, weights=None, draw=None):
    """Crammer, Kandola & Singer, Online classification on a budget, 2003; budget=None: shrinking form."""
    model = new_model(kernel, task, y, outputs)

    def margin_without(i):
        """Margin of a stored example when its own term is left out."""
        x, label = model.points[i], y[model.born[i]]
        f = model(x) - model.coef[i] * kernel(x, x)
        return label * f[0] if task == "binary" else f[int(label)] - f[best_rival(f, int(label))]

    def learn(at):
        if 1 - at.gap > beta:
            return
        model.insert(at.x, at.weight * at.direction, at.position)
        if budget is None:
            while max(margins := [margin_without(i) for i in range(len(model))]) > beta:
                model.remove(first_min([-m for m in margins]))
        elif len(model) > budget:
            model.remove(first_min([-margin_without(i) for i in range(len(model) - 1)]))

    return online(learn, model, X, y, task, weights=weights)


def forgetron(
    X, y, kernel, task, outputs=1, *, budget, variant="selftuned", eta=1.0, epsilon=0.0, weights=None, draw=None
):
    """Dekel, Shalev-Shwartz & Singer, The Forgetron: a kernel-based perceptron on a budget, 2008."""
    model = new_model(kernel, task, y, outputs)
    return online(forgetron_rule(model, budget, variant, eta), model, X, y, task, epsilon=epsilon, weights=weights)


def forgetron_rule(model, budget, variant, eta):
    """What a round does to a Forgetron."""
    Q, M = 0.0, 0

    def influence(i):
        """sigma: size of a coefficient in units of eta; mu: score of its point along its own direction."""
        largest = np.max(np.abs(model.coef[i]))
        return largest / eta, np.dot(model.coef[i] / largest, model(model.points[i])) / eta

    def learn(at):
        nonlocal Q, M
        if not at.wrong:
            return
        M += 1
        size = most(budget)
        model.insert(at.x, eta * at.weight * at.direction, at.position)
        if len(model) <= size:
            return
        r = 0
        if variant == "basic":
            shrink = basic_shrink(size, np.sqrt(model.squared_norm()) / eta)
        else:
            candidates = range(len(model) - 1) if variant == "greedy" else [0]
            table = [influence(i) for i in candidates]
            shrinks = [forgetron_shrink(sigma, mu, Q, M) for sigma, mu in table]
            damage = [psi(s * phi, phi * mu) for (s, mu), phi in zip(table, shrinks)]
            r = first_min(damage)
            shrink = shrinks[r]
            Q += damage[r]
        model.scale(shrink)
        model.remove(r)

    return learn


def psi(sigma, mu):
    """Most progress that can be lost by removing a coefficient sigma whose point has score mu."""
    return sigma**2 + 2 * sigma - 2 * sigma * mu


def forgetron_shrink(sigma, mu, Q, M):
    """Largest phi in (0, 1] with psi(sigma phi, phi mu) + Q <= 15/32 M; phi = 0 has slack."""

    def excess(phi):
        return psi(sigma * phi, phi * mu) + Q - 15 / 32 * M

    return 1.0 if excess(1.0) <= 0 else brentq(excess, 0.0, 1.0, xtol=1e-16, rtol=1e-15)


def basic_shrink(budget, norm):
    """Shrinking of the basic Forgetron: a fixed factor, and into the ball of radius U."""
    n = budget + 1
    U = np.sqrt(n / np.log(n)) / 4
    return min(n ** (-1 / (2 * n)), U / norm)


def projectron(X, y, kernel, task, outputs=1, *, eta=0.0, budget=None, step=1.0, epsilon=0.0, weights=None, draw=None):
    """Orabona, Keshet & Caputo, Bounded kernel-based online learning, 2009 (Projectron)."""
    model = new_model(kernel, task, y, outputs)

    def learn(at):
        if at.wrong:
            insert_or_project(model, at, step, eta, budget)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights)


def projectron_pp(X, y, kernel, task, outputs=1, *, eta=None, budget=None, weights=None, draw=None):
    """Orabona, Keshet & Caputo, Bounded kernel-based online learning, 2009 (Projectron++)."""
    if eta is None and budget is None:
        raise ValueError("Projectron++ needs a tolerance or a budget")
    model = new_model(kernel, task, y, outputs)

    def learn(at):
        if at.wrong:
            insert_or_project(model, at, 1.0, eta, budget)
        elif at.loss > 0:
            d, residual = projection(model, at)
            P2 = model.row(at.x) @ d
            if 1e-12 * at.size > P2:
                return
            delta = np.sqrt(at.reach * residual)
            if eta is None:
                tau = budget_step(at.loss, at.reach * P2, delta, budget)
            else:
                tau = tolerance_step(at.loss, at.reach * P2, delta, eta)
            model.add(np.outer(d, tau * at.weight * at.direction))

    return online(learn, model, X, y, task, weights=weights)


def projection(model, at):
    """Coefficients of x on the stored points and its squared distance from their span, 0 when it is rounding."""
    k, K = model.row(at.x), model.gram()
    d = span(K, k)
    residual = at.size - k @ d
    return d, 0.0 if in_span(residual, at.size, d, K) else residual


def insert_or_project(model, at, step, eta, budget):
    """The Projectron's answer to a mistake; eta=None leaves only the budget to decide."""
    row = step * at.weight * at.direction
    d, residual = projection(model, at)
    full = budget is not None and len(model) >= budget
    near = eta is not None and np.sqrt(at.reach * residual) <= eta
    if residual > 0 and (len(model) == 0 or not (full or near)):
        model.insert(at.x, row, at.position)
    else:
        model.add(np.outer(d, row))


def tolerance_step(loss, P2, delta, eta):
    """Step on a margin error under the tolerance rule; eta = 0 moves only points inside the span."""
    if eta == 0:
        far = 0.0 if delta == 0 else np.inf
    else:
        far = delta / eta
    return min(loss / P2, 2 * (loss - far) / P2, 1.0) if loss > far else 0.0


def budget_step(loss, P2, delta, budget):
    """Step on a margin error under the budget rule with competitors of norm at most U."""
    U = np.sqrt((budget + 1) / np.log(budget + 1)) / 4
    tau = min(loss / P2, 1.0)
    return tau if tau * (2 * loss - tau * P2 - 2 * U * delta) >= 0 else 0.0
