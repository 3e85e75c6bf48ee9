"""Linear learners on explicit features."""

import numpy as np

from .common import LinearModel, judge, online, slope


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


def fourier_model(kernel, n, d, outputs, draw):
    """A linear model on random Fourier features of a kernel."""
    frequencies = kernel.frequency(draw.stream(0, n * d)).reshape(d, n).T
    return LinearModel(fourier_features(frequencies), 2 * n, outputs)


def fogd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    n_components,
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
    """Lu, Hoi, Wang, Zhao & Liu, Large scale online kernel learning, 2016, Algorithm 1."""
    model = fourier_model(kernel, n_components, X.shape[1], outputs, draw)
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
        points = self.stage["points"]
        values, V = np.linalg.eigh(np.array([[self.kernel(p, q) for q in points] for p in points]))
        order = [i for i in np.argsort(-values)[:rank] if values[i] > 1e-10 * values.max()]
        V = V[:, order] * np.sign([V[np.abs(V[:, i]).argmax(), i] for i in order])
        self.stage["matrix"] = np.diag(values[order] ** -0.5) @ V.T


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
