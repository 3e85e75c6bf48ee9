"""Features from sketches of the kernel matrix, with all points, all rows and all products kept and made afresh."""

import numpy as np
import scipy.stats

from .common import judge, online, slope
from .features import linear_rule

SIGNS, LANDMARKS, PROBES = 1, 2, 3


def transform_row(draw, number, blocks, size):
    """Row `number` of a sparse Johnson-Lindenstrauss transform: one entry in each block of columns."""
    own, row = draw.hash(draw.key, 2**63 + SIGNS), np.zeros(size)
    edges = [b * size // blocks for b in range(blocks + 1)]
    for b in range(blocks):
        bits = draw.hash(own, number * blocks + b)
        column = edges[b] + int((bits >> 11) * 2.0**-53 * (edges[b + 1] - edges[b]))
        row[column] = (-1 if bits & 1 else 1) / np.sqrt(blocks)
    return row


def largest(A, rank, probes=None):
    """(eigenvalues, eigenvectors): the largest, those that are 0 left out, each vector's largest entry positive."""
    if probes is None:
        values, V = np.linalg.eigh(A)
    else:
        Q = np.linalg.qr(A @ np.linalg.qr(A @ np.linalg.qr(A @ probes)[0])[0])[0]
        values, V = np.linalg.eigh(Q.T @ A @ Q)
        V = Q @ V
    order = [i for i in np.argsort(-values)[:rank] if values[i] > 1e-10 * values.max()]
    V = V[:, order] * np.sign([V[np.abs(V[:, i]).argmax(), i] for i in order])
    return values[order], V


class Sampled:
    """A growing sample, landmarks among its first points, and both sketches of its kernel matrix."""

    def __init__(self, kernel, points, draw, *, size, sample, rank, blocks, random, most=None):
        self.kernel, self.draw, self.points = kernel, draw, list(points)
        self.size, self.rank, self.blocks, self.random, self.most = size, rank, blocks, random, most
        chosen = np.sort(np.argsort(draw.stream(LANDMARKS, len(points)))[:sample])
        self.landmarks = [points[i] for i in chosen]
        self.processed = len(points)

    def add(self, x):
        """A further point, in the place of the oldest if there are as many as may be."""
        if self.most is not None and len(self.points) == self.most:
            self.points[self.processed % self.most] = x
        else:
            self.points.append(x)
        self.processed += 1

    def gram(self, A, B):
        return np.array([[self.kernel(a, b) for b in B] for a in A])

    def sketches(self):
        """S' K S and S' k(X, landmarks)."""
        S = np.array([transform_row(self.draw, i, self.blocks, self.size) for i in range(len(self.points))])
        return S.T @ self.gram(self.points, self.points) @ S, S.T @ self.gram(self.points, self.landmarks)

    def quotient(self):
        """Q, (landmarks, rank)."""
        pp, pm = self.sketches()
        probes = None
        if self.random:
            shape = self.size, min(self.rank + 10, self.size)
            numbers = self.draw.stream(PROBES, (self.processed + 1) * shape[0] * shape[1])
            probes = scipy.stats.norm.ppf(numbers[-shape[0] * shape[1] :].reshape(shape))
        values, V = largest(pp, self.rank, probes)
        return np.linalg.pinv(pm, 1e-8) @ V @ np.diag(np.sqrt(values))


class SketchedModel:
    """sum_i a_i k(x_i, x), later w.Q'k(landmarks, x); snapshots share the stage and are carried with the model."""

    def __init__(self, kernel, outputs):
        self.kernel, self.bias = kernel, np.zeros(outputs)
        self.stage = {"points": [], "sampled": None, "Q": None}
        self.weights = np.zeros((outputs, 0))
        self.copies = [self]

    @property
    def features(self):
        sampled, Q = self.stage["sampled"], self.stage["Q"]
        if sampled is None:
            return lambda x: np.array([self.kernel(p, x) for p in self.stage["points"]])
        return lambda x: Q.T @ np.array([self.kernel(p, x) for p in sampled.landmarks])

    def __call__(self, x):
        z = self.features(x)
        return self.weights @ z[: self.weights.shape[1]]

    def copy(self):
        """A snapshot."""
        twin = SketchedModel(self.kernel, len(self.bias))
        twin.stage, twin.weights, twin.copies = self.stage, self.weights.copy(), self.copies
        self.copies.append(twin)
        return twin

    def insert(self, x, coef):
        self.stage["points"].append(np.array(x))
        self.weights = np.hstack([self.weights, np.reshape(coef, (-1, 1))])

    def begin(self, x, sampled, init):
        """From the kernel model to weights on features."""
        points, Q = self.stage["points"], sampled.quotient()
        said = [model(x) for model in self.copies]
        self.stage.update(sampled=sampled, Q=Q)
        for model, f in zip(self.copies, said):
            a = np.pad(model.weights, ((0, 0), (0, len(points) - model.weights.shape[1])))
            if init == "least_squares":
                A = sampled.gram(points, sampled.landmarks) @ Q
                model.weights = np.linalg.lstsq(A, sampled.gram(points, points) @ a.T, rcond=None)[0].T
            else:
                model.match(x, f)

    def renew(self, x, carry):
        """New features after a further point."""
        said = [model(x) for model in self.copies]
        old = self.stage["Q"]
        self.stage["sampled"].add(np.array(x))
        Q = self.stage["Q"] = self.stage["sampled"].quotient()
        for model, f in zip(self.copies, said):
            if carry == "paper":
                model.match(x, f)
            elif carry == "keep":
                more = max(0, Q.shape[1] - old.shape[1])
                model.weights = np.pad(model.weights, ((0, 0), (0, more)))[:, : Q.shape[1]]
            else:
                sampled = self.stage["sampled"]
                K = sampled.gram(sampled.landmarks, sampled.landmarks)
                model.weights = np.linalg.lstsq(K @ Q, K @ old @ model.weights.T, rcond=None)[0].T

    def match(self, x, f):
        """The shortest weights that say f of x."""
        z = self.features(x)
        self.weights = np.outer(f, z) / (z @ z) if z @ z > 0 else np.zeros((len(self.bias), len(z)))


def skegd(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    budget,
    sketch_size=None,
    sample_size=None,
    blocks=4,
    rank=None,
    update_every,
    stream_length=None,
    init="paper",
    carry="paper",
    svd="exact",
    max_processed=None,
    loss,
    eta=0.2,
    schedule="constant",
    reg=0.0,
    epsilon=0.0,
    average=False,
    weights=None,
    draw=None,
):
    """Zhang & Liao, Incremental randomized sketching for online kernel learning, 2019, Algorithm 1."""
    size = 3 * budget // 4 if sketch_size is None else sketch_size
    sample = size // 5 if sample_size is None else sample_size
    rank = min(max(1, budget // 10), sample) if rank is None else rank
    period = update_every if update_every >= 1 else max(1, int(update_every * (stream_length - budget)))
    sizes = {"size": size, "sample": sample, "rank": rank, "blocks": blocks}
    model, start = SketchedModel(kernel, outputs), None
    step = linear_rule(task, rule="gradient", loss=loss, eta=eta, schedule=schedule, reg=reg, C=1, epsilon=epsilon)

    def learn(at):
        nonlocal start
        points = model.stage["points"]
        if start is None and len(points) == budget:
            start = at.t
            sampled = Sampled(kernel, points, draw, random=svd == "randomized", most=max_processed, **sizes)
            model.begin(at.x, sampled, init)
        elif start is not None and (at.t - start) % period == 0:
            model.renew(at.x, carry)
        if start is not None:
            step(model, at._replace(**judge(task, at.y, model(at.x), epsilon)._asdict()))
            return
        rate = {"constant": eta, "invsqrt": eta / np.sqrt(at.t), "pegasos": 1 / ((reg or 1) * at.t)}[schedule]
        model.weights = (1 - rate * reg) * model.weights
        push = slope(task, loss, at.gap, epsilon)
        if push != 0:
            model.insert(at.x, rate * at.weight * push * at.direction)

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights, average=average)
