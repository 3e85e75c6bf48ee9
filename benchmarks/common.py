"""What all benchmarks share: timing, the machine's limits, data, and figures as JSON.

Machines are noisy: every time is the least of many short windows, and counts only what the process itself got of the
processor; work on several cores is timed by the clock on the wall. Limits are measured in the same run, on one core
unless said, and what counts are ratios.
"""

import argparse
import functools
import itertools
import json
import lzma
import os
import pathlib
import platform
import time

import numpy as np
import scipy.sparse as sp
from llvmlite import ir
from numba import types
from numba.core import cgutils
from sklearn.datasets import load_svmlight_file
from threadpoolctl import threadpool_limits

from onkel._jit import jit, vector
from onkel._simd import aligned, exp_of, integer, pointer, sincos_of
from onkel._vectors import Vectors

ROOT = pathlib.Path(__file__).parents[1]
DATA = pathlib.Path(os.environ.get("ONKEL_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results"


# ------------------------------------------------------------------ time
def fastest(work, seconds=0.5, least=3, clock=time.process_time):
    """Least seconds of a call, over as many as fit into a stretch of time."""
    best, end = np.inf, time.perf_counter() + seconds
    while least > 0 or time.perf_counter() < end:
        start = clock()
        work()
        best = min(best, clock() - start)
        least -= 1
    return best


def fastest_by_the_wall(work, seconds=0.5, least=3):
    """The same for work on several cores."""
    return fastest(work, seconds, least, time.perf_counter)


def once(work):
    """Seconds of one call."""
    return fastest(work, 0, 1)


# ------------------------------------------------------------------ what the machine can do
SUMS = 16  # kept in registers side by side: enough to hide how long one addition takes


def _multiply_adds(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, n = pointer(context, b, sig, args, 0), args[1]
    lanes = [integer(i * v.lanes) for i in range(SUMS)]
    sums = [cgutils.alloca_once_value(b, v.load(a, lane)) for lane in lanes]
    factor = v.load(a, integer(0))
    with cgutils.for_range(b, n):
        for s in sums:
            b.store(v.fma(b.load(s), factor, factor), s)
    for s, lane in zip(sums, lanes, strict=True):
        v.store(b.load(s), a, lane)
    return ir.Constant(ir.IntType(64), SUMS * v.lanes)


@vector(_multiply_adds, returns=lambda a, n: types.int64)
def multiply_adds(a, n):
    """n rounds of multiply-adds in registers; returns how many there are in a round."""
    return 1


def _read(context, b, sig, args):
    v = Vectors(context, b, sig.args[0].dtype)
    a, n = pointer(context, b, sig, args, 0), args[1]
    sums = [cgutils.alloca_once_value(b, v.const(0.0)) for _ in range(8)]
    with cgutils.for_range(b, b.sdiv(n, integer(8 * v.lanes))) as loop:
        for i, s in enumerate(sums):
            at = b.add(b.mul(loop.index, integer(8 * v.lanes)), integer(i * v.lanes))
            b.store(b.fadd(b.load(s), v.load(a, at)), s)
    return v.total([b.load(s) for s in sums])


@vector(_read, returns=lambda a, n: a.dtype)
def read(a, n):
    """The sum of n numbers."""
    return a[:n].sum()


@jit
def run_multiply_adds(a, n):
    return multiply_adds(a, n)


@jit
def run_read(a, n, times):
    total = 0.0
    for _ in range(times):
        total += read(a, n)
    return total


@jit
def run_exp(k, n, times):
    for _ in range(times):
        exp_of(k, n, -1e-3)


@jit
def run_sincos(z, n, times):
    for _ in range(times):
        sincos_of(z, 0, n, n, 1.0)


@functools.cache
def multiply_add(dtype, threads=1):
    """Multiply-adds per nanosecond: of a loop in registers, or of a large matrix product where that is faster."""
    a = np.full(1024, 0.5, dtype)
    own = 100_000 * run_multiply_adds(a, 1) / fastest(lambda: run_multiply_adds(a, 100_000), 1.0)
    matrix = np.random.default_rng(0).standard_normal((1024, 1024)).astype(dtype)
    with threadpool_limits(threads):
        product = 1024**3 / fastest_by_the_wall(lambda: matrix @ matrix, 1.0)
    return max(own * threads, product) / 1e9


@functools.cache
def exp_ns(dtype):
    """Nanoseconds for an exponential: the faster of onkel's and NumPy's."""
    k, out = np.linspace(-5, 0, 1024).astype(dtype), np.empty(1024, dtype)
    own = fastest(lambda: run_exp(aligned(1024, dtype), 1024, 100)) / 102_400
    return min(own, fastest(lambda: np.exp(k, out=out)) / 1024) * 1e9


@functools.cache
def sincos_ns(dtype):
    """Nanoseconds for a sine and a cosine."""
    z = aligned(2048, dtype)
    return fastest(lambda: run_sincos(z, 1024, 100)) / 102_400 * 1e9


@functools.cache
def bandwidth(kilobytes):
    """Bytes per nanosecond, read again and again."""
    n = kilobytes * 128
    a = aligned(n, np.float64)
    times = max(1, 2**22 // n)
    return 8 * n * times / fastest(lambda: run_read(a, n, times)) / 1e9


def limit_ns(points, d, dtype):
    """The least an example can cost against so many points: multiply-adds at the peak, and an exponential each."""
    return points * (d / multiply_add(dtype) + exp_ns(dtype))


def machine():
    """All limits of this machine."""
    names = {np.float64: "float64", np.float32: "float32"}
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "multiply-adds per ns": {names[t]: round(multiply_add(t), 2) for t in names},
        "multiply-adds per ns, all cores": {names[t]: round(multiply_add(t, os.cpu_count()), 2) for t in names},
        "ns per exp": {names[t]: round(exp_ns(t), 3) for t in names},
        "ns per sine and cosine": {names[t]: round(sincos_ns(t), 3) for t in names},
        "bytes per ns, by size in kB": {str(kb): round(bandwidth(kb), 1) for kb in (16, 256, 8192)},
    }


# ------------------------------------------------------------------ data
def a9a():
    """(X, y) of the a9a training file, from ONKEL_DATA or beside the project; else a generated stream of its shape."""
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


def curved(n, d, dtype=np.float64, classes=2, seed=0):
    """(X, y) of a noisy target that no linear model follows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    value = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2 % d]) + 0.5 * rng.standard_normal(n)
    if classes == 2:
        return X, np.where(value > 0, 1, -1)
    return X, np.digitize(value, np.quantile(value, np.linspace(0, 1, classes + 1)[1:-1]))


# ------------------------------------------------------------------ figures
class Figures:
    """Named figures of one part of a benchmark, shown as they come and kept as JSON beside those of other parts."""

    def __init__(self, part):
        self.part, self.rows = part, []

    def add(self, what, **figures):
        figures = {k: float(f"{v:.4g}") if isinstance(v, float | np.floating) else v for k, v in figures.items()}
        self.rows.append({"part": self.part, "what": what, **figures})
        print(f"  {what:58} " + "  ".join(f"{k} {v}" for k, v in figures.items()), flush=True)

    def write(self, path):
        """Put the figures into the file, in place of those that an earlier run of the same part left."""
        kept = json.loads(path.read_text())["figures"] if path.exists() else []
        rows = [row for row in kept if row["part"] != self.part] + self.rows
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine(), "figures": rows}, indent=1) + "\n")


def main(name, words, parts):
    """The command line of a benchmark: which parts to run, and where the figures go."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(parts), help=f"of {', '.join(parts)}; default: all")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / f"{name}.json", help="where the figures go")
    arguments = parser.parse_args()
    for part in arguments.what:
        print(parts[part].__doc__.splitlines()[0])
        figures = Figures(part)
        with threadpool_limits(1):
            parts[part](figures)
        figures.write(arguments.json)
