"""What every slow twin shares: kernels, draws, the stored model, the judgement of an example, the loop."""

from typing import NamedTuple

import numpy as np
import scipy.special
import scipy.stats

MASK = 2**64 - 1


# ------------------------------------------------------------------ kernels of two vectors
def rbf(gamma):
    """exp(-gamma |x - z|^2); its frequencies are normal with variance 2 gamma."""

    def kernel(x, z):
        return np.exp(-gamma * np.sum((x - z) ** 2))

    kernel.radii = lambda u: np.full(len(u), np.sqrt(2 * gamma))
    return kernel


def laplacian(gamma):
    """exp(-gamma |x - z|_1); its frequencies are Cauchy's with scale gamma, one by one."""

    def kernel(x, z):
        return np.exp(-gamma * np.sum(np.abs(x - z)))

    kernel.frequency = lambda u: scipy.stats.cauchy.ppf(u, scale=gamma)
    return kernel


def matern(nu, gamma):
    """Matern's kernel by Bessel functions; its frequencies are Student's t of 2 nu degrees with scale gamma."""

    def kernel(x, z):
        r = np.sqrt(2 * nu) * gamma * np.linalg.norm(x - z)
        return 2 ** (1 - nu) / scipy.special.gamma(nu) * r**nu * scipy.special.kv(nu, r) if r > 0 else 1.0

    kernel.radii = lambda u: gamma * np.sqrt(2 * nu / scipy.stats.chi2.ppf(u, 2 * nu))
    return kernel


def poly(gamma, coef0, degree):
    """(gamma x.z + coef0)^degree."""
    return lambda x, z: (gamma * np.dot(x, z) + coef0) ** degree


def linear():
    """x.z."""
    return lambda x, z: np.dot(x, z)


def sigmoid(gamma, coef0):
    """tanh(gamma x.z + coef0)."""
    return lambda x, z: np.tanh(gamma * np.dot(x, z) + coef0)


def cosine():
    """x.z / (|x| |z|), and 0 if either vector is zero."""

    def kernel(x, z):
        length = np.linalg.norm(x) * np.linalg.norm(z)
        return np.dot(x, z) / length if length > 0 else 0.0

    return kernel


