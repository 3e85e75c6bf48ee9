"""A kernel as docs/own_kernel.md shows it: by its formula, in both layouts, in a model file, on disk after edits."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
import reference as ref
from cases import BINARY, stream
from pages import ROOT, programs

import onkel
from onkel._jit import COMPILED
from onkel.kernels import Kernel, against

pytestmark = pytest.mark.xdist_group("own kernel")
SOURCE = programs(ROOT / "docs" / "own_kernel.md")["rational_quadratic.py"]
EDITED = SOURCE.replace("** -kernel.alpha", "** (-POWER * kernel.alpha)") + "\n\nPOWER = 2.0\n"
ALPHA, WIDTH, BUDGET, ROWS = 1.5, 2.0, 12, 120

# The module's name begins like the package's, yet is another's.
PROGRAM = f"""
import json, sys
import numpy as np
import scipy.sparse as sp
import onkel
from onkel.stream import learn
from onkel_extras import RationalQuadratic

X, y = np.load("X.npy"), np.load("y.npy")
rows = {{"dense": X, "csr": sp.csr_matrix(X), "float32": X.astype(np.float32)}}
out = {{}}
for layout in sys.argv[1:]:
    kernel = RationalQuadratic(alpha={ALPHA}, width={WIDTH})
    model = onkel.ForgetronClassifier(kernel=kernel, budget={BUDGET}, variant="basic")
    out[layout] = model.learn(rows[layout], y, classes=[-1, 1]).tolist()
    onkel.save(model, "model.onkel")
    again = onkel.load("model.onkel", kernels=[RationalQuadratic])
    assert np.array_equal(again.learn(rows[layout], y), model.learn(rows[layout], y))
stats = getattr(learn, "stats", None)
out["loaded"], out["compiled"] = (sum(s.values()) for s in stats[1:]) if stats else (0, 0)
print(json.dumps(out))
"""


class Runner(NamedTuple):
    """A folder with the stream, the program, and a cache of its own."""

    folder: object

    def run(self, source, *layouts):
        """What the program finds in a fresh process, with this source of the kernel."""
        (self.folder / "onkel_extras.py").write_text(source)
        own = {"NUMBA_CACHE_DIR": str(self.folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-W", "error", "program.py", *layouts]
        result = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **own}, capture_output=True, text=True, timeout=600
        )
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own_kernel")
    X, y = stream(BINARY, ROWS)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    (folder / "program.py").write_text(PROGRAM)
    return Runner(folder)


@pytest.fixture(scope="module")
def first(runner):
    return runner.run(SOURCE, "dense", "csr", "float32")


def by_formula(alpha):
    """The scores of the slow twin."""
    X, y = stream(BINARY, ROWS)

    def kernel(x, z):
        return (1 + np.sum((x - z) ** 2) / (2 * ALPHA * WIDTH**2)) ** -alpha

    return ref.forgetron(X, y, kernel, BINARY, budget=BUDGET, variant="basic").scores[:, 0]


@pytest.mark.parametrize(("layout", "error"), [("dense", 1e-9), ("csr", 1e-9), ("float32", 1e-4)])
def test_formula(first, layout, error):
    np.testing.assert_allclose(first[layout], by_formula(ALPHA), rtol=0, atol=error)


@pytest.mark.skipif(not COMPILED, reason="about compiled code")
def test_second_process_compiles_nothing(runner, first):
    second = runner.run(SOURCE, "dense", "csr", "float32")
    assert (first["loaded"], first["compiled"]) == (0, 3)
    assert (second["loaded"], second["compiled"]) == (3, 0)
    assert all(second[layout] == first[layout] for layout in ("dense", "csr", "float32"))


@pytest.mark.skipif(not COMPILED, reason="about compiled code")
def test_edits_are_noticed(runner, first):
    """Of the function, and of a constant in its file; the way back finds the old machine code."""
    for source, alpha in ((EDITED, 2 * ALPHA), (EDITED.replace("POWER = 2.0", "POWER = 3.0"), 3 * ALPHA)):
        edited = runner.run(source, "dense")
        assert (edited["loaded"], edited["compiled"]) == (0, 1)
        np.testing.assert_allclose(edited["dense"], by_formula(alpha), rtol=0, atol=1e-9)
    back = runner.run(SOURCE, "dense")
    assert (back["loaded"], back["compiled"]) == (1, 0)
    assert back["dense"] == first["dense"]


# ------------------------------------------------------------------ mistakes that are easily made
class Bare(NamedTuple):
    width: float = 1.0


def test_kernel_without_a_body():
    X, y = stream(BINARY, 20)
    model = onkel.RBPClassifier(kernel=Bare())
    with pytest.raises(TypeError, match=r"against has no body for Bare: against.register adds one"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_second_body():
    with pytest.raises(ValueError, match=r"against has a body for Kernel, perhaps compiled: make a new type"):
        against.register(Kernel)(lambda kernel, rows, t, points, norms, n, k: None)


def test_body_without_source():
    names = {"__name__": "typed_in"}
    exec("def body(kernel, rows, t, points, norms, n, k): pass", names)
    with pytest.raises(ValueError, match=r"must be in a file, to notice edits; the source .* cannot be read"):
        against.register(Bare)(names["body"])
    assert Bare not in against.table
