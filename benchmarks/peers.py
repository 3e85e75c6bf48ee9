"""What users could pick instead, on the same data with the same budget and one pass, and how many times ours it takes.

python benchmarks/peers.py [online|features|vowpal|river|batch] [--json FILE]

Slow ones see the first rows only; for those whose cost grows with the rows this favours them. River and Vowpal Wabbit
take part where they are installed (`pip install onkel[bench]`).
"""

import functools
import importlib.util

import numpy as np
from common import a9a, fastest, main, once
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

import onkel

GAMMA, CLASSES = 0.05, [-1, 1]


@functools.cache
def data():
    X, y = a9a()
    return X, y, X[:2000].toarray()


@functools.cache
def ours(name, **parameters):
    """Nanoseconds per example of one of our learners over the whole pass, and its mistakes."""
    X, y, _ = data()

    def work():
        model = getattr(onkel, name)(gamma=GAMMA, random_state=0, **parameters)
        work.scores = model.learn(X, y, classes=CLASSES)

    work()
    return fastest(work, 1.0) / len(y) * 1e9, float(np.mean(np.where(work.scores >= 0, 1, -1) != y))


def show_ours(figures, name, **parameters):
    ns, error = ours(name, **parameters)
    figures.add(f"onkel {name} {parameters}", ns=ns, error=error)


def show(figures, what, ns, ours_ns, **more):
    figures.add(what, ns=ns, times_ours=ns / ours_ns, **more)


def numpy_rbp(X, y, budget):
    """The randomized budget perceptron, one NumPy call after the other."""
    rng = np.random.default_rng(0)
    points, norms, a, size = np.empty((budget, X.shape[1])), np.empty(budget), np.zeros(budget), 0
    for x, label in zip(X, y, strict=True):
        k = np.exp(-GAMMA * np.maximum(norms[:size] - 2 * (points[:size] @ x) + x @ x, 0))
        if label * (a[:size] @ k) <= 0:
            i = size if size < budget else rng.integers(budget)
            size = max(size, i + 1)
            points[i], norms[i], a[i] = x, x @ x, label


def online(figures):
    """Budget learners: NumPy, one example after the other"""
    _, y, dense = data()
    for budget in (100, 1000):
        show_ours(figures, "RBPClassifier", budget=budget)
        ns = fastest(lambda: numpy_rbp(dense, y[:2000], budget), 0.5) / 2000 * 1e9  # noqa: B023
        show(figures, f"NumPy RBP B={budget}", ns, ours("RBPClassifier", budget=budget)[0])


def features(figures):
    """Learners in feature space: scikit-learn's maps and SGDClassifier, by the row and in batches"""
    _, y, dense = data()
    show_ours(figures, "FOGDClassifier", n_components=200)
    show_ours(figures, "NOGDClassifier", budget=100, rank=20)
    maps = {
        "RBFSampler(400)": (RBFSampler(gamma=GAMMA, n_components=400, random_state=0), {"n_components": 200}, "FOGD"),
        "Nystroem(100)": (
            Nystroem(gamma=GAMMA, n_components=100, random_state=0),
            {"budget": 100, "rank": 20},
            "NOGD",
        ),
    }
    for name, (transformer, parameters, rival) in maps.items():
        transformer.fit(dense)
        for size, n in ((1, 300), (32, 2000), (256, 2000)):
            model = SGDClassifier()

            def work(size=size, n=n, model=model, transformer=transformer):
                for start in range(0, n, size):
                    part = slice(start, min(start + size, n))
                    model.partial_fit(transformer.transform(dense[part]), y[part], classes=CLASSES)

            ns = fastest(work, 0.5) / n * 1e9
            title = f"scikit-learn {name} + SGDClassifier, batches of {size}"
            show(figures, title, ns, ours(f"{rival}Classifier", **parameters)[0])


def river(figures):
    """River: RBFSampler and logistic regression; its own perceptron and nearest neighbours"""
    if importlib.util.find_spec("river") is None:
        return print("  River is not installed")
    from river import feature_extraction, linear_model, neighbors, preprocessing

    X, y, dense = data()
    rows = [dict(enumerate(map(float, row))) for row in dense[:200]]
    sparse = [{int(j): float(v) for j, v in zip(X[i].indices, X[i].data, strict=True)} for i in range(200)]
    models = {
        "RBFSampler(400) + LogisticRegression": (
            feature_extraction.RBFSampler(gamma=GAMMA, n_components=400, seed=0) | linear_model.LogisticRegression(),
            rows,
        ),
        "RBFSampler(400) + PAClassifier": (
            feature_extraction.RBFSampler(gamma=GAMMA, n_components=400, seed=0) | linear_model.PAClassifier(),
            rows,
        ),
        "StandardScaler + KNNClassifier": (preprocessing.StandardScaler() | neighbors.KNNClassifier(), rows),
        "LogisticRegression, linear, on the non-zeros": (linear_model.LogisticRegression(), sparse),
    }
    for name, (model, examples) in models.items():

        def work(model=model, examples=examples):
            for x, label in zip(examples, y[: len(examples)] > 0, strict=True):
                model.predict_one(x)
                model.learn_one(x, bool(label))

        ns = fastest(work, 0.5, 1) / len(examples) * 1e9
        show(figures, f"River {name}", ns, ours("FOGDClassifier", n_components=200)[0])
    return None


def vowpal(figures):
    """Vowpal Wabbit --ksvm, Gaussian kernel, which has no budget"""
    if importlib.util.find_spec("vowpalwabbit") is None:
        return print("  Vowpal Wabbit is not installed")
    from vowpalwabbit import Workspace

    X, y, _ = data()
    n = 2000
    lines = [
        f"{int(y[i])} | " + " ".join(f"{j}:{v:g}" for j, v in zip(X[i].indices, X[i].data, strict=True))
        for i in range(n)
    ]

    def work():
        machine = Workspace(f"--ksvm --kernel rbf --bandwidth {GAMMA} --quiet -b 10")
        for line in lines:
            machine.learn(line)
        machine.finish()

    seconds = once(work)
    model = onkel.KernelPassiveAggressiveClassifier(gamma=GAMMA)
    best = fastest(lambda: model.fit(X[:n], y[:n]), 0.5)
    show(figures, f"Vowpal Wabbit --ksvm, first {n} rows", seconds / n * 1e9, best / n * 1e9)
    return None


def batch(figures):
    """LIBSVM by way of scikit-learn's SVC, which looks at the data as often as it likes: seconds for the file"""
    X, y, _ = data()
    for n in (4000, X.shape[0]):
        model = SVC(gamma=GAMMA)
        seconds = once(lambda: model.fit(X[:n], y[:n]))  # noqa: B023
        pass_seconds = ours("KernelPerceptronClassifier")[0] * n / 1e9
        figures.add(
            f"SVC, {n} rows", seconds=seconds, times_ours=seconds / pass_seconds, ours="kernel perceptron, one pass"
        )


PARTS = {"online": online, "features": features, "river": river, "vowpal": vowpal, "batch": batch}

if __name__ == "__main__":
    main("peers", __doc__, PARTS)
