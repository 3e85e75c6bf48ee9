"""Nanoseconds per example of every learner, beside what a user could write or pick instead, all in one run.

python benchmarks/step.py [a9a|dense|features|learners|start ...] [--json FILE]

a9a       one pass over the a9a training file (CSR), from ONKEL_DATA or the folder shared/data beside the project, or
          over a generated stream of the same shape; against a NumPy loop and scikit-learn's RBFSampler + SGD
dense     RBP on dense rows over budget, width and dtype, as a multiple of the machine's limit
features  learners in feature space on the a9a stream, CSR and dense, after a first pass, engine only; against
          scikit-learn's RBFSampler and Nystroem + SGD with as many features, in batches of 1, 32 and 256
learners  every estimator with its defaults
start     seconds to import, to the first model on a cold cache, and in a second process

Machines are noisy: read the ratios, not the times. Each figure is the minimum over several passes.
"""

import argparse
import functools
import itertools
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier

import onkel
from onkel.features import KINDS

ROOT = pathlib.Path(__file__).parents[1]
DATA = pathlib.Path(os.environ.get("ONKEL_DATA", ROOT.parent / "shared" / "data"))
RESULTS = {}


def fastest(work, passes=5):
    """Least seconds of several calls."""
    best = np.inf
    for _ in range(passes):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def show(group, name, ns, **more):
    RESULTS.setdefault(group, {})[name] = {"ns": round(ns, 1), **more}
    print(f"  {name:44} {ns:10.0f} ns  " + "  ".join(f"{k} {v}" for k, v in more.items()), flush=True)


def a9a_stream():
    path = DATA / "a9a.train.svm.xz"
    if path.exists():
        with lzma.open(path) as file:
            return load_svmlight_file(file, n_features=123)
    rng = np.random.default_rng(0)  # 14 groups of columns, one set in each
    edges = np.linspace(0, 123, 15).astype(int)
    columns = np.stack([rng.integers(a, b, 32561) for a, b in itertools.pairwise(edges)], axis=1)
    X = sp.csr_matrix((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 14)), shape=(32561, 123))
    signal = columns.sum(axis=1) + 40 * rng.standard_normal(len(columns))
    return X, np.where(signal > np.median(signal), 1.0, -1.0)


def numpy_rbp(X, y, budget, gamma):
    """The randomized budget perceptron, one NumPy call after the other."""
    rng = np.random.default_rng(0)
    points, norms, a, size = np.empty((budget, X.shape[1])), np.empty(budget), np.zeros(budget), 0
    for x, label in zip(X, y, strict=True):
        k = np.exp(-gamma * np.maximum(norms[:size] - 2 * (points[:size] @ x) + x @ x, 0))
        if label * (a[:size] @ k) <= 0:
            i = size if size < budget else rng.integers(budget)
            size = max(size, i + 1)
            points[i], norms[i], a[i] = x, x @ x, label


def a9a():
    X, y = a9a_stream()
    n, classes = X.shape[0], np.unique(y)
    print(f"a9a, CSR, {n} rows: whole pass, ns per example")
    learners = {
        "RBP": onkel.RBPClassifier,
        "Forgetron": onkel.ForgetronClassifier,
        "BOGD": onkel.BOGDClassifier,
        "BPA-S": onkel.BPAClassifier,
    }
    dense = X[:2000].toarray()
    few = dense[:300]
    ours = {}
    for budget in (100, 1000):
        peer = fastest(lambda b=budget: numpy_rbp(dense, y[:2000], b, 0.05), 3) / 2000 * 1e9
        for name, estimator in learners.items():
            for dtype in (np.float64, np.float32):
                Z = X.astype(dtype)

                def work(estimator=estimator, budget=budget, Z=Z):
                    model = estimator(budget=budget, gamma=0.05, random_state=0)
                    work.scores = model.learn(Z, y, classes=classes)

                work()
                ns = fastest(work, 7 if budget == 100 else 3) / n * 1e9
                error = np.mean(np.where(work.scores >= 0, classes[1], classes[0]) != y)
                if name == "RBP" and dtype == np.float64:
                    ours[budget] = ns
                title = f"{name} B={budget} {np.dtype(dtype).name}"
                show("a9a", title, ns, error=f"{error:.4f}", numpy_loop_takes=f"{peer / ns:.0f}x")
        show("a9a", f"NumPy per example, RBP B={budget}", peer)
    for size, rows in ((1, few), (256, dense)):
        features = RBFSampler(gamma=0.05, n_components=400, random_state=0).fit(rows)
        model = SGDClassifier()

        def work(size=size, rows=rows, features=features, model=model):
            for start in range(0, len(rows), size):
                part = slice(start, start + size)
                model.partial_fit(features.transform(rows[part]), y[: len(rows)][part], classes=classes)

        ns = fastest(work, 3) / len(rows) * 1e9
        show("a9a", f"scikit-learn RBFSampler(400)+SGD, batches of {size}", ns, RBP_100_takes=f"1/{ns / ours[100]:.0f}")


def limit(budget, d, dtype):
    """Nanoseconds: multiply-adds at the peak of a matrix product, and one exp for every support vector."""
    A = np.random.default_rng(0).standard_normal((1024, 1024)).astype(dtype)
    threads = os.environ.get("OMP_NUM_THREADS")
    add = fastest(lambda: A @ A, 10) / 1024**3
    if threads != "1":
        add *= min(os.cpu_count() or 1, 2)
    x = np.linspace(-5, 0, 10000).astype(dtype)
    exp = fastest(lambda: np.exp(x), 200) / 10000
    return (budget * d * add + budget * exp) * 1e9


