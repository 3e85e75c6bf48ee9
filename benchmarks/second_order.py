"""Second-order learners: time per example, rounding errors over a million rounds, the paper's data.

python benchmarks/second_order.py [size|length|drift|regression|ijcnn1|regret ...]

size        nanoseconds per example over the dictionary's size j, d = 22: they grow like j^2
length      the same over the length of the stream, the dictionary full: they stay
drift       the inverse of A after a million rounds against one computed afresh
regression  Table 1 of the paper (parkinsons, cpusmall, cadata), and what the settings that it leaves open change
ijcnn1      Table 2: one pass over all 141,691 examples of the training and test files together
regret      against ridge regression in hindsight, at powers of two

The data sets come from ONKEL_DATA or the folder shared/data beside the project.
"""

import argparse
import lzma
import os
import pathlib
import time

import numpy as np
from sklearn.datasets import load_svmlight_file

import onkel
from onkel import stream
from onkel.datasets import alternating
from onkel.factor import matrix_of
from onkel.newton import inverse_of
from onkel.rows import Dense

ROOT = pathlib.Path(__file__).parents[1]
DATA = pathlib.Path(os.environ.get("ONKEL_DATA", ROOT.parent / "shared" / "data"))


def read(*names):
    """The files one after the other, dense."""
    parts = []
    for name in names:
        with lzma.open(DATA / f"{name}.svm.xz") as file:
            parts.append(load_svmlight_file(file))
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])


def scaled(a):
    """To [0, 1], column by column."""
    low, high = a.min(axis=0), a.max(axis=0)
    return (a - low) / np.where(high > low, high - low, 1)


def frozen(J, n, d=22):
    """B-KONS with a full dictionary, and a stream."""
    random = np.random.default_rng(0)
    X = random.random((max(n, 20 * J), d))
    y = 0.5 * np.sin(X.sum(axis=1)) + 0.1 * random.normal(size=len(X))
    model = onkel.BKonsRegressor(sigma=1.0, max_dictionary=J, ridge=1e-3, random_state=0)
    model.learn(X, y)
    assert model.n_support_ == model.rank_ == J
    return model, X, y


def nanoseconds(model, X, y, passes):
    """The least per example, engine only."""
    weights, scores, best = np.ones(len(y)), np.empty((len(y), 1)), np.inf
    for _ in range(passes):
        start = time.perf_counter()
        stream.learn(model._learner, Dense(X), y, weights, scores, 0, len(y))
        best = min(best, time.perf_counter() - start)
    return best / len(y) * 1e9


def size():
    for J in (25, 50, 100, 200, 400):
        model, X, y = frozen(J, 2000)
        ns = nanoseconds(model, X[:2000], y[:2000], 40 if J <= 100 else 10)
        print(f"  j={J:4} {ns:9.0f} ns   {ns / J**2:6.3f} ns per j^2", flush=True)


def length():
    model, X, y = frozen(100, 50_000)
    seen = model.n_seen_
    for part in range(6):
        piece = slice(part * 8000, part * 8000 + 8000)
        print(f"  after {seen:7} examples {nanoseconds(model, X[piece], y[piece], 5):7.0f} ns", flush=True)
        seen += 5 * 8000


def drift(n=1_000_000):
    random = np.random.default_rng(0)
    for alpha, sigma, width in ((1.0, 1 / 8, 1.0), (0.01, 1 / 8, 4.0), (1e-4, 1.0, 1.0), (1e-6, 8.0, 1.0)):
        X = random.normal(size=(n, 3))
        y = np.sin(X[:, 0]) + 0.5 * random.normal(size=n)
        params = {"alpha": alpha, "curvature": sigma, "clip": 3.0, "ridge": 0.1, "max_dictionary": 40}
        model = onkel.BKonsRegressor(sigma=width, random_state=0, **params)
        scores = model.learn(X, y)
        start, span = model.support_[-1] + 1, model._learner.span
        D, F, j = model.support_vectors_[span.place[0, : model.rank_]], matrix_of(span), model.rank_
        A = alpha * np.eye(j)
        for a in range(start, n, 10_000):
            b = slice(a, min(a + 10_000, n))
            k = np.exp(-np.square(X[b, None] - D).sum(axis=2) / (2 * width**2))
            g = 2 * (scores[b] - y[b])[:, None] * (k @ F.T)
            A += sigma / 2 * g.T @ g
        got, fresh = inverse_of(model._learner.newton, j), np.linalg.inv(A)
        apart, rest = np.abs(got - fresh).max() / np.abs(fresh).max(), np.abs(got @ A - np.eye(j)).max()
        print(f"  alpha {alpha:g}, sigma_t {sigma:g}, j {j}, cond A {np.linalg.cond(A):.0e}: ", end="")
        print(f"|inverse - afresh| / |afresh| {apart:.0e}, |inverse A - I| {rest:.0e}", flush=True)


