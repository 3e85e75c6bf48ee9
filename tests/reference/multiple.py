"""Several kernels at once: a learner for each, and a Hedge over them."""

import numpy as np

from .common import Draw, LinearModel, Model, Result, Round, cosine, judge, laplacian, linear, poly, rbf, sigmoid, slope
from .features import TwoStages, fourier_features, linear_rule, nogd_rule, random_frequencies
from .gradient import bogd_rule
from .passive_aggressive import bpa_rule, pa_rule, spa_rule
from .perceptrons import forgetron_rule, perceptron_rule, rbp_rule

BOUNDED = ("rbp", "forgetron", "bogd", "bpa", "nogd")


def function_of(kernel):
    """The function that a kernel's tag and numbers describe."""
    gamma, coef0, degree = kernel.gamma, kernel.coef0, kernel.degree
    made = (linear(), rbf(gamma), laplacian(gamma), poly(gamma, coef0, degree), sigmoid(gamma, coef0), cosine())
    return made[kernel.kind]


def fourier_model(kernel, n, d, outputs, draw):
    """A linear model on random Fourier features of a kernel."""
    return LinearModel(fourier_features(random_frequencies("plain", kernel, n, d, draw)), 2 * n, outputs)


class Ensemble:
    """The models of all kernels and what they say together."""

    def __init__(self, models, task, output):
        self.models, self.task, self.output = models, task, output
        self.log = np.zeros(len(models))
        self.mistakes = np.zeros(len(models), int)
        self.bias = 0.0

    @property
    def theta(self):
        """The weights of the kernels."""
        odds = np.exp(self.log - self.log.max())
        return odds / odds.sum()

    def vote(self, f):
        """What one kernel's scores add to the sum."""
        if self.output == "scores":
            return f
        if self.task == "binary":
            return np.array([1.0 if f[0] >= 0 else -1.0])
        return np.eye(len(f))[np.argmax(f)]

    def combined(self, scores, theta):
        """The weighted sum of votes or scores."""
        return sum(weight * self.vote(f) for weight, f in zip(theta, scores))

    def __call__(self, x):
        return self.combined([model(x) for model in self.models], self.theta)

    # All support vectors, with a coefficient for every output of every kernel; or all weights.

    @property
    def born(self):
        return sorted({born for model in self.models for born in model.born})

    @property
    def coef(self):
        tables = [dict(zip(model.born, model.coef)) for model in self.models]
        none = np.zeros_like(self.models[0].bias)
        return [np.concatenate([table.get(born, none) for table in tables]) for born in self.born]

    @property
    def weights(self):
        parts = [model.weights for model in self.models]
        width = max(part.shape[1] for part in parts)
        return np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])


