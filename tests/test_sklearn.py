"""Every exported estimator among scikit-learn's tools: its common checks, pipelines, searches, clones, start-up."""

import inspect
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from cases import CASES, rows_of
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import onkel
from onkel._jit import COMPILED
from onkel.kernels import rbf

KINDS = [
    kind for name, kind in sorted(vars(onkel).items()) if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
]
TRANSFORMERS = [kind for kind in KINDS if issubclass(kind, TransformerMixin)]
ESTIMATORS = [kind for kind in KINDS if kind not in (*TRANSFORMERS, onkel.KORS)]  # those that predict
WEIGHT_IS_A_STEP = (
    "a weight scales the step of one update; two updates on the same row are another thing, because the second sees "
    "what the first did and may find nothing to learn"
)


def inherent_failures(estimator):
    """Checks that no learner of its kind can pass, with the reason."""
    if isinstance(estimator, (onkel.ProsNKonsClassifier, onkel.BKonsClassifier)):
        return {}  # in so few rows they begin anew again and again, whatever the weights
    if isinstance(estimator, (onkel.KernelRLSRegressor, onkel.KORS, TransformerMixin)):
        return {}
    return {f"check_sample_weight_equivalence_on_{layout}_data": WEIGHT_IS_A_STEP for layout in ("dense", "sparse")}


@parametrize_with_checks([kind() for kind in KINDS], expected_failed_checks=inherent_failures)
def test_common_checks(estimator, check):
    check(estimator)


each_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def data_for(kind, n=90):
    task = "binary" if is_classifier(kind()) else "regression"
    return next(rows_of(case, n) for case in CASES if case.task == task)


def test_every_estimator_is_exported():
    assert {case.estimator for case in CASES} == set(ESTIMATORS)
    assert all(kind.__name__ in onkel.__all__ for kind in KINDS)


@each_estimator
def test_pipeline_and_cross_validation(kind):
    X, y = data_for(kind)
    model = make_pipeline(StandardScaler(), kind(random_state=0))
    scores = cross_val_score(model, X, y, cv=3)
    by_hand = []
    for fold in np.array_split(np.arange(len(y)), 3) if not is_classifier(kind()) else []:
        rest = np.setdiff1d(np.arange(len(y)), fold)
        scaler = StandardScaler().fit(X[rest])
        alone = kind(random_state=0).fit(scaler.transform(X[rest]), y[rest])
        by_hand.append(alone.score(scaler.transform(X[fold]), y[fold]))
    assert len(scores) == 3
    assert np.isfinite(scores).all()
    if by_hand:
        np.testing.assert_array_equal(scores, by_hand)


@each_estimator
def test_grid_search(kind):
    X, y = data_for(kind)
    name = next(name for name in ("gamma", "kernels", "eta") if name in kind().get_params())
    values = [[rbf(1e-6)], [rbf(0.15)]] if name == "kernels" else [1e-6, 0.15]
    search = GridSearchCV(kind(random_state=0), {name: values}, cv=3).fit(X, y)
    by_hand = [cross_val_score(kind(random_state=0, **{name: x}), X, y, cv=3).mean() for x in values]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert getattr(search.best_estimator_, "gamma_", search.best_params_[name]) == search.best_params_[name]
    expected = kind(random_state=0, **search.best_params_).fit(X, y).predict(X)
    np.testing.assert_array_equal(search.predict(X), expected)


@each_estimator
def test_clone_keeps_parameters_and_drops_the_model(kind):
    X, y = data_for(kind)
    model = kind(random_state=3, reg=0.2) if "reg" in kind().get_params() else kind(random_state=3, gamma=0.2)
    model.fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "n_features_in_")
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


