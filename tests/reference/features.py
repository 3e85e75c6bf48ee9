"""Linear learners on explicit features."""

import numpy as np

from .common import LinearModel, online, slope


def fourier_features(frequencies):
    """x -> sines, then cosines, of the inner products with the rows of `frequencies`, of length 1."""

    def features(x):
        angles = frequencies @ x
        return np.concatenate([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))

    return features


def linear_rule(model, task, *, rule, loss, eta, schedule, reg, C, epsilon):
    """What one round does to a linear model: a function of the round."""
    squares = np.zeros_like(model.weights)

    def learn(at):
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
            squares[...] += gradient**2
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
    d = X.shape[1]
    frequencies = kernel.frequency(draw.stream(0, n_components * d)).reshape(d, n_components).T
    model = LinearModel(fourier_features(frequencies), 2 * n_components, outputs)
    learn = linear_rule(model, task, rule=rule, loss=loss, eta=eta, schedule=schedule, reg=reg, C=C, epsilon=epsilon)
    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)
