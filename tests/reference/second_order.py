"""Online Newton steps with literal inverses and eigendecompositions, and the sampling of their dictionaries."""

import numpy as np

from .common import Model, judge, online, slope


# ------------------------------------------------------------------ what the losses ask for
def bend(loss, gap, epsilon):
    """d^2 loss / d gap^2."""
    if loss == "logistic":
        p = 1 / (1 + np.exp(1 - gap))
        return p * (1 - p)
    if loss == "squared_hinge":
        return 2.0 * (gap > 0)
    if loss in ("squared", "half_squared"):
        return {"squared": 2.0, "half_squared": 1.0}[loss] * (epsilon == 0 or gap > epsilon)
    return 0.0


def default_curvature(loss, clip):
    """The largest allowed, or 1/8."""
    c = max(clip, 1.0)
    return {
        "squared": 1 / (8 * clip**2),
        "half_squared": 1 / (4 * clip**2),
        "logistic": np.exp(-clip),
        "squared_hinge": (3 * c - 1) / (8 * c**2 * (1 + c)),
    }.get(loss, 1 / 8)


def demand(task, y, r, f, *, loss, curvature, clip, epsilon, weight):
    """(l'(f), c): the slope at the prediction f of output r, and what A gains along phi phi'."""
    alone = "regression" if task == "regression" else "binary"
    label = (1.0 if r == int(y) else -1.0) if task == "multiclass" else y
    verdict = judge(alone, label, np.array([f]), epsilon)
    pull = -verdict.direction[0] * slope(alone, loss, verdict.gap, epsilon)
    if curvature == "hessian":
        return weight * pull, weight * bend(loss, verdict.gap, epsilon)
    sigma = default_curvature(loss, clip) if curvature is None else curvature
    return weight * pull, weight * sigma / 2 * pull**2


class Bounded(Model):
    """Scores in [-clip, clip]."""

    clip = np.inf

    def __call__(self, x):
        return np.clip(super().__call__(x), -self.clip, self.clip)


# ------------------------------------------------------------------ leverage scores
class Sampler:
    """KORS on vectors scale * phi(x), with the estimate of the paper: the newcomer joins the weighted dictionary."""

    def __init__(self, kernel, *, ridge, accuracy, oversampling, force_first, floor=0.0):
        self.kernel, self.ridge, self.accuracy = kernel, ridge, accuracy
        self.oversampling, self.force_first, self.floor = oversampling, force_first, floor
        self.points, self.scales, self.weights = [], [], []
        self.K = np.zeros((0, 0))  # of the dictionary, unscaled

    def bordered(self, x):
        """The dictionary's Gram matrix with a row and a column for x."""
        k = np.array([self.kernel(p, x) for p in self.points])
        return np.block([[self.K, k[:, None]], [k, self.kernel(x, x)]])

    def score(self, x, scale=1.0):
        """(1 + eps) / gamma (k_xx - k' S (S K S + gamma I)^-1 S k) over the dictionary and (x, 1)."""
        scales, S = np.array([*self.scales, scale]), np.diag([*self.weights, 1.0])
        K = self.bordered(x) * np.outer(scales, scales)
        k = K[:, -1]
        inside = k @ S @ np.linalg.inv(S @ K @ S + self.ridge * np.eye(len(k))) @ S @ k
        return (1 + self.accuracy) / self.ridge * (k[-1] - inside)

    def takes(self, x, draw, scale=1.0):
        """Whether x is sampled; then it is in the dictionary."""
        p = 1.0
        if self.points or not self.force_first:
            u = draw.uniform()
            p = max(min(self.oversampling * self.score(x, scale), 1.0), self.floor)
            if u >= p:
                return False
        self.K = self.bordered(x)
        self.points.append(np.array(x))
        self.scales.append(scale)
        self.weights.append(p**-0.5)
        return True


