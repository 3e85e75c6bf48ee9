"""Linear learners on explicit features."""

import numpy as np
import scipy.linalg
import scipy.stats

from .common import LinearModel, judge, online, slope


def random_frequencies(features, kernel, n, d, draw, tile=None):
    """n frequencies of a kernel's spectrum, (n, d); orthogonal ones in blocks of `tile` rows and columns."""
    normal = scipy.stats.norm.ppf
    if features == "plain":
        if hasattr(kernel, "frequency"):
            return kernel.frequency(draw.stream(0, n * d)).reshape(d, n).T
        return kernel.radii(draw.stream(1, n))[:, None] * normal(draw.stream(0, n * d)).reshape(d, n).T
    p = tile or (d if features == "orthogonal" else max(64, 2 ** int(np.ceil(np.log2(d)))))
    tiles, blocks = -(-d // p), -(-n // p)
    H = scipy.linalg.hadamard(p) / np.sqrt(p) if features != "orthogonal" else None
    radii = kernel.radii(draw.stream(1, blocks * p))
    gaussians = normal(draw.stream(2, tiles * blocks * p * p if features == "orthogonal" else tiles * blocks * p))
    lengths = scipy.stats.chi.ppf(draw.stream(3, tiles * blocks * p), p).reshape(tiles, blocks, p)
    signs = np.where(draw.stream(4, tiles * blocks * 3 * p) > 0.5, 1, -1).reshape(tiles, blocks, 3, p)
    places = draw.stream(5, tiles * blocks * p).reshape(tiles, blocks, p)
    W = np.zeros((blocks * p, tiles * p))
    for k in range(tiles):
        for b in range(blocks):
            if features == "orthogonal":
                Q, R = np.linalg.qr(gaussians.reshape(tiles, blocks, p, p)[k, b])
                block = lengths[k, b][:, None] * (Q * np.sign(np.diag(R)))
            elif features == "structured":
                D3, D2, D1 = (np.diag(s) for s in signs[k, b])
                block = np.sqrt(p) * H @ D1 @ H @ D2 @ H @ D3
            else:
                g = gaussians.reshape(tiles, blocks, p)[k, b]
                P = np.eye(p)[np.argsort(places[k, b])]
                ones = H * np.sqrt(p)
                block = ones @ np.diag(g) @ P @ ones @ np.diag(signs[k, b, 0])
                block = lengths[k, b][:, None] * block / (np.linalg.norm(g) * np.sqrt(p))
            W[b * p : b * p + p, k * p : k * p + p] = block
    return (radii[:, None] * W)[:n, :d]


def fourier_features(frequencies):
    """x -> sines, then cosines, of the inner products with the rows of `frequencies`, of length 1."""

    def features(x):
        angles = frequencies @ x
        return np.concatenate([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))

    return features


def linear_rule(task, *, rule, loss, eta, schedule, reg, C, epsilon):
    """What one round does to a linear model: a function of the model and the round."""
    squares = 0.0

    def learn(model, at):
        nonlocal squares
        z = model.features(at.x)
        if rule in ("pa", "pa1", "pa2"):
            if at.loss > 0:
                norm = at.reach * (z @ z)
                tau = {"pa": at.loss / norm, "pa1": min(C, at.loss / norm), "pa2": at.loss / (norm + 1 / (2 * C))}[rule]
                model.weights = model.weights + at.weight * tau * np.outer(at.direction, z)
            return
        push = at.weight * slope(task, loss, at.gap, epsilon)
        gradient = -push * np.outer(at.direction, z)
        if rule == "adagrad":
            gradient = gradient + reg * model.weights
            squares = squares + gradient**2
            model.weights = model.weights - eta * gradient / (np.sqrt(squares) + 1e-8)
            return
        step = {"constant": eta, "invsqrt": eta / np.sqrt(at.t)}.get(schedule)
        step = 1 / (reg * at.t) if schedule == "pegasos" else step
        keep = 1 - 1 / at.t if schedule == "pegasos" else 1 - step * reg
        model.weights = keep * model.weights - step * gradient

    return learn


def fogd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    n_components,
    loss,
    features="plain",
    rule="gradient",
    eta=0.2,
    schedule="constant",
    reg=0.0,
    C=1.0,
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """Lu, Hoi, Wang, Zhao & Liu, Large scale online kernel learning, 2016, Algorithm 1."""
    made = {"map": {"features": features, "n_components": n_components}, "loss": loss, "rule": rule, "reg": reg, "C": C}
    made |= {"eta": eta, "schedule": schedule, "epsilon": epsilon, "average": average}
    return mapped(X, y, kernel, task, outputs, **made, weights=weights, draw=draw)


def nystroem_features(kernel, points, rank):
    """x -> M k(points, x), M from the largest eigenvalues of the points' Gram matrix."""
    values, V = np.linalg.eigh(np.array([[kernel(p, q) for q in points] for p in points]))
    order = [i for i in np.argsort(-values)[:rank] if values[i] > 1e-10 * values.max()]
    V = V[:, order] * np.sign([V[np.abs(V[:, i]).argmax(), i] for i in order])
    M = np.diag(values[order] ** -0.5) @ V.T
    return M, lambda x: M @ np.array([kernel(p, x) for p in points])


def mapped(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    map,
    loss,
    rule="gradient",
    eta=0.2,
    schedule="constant",
    reg=0.0,
    C=1.0,
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """A linear learner on features; `map` holds what makes them, None: the rows are the features."""
    if map is None:
        features, n = (lambda x: x), X.shape[1]
    elif "landmarks" in map:
        M, features = nystroem_features(kernel, map["landmarks"], map["rank"])
        n = len(M)
    else:
        n = 2 * map["n_components"]
        features = fourier_features(random_frequencies(map["features"], kernel, n // 2, X.shape[1], draw))
    model = LinearModel(features, n, outputs)
    step = linear_rule(task, rule=rule, loss=loss, eta=eta, schedule=schedule, reg=reg, C=C, epsilon=epsilon)
    return online(lambda at: step(model, at), model, X, y, task, epsilon=epsilon, weights=weights, average=average)


class TwoStages:
    """sum_i a_i k(x_i, x) until `matrix` is set, then w.z(x) with z(x) = matrix k(S, x); copies switch together."""

    def __init__(self, kernel, outputs):
        self.kernel, self.bias = kernel, np.zeros(outputs)
        self.stage = {"points": [], "matrix": None}
        self.coef, self.own = [], None  # those of the points; the weights that the second stage made of them

    @property
    def switched(self):
        return self.stage["matrix"] is not None

    @property
    def features(self):
        """The map of the second stage."""
        points, M = self.stage["points"], self.stage["matrix"]
        return lambda x: M @ np.array([self.kernel(p, x) for p in points])

    @property
    def weights(self):
        """The best approximation of the kernel model: min |w'M - a|."""
        a = np.array(self.coef).reshape(-1, len(self.bias)).T
        if not self.switched:
            return a
        if self.own is None:
            full = np.pad(a, ((0, 0), (0, len(self.stage["points"]) - a.shape[1])))
            self.own = full @ np.linalg.pinv(self.stage["matrix"])
        return self.own

    @weights.setter
    def weights(self, w):
        self.own = w

    def __call__(self, x):
        if self.switched:
            return self.weights @ self.features(x)
        return sum((a * self.kernel(p, x) for a, p in zip(self.coef, self.stage["points"])), np.zeros(len(self.bias)))

    def copy(self):
        """A snapshot, which will be switched when the model is."""
        twin = TwoStages(self.kernel, len(self.bias))
        twin.stage, twin.coef, twin.own = self.stage, list(self.coef), self.own
        return twin

    def switch(self, rank):
        """Features from the largest eigenvalues of the points' Gram matrix."""
        self.stage["matrix"], _ = nystroem_features(self.kernel, self.stage["points"], rank)


def nogd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    budget,
    rank,
    loss,
    switch="full",
    eta=0.2,
    schedule="constant",
    reg=0.0,
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """Lu, Hoi, Wang, Zhao & Liu, Large scale online kernel learning, 2016, Algorithm 2."""
    model = TwoStages(kernel, outputs)
    rank = budget // 5 if rank is None else rank
    learn = nogd_rule(model, task, budget, rank, loss, switch, eta, schedule, reg, epsilon)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)


def nogd_rule(model, task, budget, rank, loss, switch, eta, schedule, reg, epsilon):
    """What a round does to Nystroem online gradient descent."""
    step = linear_rule(task, rule="gradient", loss=loss, eta=eta, schedule=schedule, reg=reg, C=1, epsilon=epsilon)

    def learn(at):
        if not model.switched and len(model.coef) == budget and slope(task, loss, at.gap, epsilon) != 0:
            model.switch(rank)
            verdict = judge(task, at.y, model(at.x), epsilon)
            at = at._replace(**verdict._asdict())
        if model.switched:
            step(model, at)
            return
        rate = {"constant": eta, "invsqrt": eta / np.sqrt(at.t), "pegasos": 1 / ((reg or 1) * at.t)}[schedule]
        model.coef = [(1 - rate * reg) * a for a in model.coef]
        push = slope(task, loss, at.gap, epsilon)
        if push != 0:
            model.coef.append(rate * at.weight * push * at.direction)
            model.stage["points"].append(np.array(at.x))
        if len(model.coef) == budget and switch == "full":
            model.switch(rank)

    return learn


class Hybrid:
    """sum_i a_i k(x_i, x), where z(x_i).z(x) stands for the k of those that are gone; gone from copies, too."""

    def __init__(self, kernel, features, outputs):
        self.kernel, self.features, self.bias = kernel, features, np.zeros(outputs)
        self.terms, self.gone = {}, set()  # position in the stream: (point, coefficients)

    @property
    def born(self):
        return [position for position in self.terms if position not in self.gone]

    @property
    def coef(self):
        return [self.terms[position][1] for position in self.born]

    def __call__(self, x):
        z, total = self.features(x), np.zeros(len(self.bias))
        for position, (point, row) in self.terms.items():
            total = total + row * (self.features(point) @ z if position in self.gone else self.kernel(point, x))
        return total

    def copy(self):
        """A snapshot."""
        twin = Hybrid(self.kernel, self.features, len(self.bias))
        twin.terms, twin.gone = dict(self.terms), self.gone
        return twin


def dual_sgd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    budget,
    moved,
    n_components,
    loss,
    reg,
    features="plain",
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """Le, Nguyen, Nguyen & Phung, Dual space gradient descent for online learning, NIPS 2016."""
    frequencies = random_frequencies(features, kernel, n_components, X.shape[1], draw)
    model = Hybrid(kernel, fourier_features(frequencies), outputs)

    def learn(at):
        model.terms = {i: (point, (1 - 1 / at.t) * row) for i, (point, row) in model.terms.items()}
        push = slope(task, loss, at.gap, epsilon)
        if push == 0:
            return
        if len(model.born) == budget:
            for _ in range(moved):
                sizes = [row @ row for row in model.coef]
                model.gone.add(next(i for i, s in zip(model.born, sizes) if s <= min(sizes) * (1 + 1e-9)))
        model.terms[at.position] = np.array(at.x), at.weight * push / (reg * at.t) * at.direction

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)
