"""Learners that revise old coefficients: double updating, and least squares on a sparse dictionary."""

import numpy as np

from .common import first_min, new_model, online, span

TOUCHING = 1e-9  # an update often leaves a margin of exactly 1, which rounding must not put outside


def duol(X, y, kernel, task, outputs=1, *, C=1.0, rho=0.0, outside=(), weights=None, draw=None):
    """Zhao, Hoi & Jin, Double updating online learning, 2011.

    Margins of exactly 1 are common and count as inside, but in the rounds named by `outside`.
    """
    model = new_model(kernel, task, y, outputs)
    box = {}  # stream position of a stored example -> the largest weight it may carry

    def learn(at):
        if at.loss == 0 or at.size == 0:
            return
        ceiling = C * at.weight
        b = conflicting(at)
        if b is None:
            gamma = min(ceiling, at.loss / at.size)
        else:
            label, x_b = y[model.born[b]], model.points[b]
            gamma_b = label * model.coef[b][0]
            w = at.y * label * kernel(x_b, at.x)
            loss_b = 1 - label * model(x_b)[0]
            ranges = ((0.0, ceiling), (-gamma_b, box[model.born[b]] - gamma_b))
            gamma, change = best_pair(at.loss, loss_b, at.size, kernel(x_b, x_b), w, *ranges)
            model.coef[b] = np.array([label * (gamma_b + change)])
            if gamma_b + change == 0:
                model.remove(b)
        if gamma > 0:
            model.insert(at.x, [gamma * at.y], at.position)
            box[at.position] = ceiling

    def conflicting(at):
        """The stored example inside the margin that the new one would hurt most."""
        labels = [y[s] for s in model.born]
        edge = 1 - TOUCHING if at.position in outside else 1 + TOUCHING
        inside = [i for i, x in enumerate(model.points) if labels[i] * model(x)[0] <= edge]
        if not inside:
            return None
        hurt = [at.y * labels[i] * kernel(model.points[i], at.x) for i in inside]
        b = first_min(hurt)
        return inside[b] if hurt[b] < 0 and hurt[b] <= -rho else None

    return online(learn, model, X, y, task, weights=weights)


def best_pair(loss_a, loss_b, k_a, k_b, w, range_a, range_b):
    """Best (gamma_a, Delta_b) in the box: the free maximum if inside, else the best on the four edges."""

    def gain(a, b):
        return loss_a * a + loss_b * b - 0.5 * (k_a * a**2 + k_b * b**2 + 2 * w * a * b)

    determinant = k_a * k_b - w**2
    if determinant > 0:
        a = (k_b * loss_a - w * loss_b) / determinant
        b = (k_a * loss_b - w * loss_a) / determinant
        if range_a[0] <= a <= range_a[1] and range_b[0] <= b <= range_b[1]:
            return a, b
    edges = [(a, float(np.clip((loss_b - w * a) / k_b, *range_b))) for a in range_a]
    edges += [(float(np.clip((loss_a - w * b) / k_a, *range_a)), b) for b in range_b]
    return max(edges, key=lambda pair: gain(*pair))


def krls(X, y, kernel, task, outputs=1, *, nu, max_dictionary=None, weights=None, draw=None):
    """Engel, Mannor & Meir, The kernel recursive least-squares algorithm, 2004; solved afresh each round."""
    model = new_model(kernel, task, y, outputs)
    seen = []  # per example: its coefficients on the dictionary of its time, weight, target

    def learn(at):
        if len(model) == 0 and at.size == 0:
            return
        k, K = model.row(at.x), model.gram()
        a = span(K, k)
        full = max_dictionary is not None and len(model) >= max_dictionary
        if len(model) == 0 or (at.size - k @ a > nu and not full):
            model.insert(at.x, [0.0], at.position)
            a = np.eye(len(model))[-1]
        seen.append((a, at.weight, at.y))
        fit()

    def fit():
        """min over alpha of sum_s weight_s (a_s' K alpha - y_s)^2, first for K alpha and then for alpha."""
        root = np.sqrt([w for _, w, _ in seen])
        A = np.zeros((len(seen), len(model)))
        for s, (a, _, _) in enumerate(seen):
            A[s, : len(a)] = a
        target = np.array([t for _, _, t in seen])
        fitted = np.linalg.lstsq(root[:, None] * A, root * target, rcond=None)[0]
        model.coef = [np.array([c]) for c in np.linalg.solve(model.gram(), fitted)]

    return online(learn, model, X, y, task, weights=weights)
