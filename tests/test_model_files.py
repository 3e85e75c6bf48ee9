"""Model files: a model comes back bit for bit, and a file is replaced as a whole or not at all."""

import errno
import os
import stat

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import CASES, RBF, rows_of
from model_bytes import NAMED, ONE_PER_LEARNER, assert_same, half_learnt, of_learner, python, small
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel import _jit
from onkel.expansion import PAUSE
from onkel.io.model_files import ESTIMATORS

posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes, links and signals of POSIX systems")


# ------------------------------------------------------------------ there and back
def through_file(model, path, **options):
    """The model, saved and loaded."""
    onkel.save(model, path)
    back = onkel.load(path, **options)
    assert_same(model, back)
    return back


def learns_on(model, back, X, y):
    """The same rows leave both with the same scores and state."""
    assert model.learn(X, y).tobytes() == back.learn(X, y).tobytes()
    assert_same(model, back)


def there_and_back(name, change, path):
    model, X, y = half_learnt(name, change)
    back = through_file(model, path)
    assert model.predict(X).tobytes() == back.predict(X).tobytes()
    learns_on(model, back, X, y)


@pytest.mark.parametrize("name", [of_learner(name) for name in NAMED])
def test_round_trip(name, tmp_path):
    there_and_back(name, np.asarray, tmp_path / "model.onkel")


@pytest.mark.parametrize("name", [of_learner(name) for name in ONE_PER_LEARNER])
def test_round_trip_of_sparse_rows(name, tmp_path):
    there_and_back(name, sp.csr_matrix, tmp_path / "model.onkel")


@pytest.mark.parametrize(
    "name", [of_learner(name) for name in ("rbp-multiclass", "bpa-nearest-binary", "krls-regression")]
)
def test_round_trip_in_single_precision(name, tmp_path):
    there_and_back(name, np.float32, tmp_path / "model.onkel")


@pytest.mark.xdist_group("KernelOGD")
@pytest.mark.parametrize("n", [127, 128, 129, 300])
def test_round_trip_of_a_growing_dictionary(n, tmp_path):
    """Every row is stored: a dictionary of 128 points is full and has to grow before the next."""
    X, y = rows_of(NAMED["ogd-plain-regression"], 500)
    model = onkel.KernelOGDRegressor(**RBF, epsilon=0.0)
    model.learn(X[:n], y[:n])
    assert model.n_support_ == n
    assert model._learner.f.count[PAUSE] == (n == 128)
    learns_on(model, through_file(model, tmp_path / "model.onkel"), X[n:], y[n:])


@pytest.mark.xdist_group("BSGD")
@pytest.mark.parametrize("budget", [127, 128, 129, 256])
def test_round_trip_of_a_budget_of_whole_panels(budget, tmp_path):
    """The point above the budget has a slot of its own, also where the budget's last ends a panel."""
    X, y = rows_of(NAMED["bsgd-hinge-binary"], 700)
    model = onkel.BSGDClassifier(kernel="rbf", gamma=5.0, budget=budget, maintenance="removal")
    for start in range(0, 600, 100):
        model.learn(X[start : start + 100], y[start : start + 100], classes=[-1, 1])
        back = through_file(model, tmp_path / "model.onkel")
    assert model.n_support_ == budget
    learns_on(model, back, X[600:], y[600:])