# ------------------------------------------------------------------ all examples, in the dual
def kons(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    loss,
    alpha,
    clip,
    curvature,
    epsilon=0.0,
    ridge=None,
    accuracy=0.5,
    oversampling=1.0,
    min_probability=1.0,
    force_first=True,
    weights=None,
    draw=None,
):
    """Calandriello, Lazaric & Valko, Second-order kernel online convex optimization with adaptive sketching, 2017."""
    model = Bounded(kernel, outputs)
    model.clip = clip
    kept = [{"points": [], "d": []} for _ in range(outputs)]  # the terms of A, for every output
    rule = {"accuracy": accuracy, "oversampling": oversampling, "force_first": force_first, "floor": min_probability}
    samplers = [Sampler(kernel, ridge=alpha if ridge is None else ridge, **rule) for _ in range(outputs)]

    def learn(at):
        here = len(model)
        k = np.append(model.row(at.x), at.size)  # the points and x
        b = np.vstack([*model.coef, np.zeros(outputs)])
        needed = False
        for r in range(outputs):
            s = k @ b[:, r]
            f = np.clip(s, -clip, clip)
            pull, c = demand(
                task, at.y, r, f, loss=loss, curvature=curvature, clip=clip, epsilon=epsilon, weight=at.weight
            )
            if s == f and pull == 0 and c == 0:
                continue
            needed = True
            q = direction(k, here, kept[r], alpha)
            b[:, r] -= (s - f) / (k @ q) * q
            if c > 0 and (min_probability == 1 or samplers[r].takes(at.x, draw, c**0.5)):
                kept[r]["points"].append(here)
                kept[r]["d"].append(c**0.5)
                step = pull * direction(k, here, kept[r], alpha)
            else:
                step = pull * q
            b[:, r] -= step
        if needed:
            K[here, : here + 1] = K[: here + 1, here] = k
            model.insert(at.x, b[-1], at.position)
            model.coef = list(b)

    K = np.zeros((len(X), len(X)))  # of the stored points

    def direction(k, here, kept, alpha):
        """Coefficients of A^-1 phi(x) on the points and x: (e - D (D K D + alpha I)^-1 D k) / alpha."""
        e = np.zeros(here + 1)
        e[here] = 1
        points, d = kept["points"], np.array(kept["d"])
        inner = K[np.ix_(points, points)]
        if points and points[-1] == here:
            inner[-1], inner[:, -1] = k[points], k[points]
        M = np.outer(d, d) * inner + alpha * np.eye(len(points))
        e[points] -= d * np.linalg.solve(M, d * k[points])
        return e / alpha

    return online(learn, model, X, y, task, epsilon=epsilon, weights=weights)


# ------------------------------------------------------------------ a sampled dictionary, in the embedding
class Embedded:
    """f(x) = w.u(x), u(x) = Sigma^-1 U' k(E, x) for K_E = U Sigma^2 U'; E: the points that widened the span."""

    def __init__(self, kernel, outputs, alpha, clip):
        self.kernel, self.bias, self.alpha, self.clip = kernel, np.zeros(outputs), alpha, clip
        self.points, self.born, self.own = [], [], []  # the dictionary, and the numbers of E's points in it
        self.basis = np.zeros((0, 0))
        self.w = np.zeros((outputs, 0))
        self.A = [np.zeros((0, 0)) for _ in range(outputs)]
        self.bound = clip  # of the next round
        self.anew = False  # whether that begins with w = 0 and A = alpha I

    def rows(self, points, x):
        return np.array([self.kernel(p, x) for p in points])

    def embed(self, x):
        return self.basis @ self.rows([self.points[i] for i in self.own], x)

    def __call__(self, x):
        return np.clip(self.w @ self.embed(x), -self.bound, self.bound) * (not self.anew)

    @property
    def coef(self):
        a = np.zeros((len(self.points), len(self.bias)))
        a[self.own] = (self.w @ self.basis).T
        return a

    def widens(self, x):
        """Whether the point just stored is outside the span of the others."""
        k = self.rows([self.points[i] for i in self.own], x)
        K = np.array([self.rows([self.points[j] for j in self.own], self.points[i]) for i in self.own])
        inside = k @ np.linalg.solve(K, k) if len(k) else 0.0
        return self.kernel(x, x) - inside > 1e-8 * self.kernel(x, x)

    def widen(self):
        """The last stored point joins E; the function stays: w <- Q w, A <- alpha I + Q (A - alpha I) Q'."""
        before, basis = list(self.own), self.basis
        self.own.append(len(self.points) - 1)
        K = np.array([[self.kernel(self.points[i], self.points[j]) for j in self.own] for i in self.own])
        values, U = np.linalg.eigh(K)
        self.basis = np.diag(values**-0.5) @ U.T
        Q = self.basis @ K[:, : len(before)] @ basis.T
        n = len(self.own)
        self.w = self.w @ Q.T
        self.A = [self.alpha * np.eye(n) + Q @ (A - self.alpha * np.eye(n - 1)) @ Q.T for A in self.A]

    def restart(self):
        n = len(self.own)
        self.w, self.A = np.zeros((len(self.bias), n)), [self.alpha * np.eye(n) for _ in self.A]


