"""What thirteen kernels cost: seconds of 13 Gaussian kernels over those of one, in one run.

python benchmarks/multiple_kernels.py

Read the ratios, not the times. How well several kernels do, beside the figures of Lu's thesis, is shown by
`onkel reproduce thesis-5.2` and its neighbours.
"""

import os
import time

import numpy as np
from common import a9a

import onkel
from onkel.estimators.multiple import thesis_kernels

SINGLE = {
    "fogd": onkel.FOGDClassifier,
    "rbp": onkel.RBPClassifier,
    "forgetron": onkel.ForgetronClassifier,
    "bogd": onkel.BOGDClassifier,
    "bpa": onkel.BPAClassifier,
}
GOAL = 4.0


def least(works, passes):
    """Least seconds of each of several calls, which take turns, by the processor's clock."""
    best = [np.inf] * len(works)
    for _ in range(passes):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return best


def streams(rows):
    random, made = np.random.default_rng(0), {}
    for d in (10, 22, 123):
        X = random.normal(size=(rows, d)) / np.sqrt(d)
        made[f"d = {d}"] = X, np.where(np.sin(9 * X[:, 0]) + 9 * X[:, 1] * X[:, 2] > 0, 1, -1)
    X, y = a9a()
    made["a9a"] = X[:rows], y[:rows]
    return made


def times(rows=10_000, passes=7):
    """A table of 13 Gaussian kernels over one, with as many random components each, or points in all."""
    os.environ["OMP_NUM_THREADS"] = "1"
    cases = [("fogd", {"n_components": 100}, {})]
    for update in ("deterministic", "stochastic"):
        for budget in (100, 1300):
            more = {"share": True, "update": update}
            cases += [(component, {"budget": budget}, more) for component in ("rbp", "forgetron", "bogd", "bpa")]
    given = streams(rows)
    print(f"seconds of 13 Gaussian kernels over those of one; the goal: less than {GOAL:g}")
    print(f"  {'':36}" + "".join(f"{title:>9}" for title in given))
    worst = 0.0
    for component, size, more in cases:
        one = SINGLE[component](sigma=8.0, random_state=0, **size)
        many = onkel.MultiKernelClassifier(
            kernels=list(thesis_kernels(True)), component=component, random_state=0, **size, **more
        )
        ratios = []
        for X, y in given.values():
            alone, together = least([lambda: one.fit(X, y), lambda: many.fit(X, y)], passes)  # noqa: B023
            ratios.append(together / alone)
        worst = max(worst, *ratios)
        (word, number), update = *size.items(), more.get("update", "deterministic")
        title = f"{component}, {word} {number}, {update}"
        print(f"  {title:36}" + "".join(f"{ratio:9.2f}" for ratio in ratios), flush=True)
    print(f"  the largest: {worst:.2f}")


if __name__ == "__main__":
    times()