LABELS = {
    "whole": np.array([-7, 2**40]),
    "bytes": np.array([3, 200], np.uint8),
    "real": np.array([-1.0, 2.0**60]),
    "half": np.array([1, 2048], np.float16),
    "flags": np.array([False, True]),
    "words": np.array(["ja", 'nein, "nie" \u00e9\U0001f600']),
    "surrogates": np.array(["a", "\ud800"]),
    "objects": np.array(["no", "yes"], object),
    "swapped": np.array([1, 2], np.dtype(np.int32).newbyteorder()),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels(labels, tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = labels[(X[:, 0] > 0).astype(int)]
    model = onkel.RBPClassifier(budget=8, random_state=0).fit(X, y)
    onkel.save(model, tmp_path / "model")
    back = onkel.load(tmp_path / "model")
    assert back.classes_.tolist() == labels.tolist()
    assert back.predict(X).tolist() == model.predict(X).tolist()
    learns_on(model, back, X, y)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, np.inf]),
        np.array([1, 2], np.longdouble),
        np.array([1, 2], object),
        np.array(["a", "b" * 2**22]),
    ],
    ids=["infinite", "long", "object", "endless"],
)
def test_labels_that_no_file_holds(labels, tmp_path):
    model, _, _ = small()
    model.classes_ = labels
    with pytest.raises(ValueError, match="RBPClassifier cannot be saved: its classes"):
        onkel.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_feature_names(tmp_path):
    model, X, y = small()
    names = ["width", 'h\u00f6he "x"', "\U0001f600\n"]
    frame = pd.DataFrame(X, columns=names)
    model = onkel.RBPClassifier(budget=8, random_state=0).fit(frame, y)
    back = through_file(model, tmp_path / "model")
    assert list(back.feature_names_in_) == names
    learns_on(model, back, frame, y)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame[names[::-1]])


@pytest.mark.xdist_group("SPA")
def test_numpy_parameters(tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 3))
    model = onkel.SPARegressor(
        eta=np.float32(0.3), beta=np.float64(2), gamma=np.float16(0.5), budget=np.int64(9), average=np.bool_(True),
        kernel=np.str_("laplacian"), random_state=np.int64(4),
    )  # fmt: skip
    model.fit(X[:40], X[:40, 0])
    back = through_file(model, tmp_path / "model")
    assert {type(value) for value in back.get_params().values()} <= {float, int, bool, str, type(None)}
    learns_on(model, back, X[40:], X[40:, 0])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "sigmoid", "cosine"])
@pytest.mark.parametrize("gamma", ["auto", "scale", 0.3])
def test_kernels(kernel, gamma, tmp_path):
    model, X, y = small(kernel=kernel, gamma=gamma, degree=2, coef0=0.5)
    learns_on(model, through_file(model, tmp_path / "model"), X, y)
    model, X, y = small(kernel=model._setting.kernel)
    learns_on(model, through_file(model, tmp_path / "model"), X, y)


def test_width_of_a_kernel(tmp_path):
    model, X, y = small(sigma=np.float32(0.7))
    learns_on(model, through_file(model, tmp_path / "model"), X, y)


@pytest.mark.xdist_group("KernelOGD")
def test_infinite_parameters(tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 3))
    model = onkel.KernelOGDRegressor(radius=np.float32(np.inf)).fit(X, X[:, 0])
    assert through_file(model, tmp_path / "model").radius == np.inf


def test_parameters_set_after_learning(tmp_path):
    """They are the file's parameters, and rule from the next batch on; the model so far keeps those it learnt with."""
    model, X, y = small()
    model.set_params(eta=0.25, shuffle=True)
    back = through_file(model, tmp_path / "model")
    assert (back.eta, back._learner.eta, back.shuffle) == (0.25, 1.0, True)
    learns_on(model, back, X, y)
    assert back._learner.eta == 0.25
    learns_on(model, through_file(model, tmp_path / "model"), X, y)


def test_parameters_that_cannot_change_are_refused_by_the_next_batch_only(tmp_path):
    model, X, y = small()
    model.set_params(gamma=0.1)
    back = through_file(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"gamma.* cannot change"):
        back.learn(X, y)


def test_random_state(tmp_path):
    model, X, y = small(random_state=np.random.RandomState(3))
    with pytest.raises(ValueError, match=r"random_state is a RandomState.*Set it to None or a whole number"):
        onkel.save(model, tmp_path / "model")
    model.set_params(random_state=None)
    learns_on(model, through_file(model, tmp_path / "model"), X, y)


