"""Models as files and files as bytes, for the tests of model files. Files are signed here from the format alone."""

import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import safetensors.numpy
from cases import CASES, rows_of

import onkel
from onkel.state import arrays

NAMED = {case.name: case for case in CASES}
HALF = 120  # rows that a case's model has learnt when it is saved

ONE_PER_LEARNER = (
    "perceptron-average-multiclass",
    "ogd-ball-binary",
    "norma-truncation-multiclass",
    "pa-pa2-regression",
    "duol-binary",
    "krls-regression",
    "dual-sgd-average-multiclass",
    "fogd-fastfood-regression",
    "mapped-nystroem-binary",
    "nogd-late-multiclass",
    "skegd-average-multiclass",
    "sketched-kons-multiclass",
    "con-kons-literal-multiclass",
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


def of_learner(name, *values):
    """A parameter set for a case, in the worker that compiles its learner."""
    stem = NAMED[name].estimator.__name__.removesuffix("Classifier").removesuffix("Regressor")
    return pytest.param(name, *values, marks=pytest.mark.xdist_group(stem))


def half_learnt(name, change=np.asarray):
    """(model, X, y): a case's model after half of its rows, and the other half."""
    case = NAMED[name]
    X, y = rows_of(case)
    X, model = change(X), case.make()
    model.learn(X[:HALF], y[:HALF], **case.first)
    return model, X[HALF:], y[HALF:]


def small(n=40, **parameters):
    """(model, X, y): a trained model of a few kilobytes, and rows to go on with."""
    X = np.random.default_rng(1).normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    return onkel.RBPClassifier(**{"budget": 8, "random_state": 0, **parameters}).fit(X[:n], y[:n]), X[n:], y[n:]


READ_OFF = (
    "n_seen_", "n_support_", "support_", "support_vectors_", "dual_coef_", "intercept_", "coef_", "random_weights_",
    "components_", "component_indices_", "normalization_", "eigenvalues_", "switched_",
)  # fmt: skip


def parameters(model):
    """By value, those of a feature map, too."""
    deep = {name: value for name, value in model.get_params().items() if not hasattr(value, "transform")}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in deep.items()}


def assert_same(one, other):
    """Two models with the same bits."""
    assert type(one) is type(other)
    assert one.__getstate__().keys() == other.__getstate__().keys()
    assert parameters(one) == parameters(other)
    assert one._setting == other._setting
    assert one._made_with == other._made_with
    held, kept = arrays(one._learner), arrays(other._learner)
    assert held.keys() == kept.keys()
    for name, array in held.items():
        assert (array.dtype, array.shape) == (kept[name].dtype, kept[name].shape), name
        assert array.tobytes() == kept[name].tobytes(), name
    for name in filter(lambda name: hasattr(one, name), READ_OFF):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("classes_", "feature_names_in_"):
        if hasattr(one, name):
            assert getattr(one, name).dtype.name == getattr(other, name).dtype.name
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


def python(code, *arguments, **environment):
    """A fresh process, which knows the tests; what it prints."""
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


# ------------------------------------------------------------------ as bytes
def as_file(model):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        onkel.save(model, path)
        return path.read_bytes()


@functools.cache
def small_file():
    return as_file(small()[0])


@functools.cache
def file_of(name):
    return as_file(half_learnt(name)[0])


def opened(data):
    """(header, what follows)"""
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), data[start:]


def closed(header, payload=b""):
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + payload


def text(document):
    return json.dumps(document, separators=(",", ":"))


def unpack(data):
    """(document, arrays)"""
    document = json.loads(opened(data)[0]["__metadata__"]["onkel"])
    return document, safetensors.numpy.load(data)


def pack(document, held):
    return safetensors.numpy.save(held, {"onkel": text(document)})


def sign(document, held):
    """A file as `save` would write it, with the digest of whatever is in it."""
    document = {name: value for name, value in document.items() if name != "digest"}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in sorted(held.items())]
    digest = hashlib.sha256(text([document, shapes]).encode())
    for _, array in sorted(held.items()):
        digest.update(np.ascontiguousarray(array))
    return pack({**document, "digest": digest.hexdigest()}, held)