def dense():
    print("RBP on dense rows, engine only, dictionary full, 30 % of the rows inserted")
    from onkel import budget as policies
    from onkel import expansion, kernels, outputs, rows, stream
    from onkel.learners.perceptron import Perceptron

    rng = np.random.default_rng(0)
    for budget, d in ((100, 8), (100, 22), (100, 123), (1000, 22), (1500, 54)):
        for dtype in (np.float64, np.float32):
            n = 2000 if budget < 500 else 400
            f = expansion.empty(budget, d, 1, dtype)
            task = outputs.Task(outputs.REGRESSION, 1e3)  # whatever was learnt, misses at the rate of the targets
            learner = Perceptron(kernels.rbf(0.5 / d), task, policies.random(0), f, 0.1)
            X = rng.standard_normal((max(n, budget), d)).astype(dtype)
            y, w, scores = np.full(len(X), 1e6), np.ones(len(X)), np.empty((len(X), 1), dtype)
            stream.learn(learner, rows.Dense(X), y, w, scores, 0, len(X))
            y = np.where(rng.random(len(X)) < 0.3, 1e6, 0.0)
            ns = fastest(lambda: stream.learn(learner, rows.Dense(X), y, w, scores, 0, n), 60) / n * 1e9  # noqa: B023
            least = limit(budget, d, dtype)
            show("dense", f"B={budget} d={d} {np.dtype(dtype).name}", ns, limits=f"{ns / least:.1f}")


def features():
    from onkel.estimators._online import _rows
    from onkel.stream import learn

    X, y = a9a_stream()
    X, y, classes = X[:4096], y[:4096], np.unique(y)
    rows = {"CSR": X, "dense": X.toarray()}
    print("learners in feature space, a9a, after a first pass, ns per example; D=400 is 800 features")
    models = {f"FOGD D=400 {kind}": onkel.FOGDClassifier(gamma=0.05, features=kind, random_state=0) for kind in KINDS}
    models["NOGD B=100 k=20, after the switch"] = onkel.NOGDClassifier(gamma=0.05, budget=100, rank=20)
    models["Dual-SGD B=100 D=200"] = onkel.DualSGDClassifier(gamma=0.05, random_state=0)
    ours, window = {}, 256
    for title, made in models.items():
        for layout, dtype in itertools.product(rows, (np.float64, np.float32)):
            Z, name = rows[layout].astype(dtype), np.dtype(dtype).name
            model = clone(made).partial_fit(Z, y, classes=classes)
            Z, targets = _rows(model._sound(Z)), model._targets(y, False, None)
            weights, scores = np.ones(len(y)), np.empty((len(y), 1), dtype)
            ns = np.inf
            for start in range(0, len(y) - window, window):  # short windows: others use the machine too
                run = functools.partial(learn, model._learner, Z, targets, weights, scores, start, start + window)
                ns = min(ns, fastest(run, 40) / window * 1e9)
            ours[title, layout, name] = ns
            show("features", f"{title} {layout} {name}", ns)
    own = {"RBFSampler(800)": "FOGD D=400 plain", "Nystroem(100)": "NOGD B=100 k=20, after the switch"}
    for size in (1, 32, 256):
        for name, map in (
            ("RBFSampler(800)", RBFSampler(gamma=0.05, n_components=800, random_state=0)),
            ("Nystroem(100)", Nystroem(gamma=0.05, n_components=100, random_state=0)),
        ):
            map.fit(rows["dense"][:1000])
            sgd = SGDClassifier()

            def work(size=size, map=map, sgd=sgd):
                sgd.partial_fit(map.transform(rows["dense"][:size]), y[:size], classes=classes)

            ns = fastest(work, 200) / size * 1e9
            ratio = f"1/{ns / ours[own[name], 'dense', 'float64']:.0f}"
            show("features", f"scikit-learn {name}+SGD, batches of {size}", ns, ours_dense_takes=ratio)


def learners():
    print("every estimator, defaults, dense, 4000 rows, d=22 (multi-class: 5 classes)")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 22))
    signal = X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(len(X))
    targets = {"binary": (signal > 0).astype(int), "5 classes": np.digitize(signal, [-1, -0.3, 0.3, 1])}
    for name in onkel.__all__:
        estimator = getattr(onkel, name)
        if not isinstance(estimator, type) or not name.endswith(("Classifier", "Regressor")):
            continue
        for task, y in targets.items() if name.endswith("Classifier") else [("numbers", signal)]:
            if task != "binary" and name == "DUOLClassifier":
                continue
            model = estimator(random_state=0).fit(X[:50], y[:50])
            ns = fastest(lambda: model.fit(X, y), 2) / len(X) * 1e9  # noqa: B023
            show("learners", f"{name}, {task}", ns, support=getattr(model, "n_support_", "-"))


START = """
import time; t = time.perf_counter()
import sklearn.linear_model; a = time.perf_counter() - t; t = time.perf_counter()
import onkel; b = time.perf_counter() - t
import numpy as np; X = np.random.default_rng(0).standard_normal((100, 5)); t = time.perf_counter()
onkel.RBPClassifier(random_state=0).fit(X, X[:, 0] > 0).predict(X)
print(a, b, time.perf_counter() - t)
"""


def start():
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for name in ("cold cache", "second process"):
            run = [sys.executable, "-c", START]
            sklearn, own, first = map(
                float, subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.split()
            )
            RESULTS.setdefault("start", {})[name] = {"sklearn": sklearn, "import": own, "first": first}
            print(f"  {name}: scikit-learn {sklearn:.2f} s, then import onkel {own:.2f} s, first model {first:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["start", "dense", "a9a", "features", "learners"])
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments = parser.parse_args()
    for what in arguments.what:
        {"a9a": a9a, "dense": dense, "features": features, "learners": learners, "start": start}[what]()
    if arguments.json:
        arguments.json.write_text(json.dumps(RESULTS, indent=1))