def test_invalid_parameters_are_not_saved(tmp_path):
    model, _, _ = small()
    for name, value in {"eta": -1.0, "budget": 2**70, "kernel": "gauss", "gamma": object()}.items():
        model.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"RBPClassifier cannot be saved: .*({name}|parameter)"):
            onkel.save(model, tmp_path / "model")
        model.set_params(**{name: onkel.RBPClassifier().get_params()[name]})
    assert list(tmp_path.iterdir()) == []


def test_only_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError, match="RBPClassifier has not learnt anything yet: call fit"):
        onkel.save(onkel.RBPClassifier(), tmp_path / "model")
    model, X, y = small()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    for other in (pipeline, BaseEstimator(), X, None, onkel.RBPClassifier, type("RBPClassifier", (), {})()):
        with pytest.raises(TypeError, match=r"takes a learner of onkel, not .*from a Pipeline, save the step itself"):
            onkel.save(other, tmp_path / "model")
    with pytest.raises(TypeError, match=r"saved as part of its learner, FeatureMapClassifier\(map=...\)"):
        onkel.save(onkel.RandomFourierFeatures().fit(X), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_every_estimator_can_be_saved():
    assert set(ESTIMATORS.values()) == {case.estimator for case in CASES} | {onkel.KORS}


def test_loading_compiles_nothing(tmp_path):
    model, _, _ = small()
    onkel.save(model, tmp_path / "model")
    before = [len(getattr(function, "signatures", ())) for function in _jit._compiled]
    onkel.load(tmp_path / "model")
    assert [len(getattr(function, "signatures", ())) for function in _jit._compiled] == before


# ------------------------------------------------------------------ kernels of the user's own
OWN = """
import sys
import tempfile
from typing import NamedTuple
import numpy as np
import onkel
from onkel.kernels import against, itself
from onkel.rows import sqdists

class Cauchy(NamedTuple):
    width: float
    power: int = 1

@against.register(Cauchy)
def _(kernel, rows, t, points, norms, n, k):
    sqdists(rows, t, points, n, k, norms)
    for i in range(n):
        k[i] = (1.0 + k[i] / kernel.width) ** -kernel.power

@itself.register(Cauchy)
def _(kernel, rows, t):
    return 1.0

class Kernel(Cauchy): pass
class Worded(NamedTuple):
    name: str = "cauchy"

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
model = onkel.RBPClassifier(kernel=Cauchy(2.5, 2), budget=8).fit(X, y)
onkel.save(model, sys.argv[1])
back = onkel.load(sys.argv[1], kernels=[Cauchy])
assert back.kernel == Cauchy(2.5, 2) and type(back.kernel) is Cauchy and back._setting.kernel == back.kernel
assert model.learn(X, y).tobytes() == back.learn(X, y).tobytes()
for kernel in (Kernel(2.5), Worded()):
    model.kernel = kernel
    try:
        onkel.save(model, sys.argv[1])
    except ValueError as error:
        print(error)
"""


def test_own_kernel(tmp_path):
    """In a process of its own: code registered for a kernel changes what all compiled code is kept under."""
    (tmp_path / "own.py").write_text(OWN)
    path = tmp_path / "model"
    printed = python(f"import runpy, sys; runpy.run_path({str(tmp_path / 'own.py')!r})", path).splitlines()
    assert len(printed) == 2
    assert "named Kernel, as onkel's own" in printed[0]
    assert "Worded.name is a str: only plain numbers can be saved" in printed[1]
    with pytest.raises(onkel.ModelFileError, match=r"'Cauchy', a type that onkel does not have.*kernels=\[Cauchy\]"):
        onkel.load(path)
    fewer = type("Cauchy", (tuple,), {"_fields": ("width",)})
    with pytest.raises(onkel.ModelFileError, match="its kernel's numbers are not those of Cauchy"):
        onkel.load(path, kernels=[fewer])


# ------------------------------------------------------------------ a file is replaced as a whole or not at all
def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "model.onkel"
    one, _, _ = small(budget=8)
    other, _, _ = small(budget=5)
    onkel.save(one, path)
    first = path.read_bytes()
    onkel.save(other, str(path))
    assert_same(onkel.load(os.fsencode(path)), other)
    onkel.save(one, os.fsencode(path))
    assert path.read_bytes() == first  # the same model is the same file
    assert list(tmp_path.iterdir()) == [path]


FULL = """
import resource, sys
import onkel
model = onkel.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
try:
    onkel.save(model, sys.argv[2])
except OSError as error:
    print(error.errno)
"""


@posix
def test_a_file_that_cannot_be_written_to_the_end_leaves_the_old_one(tmp_path):
    new, old = tmp_path / "new", tmp_path / "folder" / "old"
    old.parent.mkdir()
    onkel.save(small(budget=8)[0], new)
    onkel.save(small(budget=5)[0], old)
    before = old.read_bytes()
    assert new.stat().st_size > 2000
    assert int(python(FULL, new, old)) == errno.EFBIG
    assert old.read_bytes() == before
    assert list(old.parent.iterdir()) == [old]


KILLED = """
import os, pathlib, random, signal, sys, time
import onkel
folder = pathlib.Path(sys.argv[1])
one, other, target = onkel.load(folder / "one"), onkel.load(folder / "other"), folder / "model"
onkel.save(one, target)
chance = random.Random(0)
for _ in range(20):
    child = os.fork()
    if child == 0:
        while True:
            onkel.save(other, target)
            onkel.save(one, target)
    time.sleep(chance.uniform(0.01, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print([name for name in ("one", "other") if (folder / name).read_bytes() == target.read_bytes()])
"""


@posix
@pytest.mark.xdist_group("KernelOGD")
def test_a_killed_process_leaves_a_whole_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(256, 100))
    for n, name in enumerate(("one", "other")):
        onkel.save(onkel.KernelOGDRegressor(eta=0.1 + n, epsilon=0.0).fit(X, X[:, 0]), tmp_path / name)
    found = python(KILLED, tmp_path).splitlines()
    assert len(found) == 20
    assert set(found) == {"['one']", "['other']"}