def _embedded(
    X,
    y,
    kernel,
    task,
    outputs,
    manner,
    *,
    loss,
    alpha,
    clip,
    curvature,
    epsilon,
    ridge,
    accuracy,
    oversampling,
    max_dictionary,
    force_first,
    idle_restarts,
    weights,
    draw,
):
    model = Embedded(kernel, outputs, alpha, clip)
    sampler = Sampler(
        kernel,
        ridge=alpha if ridge is None else ridge,
        accuracy=accuracy,
        oversampling=oversampling,
        force_first=force_first,
    )

    def learn(at):
        if model.anew:
            model.restart()
        room = max_dictionary is None or len(model.points) < max_dictionary
        sampled = room and sampler.takes(at.x, draw)
        u = model.embed(at.x)
        wider = sampled and model.widens(at.x)
        for r in range(outputs):
            if len(u):
                newton_step(r, u, at, drop=wider and manner == "literal")
        model.bound = clip
        if sampled:
            model.points.append(np.array(at.x))
            model.born.append(at.position)
        if wider:
            model.widen()
            model.bound = np.inf if manner == "literal" else clip
        model.anew = manner == "restart" and (wider or (sampled and idle_restarts))

    def newton_step(r, u, at, drop):
        w, A = model.w[r], model.A[r]
        s = w @ u
        f = np.clip(s, -model.bound, model.bound)
        pull, c = demand(task, at.y, r, f, loss=loss, curvature=curvature, clip=clip, epsilon=epsilon, weight=at.weight)
        if s != f:
            q = np.linalg.inv(A) @ u
            w = w - (s - f) / (u @ q) * q
        model.A[r] = A + c * np.outer(u, u)
        model.w[r] = w if drop else w - np.linalg.inv(model.A[r]) @ (pull * u)

    result = online(learn, model, X, y, task, epsilon=epsilon, weights=weights)
    model.anew = False  # until the next round comes, the model is the old one
    return result


def pros_n_kons(
    X, y, kernel, task, outputs=1, *, loss, alpha, clip, curvature, epsilon=0.0, ridge=None, accuracy, oversampling,
    max_dictionary, force_first, idle_restarts, weights=None, draw=None,
):  # fmt: skip
    """Calandriello, Lazaric & Valko, Efficient second-order online kernel learning with adaptive embedding, 2017."""
    return _embedded(
        X, y, kernel, task, outputs, "restart", loss=loss, alpha=alpha, clip=clip, curvature=curvature,
        epsilon=epsilon, ridge=ridge, accuracy=accuracy, oversampling=oversampling, max_dictionary=max_dictionary,
        force_first=force_first, idle_restarts=idle_restarts, weights=weights, draw=draw,
    )  # fmt: skip


def con_kons(
    X, y, kernel, task, outputs=1, *, loss, alpha, clip, curvature, epsilon=0.0, ridge=None, accuracy, oversampling,
    max_dictionary, force_first, literal, weights=None, draw=None,
):  # fmt: skip
    """The same paper's variant without restarts."""
    return _embedded(
        X, y, kernel, task, outputs, "literal" if literal else "carry", loss=loss, alpha=alpha, clip=clip,
        curvature=curvature, epsilon=epsilon, ridge=ridge, accuracy=accuracy, oversampling=oversampling,
        max_dictionary=max_dictionary, force_first=force_first, idle_restarts=False, weights=weights, draw=draw,
    )  # fmt: skip
