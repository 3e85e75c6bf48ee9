"""Race six kernel learners on one drifting stream, then save a model and carry on with it.

Two moons of noisy points turn slowly by a quarter of a circle. Every point is predicted before it is learnt.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

import onkel


def turning_moons(n, turns=0.25, seed=0):
    """n points of two interleaved half circles that turn while the stream runs."""
    X, y = make_moons(n, noise=0.2, random_state=seed)
    X -= X.mean(axis=0)
    angle = np.linspace(0, 2 * np.pi * turns, n)
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]]), y


def timed(function, *args, **kwargs):
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


common = {"gamma": 2.0, "random_state": 0}
contestants = [
    onkel.KernelPerceptronClassifier(**common),  # keeps every mistake
    onkel.RBPClassifier(budget=100, **common),
    onkel.ForgetronClassifier(budget=100, **common),
    onkel.ProjectronClassifier(budget=100, **common),
    onkel.BOGDClassifier(budget=100, **common),
    onkel.SPAClassifier(beta=50, average=False, **common),  # the mean of all models would lag behind the drift
]

X, y = turning_moons(20_000)
classes = [0, 1]

print("Compiling (once per machine; later runs load the machine code from disk) ...", flush=True)
_, seconds = timed(lambda: [type(m)(**m.get_params()).learn(X[:50], y[:50], classes) for m in contestants])
print(f"... took {seconds:.1f} s.\n")

print(f"{len(X):,} examples, predicted and then learnt one by one:\n")
print(f"{'learner':28}{'mistakes':>10}{'support vectors':>18}{'µs per example':>17}")
for model in contestants:
    scores, seconds = timed(model.learn, X, y, classes)  # the decision value of every row before it was learnt
    mistakes = np.mean((scores >= 0) != (y == 1))
    print(f"{type(model).__name__:28}{mistakes:10.1%}{model.n_support_:18}{1e6 * seconds / len(X):17.2f}")

# Learn half of the stream, save, load: the loaded model continues exactly as the first one does.
half = len(X) // 2
model = onkel.ForgetronClassifier(budget=100, **common).partial_fit(X[:half], y[:half], classes)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "moons.onkel"
    onkel.save(model, path)
    size = path.stat().st_size
    loaded = onkel.load(path)
same = np.array_equal(model.learn(X[half:], y[half:]), loaded.learn(X[half:], y[half:]))
print(
    f"\nSaved after {half:,} examples ({size:,} bytes), loaded, learnt the rest: same bits? {'yes' if same else 'NO'}"
)
assert same
