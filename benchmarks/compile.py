"""Seconds to import, to the first model on a cold cache and in a second process; signatures of every learner.

python benchmarks/compile.py [start|learners|sparse] [--json FILE]

Each figure comes from a fresh process; `cpu` is its own time, which does not count what else the machine does.
"""

import json
import os
import subprocess
import sys
import tempfile

from common import main

import onkel

START = """
import json, time
def seconds(work, at=[time.perf_counter(), time.process_time()]):
    work()
    now = [time.perf_counter(), time.process_time()]
    spent = [b - a for a, b in zip(at, now)]
    at[:] = now
    return spent
def numpy(): import numpy
def sklearn(): import sklearn.linear_model
def numba(): import numba
def own(): global onkel; import onkel
def rows():
    global X, y
    import numpy as np
    X = np.random.default_rng(0).standard_normal((100, 5)); y = X[:, 0] > 0
def fit(): global model; model = onkel.RBPClassifier(random_state=0).fit(X, y)
def predict(): model.predict(X)
print(json.dumps({work.__name__: seconds(work) for work in (numpy, sklearn, numba, own, rows, fit, predict)}))
"""

LEARNER = """
import json, sys, time
import numpy as np, scipy.sparse as sp, onkel
from onkel import stream
name, csr, dtype = sys.argv[1], sys.argv[2] == "csr", sys.argv[3]
X = np.random.default_rng(0).standard_normal((60, 4)).astype(dtype)
X, y = (sp.csr_matrix(X) if csr else X), X[:, 0] if name.endswith("Regressor") else X[:, 0] > 0
start, cpu = time.perf_counter(), time.process_time()
model = getattr(onkel, name)(random_state=0)
for part in (slice(0, 30), slice(30, 60)):
    model.partial_fit(X[part], y[part])
spent = time.perf_counter() - start, time.process_time() - cpu
start = time.perf_counter()
model.predict(X)
print(json.dumps([*spent, time.perf_counter() - start, len(stream.learn.signatures), len(stream.score.signatures)]))
"""


def fresh(code, cache, *args):
    """What a new process prints, with machine code in a folder of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    run = [sys.executable, "-c", code, *args]
    return json.loads(subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout)


def start(figures):
    """Imports and the first model (RBP), cold and warm; the least of three processes each"""
    runs = {"cold": [], "warm": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            runs["cold"].append(fresh(START, cache))
            runs["warm"] += [fresh(START, cache) for _ in range(2)]
    for name, several in runs.items():
        least = {part: [min(run[part][i] for run in several) for i in range(2)] for part in several[0]}
        for part, (seconds, cpu) in least.items():
            if part != "rows":
                figures.add(f"{name}: {part}", seconds=seconds, cpu=cpu)
        figures.add(
            f"{name}: all", **{unit: sum(v[i] for v in least.values()) for i, unit in enumerate(("seconds", "cpu"))}
        )


def learners(figures, layout="dense"):
    """Every learner on dense rows: cold in a process of its own whose cache holds what came before, then warm"""
    with tempfile.TemporaryDirectory() as cache:
        for name in (name for name in onkel.__all__ if name.endswith(("Classifier", "Regressor"))):
            cold, cpu, predict, learn, score = fresh(LEARNER, cache, name, layout, "f8")
            warm = fresh(LEARNER, cache, name, layout, "f8")[0]
            figures.add(
                f"{name} {layout} f8",
                cold=cold, cold_cpu=cpu, predict=predict, warm=warm, signatures=learn, score_signatures=score,
            )  # fmt: skip


def sparse(figures):
    """Every learner on CSR rows, likewise"""
    learners(figures, "csr")


PARTS = {"start": start, "learners": learners, "sparse": sparse}

if __name__ == "__main__":
    main("compile", __doc__, PARTS)
