"""Model files: a model comes back bit for bit; what is damaged or forged is refused before anything is run or allocated."""

import errno
import hashlib
import json
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse as sp
from cases import BUDGET, CASES, RBF, rows_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel import _jit
from onkel.expansion import INSERTED, PAUSE, ROUNDS, SCALE, SEEN, SIZE, TOTAL, UNLIMITED
from onkel.io.model_files import ENTRIES, ESTIMATORS
from onkel.learners.forgetron import DAMAGE, UPDATES
from onkel.state import arrays

NAMED = {case.name: case for case in CASES}
HALF = 120
posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes, links and signals of POSIX systems")


def of_learner(name, *values):
    """A parameter set for a case, in the worker that compiles its learner."""
    stem = NAMED[name].estimator.__name__.removesuffix("Classifier").removesuffix("Regressor")
    return pytest.param(name, *values, marks=pytest.mark.xdist_group(stem))


# ------------------------------------------------------------------ there and back
READ_OFF = ("n_seen_", "n_support_", "support_", "support_vectors_", "dual_coef_", "intercept_")


def assert_same(one, other):
    """Two models with the same bits."""
    assert type(one) is type(other)
    assert one.__dict__.keys() == other.__dict__.keys()
    assert one.get_params() == other.get_params()
    assert one._setting == other._setting
    assert one._made_with == other._made_with
    held, kept = arrays(one._learner), arrays(other._learner)
    assert held.keys() == kept.keys()
    for name, array in held.items():
        assert (array.dtype, array.shape) == (kept[name].dtype, kept[name].shape), name
        assert array.tobytes() == kept[name].tobytes(), name
    for name in READ_OFF:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("classes_", "feature_names_in_"):
        if hasattr(one, name):
            assert getattr(one, name).dtype.name == getattr(other, name).dtype.name
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


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
    case = NAMED[name]
    X, y = rows_of(case)
    X = change(X)
    model = case.make()
    model.learn(X[:HALF], y[:HALF], **case.first)
    back = through_file(model, path)
    assert model.predict(X).tobytes() == back.predict(X).tobytes()
    learns_on(model, back, X[HALF:], y[HALF:])


@pytest.mark.parametrize("name", [of_learner(name) for name in NAMED])
def test_round_trip(name, tmp_path):
    there_and_back(name, np.asarray, tmp_path / "model.onkel")


ONE_PER_LEARNER = (
    "perceptron-average-multiclass",
    "ogd-ball-binary",
    "norma-truncation-multiclass",
    "pa-pa2-regression",
    "duol-binary",
    "krls-regression",
    "budget-perceptron-multiclass",
    "forgetron-greedy-multiclass",
    "projectron++-both-binary",
    "bogd-nonuniform-multiclass",
    "bpa-nearest-binary",
    "bpa-projecting-multiclass",
    "bsgd-merging-lookup-binary",
    "bsgd-projection-regression",
    "spa-hard-budget-binary",
    "oskl-logistic-multiclass",
)


@pytest.mark.parametrize("name", [of_learner(name) for name in ONE_PER_LEARNER])
def test_round_trip_of_sparse_rows(name, tmp_path):
    there_and_back(name, sp.csr_matrix, tmp_path / "model.onkel")


@pytest.mark.parametrize("name", [of_learner(name) for name in ("rbp-multiclass", "bpa-nearest-binary", "krls-regression")])
def test_round_trip_in_single_precision(name, tmp_path):
    there_and_back(name, np.float32, tmp_path / "model.onkel")


@pytest.mark.parametrize("n", [127, 128, 129, 300])
def test_round_trip_of_a_growing_dictionary(n, tmp_path):
    """Every row is stored: a dictionary of 128 points is full and has to grow before the next."""
    X, y = rows_of(NAMED["ogd-plain-regression"], 500)
    model = onkel.KernelOGDRegressor(**RBF, epsilon=0.0)
    model.learn(X[:n], y[:n])
    assert model.n_support_ == n
    assert model._learner.f.count[PAUSE] == (n == 128)
    learns_on(model, through_file(model, tmp_path / "model.onkel"), X[n:], y[n:])


def small(n=40, **parameters):
    """A trained model of a few kilobytes, and data to go on with."""
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    return onkel.RBPClassifier(**{"budget": 8, "random_state": 0, **parameters}).fit(X[:n], y[:n]), X[n:], y[n:]


LABELS = {
    "whole": np.array([-7, 2**40]),
    "bytes": np.array([3, 200], np.uint8),
    "real": np.array([-1.0, 2.0**60]),
    "half": np.array([1, 2048], np.float16),
    "flags": np.array([False, True]),
    "words": np.array(["ja", "nein, \"nie\" \u00e9\U0001f600"]),
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


def test_budget_set_after_learning(tmp_path):
    """Less than the room that there is, more than the points that there are."""
    model, X, y = small(n=4, budget=30)
    assert model.n_support_ < 6
    model.set_params(budget=6)
    back = through_file(model, tmp_path / "model")
    learns_on(model, back, X, y)
    assert back.n_support_ == 6
    learns_on(model, through_file(model, tmp_path / "model"), X, y)


def test_parameters_that_cannot_change_are_refused_by_the_next_batch_only(tmp_path):
    model, X, y = small()
    model.set_params(gamma=0.1)
    back = through_file(model, tmp_path / "model")
    with pytest.raises(ValueError, match="gamma.* cannot change"):
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
        with pytest.raises(TypeError, match="takes an estimator of onkel, not .*from a Pipeline, save the step itself"):
            onkel.save(other, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_every_estimator_can_be_saved():
    assert set(ESTIMATORS.values()) == {case.estimator for case in CASES}


def test_loading_compiles_nothing(tmp_path):
    model, _, _ = small()
    onkel.save(model, tmp_path / "model")
    before = [len(getattr(function, "signatures", ())) for function in _jit._compiled]
    onkel.load(tmp_path / "model")
    assert [len(getattr(function, "signatures", ())) for function in _jit._compiled] == before


# ------------------------------------------------------------------ kernels of the user's own
OWN = '''
import sys
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
'''


def python(code, *arguments, **environment):
    """A fresh process; what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


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