def multi_kernel(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    kernels,
    component,
    eta,
    loss,
    update="deterministic",
    combination="deterministic",
    weighting="hedge",
    output="scores",
    discount=0.99,
    smoothing=0.001,
    rate=0.1,
    ceiling=1.0,
    budget=100,
    share=False,
    rank=None,
    n_components=100,
    C=1.0,
    reg=0.0,
    cap=10.0,
    alpha=1.0,
    beta=3.0,
    epsilon=0.0,
    weights=None,
    draw=None,
):
    """Hoi, Jin, Zhao & Yang, Online multiple kernel classification, 2013; Lu, thesis, Algorithms 14 to 18."""
    m, key, d = len(kernels), draw.key, np.shape(X)[1]
    functions = [function_of(one) for one in kernels]
    together = share and update == "stochastic" and component in BOUNDED and component != "nogd"
    each = budget // m if share and not together else budget
    own = "softmax" if task == "multiclass" and loss == "logistic" and component in ("fogd", "nogd", "bogd") else task
    chances = np.ones(m)
    models, rules = [], []

    def limit(i):
        """What kernel i may hold: at the common limit no more than it has."""
        held = sum(len(model) for model in models)
        return len(models[i]) if held >= budget else budget

    for i, function in enumerate(functions):
        lone = Draw((key + i) % 2**63)
        size = (lambda i=i: limit(i)) if together else each
        if component == "fogd":
            model = fourier_model(function, n_components, d, outputs, Draw(key))
            step = linear_rule(
                own, rule="gradient", loss=loss, eta=eta, schedule="constant", reg=reg, C=1, epsilon=epsilon
            )
            rule = lambda at, step=step, model=model: step(model, at)  # noqa: E731
        elif component == "nogd":
            model = TwoStages(function, outputs)
            most = min(each, max(1, each // 5 if rank is None else rank))
            rule = nogd_rule(model, own, each, most, loss, "full", eta, "constant", reg, epsilon)
        else:
            model = Model(function, outputs)
            rule = {
                "perceptron": perceptron_rule(model, eta),
                "pa1": pa_rule(model, C),
                "rbp": rbp_rule(model, size, eta, lone),
                "forgetron": forgetron_rule(model, size, "selftuned", eta),
                "bogd": bogd_rule(model, own, loss, size, eta, reg, cap, "uniform", epsilon, lone),
                "bpa": bpa_rule(model, size, C, "simple"),
                "spa": spa_rule(model, eta, alpha, beta, lone, chance=lambda i=i: chances[i]),
            }[component]
        models.append(model)
        rules.append(rule)

    all_of_them = Ensemble(models, task, output)
    numbers = Draw.hash(key, 2**63 + 1)
    path, scores, t = [], [], 0
    weights = np.ones(len(X)) if weights is None else weights
    rounds = np.zeros(m, int)
    for position, (x, label, weight) in enumerate(zip(np.asarray(X, float), y, weights)):
        told = [model(x) for model in models]
        theta = all_of_them.theta
        chance = (1 - smoothing) * theta / theta.max() + smoothing
        u = np.array([(Draw.hash(numbers, t * m + i) >> 11) * 2.0**-53 for i in range(m)])
        drawn = u < chance
        said = theta * drawn / np.sum(theta * drawn) if combination == "stochastic" else theta
        scores.append(all_of_them.combined(told, said))
        if weight == 0:
            continue
        t += 1
        thinned = update == "stochastic" and component == "spa"
        chances[:] = chance if thinned else 1.0
        verdicts = [judge(own, label, f, epsilon) for f in told]
        for i, f in enumerate(told):
            wrong = judge(task, label, f, epsilon).wrong
            all_of_them.mistakes[i] += wrong
            if update == "stochastic" and not thinned and not drawn[i]:
                continue
            if weighting == "hedge":
                all_of_them.log[i] += wrong * np.log(discount)
            elif weighting == "loss":
                suffered = loss_value(task, loss, judge(task, label, f, epsilon).gap, epsilon)
                if component == "fogd":
                    suffered += reg / 2 * np.sum(models[i].weights ** 2)
                all_of_them.log[i] -= rate * min(suffered, ceiling) / ceiling
        for i, f in enumerate(told):
            if update == "stochastic" and not thinned and not drawn[i]:
                continue
            if together and limit(i) == 0:
                continue
            rounds[i] += 1
            size = models[i].kernel(x, x)
            rules[i](Round(rounds[i], position, x, label, weight, f, size, *verdicts[i]))
        path.append((position + 1, all_of_them.theta))
    result = Result(np.array(scores), all_of_them, None)
    all_of_them.path = path
    return result


class Intervals:
    """AdaRaker's models: for every length of interval one of each kernel, and what they say together."""

    def __init__(self, levels, fresh, eta, outputs):
        self.fresh, self.eta, self.levels, self.t = fresh, eta, levels, 1
        self.bias = np.zeros(outputs)
        self.models = [fresh() for _ in range(levels)]
        self.log = np.zeros((levels, len(self.models[0])))
        self.trust = np.log([self.pace(level) for level in range(levels)])

    def pace(self, level):
        """The step on intervals of length 2^level."""
        return min(0.5, self.eta / np.sqrt(2**level))

    @property
    def begun(self):
        """Levels with an interval by now."""
        return [level for level in range(self.levels) if 2**level <= self.t]

    def share(self, log):
        odds = np.exp(log - np.max(log))
        return odds / odds.sum()

    def each(self, x):
        """What every interval says."""
        return [self.share(self.log[j]) @ np.array([model(x) for model in self.models[j]]) for j in self.begun]

    def __call__(self, x):
        return self.share(self.trust[self.begun]) @ np.array(self.each(x))

    def end_round(self):
        """Intervals that end begin anew."""
        self.t += 1
        for level in range(self.levels):
            if self.t % 2**level == 0:
                self.models[level] = self.fresh()
                self.log[level], self.trust[level] = 0.0, np.log(self.pace(level))

    @property
    def weights(self):
        return np.vstack([model.weights for row in self.models for model in row])


def adaraker(
    X,
    y,
    kernel,
    task,
    outputs=1,
    *,
    kernels,
    n_components,
    loss,
    eta,
    reg,
    ceiling,
    levels,
    epsilon=0.0,
    weights=None,
    draw=None,
):
    """Shen, Chen & Giannakis, Random feature-based online multi-kernel learning, 2019, Algorithm 2."""
    d, key = np.shape(X)[1], draw.key

    def fresh():
        return [fourier_model(function_of(one), n_components, d, outputs, Draw(key)) for one in kernels]

    def judged(f, label, more=0.0):
        return min(loss_value(task, loss, judge(task, label, f, epsilon).gap, epsilon) + more, ceiling) / ceiling

    model, scores = Intervals(levels, fresh, eta, outputs), []
    weights = np.ones(len(X)) if weights is None else weights
    for x, label, weight in zip(np.asarray(X, float), y, weights):
        f, levels_say = model(x), model.each(x)
        scores.append(f)
        if weight == 0:
            continue
        for level, said in zip(model.begun, levels_say):
            pace = model.pace(level)
            model.trust[level] += pace * (judged(f, label) - judged(said, label))
            for i, one in enumerate(model.models[level]):
                own = one(x)
                model.log[level, i] -= pace * judged(own, label, reg / 2 * np.sum(one.weights**2))
                verdict = judge(task, label, own, epsilon)
                push = weight * slope(task, loss, verdict.gap, epsilon)
                gradient = -push * np.outer(verdict.direction, one.features(x)) + reg * one.weights
                one.weights = one.weights - pace * gradient
        model.end_round()
    return Result(np.array(scores), model, None)


def loss_value(task, loss, gap, epsilon):
    """The loss at a gap."""
    if loss in ("hinge", "absolute"):
        return max(gap, 0.0)
    if loss == "squared_hinge":
        return max(gap, 0.0) ** 2
    if loss == "logistic":
        return np.logaddexp(0, gap - 1)
    return {"squared": gap**2, "half_squared": gap**2 / 2, "epsilon_insensitive": max(gap - epsilon, 0.0)}[loss]