# ------------------------------------------------------------------ random numbers
class Draw:
    """Counter based generator: the n-th draw is a hash (splitmix64) of key and n."""

    def __init__(self, key):
        self.key = int(key)
        self.counter = 0

    def next(self):
        """The next 64 random bits."""
        self.counter += 1
        return self.hash(self.key, self.counter)

    @staticmethod
    def hash(key, n):
        """The finaliser of splitmix64."""
        z = (key + n * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def stream(self, number, n):
        """The first n of the numbers in (0, 1) of a stream of its own."""
        own = self.hash(self.key, 2**63 + number)
        return np.array([((self.hash(own, i) >> 11) + 0.5) * 2.0**-53 for i in range(n)])

    def uniform(self):
        """A number in [0, 1)."""
        return (self.next() >> 11) * 2.0**-53

    def below(self, n):
        """An integer in 0..n-1."""
        return int(self.uniform() * n)


# ------------------------------------------------------------------ models
class Model:
    """f(x) = sum_i coef_i kernel(points_i, x) + bias; the list position of a point is its slot."""

    def __init__(self, kernel, outputs=1):
        self.kernel = kernel
        self.points, self.coef, self.born = [], [], []
        self.bias = np.zeros(outputs)
        self.known = {}

    def __call__(self, x):
        return self.score_from(self.row(x))

    def __len__(self):
        return len(self.points)

    def score_from(self, k):
        """Scores from the kernel values between the points and some x."""
        return sum((a * k_i for a, k_i in zip(self.coef, k)), self.bias.copy())

    def row(self, x):
        """Kernel values between every point and x."""
        return np.array([self.kernel(p, x) for p in self.points])

    def gram(self):
        """Kernel matrix of the points; known values are kept with their points so that ids stay unique."""
        for p in self.points:
            for q in self.points:
                if (id(p), id(q)) not in self.known:
                    self.known[id(p), id(q)] = p, q, self.kernel(p, q)
        rows = [[self.known[id(p), id(q)][2] for q in self.points] for p in self.points]
        return np.array(rows).reshape(len(self), len(self))

    def squared_norm(self):
        """RKHS norm a'Ka, summed over the outputs (the bias does not count)."""
        if not self.points:
            return 0.0
        a = np.array(self.coef)
        return float(np.sum(a * (self.gram() @ a)))

    def insert(self, x, row, position):
        """Append a point with its coefficient row."""
        self.points.append(np.array(x))
        self.coef.append(np.array(row, dtype=float))
        self.born.append(position)

    def replace(self, slot, x, row, position):
        """Write a point into a slot that is in use."""
        self.points[slot] = np.array(x)
        self.coef[slot] = np.array(row, dtype=float)
        self.born[slot] = position

    def remove(self, slot):
        """Delete a point; those behind it keep their order."""
        del self.points[slot], self.coef[slot], self.born[slot]

    def remove_by_swap(self, slot):
        """Delete a point; the last one moves into its slot."""
        for column in (self.points, self.coef, self.born):
            column[slot] = column[-1]
            column.pop()

    def scale(self, factor):
        """Multiply all coefficients; factor 0 empties the model."""
        self.coef = [a * factor for a in self.coef]
        if factor == 0:
            self.points, self.coef, self.born = [], [], []

    def add(self, rows):
        """Add one coefficient row to each point."""
        self.coef = [a + row for a, row in zip(self.coef, rows)]

    def copy(self):
        """A snapshot; the points are shared because nobody writes into them."""
        twin = Model(self.kernel, len(self.bias))
        twin.points, twin.coef, twin.born = list(self.points), list(self.coef), list(self.born)
        twin.bias = self.bias.copy()
        return twin


class LinearModel:
    """f(x) = W z(x) on explicit features z."""

    def __init__(self, features, size, outputs):
        self.features = features
        self.weights = np.zeros((outputs, size))
        self.bias = np.zeros(outputs)

    def __call__(self, x):
        return self.weights @ self.features(x)

    def kernel(self, x, z):
        """What the features make of the kernel."""
        return self.features(x) @ self.features(z)

    def copy(self):
        """A snapshot."""
        twin = LinearModel(self.features, self.weights.shape[1], len(self.bias))
        twin.weights = self.weights.copy()
        return twin


class Mean:
    """The mean of stored models, taken literally over their scores."""

    def __init__(self, models):
        self.models = list(models)

    def __call__(self, x):
        if not hasattr(self.models[0], "points"):
            return np.mean([m(x) for m in self.models], axis=0)
        # The stored models share point objects: one kernel value per object serves all of them.
        points = {id(p): p for m in self.models for p in m.points}
        values = {name: self.models[0].kernel(p, x) for name, p in points.items()}
        scores = [m.score_from([values[id(p)] for p in m.points]) for m in self.models]
        return np.mean(scores, axis=0)


class Result(NamedTuple):
    """Scores before each update, the last model, and the mean of f_1..f_{T+1} if it was asked for."""

    scores: np.ndarray
    model: Model
    average: Mean | None


# ------------------------------------------------------------------ losses
class Verdict(NamedTuple):
    """How a score vector fares on a label; `reach` is the squared norm of a margin direction."""

    wrong: bool
    gap: float
    direction: np.ndarray
    reach: int
    loss: float


def softmax(f):
    """exp(f) / sum exp(f)."""
    e = np.exp(f - np.max(f))
    return e / np.sum(e)


def judge(task, y, f, epsilon=0.0):
    """Mistake, gap, direction that would help, its reach, and the hinge (or tube) loss."""
    if task == "regression":
        residual = y - f[0]
        gap = abs(residual)
        return Verdict(gap > epsilon, gap, np.array([np.sign(residual)]), 1, max(0.0, gap - epsilon))
    if task == "binary":
        margin, direction, reach = y * f[0], np.array([float(y)]), 1
    else:
        y = int(y)
        rival = best_rival(f, y)
        margin, reach = f[y] - f[rival], 2
        one = np.eye(len(f))
        direction = one[y] - (one[rival] if task == "multiclass" else softmax(f))
    return Verdict(margin <= 0, 1 - margin, direction, reach, max(0.0, 1 - margin))


def best_rival(f, y):
    """The best scored class other than y, smallest index on ties."""
    others = [r for r in range(len(f)) if r != y]
    return max(others, key=lambda r: (f[r], -r))


def slope(task, loss, gap, epsilon=0.0):
    """d loss / d gap, 0 for numbers missed by at most epsilon; the softmax loss has it inside its direction."""
    if task == "softmax":
        return 1.0
    if task == "regression" and gap <= epsilon:
        return 0.0
    if loss in ("hinge", "absolute"):
        return float(gap > 0)
    if loss == "squared_hinge":
        return 2 * max(gap, 0.0)
    if loss == "logistic":
        return 1 / (1 + np.exp(1 - gap))
    if loss == "squared":
        return 2 * gap
    if loss == "half_squared":
        return gap
    if loss == "epsilon_insensitive":
        return 1.0
    raise ValueError(f"unknown loss {loss!r}")


# ------------------------------------------------------------------ the stream
class Round(NamedTuple):
    """One counted example: number t from 1, stream position from 0, the scores f before the update."""

    t: int
    position: int
    x: np.ndarray
    y: float
    weight: float
    f: np.ndarray
    size: float  # kernel(x, x)
    wrong: bool
    gap: float
    direction: np.ndarray
    reach: int
    loss: float


def online(learn, model, X, y, task, *, epsilon=0.0, weights=None, average=False):
    """Score each row, then let `learn(round)` change the model unless the row has weight 0."""
    X = np.asarray(X, dtype=float)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    scores, past, t = [], [], 0
    for position, (x, label, weight) in enumerate(zip(X, y, weights)):
        f = model(x)
        scores.append(Mean([*past, model])(x) if average else f)
        if weight == 0:
            continue
        t += 1
        if average:
            past.append(model.copy())
        verdict = judge(task, label, f, epsilon)
        learn(Round(t, position, x, label, weight, f, model.kernel(x, x), *verdict))
    mean = Mean([*past, model.copy()]) if average else None
    return Result(np.array(scores).reshape(len(X), len(model.bias)), model, mean)


def most(budget):
    """A budget, or what a function says that it is now."""
    return budget() if callable(budget) else budget


def new_model(kernel, task, y, outputs):
    """An empty model with one output, or one per class."""
    if task in ("binary", "regression"):
        return Model(kernel, 1)
    return Model(kernel, max(outputs, int(np.max(y)) + 1))


# ------------------------------------------------------------------ small mathematics
def gram(kernel, points):
    """Kernel matrix of a list of points."""
    return np.array([[kernel(p, q) for q in points] for p in points]).reshape(len(points), len(points))


def span(K, k):
    """Coefficients of the projection of a feature vector with kernel row k on points with Gram matrix K."""
    if len(k) == 0:
        return np.zeros(0)
    try:
        return np.linalg.solve(K, k)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(K, rcond=1e-10, hermitian=True) @ k


def first_min(values, ties=1e-12):
    """Index of the minimum; values equal up to rounding count as ties and the smallest index wins."""
    limit = min(values) + ties * max(abs(v) for v in values)
    return next(i for i, v in enumerate(values) if v <= limit)


def in_span(residual, size, d, K, least=1e-12):
    """Whether a point counts as one of the span: close to it, or, once stored, what would bring another that close.

    d: the coefficients of its projection. Point i would then be 1 / (1 / its distance + d_i^2 / residual) away.
    """
    steady = 1e-9 * (size + np.sum(np.square(d) * np.diagonal(K)))
    return residual <= max(least * size, steady)