@posix
def test_the_mode_of_a_replaced_file_is_kept(tmp_path):
    path = tmp_path / "model"
    before = os.umask(0o027)
    try:
        onkel.save(small()[0], path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    onkel.save(small()[0], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@posix
def test_links_lead_to_the_file(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    link.symlink_to(path.name)
    for budget in (8, 5):  # at first the link leads nowhere
        onkel.save(small(budget=budget)[0], link)
        assert link.is_symlink()
        assert onkel.load(link).budget == onkel.load(path).budget == budget


@posix
def test_what_is_no_regular_file_is_left_alone(tmp_path):
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe)
    for path in (pipe, folder, link):
        mode = path.stat().st_mode
        with pytest.raises(ValueError, match="cannot be written: it is not a regular file"):
            onkel.save(small()[0], path)
        with pytest.raises(onkel.ModelFileError, match="cannot be loaded: it is not a regular file"):
            onkel.load(path)
        assert path.stat().st_mode == mode
    with pytest.raises(onkel.ModelFileError, match="cannot be loaded: it is not a regular file"):
        onkel.load(os.devnull)


@posix
def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")
    for act in (onkel.load, lambda path: onkel.save(small()[0], path)):
        with pytest.raises(OSError, match="symbolic links") as caught:
            act(tmp_path / "loop")
        assert caught.value.errno == errno.ELOOP
        with pytest.raises(FileNotFoundError):
            act(tmp_path / "nowhere" / "model")
        with pytest.raises(TypeError):
            act(3)
    with pytest.raises(FileNotFoundError, match="model"):
        onkel.load(tmp_path / "model")
