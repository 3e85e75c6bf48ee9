"""The engine's own parts: compiled once and never stale, vector routines against their NumPy bodies, random numbers."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import reference as ref
import scipy.stats

import onkel
from onkel import _jit, _panels, _simd, _triangles, rng, state
from onkel._jit import COMPILED, jit
from onkel._panels import panel_shape, slots
from onkel.expansion import empty, full

ROOT = Path(onkel.__file__).parent
compiled_only = pytest.mark.skipif(not COMPILED, reason="about compiled code")


# ------------------------------------------------------------------ machine code on disk
PROBE = """
import json, sys
import numpy as np, onkel
from onkel.stream import learn
from onkel._jit import _compiled
X = np.random.default_rng(0).standard_normal((60, 4))
model = onkel.KernelPerceptronClassifier(gamma=0.5)
scores = model.learn(X, X[:, 0] > 0, classes=[False, True])
print(json.dumps({"hits": sum(learn.stats.cache_hits.values()), "sum": float(np.abs(scores).sum())}))
"""


def probe(package, code=PROBE):
    """Run a probe in a fresh process on a copy of the package, whose machine code lies beside it."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
@pytest.mark.xdist_group("stale")
@compiled_only
def test_edits_in_any_file_are_seen(tmp_path):
    """A second process loads the code; an edit to a helper far from the loop gives new numbers; taken back, the old."""
    package = tmp_path / "onkel"
    shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
    first, second = probe(package), probe(package)
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["sum"] == second["sum"]
    kernels = package / "kernels.py"
    original = kernels.read_text()
    assert "exp_of(k, n, -kernel.gamma)" in original
    kernels.write_text(original.replace("exp_of(k, n, -kernel.gamma)", "exp_of(k, n, -2.0 * kernel.gamma)"))
    edited = probe(package)
    assert edited["hits"] == 0
    assert edited["sum"] != first["sum"]
    vectors = package / "_vectors.py"
    text = vectors.read_text()
    vectors.write_text(text.replace("1.0000000000000064479", "1.5000000000000064479"))
    assert probe(package)["sum"] not in (first["sum"], edited["sum"])
    vectors.write_text(text)
    kernels.write_text(original)
    assert probe(package)["sum"] == first["sum"]
    assert len({name.name.rsplit(".", 3)[1] for name in package.glob("__pycache__/stream.learn*.nbc")}) == 1


RACE = """
import json, sys
import numpy as np, onkel
name, dtype = sys.argv[1:]
X = np.random.default_rng(0).standard_normal((60, 4)).astype(dtype)
model = getattr(onkel, name)(gamma=0.5, random_state=0)
scores = model.learn(X, X[:, 0] > 0, classes=[False, True])
print(json.dumps([float(s) for s in scores]))
"""


