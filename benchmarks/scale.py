"""How costs grow: with the stream's length, the budget, the width, the classes, the kernels, the threads; and memory.

python benchmarks/scale.py [length|budget|width|classes|kernels|threads] [--json FILE]

Generated dense rows, float64, RBP unless said. Ratios are to the first line of each part.
"""

import os
import resource
import threading
import time

import numpy as np
from common import curved, fastest, fastest_by_the_wall, main

import onkel
from onkel.kernels import rbf
from onkel.state import arrays


def memory():
    """Megabytes of the process at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def held(model):
    """Kilobytes of the model's arrays."""
    return sum(a.nbytes for a in arrays(model._learner).values()) / 1024


def length(figures):
    """10^4 to 10^7 rows in batches of 10,000: the cost of a row and the memory stay"""
    X, y = curved(10_000, 20)
    models = {
        "RBP B=100": onkel.RBPClassifier(budget=100, random_state=0),
        "FOGD D=200": onkel.FOGDClassifier(n_components=100, random_state=0),
    }
    for name, model in models.items():
        model.partial_fit(X, y)
        seen, spent, first = len(X), 0.0, None
        for target in (10**5, 10**6, 10**7):
            best = np.inf
            while seen < target:
                start = time.process_time()
                model.partial_fit(X, y)
                seconds = time.process_time() - start
                best, spent, seen = min(best, seconds), spent + seconds, seen + len(X)
            ns = best / len(X) * 1e9
            first = first or ns
            figures.add(
                f"{name}, {target} rows", ns=ns, ratio=ns / first, seconds=spent, model_kb=held(model), rss_mb=memory()
            )


def grow(figures, name, values, make, rows):
    first = None
    for value in values:
        model, (X, y) = make(value), rows(value)
        model.fit(X, y)
        ns = fastest(lambda: model.partial_fit(X, y), 0.5) / len(X) * 1e9  # noqa: B023
        first = first or ns / value
        figures.add(f"{name} {value}", ns=ns, ratio_per_unit=ns / value / first, model_kb=held(model))


def budget(figures):
    """Budgets of 30 to 10,000, d=20"""
    grow(
        figures,
        "budget",
        (30, 100, 300, 1000, 3000, 10_000),
        lambda b: onkel.RBPClassifier(budget=b, random_state=0),
        lambda b: curved(max(2000, 3 * b), 20),
    )


def width(figures):
    """5 to 5000 columns, B=100"""
    grow(
        figures,
        "columns",
        (5, 20, 100, 500, 2000, 5000),
        lambda d: onkel.RBPClassifier(budget=100, random_state=0),
        lambda d: curved(1000, d),
    )


def classes(figures):
    """2 to 100 classes, B=100, d=20"""
    grow(
        figures,
        "classes",
        (2, 5, 10, 26, 100),
        lambda m: onkel.RBPClassifier(budget=100, random_state=0),
        lambda m: curved(4000, 20, classes=m),
    )


SEVERAL = {
    "points of their own, B=100 each": {"component": "rbp", "budget": 100},
    "points in common, B=1300 in all": {"component": "rbp", "budget": 1300, "share": True},
    "points in common, B=1300 in all, one drawn to learn": {
        "component": "rbp", "budget": 1300, "share": True, "update": "stochastic",
    },
    "100 random frequencies": {"component": "fogd", "n_components": 100},
}  # fmt: skip


def gaussians(m):
    """The widths 2^6 .. 2^-6, each half the one before; beyond 13 of them, those in between."""
    return [rbf(0.5 / 4.0 ** (6 - i % 13 - 0.5 * (i // 13))) for i in range(m)]


def kernels(figures):
    """1 to 26 Gaussian kernels at once, d=20: RBP, FOGD"""
    for words, chosen in SEVERAL.items():
        grow(
            figures,
            f"kernels, {words}:",
            (1, 2, 4, 8, 13, 26),
            lambda m: onkel.MultiKernelClassifier(kernels=gaussians(m), random_state=0, **chosen),  # noqa: B023
            lambda m: curved(4000, 20),
        )


def threads(figures):
    """Models side by side in threads, which need no lock of Python's; and one model's predictions"""
    X, y = curved(20_000, 20)
    models = [onkel.RBPClassifier(budget=300, random_state=k).fit(X, y) for k in range(os.cpu_count())]
    alone = fastest_by_the_wall(lambda: models[0].partial_fit(X, y), 1.0)

    def together():
        workers = [threading.Thread(target=model.partial_fit, args=(X, y)) for model in models]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    both = fastest_by_the_wall(together, 1.0)
    figures.add(f"{len(models)} models learn", ratio_to_one=both / alone, best_possible=1.0)
    X = np.tile(X, (10, 1))
    for count in range(1, os.cpu_count() + 1):
        os.environ["OMP_NUM_THREADS"] = str(count)
        seconds = fastest_by_the_wall(lambda: models[0].decision_function(X), 1.0)
        alone = seconds if count == 1 else alone
        figures.add(f"predict in {count} threads", ns=seconds / len(X) * 1e9, ratio_to_one=seconds / alone)
    del os.environ["OMP_NUM_THREADS"]


PARTS = {"length": length, "budget": budget, "width": width, "classes": classes, "kernels": kernels, "threads": threads}

if __name__ == "__main__":
    main("scale", __doc__, PARTS)