@each_estimator
def test_feature_names(kind):
    X, y = data_for(kind)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = kind(random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(model.predict(frame), kind(random_state=0).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_documented_parameters(kind):
    """The constructor takes keywords only, stores them untouched, and the docstring tells of each."""
    parameters = inspect.signature(kind).parameters
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())
    for name, parameter in parameters.items():
        mark = object()
        assert getattr(kind(**{name: mark}), name) is mark
        assert f"\n{name} : default={parameter.default!r}" in kind.__doc__


@each_estimator
def test_wrong_parameters_are_named(kind):
    X, y = data_for(kind)
    wrong = {name: value for name, value in WRONG.items() if name in kind().get_params()}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"{kind.__name__}: {name} must be .*got"):
                kind(**{name: value}).fit(X, y)


WRONG = {
    "kernel": ["gauss", None, 3],
    "gamma": [0, -1.0, "wide", np.nan, None],
    "sigma": [0.0, "1"],
    "degree": [0, 1.5, True],
    "coef0": [np.inf, "0"],
    "n_passes": [0, 1.0],
    "shuffle": ["yes", 1],
    "budget": [0, 2.5, "many"],
    "loss": ["cubic"],
    "eta": [0.0, -1.0, np.inf, True],
    "reg": [-1e-9, np.nan],
    "C": [0.0],
    "epsilon": [-0.1],
    "strategy": ["best"],
    "maintenance": ["none"],
    "variant": ["pa3"],
    "average": [1],
    "beta": [0.0],
    "alpha": [0.0],
    "clip": [0.0, np.nan],
    "curvature": [-0.1, "convex", np.inf],
    "ridge": [0.0],
    "accuracy": [-0.1, 1.5],
    "min_probability": [0.0, 1.1],
}


@each_estimator
def test_random_state(kind):
    """A number repeats; so does a RandomState in the same state; several passes and shuffling work."""
    X, y = data_for(kind)

    def predict(random_state):
        return kind(random_state=random_state, shuffle=True, n_passes=2).fit(X, y).predict(X)

    np.testing.assert_array_equal(predict(5), predict(5))
    np.testing.assert_array_equal(predict(np.random.RandomState(5)), predict(np.random.RandomState(5)))
    model = kind(random_state=5, shuffle=True, n_passes=2).fit(X, y)
    assert model.n_seen_ == 2 * len(y)


# ------------------------------------------------------------------ starting up
def python(code, **environment):
    """What a fresh process prints; its warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


IMPORT = """
import sys, time
import onkel
assert "numba" not in sys.modules and "sklearn" not in sys.modules
import numba, sklearn.base, sklearn.utils.metaestimators, sklearn.utils.validation, scipy.sparse, scipy.special
start = time.process_time()
for name in onkel.__all__:
    getattr(onkel, name)
print(time.process_time() - start)
from onkel import _jit
print(sum(len(getattr(f, "signatures", ())) for f in _jit._compiled), len(_jit._compiled))
"""


def test_import_is_quick_and_compiles_nothing():
    seconds, signatures, functions = python(IMPORT)
    assert int(signatures) == 0
    assert int(functions) > 50 or not COMPILED
    assert float(seconds) < 1.0


LEARN = """
import time
import numpy as np, onkel
X = np.random.default_rng(0).normal(size=(50, 4))
model = onkel.KernelPerceptronClassifier()
start = time.process_time()
model.partial_fit(X, np.sign(X[:, 0]), classes=[-1, 1])
print(time.process_time() - start)
"""


@pytest.mark.skipif(not COMPILED, reason="about compiled code")
def test_second_process_starts_warm():
    python(LEARN)  # fills the cache on disk
    seconds = min(float(python(LEARN)[0]) for _ in range(2))
    print(f"first batch of a warm process: {seconds:.2f} s")
    assert seconds < 1.5  # about 0.3 on an idle machine; compiling takes several seconds


def test_thousand_small_batches():
    """The fixed cost of one call stays in the order of a tenth of a millisecond."""
    X, y = data_for(onkel.KernelPerceptronClassifier, 1)
    model = onkel.KernelPerceptronClassifier().partial_fit(X, y, classes=[-1, 1])
    start = time.perf_counter()
    for _ in range(300):
        model.partial_fit(X, y)
    assert (time.perf_counter() - start) / 300 < 0.02