@pytest.mark.slow
@pytest.mark.xdist_group("stale")
@compiled_only
def test_processes_that_compile_at_once_do_not_swap_code(tmp_path):
    """Several processes fill one cold cache with signatures of one loop; then and later each runs its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    jobs = [(name, dtype) for name in ("RBPClassifier", "KernelPassiveAggressiveClassifier") for dtype in ("f4", "f8")]

    def start(job):
        return subprocess.Popen([sys.executable, "-c", RACE, *job], env=environment, stdout=subprocess.PIPE, text=True)

    def results():
        running = [start(job) for job in jobs]
        return [json.loads(process.communicate(timeout=300)[0]) for process in running]

    cold, warm = results(), results()
    assert cold == warm
    for (name, dtype), scores in zip(jobs, cold):
        X = np.random.default_rng(0).standard_normal((60, 4)).astype(dtype)
        model = getattr(onkel, name)(gamma=0.5, random_state=0)
        expected = model.learn(X, X[:, 0] > 0, classes=[False, True])
        np.testing.assert_array_equal(np.array(scores, dtype), expected)


def test_shells_share_no_compiled_code():
    """Compiled code outside the engine is stamped with its own file only: no other file may use it."""
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] not in _jit.SHELLS:
            continue
        functions = {f.py_func.__name__ for f in _jit._compiled if f.py_func.__code__.co_filename == str(path)}
        for other in ROOT.rglob("*.py"):
            if other == path or not functions:
                continue
            for node in ast.walk(ast.parse(other.read_text())):
                decorated = isinstance(node, ast.FunctionDef) and any("jit" in ast.dump(d) for d in node.decorator_list)
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if decorated else set()
                assert not used & functions, (other.name, used & functions)


@compiled_only
def test_private_names_of_numba():
    """What `_jit` leans on: when a new numba changes one of them, this says so before anything odd happens."""

    @jit
    def twice(x):
        return x + x

    assert twice(2.0) == 4.0
    cache = twice._cache
    assert isinstance(cache._cache_file, _jit._MachineCode)
    assert {"filename_base"} <= set(dir(cache._impl))
    assert {"_load_data", "_save_data", "_data_path"} <= set(dir(cache._cache_file))
    assert twice.targetoptions["_nrt"] is False
    assert twice.targetoptions["nogil"] is True
    assert numba.__version__.split(".")[:2] == ["0", "68"]


@compiled_only
def test_an_allocation_does_not_compile():
    @jit
    def allocate(n):
        return np.zeros(n).sum()

    with pytest.raises(numba.core.errors.NumbaError):
        allocate(3)


@compiled_only
def test_parts_of_compiled_code_are_not_for_python():
    f = empty(16, 3)
    for _ in range(2):  # before it is compiled, and when it is
        with pytest.raises(TypeError, match="Only compiled code may call full"):
            full(f)
        assert not is_full(f)


# ------------------------------------------------------------------ vector routines


@jit
def is_full(f):
    return full(f)


@jit
def exp_from_compiled(k, n, scale):
    _simd.exp_of(k, n, scale)


@jit
def least_from_compiled(values, n):
    return _simd.first_least(values, n)


@jit
def alone_from_compiled(coef, scale, k, diag, share, n):
    return _simd.least_alone(coef, scale, k, diag, share, n)


@jit
def exps_from_compiled(bases, which, rates, place, count, k):
    _simd.exps_at(bases, which, rates, place, count, k)


@jit
def bit_from_compiled(word):
    return _simd.lowest_bit(word)


@jit
def dot_from_compiled(a, row, k, n):
    return _simd.dot(a, row, k, n)


@jit
def panels_from_compiled(x, indices, points, p, n, out, l1):
    if l1:
        _panels.panel_l1dists(x, indices, 0, x.shape[0], points, p, n, out, 0)
    else:
        _panels.panel_sqdists(x, indices, 0, x.shape[0], points, p, n, out, 0)


@jit
def sparse_panels_from_compiled(x, indices, points, p, n, out, norms, xx, l1):
    if l1:
        _panels.panel_sparse_l1dists(x, indices, 0, x.shape[0], points, p, n, out, 0, norms, 0.0)
    else:
        _panels.panel_sparse_sqdists(x, indices, 0, x.shape[0], points, p, n, out, 0, norms, xx)


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float64, 4), (np.float32, 8)])
def test_exp(dtype, ulps):
    """Within a few units of the last place over the whole range; exactly 1 at 0; 0 at the far end."""
    low = -700 if dtype == np.float64 else -80
    x = np.concatenate([np.linspace(low, 0, 40_000), -np.logspace(-20, np.log10(-low), 7_999), [0.0]])
    k = _simd.aligned(slots(len(x), dtype), dtype)
    k[: len(x)] = x
    exact = np.exp(k[: len(x)].astype(np.longdouble))
    exp_from_compiled(k, len(x), 1.0)
    error = np.abs(k[: len(x)] - exact) / (np.finfo(dtype).eps * exact)
    assert error.max() <= ulps
    assert k[len(x) - 1] == 1
    k[:3] = [-1e30, -5000.0, -800.0]
    exp_from_compiled(k, 3, 1.0)
    assert not k[:3].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_first_least(dtype):
    random = np.random.default_rng(0)
    for n in (1, 3, 8, 9, 16, 17, 100, 257):
        values = _simd.aligned(slots(n, dtype), dtype)
        for _ in range(20):
            values[:n] = random.integers(-3, 9, n)
            assert least_from_compiled(values, n) == np.argmin(values[:n])
    values[:4] = np.inf
    assert least_from_compiled(values, 4) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_least_alone(dtype):
    """Of equals the first, and none behind the last."""
    random = np.random.default_rng(0)
    for n in (1, 3, 8, 17, 100):
        coef, (k, diag) = _simd.aligned((2, slots(n, dtype)), dtype), _simd.aligned((2, slots(n, dtype)), dtype)
        for _ in range(20):
            coef[:, :n], k[:n], diag[:n] = random.integers(-2, 3, (2, n)), random.integers(-1, 2, n), 4
            weights = (0.5 * coef[:, :n].astype(float)) ** 2
            losses = weights.sum(0) * (4 - k[:n].astype(float) ** 2 / 2)
            assert alone_from_compiled(coef, 0.5, k, diag, 0.5, n) == np.argmin(losses)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_exps_of_several(dtype, tolerance):
    """Those of each kernel at its own places; what lies behind the last one is not read, nor another row written."""
    random, n = np.random.default_rng(0), 40
    bases, k = _simd.aligned((3, slots(n, dtype)), dtype), _simd.aligned((5, slots(n, dtype)), dtype)
    bases[:, :n], k[...] = random.uniform(0, 5, (3, n)), 7
    which, rates = np.array([1, 2, -1, 1, 2]), np.array([0.5, 2.0, 1.0, 0.01, 1.0])
    place, count = random.integers(0, n, (5, 33)), np.zeros((5, 4), np.int64)
    count[:, 0] = [33, 8, 5, 9, 0]
    for i, size in enumerate(count[:, 0]):
        place[i, size:] = 2**60
    exps_from_compiled(bases, which, rates, place, count, k)
    for i, size in enumerate(count[:, 0]):
        if which[i] >= 0:
            exact = np.exp(-rates[i] * bases[which[i], place[i, :size]].astype(float))
            np.testing.assert_allclose(k[i, :size], exact, rtol=tolerance)
    assert (k[2] == 7).all()
    assert (k[4] == 7).all()


@jit
def pass_from_compiled(which, a, out, x, n):
    if which == 0:
        _simd.squares_of(a, out, n, 1.5)
    elif which == 1:
        _simd.clamp(out, n, 0.25)
    elif which == 2:
        _simd.put_row(a, 1, x, n)
    return _simd.sum_of_squares(_simd.flat(a), 3, 3 + n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_passes_over_all_points(dtype):
    random, tolerance = np.random.default_rng(0), 1e-13 if dtype == np.float64 else 1e-5
    for n in (1, 4, 7, 16, 33, 100):
        a, out, x = (_simd.aligned(shape, dtype) for shape in ((3, slots(n + 3, dtype)), *[slots(n, dtype)] * 2))
        for array in (a, out, x):
            array[...] = random.normal(size=array.shape)
        wanted = [
            ((1.5 * a[:, :n].astype(float)) ** 2).sum(0),
            np.clip(out[:n].astype(float), -0.25, 0.25),
            x[:n].astype(float),
        ]
        for which, exact in enumerate(wanted):
            b, found = a.copy(), out.copy()
            total = pass_from_compiled(which, b, found, x, n)
            np.testing.assert_allclose(b[1, :n] if which == 2 else found[:n], exact, rtol=tolerance, atol=tolerance)
            part = b.reshape(-1)[3 : 3 + n].astype(float)
            assert total == pytest.approx(part @ part, rel=tolerance)


def test_lowest_bit():
    for j in range(64):
        assert bit_from_compiled(np.uint64((1 << j) | (1 << 63))) == j


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 500])
def test_dot_and_panels(dtype, n):
    random = np.random.default_rng(n)
    a, k = _simd.aligned((2, slots(n, dtype)), dtype), _simd.aligned(slots(n, dtype), dtype)
    a[:, :n], k[:n] = random.normal(size=(2, n)), random.normal(size=n)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    assert dot_from_compiled(a, 1, k, n) == pytest.approx(
        float(a[1, :n].astype(float) @ k[:n]), rel=tolerance, abs=tolerance
    )
    panels, width = panel_shape(n, dtype)
    assert panels * width >= n
    points = _simd.aligned((panels, 9, width), dtype)
    points[...] = random.normal(size=points.shape)
    x, out = random.normal(size=9).astype(dtype), _simd.aligned(slots(n, dtype), dtype)
    flat = np.moveaxis(points, 1, 2).reshape(-1, 9)
    for l1, exact in ((False, ((flat - x) ** 2).sum(1)), (True, np.abs(flat - x).sum(1))):
        for p in range(panels):
            panels_from_compiled(x, np.zeros(1, np.int32), points, p, min(width, n - p * width), out, l1)
        np.testing.assert_allclose(out[:n], exact[:n], rtol=tolerance)
    columns, sparse, norms = np.arange(0, 9, 2, dtype=np.int32), np.zeros(9, dtype), out.copy()
    sparse[columns] = x[columns]
    for l1, power in ((False, 2), (True, 1)):
        norms[:n] = (np.abs(flat[:n]) ** power).sum(1)
        for p in range(panels):
            wide = min(width, n - p * width)
            sparse_panels_from_compiled(x[columns], columns, points, p, wide, out, norms, float(sparse @ sparse), l1)
        exact = (np.abs(flat[:n] - sparse) ** power).sum(1)
        np.testing.assert_allclose(out[:n], exact, rtol=10 * tolerance, atol=10 * tolerance)


@jit
def triangles_from_compiled(a, row, step, first, n, z, f, x, y, q, sums):
    _triangles.triangle_dots(a, row, step, first, n, z, f)
    _triangles.triangle_sums(a, row, step, n, z, sums)
    _triangles.triangle_exchange(a, row, step, n, x, y, q)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 33, 100])
@pytest.mark.parametrize(("row", "step"), [(0, 1), (2, 3)])
def test_triangles(n, row, step):
    """Against NumPy; the rows of other matrices in the same array stay as they are."""
    random, first, end = np.random.default_rng(n), n // 2 // 8 * 8, -(-n // 8) * 8
    a = _simd.aligned((n * step, slots(n, float)), float)
    a[:, :n] = random.normal(size=(n * step, n)) / 10
    a[row::step, :n] = np.tril(a[row::step, :n], -1)
    z, f, x, y, q, sums = (_simd.aligned(slots(n, float), float) for _ in range(6))
    z[:n], x[:n], y[:n] = random.normal(size=(3, n))
    f[:] = q[:] = 7.0
    before, expected, p = a.copy(), a.copy(), np.zeros(n)
    T = before[row::step, :n]
    for i in range(n):
        expected[row + i * step, :i] += x[i] * p[:i]
        p += y[i] * T[i]
        p[i] = y[i]
    triangles_from_compiled(a, row, step, first, n, z, f, x, y, q, sums)
    np.testing.assert_allclose(f[first:n], T[first:] @ z[:n], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums[:n], z[:n] @ T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(q[:n], p, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(np.delete(a, np.s_[row::step], 0), np.delete(before, np.s_[row::step], 0))
    assert (f[:first] == 7).all()
    for beyond in (f[n:end], q[n:end], a[:, n:]):
        assert not beyond.any()


# ------------------------------------------------------------------ random numbers
def test_random_numbers_are_those_of_the_twin():
    mine, theirs = rng.generator(12345), ref.Draw(12345)
    assert [rng.uniform(mine) for _ in range(50)] == [theirs.uniform() for _ in range(50)]
    assert [rng.below(mine, 7) for _ in range(50)] == [theirs.below(7) for _ in range(50)]
    assert mine.tolist() == [12345, 100]


def test_random_numbers_are_uniform():
    held = rng.generator(1)
    draws = np.array([rng.uniform(held) for _ in range(20_000 if COMPILED else 3000)])
    assert 0 <= draws.min() <= draws.max() < 1
    assert scipy.stats.kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(len(draws))


# ------------------------------------------------------------------ state
def test_state_dict_restore_transplant():
    small, large = empty(16, 3, budget=64), empty(64, 3, budget=64)
    small.coef[:], small.born[:], small.lazy[:] = 2.0, 5, [0.5, 1.0, 2.0]
    kept = state.state_dict(small)
    small.coef[:] = 0
    state.restore(small, kept)
    assert (small.coef == 2).all()
    state.transplant(large, kept)
    assert (large.coef[:, : small.coef.shape[1]] == 2).all()
    assert (large.born[:16] == 5).all()
    assert not large.born[16:].any()
    assert large.lazy.tolist() == [0.5, 1.0, 2.0]
    copy = state.twin(small)
    copy.coef[:] = 7
    assert (small.coef == 2).all()
    assert not any("scratch" in name for name in kept)
    assert all(a.ctypes.data % 64 == 0 for a in (small.points, small.coef, copy.points, copy.coef))