def regression(orders=15):
    published = {
        "parkinsons": (0.05798, 0.05696, 0.05795),
        "cpusmall": (0.02494, 0.02269, 0.02496),
        "cadata": (0.03095, 0.02850, 0.03095),
    }
    settings = {
        "as printed, sigma_t = 1/8": {},
        "without the bound": {"clip": np.inf},
        'sigma_t = 1 / (f - y)^2 ("hessian")': {"curvature": "hessian"},
        "the same, half the squared loss": {"curvature": "hessian", "loss": "half_squared"},
        "the same, scores without 1 + epsilon": {"curvature": "hessian", "accuracy": 0.0},
        "the same, alpha = 0.1": {"curvature": "hessian", "alpha": 0.1, "ridge": 1.0},
    }
    learners = ("PROS-N-KONS", onkel.ProsNKonsRegressor), ("CON-KONS", onkel.ConKonsRegressor)
    learners += (("B-KONS", onkel.BKonsRegressor),)
    for name, figures in published.items():
        X, y = map(scaled, read(name))
        for (title, kind), figure in zip(learners, figures, strict=True):
            print(f"  {name}, {title}: published {figure:.5f}")
            for words, params in settings.items():
                losses, sizes = [], []
                for number in range(orders):
                    order = np.random.default_rng(number).permutation(len(y))
                    model = kind(sigma=8.0, random_state=number, **params)
                    losses.append(np.mean((model.learn(X[order], y[order]) - y[order]) ** 2))
                    sizes.append(model.n_support_)
                share = np.mean(losses) / figure
                print(
                    f"    {words:40} {np.mean(losses):.5f} +- {np.std(losses):.5f} ({share:.2f} times), "
                    f"{np.mean(sizes):.0f} points",
                    flush=True,
                )


def ijcnn1(orders=3):
    X, y = read("ijcnn1.train", "ijcnn1.test")
    print(f"  {len(y)} examples; published 4.85 % with 100 points, in 147 s")
    for loss, clip, sigma in (
        ("hinge", np.inf, 1 / 8), ("hinge", np.inf, 1 / 2), ("hinge", np.inf, 1 / 32), ("hinge", 10.0, 1 / 8),
        ("hinge", 1.0, 1 / 8), ("squared_hinge", np.inf, 1 / 8), ("squared_hinge", 10.0, 1 / 32),
        ("squared_hinge", 1.0, None), ("logistic", np.inf, 1 / 8),
    ):  # fmt: skip
        errors, seconds = [], []
        for number in range(orders):
            order = np.random.default_rng(number).permutation(len(y))
            model = onkel.BKonsClassifier(
                sigma=8.0, alpha=0.01, loss=loss, clip=clip, curvature=sigma, random_state=number
            )
            rows = np.ascontiguousarray(X[order])
            start = time.perf_counter()
            scores = model.learn(rows, y[order])
            seconds.append(time.perf_counter() - start)
            errors.append(100 * np.mean(np.where(scores >= 0, 1, -1) != y[order]))
        print(
            f"  {loss}, C {clip:g}, sigma_t {sigma}: {np.mean(errors):.2f} +- {np.std(errors):.2f} %, "
            f"{model.n_support_} points, {min(seconds):.2f} s",
            flush=True,
        )


def regret(n=4096):
    X, y = map(scaled, read("cpusmall"))
    order = np.random.default_rng(0).permutation(len(y))[:n]
    point, labels = alternating(n)
    streams = {"one point, labels +1 -1": (point, labels.astype(float)), "cpusmall": (X[order], y[order])}
    learners = {
        "KONS": onkel.KONSRegressor,
        "PROS-N-KONS": onkel.ProsNKonsRegressor,
        "CON-KONS": onkel.ConKonsRegressor,
        "gradient, eta 0.2": lambda **params: onkel.KernelOGDRegressor(eta=0.2, epsilon=0.0, **params),
    }
    marks = 2 ** np.arange(6, int(np.log2(n)) + 1)
    for name, (rows, targets) in streams.items():
        K = np.exp(-np.maximum(np.square(rows).sum(1)[:, None] + np.square(rows).sum(1) - 2 * rows @ rows.T, 0) / 128)
        print(f"  {name}: regret after {marks.tolist()}")
        for title, kind in learners.items():
            path = onkel.ridge_regret(kind(sigma=8.0, random_state=0).learn(rows, targets), targets, K)
            print(f"    {title:18} {np.round(path[marks - 1], 1).tolist()}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = {f.__name__: f for f in (size, length, drift, regression, ijcnn1, regret)}
    parser.add_argument("what", nargs="*", default=list(sections))
    for what in parser.parse_args().what:
        print(what)
        sections[what]()
