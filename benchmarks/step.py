"""Nanoseconds per example of every learner, as a multiple of the machine's limit.

python benchmarks/step.py [budget|a9a|learners|features|maps|second_order|predict|one|batches] [--json FILE]

The limit of a learner with B points in d dimensions is B d multiply-adds at the machine's peak and B exponentials.
Engine figures leave out scikit-learn's validation, which `batches` and `one` show by itself.
"""

import copy
import os

import numpy as np
import scipy.sparse as sp
from common import (
    a9a,
    bandwidth,
    curved,
    exp_ns,
    fastest,
    fastest_by_the_wall,
    limit_ns,
    main,
    multiply_add,
    once,
    sincos_ns,
)
from sklearn.base import clone

import onkel
from onkel import budget as policies
from onkel import expansion, kernels, outputs, rows, stream
from onkel.features import KINDS
from onkel.learners.perceptron import Perceptron

TYPES = {"float64": np.float64, "float32": np.float32}


def as_rows(X):
    if sp.issparse(X):
        return rows.Sparse(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
    return rows.Dense(np.ascontiguousarray(X))


def engine(model, X, targets, seconds=0.5):
    """Nanoseconds per row of the compiled loop alone, for a model that does not grow any more."""
    n = X.shape[0]
    args = as_rows(X), targets, np.ones(n), np.empty((n, model._setting.outputs), X.dtype)
    return fastest(lambda: stream.learn(model._learner, *args, 0, n), seconds) / n * 1e9


def budget(figures):
    """RBP on dense rows, engine only, dictionary full, 30 % of the rows inserted"""
    rng = np.random.default_rng(0)
    for points, d in ((100, 8), (100, 22), (100, 123), (1000, 22), (1000, 54), (1500, 54), (1500, 784)):
        for name, dtype in TYPES.items():
            n = 2000 if points < 500 else 400
            f = expansion.empty(points, d, 1, dtype)
            task = outputs.Task(outputs.REGRESSION, 1e3)  # whatever was learnt, misses at the rate of the targets
            learner = Perceptron(kernels.rbf(0.5 / d), task, policies.random(0), f, 0.1)
            X = rng.standard_normal((max(n, points), d)).astype(dtype)
            w, scores = np.ones(len(X)), np.empty((len(X), 1), dtype)
            stream.learn(learner, rows.Dense(X), np.full(len(X), 1e6), w, scores, 0, len(X))
            y = np.where(rng.random(len(X)) < 0.3, 1e6, 0.0)
            ns = fastest(lambda: stream.learn(learner, rows.Dense(X), y, w, scores, 0, n), 1.0) / n * 1e9  # noqa: B023
            least = limit_ns(points, d, dtype)
            figures.add(f"RBP B={points} d={d} {name}", ns=ns, limit=least, times_the_limit=ns / least)


def on_a9a(figures):
    """One pass over a9a (CSR) with estimators: whole pass, ns per example; the limit counts 14 non-zeros a row"""
    X, y = a9a()
    learners = {
        "RBP": onkel.RBPClassifier,
        "Forgetron": onkel.ForgetronClassifier,
        "BOGD": onkel.BOGDClassifier,
        "BPA-S": onkel.BPAClassifier,
    }
    nonzero = X.nnz / X.shape[0]
    for points in (100, 1000):
        for name, estimator in learners.items():
            for kind, dtype in TYPES.items():
                Z = X.astype(dtype)

                def work(estimator=estimator, points=points, Z=Z):
                    model = estimator(budget=points, gamma=0.05, random_state=0)
                    work.scores = model.learn(Z, y, classes=[-1, 1])

                work()
                ns = fastest(work, 1.0) / X.shape[0] * 1e9
                size = points * X.shape[1] * np.dtype(dtype).itemsize // 1024
                reading = points * nonzero * np.dtype(dtype).itemsize / bandwidth(16 if size < 40 else 256)
                adding = points * nonzero / multiply_add(dtype)
                least = max(adding, reading) + points * exp_ns(dtype)
                error = float(np.mean(np.where(work.scores >= 0, 1, -1) != y))
                figures.add(
                    f"a9a {name} B={points} {kind}", ns=ns, limit=least, times_the_limit=ns / least, error=error
                )
    for kind, dtype in TYPES.items():
        Z = X.astype(dtype)
        seconds = fastest(lambda: onkel.KernelPerceptronClassifier(gamma=0.05).learn(Z, y), 2.0, 2)  # noqa: B023
        figures.add(f"a9a kernel perceptron without a budget {kind}", seconds_for_the_pass=seconds)


def learners(figures):
    """Every estimator with its defaults: a pass of 4000 dense rows, d=22, validation included

    1000 rows where 4000 would take seconds: the dictionary has no end, and every row looks at all pairs of its points.
    """
    for name in onkel.__all__:
        estimator = getattr(onkel, name)
        if not isinstance(estimator, type) or not name.endswith(("Classifier", "Regressor")):
            continue
        for classes in (2, 5) if name.endswith("Classifier") else (0,):
            X, y = curved(4000, 22, classes=classes or 2)
            y = y if classes else X[:, 0] * X[:, 1]
            try:
                estimator(random_state=0).fit(X[:50], y[:50])
            except ValueError as error:
                if "binary" in str(error).lower():
                    continue
                raise
            model = estimator(random_state=0)
            model.fit(X[:1000], y[:1000])
            few, more = (fastest(lambda n=n: model.fit(X[:n], y[:n]), 0, 2) for n in (500, 1000))  # noqa: B023
            rows = 4000 if more * (more / few) ** 2 < 0.5 else 1000  # as it grows from 500 to 1000, so on to 4000
            ns = fastest(lambda: model.fit(X[:rows], y[:rows]), 0.2, 2) / rows * 1e9  # noqa: B023
            task = f"{classes} classes" if classes else "numbers"
            figures.add(f"{name}, {task}", ns=ns, rows=rows, points=int(getattr(model, "n_support_", 0)))


def features(figures):
    """FOGD and NOGD, engine only; the limit counts projections, sines and cosines or exponentials, and both products"""
    for kind, dtype in TYPES.items():
        peak = multiply_add(dtype)
        for d in (22, 123):
            X, y = curved(2000, d, dtype)
            model = onkel.FOGDClassifier(n_components=200, random_state=0).fit(X, y)
            ns = engine(model, X, y.astype(float))
            least = (200 * d + 2 * 400) / peak + 200 * sincos_ns(dtype)
            figures.add(f"FOGD D=400 d={d} {kind}", ns=ns, limit=least, times_the_limit=ns / least)
            model = onkel.NOGDClassifier(budget=100, rank=20, random_state=0).fit(X, y)
            ns = engine(model, X, y.astype(float))
            least = limit_ns(100, d, dtype) + (100 * 20 + 40) / peak
            figures.add(f"NOGD B=100 k=20 d={d} {kind}", ns=ns, limit=least, times_the_limit=ns / least)
    X, y = a9a()
    for kind, dtype in TYPES.items():
        Z = X.astype(dtype)
        model = onkel.FOGDClassifier(n_components=200, gamma=0.05, random_state=0).fit(Z, y)
        ns = engine(model, Z, y)
        least = (200 * Z.nnz / Z.shape[0] + 800) / multiply_add(dtype) + 200 * sincos_ns(dtype)
        figures.add(f"FOGD D=400 a9a CSR {kind}", ns=ns, limit=least, times_the_limit=ns / least)


def maps(figures):
    """Kinds of random features on a9a, 400 frequencies (800 features), and Nystroem's after the switch, engine only"""
    X, y = a9a()
    X, y = X[:4000], y[:4000]
    models = {f"FOGD {f}": onkel.FOGDClassifier(gamma=0.05, features=f, random_state=0) for f in KINDS}
    models["NOGD B=100 k=20"] = onkel.NOGDClassifier(gamma=0.05, budget=100, rank=20)
    models["Dual-SGD B=100, 200 frequencies"] = onkel.DualSGDClassifier(gamma=0.05, random_state=0)
    for name, made in models.items():
        for layout, Z in (("CSR", X), ("dense", X.toarray())):
            for kind, dtype in TYPES.items():
                rows = Z.astype(dtype)
                model = clone(made).fit(rows, y)
                ns = engine(model, rows[:256], y[:256])  # short windows: the least of many
                figures.add(f"{name} {layout} {kind}", ns=ns)


def second_order(figures):
    """B-KONS with a full dictionary of j points, engine only; the limit counts the kernel row and 4 j^2 flops"""
    for kind, dtype in TYPES.items():
        for j in (50, 100, 200):
            X, y = curved(3000, 22, dtype)
            model = onkel.BKonsClassifier(max_dictionary=j, random_state=0).fit(X, y)
            ns = engine(model, X, y.astype(float))
            least = limit_ns(j, 22, dtype) + 2 * j * j / multiply_add(np.float64)  # its matrices are always float64
            figures.add(f"B-KONS j={model.n_support_} d=22 {kind}", ns=ns, limit=least, times_the_limit=ns / least)


def predict(figures):
    """decision_function of 10^6 dense rows, B=1000, d=54: share of the peak of the multiply-adds of all cores

    By the wall, and by the processor time of all threads, which tells what idle cores would do.
    """
    X, y = curved(1_000_000, 54)
    model = onkel.RBPClassifier(budget=1000, gamma=0.02, random_state=0).fit(X[:20_000], y[:20_000])
    for threads in (os.cpu_count(), 1):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        wall = fastest_by_the_wall(lambda: model.decision_function(X), 4.0) / len(X) * 1e9
        spent = fastest(lambda: model.decision_function(X), 4.0) / threads / len(X) * 1e9
        least = limit_ns(1000, 54, np.float64) / threads
        peak = 54_000 / multiply_add(np.float64, threads)
        figures.add(
            f"predict on {threads} cores, d=54", ns_by_the_wall=wall, ns=spent, share_of_peak=peak / spent,
            share_by_the_wall=peak / wall, limit=least, times_the_limit=spent / least,
        )  # fmt: skip
    del os.environ["OMP_NUM_THREADS"]


def one(figures):
    """Calls for a single row, microseconds, beside scikit-learn's SGDClassifier"""
    from sklearn.linear_model import SGDClassifier

    X, y = curved(4000, 22)
    models = {
        "RBP B=100": onkel.RBPClassifier(random_state=0),
        "NOGD B=100": onkel.NOGDClassifier(random_state=0),
        "FOGD D=400": onkel.FOGDClassifier(n_components=200, random_state=0),
        "scikit-learn SGDClassifier": SGDClassifier(),
    }
    for name, model in models.items():
        model.fit(X, y)
        batch = fastest(lambda: model.partial_fit(X[:1], y[:1]), 0.5) * 1e6  # noqa: B023
        looked = fastest(lambda: model.predict(X[:1]), 0.5) * 1e6  # noqa: B023
        calls = {"partial_fit_us": batch, "predict_us": looked}
        if hasattr(model, "learn_one"):
            learnt = fastest(lambda: [model.learn_one(x, l) for x, l in zip(X[:200], y)], 0.5)  # noqa: B023
            seen = fastest(lambda: [model.predict_one(x) for x in X[:200]], 0.5)  # noqa: B023
            calls |= {"learn_one_us": learnt * 5e3, "predict_one_us": seen * 5e3}
        figures.add(name, **calls)


def batches(figures):
    """partial_fit of small batches, microseconds a call; what copying and checking the state take of it"""
    for points, d in ((100, 22), (1000, 54), (5000, 123)):
        X, y = curved(max(8000, 4 * points), d)
        model = onkel.RBPClassifier(budget=points, random_state=0).fit(X, y)
        for size in (1, 10, 100, 1000):
            us = fastest(lambda: model.partial_fit(X[:size], y[:size]), 0.5) * 1e6  # noqa: B023
            copied = fastest(model._saved) * 1e6
            checked = fastest(model._finite) * 1e6
            figures.add(
                f"RBP B={points} d={d} batches of {size}", us=us, us_to_copy_the_state=copied, us_to_check_it=checked
            )
        held = copy.deepcopy(model)
        figures.add(f"RBP B={points} d={d} a copy", us=once(lambda: copy.deepcopy(held)) * 1e6)  # noqa: B023


PARTS = {
    "budget": budget,
    "a9a": on_a9a,
    "learners": learners,
    "features": features,
    "maps": maps,
    "second_order": second_order,
    "predict": predict,
    "one": one,
    "batches": batches,
}

if __name__ == "__main__":
    main("step", __doc__, PARTS)
