"""One model in one safetensors file: the learner's arrays and, in the header, a JSON document with all else.

Nothing in a file is ever run or unpickled. `load` believes a file only bit by bit: sizes before anything is allocated,
then parameters, digest and numbers before compiled code, which does not look where it reaches, sees any of them.
"""

import contextlib
import glob
import hashlib
import json
import math
import numbers
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import safetensors.numpy

from .. import kernels as own_kernels
from .._panels import padded, panel_shape
from .._version import __version__
from ..estimators import budget, exact, features, multiple, second_order, sketching, transformers
from ..estimators._online import OnlineClassifier, OnlineEstimator, Setting
from ..estimators._parameters import described, validate
from ..estimators._transformer import FeatureTransformer
from ..expansion import PAUSE, SCALE, SEEN, SIZE, UNLIMITED, Expansion
from ..factor import Factor
from ..features import MOST_DOUBLINGS, SPECTRA, Structured
from ..learners.adaraker import AdaRaker
from ..learners.bpa import BPANearest
from ..learners.bsgd import BSGDMerging
from ..learners.budget_perceptron import BudgetPerceptron
from ..learners.dual_sgd import DualSGD
from ..learners.featured import Featured
from ..learners.forgetron import UPDATES, Forgetron, slack_of
from ..learners.hedge import CHECKPOINTS, Course, MultiKernel
from ..learners.kons import KONS
from ..learners.kors import Kors
from ..learners.nogd import FULL, NOGD
from ..learners.pros_n_kons import ProsNKons
from ..learners.skegd import SkeGD
from ..leverage import Leverage
from ..linear import Linear
from ..newton import Newton
from ..nystroem import READY, Nystroem
from ..outputs import BINARY
from ..pool import Bank, Pool
from ..sketching import Sketch
from ..state import arrays

FORMAT = 1
MOST_HEADER = 100_000_000  # bytes, in every safetensors file
MOST_LABELS = 2**24  # bytes of classes_, whose width a few characters can declare
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
}
LABELS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}  # by kind of dtype
ESTIMATORS: dict[str, type[OnlineEstimator]] = {
    name: value
    for module in (exact, budget, features, sketching, second_order, multiple)
    for name, value in vars(module).items()
    if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
    if issubclass(value, OnlineEstimator) and hasattr(value, "partial_fit")
}
MAPS: dict[str, type[FeatureTransformer]] = {name: getattr(transformers, name) for name in transformers.__all__}
WIDE = {getattr(own_kernels, name.upper()) for name in SPECTRA}  # kernels with a width
MATRICES = ("gram.", "P")  # names of symmetric matrices, a row for every point, begin so
ENTRIES = (
    "format", "onkel", "class", "parameters", "learnt_with", "kernel", "classes", "n_features", "feature_names",
    "outputs", "task", "dtype", "key", "capacity", "n_seen", "n_support", "notes",
)  # fmt: skip


class ModelFileError(ValueError):
    """The file holds no model that this onkel can load."""


class _FlawError(Exception):
    """What is wrong with a file or a model, and what helps."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice or (
            "The file is damaged or was not written by onkel.save: take another copy, or save the model again."
        )


def _need(condition: Any, reason: str) -> None:
    if not condition:
        raise _FlawError(reason)


class Contents(NamedTuple):
    """A model, and all that its file says of it but the arrays."""

    model: Any
    document: dict[str, Any]


def save(model: Any, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file from which `load` resumes bit for bit.

    A file already there is replaced as a whole or, when anything fails, not at all. `notes`, fit for JSON, are kept
    with the model, such as the position in a stream: onkel.io.read_model gives them back as document["notes"].
    """
    name = type(model).__name__
    try:
        _text(notes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The notes are not fit for JSON: {error}.") from error
    if type(model) is not ESTIMATORS.get(name):
        hint = (
            "a feature map is saved as part of its learner, FeatureMapClassifier(map=...)"
            if hasattr(model, "_map_size")
            else "from a Pipeline, save the step itself"
        )
        raise TypeError(f"onkel.save takes a learner of onkel, not {name}; {hint}.")
    model._fitted()
    target = _target(path)
    try:
        document = {**_describe(model), "notes": notes}
        _, made, _ = _assemble(document, (type(model._setting.kernel),))  # nothing is written that could not be read
        _check_state(model._learner, made._most())
        _check_parts(model)
    except _FlawError as flaw:
        raise ValueError(f"This {name} cannot be saved: {flaw.reason}.") from flaw.__cause__
    held = arrays(model._learner)
    shapes = {name: (a.dtype, a.shape) for name, a in held.items()}
    digest = _digest(document, shapes)
    for array in sorted(held):
        digest.update(_little(held[array]))
    data = safetensors.numpy.save(held, {"onkel": _text({**document, "digest": digest.hexdigest()})})
    if int.from_bytes(data[:8], "little") > MOST_HEADER:
        raise ValueError(f"This {name} cannot be saved: its feature names and classes are too long for the header.")
    _write(target, data)


def load(path: str | os.PathLike[str], *, kernels: Iterable[type] = ()) -> Any:
    """The estimator that `save` wrote; `kernels`: the types of kernels of your own.

    Raises ModelFileError, a ValueError, for whatever is no sound model file. Runs nothing that is in the file.
    """
    return read_model(path, kernels=kernels).model


def read_model(path: str | os.PathLike[str], *, kernels: Iterable[type] = ()) -> Contents:
    """The same estimator, and the document of its file: class, parameters, counters, notes."""
    name = os.fsdecode(path)
    if not stat.S_ISREG(os.stat(name).st_mode):
        raise ModelFileError(f"{name} cannot be loaded: it is not a regular file. Pass the path of a model file.")
    with open(name, "rb") as file:
        try:
            return _read(file, tuple(kernels))
        except _FlawError as flaw:
            raise ModelFileError(f"{name} cannot be loaded: {flaw.reason}. {flaw.advice}") from flaw.__cause__


# ------------------------------------------------------------------------------------ the document


def _describe(model: Any) -> dict[str, Any]:
    """All of a fitted estimator but its arrays."""
    setting = model._setting
    if not isinstance(model.random_state, NoneType | numbers.Integral):
        raise _FlawError(
            f"random_state is a {type(model.random_state).__name__}, which no file can hold. Set it to None or a whole "
            "number first, with set_params: only fit uses it, what the model has learnt stays the same"
        )
    parameters = {name: _plain(value, name) for name, value in model.get_params(deep=False).items()}
    learnt_with = {name: _plain(value, name) for name, value in model._made_with.items()}
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    values = (
        FORMAT, __version__, type(model).__name__, parameters,
        {name: value for name, value in learnt_with.items() if value != parameters[name]},
        _plain(setting.kernel, "kernel"), None if classes is None else _labels(classes),
        setting.d, None if names is None else [str(name) for name in names],
        setting.outputs, [setting.task.kind, setting.task.epsilon], setting.dtype, setting.key,
        model._capacity(), model.n_seen_, getattr(model, "n_support_", 0),
    )  # fmt: skip
    return dict(zip(ENTRIES[:-1], values, strict=True))


def _assemble(document: dict[str, Any], kinds: tuple[type, ...]) -> tuple[Any, Any, Setting]:
    """From a document: the estimator but for its learner; the same with the parameters it learnt with; the setting."""
    _need(tuple(document) == ENTRIES, "its document lacks entries or has too many")
    name, given, changed = document["class"], document["parameters"], document["learnt_with"]
    cls = ESTIMATORS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise _FlawError(f"it names the class {str(name)[:50]!r}, which is no estimator of onkel {__version__}")
    _need(isinstance(given, dict) and isinstance(changed, dict), "its parameters are no table")
    _need(document["notes"] is None or isinstance(document["notes"], dict), "its notes are no table")
    _need(given.keys() == cls().get_params(deep=False).keys(), f"its parameters are not those of {name}")
    values = {key: _value(value, kinds) for key, value in given.items()}
    _need(changed.keys() <= cls(**values)._parameters().keys(), f"its parameters are not those of {name}")
    old = {key: _value(value, kinds) for key, value in changed.items()}
    _need(isinstance(values["random_state"], NoneType | int), "random_state is no whole number")
    model, made = cls(**values), cls(**{**values, **old})
    for one in (model, made):
        try:
            validate(one, one._choices)
            one._check()
        except (ValueError, OverflowError) as error:
            raise _FlawError(f"its parameters are not valid: {str(error)[:300]}") from error
    d, dtype, key = document["n_features"], document["dtype"], document["key"]
    _need(_whole(d, 1) and dtype in ("float32", "float64") and _whole(key, 0), "its setting is not valid")
    attributes = {"n_features_in_": d, **_classes(cls, document["classes"]), **_names(document["feature_names"], d)}
    for one in (model, made):
        one.__dict__.update(attributes)
    task, outputs = made._task(), made._outputs()
    _need(document["outputs"] == outputs and document["task"] == list(task), "its task is not that of its parameters")
    setting = Setting(_resolved(made, document["kernel"], kinds), task, d, outputs, dtype, key)
    model.__dict__.update(_setting=setting, _made_with=made._parameters())
    capacity, most = document["capacity"], made._most()
    fits = _whole(capacity, 1) and (capacity == most or (capacity < most and made._grows))
    _need(fits, "its capacity is not valid")  # only stored points grow in number
    return model, made, setting


def _plain(value: Any, name: str) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, FeatureTransformer):
        value = described(value)
    if isinstance(value, dict):
        held = value["parameters"].items()
        return {"map": value["map"], "parameters": {inner: _plain(x, inner) for inner, x in held}}
    if type(value) is tuple or (isinstance(value, list) and value and isinstance(value[0], own_kernels.Kernel)):
        return [_plain(x, name) for x in value]
    if isinstance(value, list):
        return {"points": value}
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        raise _FlawError(f"{name} is a {type(value).__name__}, which no file can hold")
    kind, fields = type(value), dict(zip(value._fields, value, strict=True))
    if kind.__name__ == "Kernel" and kind is not own_kernels.Kernel:
        raise _FlawError("its kernel's type is named Kernel, as onkel's own: rename it")
    for field, x in fields.items():
        if not isinstance(x, bool | int | float | np.int64):
            raise _FlawError(f"{kind.__name__}.{field} is a {type(x).__name__}: only plain numbers can be saved")
    return {"kernel": kind.__name__, "numbers": {field: _plain(x, field) for field, x in fields.items()}}


def _value(value: Any, kinds: tuple[type, ...]) -> Any:
    """What `_plain` was given; of several values a list."""
    if isinstance(value, list):
        kernels = len(value) > 0 and all(isinstance(x, dict) and x.keys() == {"kernel", "numbers"} for x in value)
        _need(kernels, "a parameter is no number, nor a list of kernels")
        return [_value(x, kinds) for x in value]
    if isinstance(value, dict) and value.keys() == {"kernel", "numbers"}:
        return _kernel(value["kernel"], value["numbers"], kinds)
    if isinstance(value, dict) and value.keys() == {"map", "parameters"}:
        return _transformer(value["map"], value["parameters"], kinds)
    if isinstance(value, dict) and value.keys() == {"points"}:
        return _points(value["points"])
    if isinstance(value, dict):
        _need(value.keys() == {"float"} and value["float"] in ("inf", "-inf"), "a parameter is no number")
        return float(value["float"])
    _need(isinstance(value, NoneType | bool | int | float | str), "a parameter is no number, word or kernel")
    _need(not isinstance(value, int) or abs(value) < 2**63, "a parameter is too large")
    return value


def _transformer(name: Any, given: Any, kinds: tuple[type, ...]) -> Any:
    """The feature map that is a parameter."""
    cls = MAPS.get(name) if isinstance(name, str) else None
    _need(cls is not None and isinstance(given, dict), "its feature map is none of onkel's")
    made = cast(type[FeatureTransformer], cls)
    _need(given.keys() == made().get_params(deep=False).keys(), "the parameters of its feature map are not valid")
    values = {key: _value(value, kinds) for key, value in given.items()}
    _need(not any(isinstance(value, FeatureTransformer) for value in values.values()), "its feature map is not valid")
    _need(isinstance(values["random_state"], NoneType | int), "random_state is no whole number")
    return made(**values)


def _points(rows: Any) -> np.ndarray:
    """Landmarks that are a parameter."""
    lists = isinstance(rows, list) and rows and all(isinstance(row, list) and row for row in rows)
    _need(lists and len({len(row) for row in rows}) == 1, "its landmarks are not valid")
    _need(all(_are(row, float) for row in rows), "its landmarks are not valid")
    return np.array(rows)


def _kernel(name: Any, values: Any, kinds: tuple[type, ...]) -> Any:
    _need(isinstance(name, str) and name.isidentifier() and isinstance(values, dict), "its kernel is not valid")
    kind: Any = {**{kind.__name__: kind for kind in kinds}, "Kernel": own_kernels.Kernel}.get(name)
    if kind is None:
        raise _FlawError(
            f"its kernel is a {name[:50]!r}, a type that onkel does not have",
            f"Pass the type of that name that the model was made with: load(path, kernels=[{name[:50]}]).",
        )
    plain = {field: _value(value, ()) for field, value in values.items()}
    numeric = all(isinstance(x, bool | int | float) for x in plain.values())
    _need(tuple(plain) == getattr(kind, "_fields", None) and numeric, f"its kernel's numbers are not those of {name}")
    try:
        kernel = kind(**plain)
    except Exception as error:
        raise _FlawError(f"its kernel's numbers are not valid: {error}") from error
    if kind is own_kernels.Kernel:
        positive = kernel.gamma > 0 or kernel.kind not in WIDE
        known = _whole(kernel.kind, 0) and kernel.kind <= own_kernels.MATERN52 and _whole(kernel.degree, 1)
        known = known and _whole(kernel.doublings, 0) and kernel.doublings <= MOST_DOUBLINGS
        sound = positive and math.isfinite(kernel.gamma) and math.isfinite(kernel.coef0)
        _need(known and sound, "its kernel's numbers are not valid")
    return kernel


def _resolved(made: Any, value: Any, kinds: tuple[type, ...]) -> Any:
    """The kernel that the parameters became with the first batch."""
    kernel = _value(value, kinds)
    kernel = tuple(kernel) if isinstance(kernel, list) else kernel
    try:
        expected = made._kernel(np.eye(2), np.array([1.0, -1.0]), 0)
    except (ValueError, ArithmeticError) as error:
        raise _FlawError(f"its parameters are not valid: {error}") from error
    named = getattr(getattr(made, "map", None) or made, "kernel", None)
    if isinstance(named, str) and type(kernel) is own_kernels.Kernel:
        expected = expected._replace(gamma=kernel.gamma, doublings=kernel.doublings)  # the width may come from data
    _need(type(kernel) is type(expected) and kernel == expected, "its kernel is not that of its parameters")
    return kernel


def _labels(classes: np.ndarray) -> dict[str, Any]:
    """The attribute classes_ as JSON has it."""
    kind, values = classes.dtype.kind, classes.tolist()
    name = f"U{classes.dtype.itemsize // 4}" if kind == "U" else classes.dtype.name
    if kind not in LABELS or not _are(values, LABELS[kind]) or (kind == "f" and not np.isfinite(classes).all()):
        raise _FlawError(f"its classes, of dtype {classes.dtype}, are not plain numbers or strings")
    return {"dtype": name, "values": values}


def _classes(cls: Any, described: Any) -> dict[str, Any]:
    """The attribute classes_ of a classifier."""
    if not issubclass(cls, OnlineClassifier):
        _need(described is None, "it has classes, but is no classifier")
        return {}
    _need(isinstance(described, dict) and described.keys() == {"dtype", "values"}, "its classes are not valid")
    name, values = described["dtype"], described["values"]
    known = isinstance(name, str) and re.fullmatch("bool|object|u?int(8|16|32|64)|float(16|32|64)|U[0-9]{1,8}", name)
    _need(known and isinstance(values, list), "its classes are not valid")
    dtype = np.dtype(name)
    _need(_are(values, LABELS[dtype.kind]), "its classes are not valid")
    _need(dtype.itemsize * len(values) <= MOST_LABELS, "its classes take too much room")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(values, dtype)
    except OverflowError as error:
        raise _FlawError("its classes do not fit their dtype") from error
    kept = classes.tolist() == values == sorted(set(values))
    _need(kept and len(values) >= 2, "its classes are not valid")
    _need(len(values) == 2 or cls._multiclass, "it has too many classes")
    return {"classes_": classes}


def _names(names: Any, d: int) -> dict[str, Any]:
    """The attribute feature_names_in_, if there is one."""
    if names is None:
        return {}
    _need(isinstance(names, list) and len(names) == d and _are(names, str), "its feature names are not valid")
    return {"feature_names_in_": np.array(names, dtype=object)}


def _whole(value: Any, least: int) -> bool:
    return type(value) is int and least <= value < 2**63


def _are(values: list[Any], kind: type) -> bool:
    return all(isinstance(value, kind) and (kind is not int or type(value) is int) for value in values)


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


# ---------------------------------------------------------------------------------------- the file


class _Array(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int  # position in the file


def _target(path: str | os.PathLike[str]) -> str:
    """The file that is to be written, behind any symbolic links."""
    target = os.path.realpath(os.fsdecode(path))
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise ValueError(f"{target} cannot be written: it is not a regular file. Pass the path of a file.")
    return target


def _write(path: str, data: bytes) -> None:
    temporary = _temporary(path, secrets.token_hex(8))
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            shutil.copymode(path, temporary)  # of the file that is replaced
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def tidy(path: str | os.PathLike[str]) -> None:
    """Remove what writers of this file left behind that were killed while they wrote; none may be at work."""
    for left in glob.glob(_temporary(glob.escape(_target(path)), "*")):
        with contextlib.suppress(OSError):
            os.unlink(left)


def _temporary(path: str, token: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[-200:]}-{token}.tmp")


def _read(file: BinaryIO, kinds: tuple[type, ...]) -> Contents:
    layout, document = _header(file)
    digest = document.pop("digest", None)
    model, made, setting = _assemble(document, kinds)
    learner = _room(made, setting, document["capacity"], layout)
    computed = _digest(document, {name: (a.dtype, a.shape) for name, a in layout.items()})
    for name, array in sorted(arrays(learner).items()):
        file.seek(layout[name].start)
        values = np.fromfile(file, layout[name].dtype, array.size)
        _need(values.size == array.size, "it ends too early")
        computed.update(values)
        array[...] = values.reshape(array.shape)
    _need(digest == computed.hexdigest(), "its digest does not match: something in it has changed")
    _check_state(learner, made._most())
    made._learner = model._learner = learner
    made._setting = setting
    _check_parts(made)
    counters = document["n_seen"], document["n_support"]
    _need(counters == (model.n_seen_, getattr(model, "n_support_", 0)), "its counters do not match")
    return Contents(model, document)


def _header(file: BinaryIO) -> tuple[dict[str, _Array], dict[str, Any]]:
    """The arrays' places and the document, from the first part of the file alone."""
    size, head = os.fstat(file.fileno()).st_size, file.read(8)
    length = int.from_bytes(head, "little")
    fits = len(head) == 8 and 2 <= length <= min(MOST_HEADER, size - 8)
    _need(fits, "it does not begin as a model file does, or ends too early")
    header = _json(file.read(length))
    told = header.pop("__metadata__", None)
    ours = isinstance(told, dict) and told.keys() == {"onkel"} and isinstance(told["onkel"], str)
    if not ours:
        raise _FlawError(
            "it is a safetensors file, but not a model of onkel's", "Load it with the program that wrote it."
        )
    document = _json(told["onkel"].encode("utf-8", "surrogatepass"))
    number = document.get("format")
    if _whole(number, FORMAT + 1):
        raise _FlawError(f"its format is {number}, this onkel {__version__} reads up to {FORMAT}", "Upgrade onkel.")
    _need(_whole(number, 1), "its format has no valid number")
    try:
        written = _text(document) == told["onkel"]
    except ValueError:  # 1e999
        written = False
    _need(written, "its document is not as onkel writes it")
    return _layout(header, 8 + length, size), document


def _layout(header: dict[str, Any], start: int, size: int) -> dict[str, _Array]:
    """Where every array lies: one after another, from `start` to the end of the file."""
    layout: dict[str, _Array] = {}
    places = []
    for name, entry in header.items():
        _need(isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}, "its header is not valid")
        shape, offsets, dtype = entry["shape"], entry["data_offsets"], entry["dtype"]
        _need(isinstance(dtype, str) and dtype in DTYPES, f"its array {name[:50]!r} has an unknown dtype")
        _need(
            isinstance(shape, list) and len(shape) <= 4 and all(_whole(n, 0) for n in shape), "its shapes are not valid"
        )
        pair = isinstance(offsets, list) and len(offsets) == 2 and all(_whole(n, 0) for n in offsets)
        _need(pair, "its offsets are not valid")
        _need(offsets[1] - offsets[0] == math.prod(shape) * DTYPES[dtype].itemsize, "shapes and offsets do not match")
        layout[name] = _Array(DTYPES[dtype], tuple(shape), start + offsets[0])
        places.append(offsets)
    end = 0
    for first, last in sorted(places):
        _need(first == end, "its arrays overlap or leave gaps")
        end = last
    _need(start + end == size, "it is longer or shorter than its header says")
    return layout


def _json(data: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        _need(len(table) == len(pairs), "a name occurs twice in its header")
        return table

    try:
        table = json.loads(data.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _FlawError("its header is not valid JSON") from error
    _need(isinstance(table, dict), "its header is no table")
    return dict(table)


def _room(made: Any, setting: Setting, capacity: int, layout: dict[str, _Array]) -> Any:
    """A fresh learner with arrays as in the file; allocates no more than the file holds."""
    expected = made._shapes(setting, capacity)
    _check_shapes(layout, expected)  # all that may become large
    small = arrays(made._make(setting._replace(d=1, outputs=min(setting.outputs, 2)), 1))
    _need(layout.keys() == small.keys(), "arrays are missing or unknown")
    panels, width = panel_shape(capacity, np.float64)
    _check_shapes(layout, {name: (panels, capacity, width) for name in _matrices(small)})
    learner = made._make(setting, capacity)
    for name, array in arrays(learner).items():
        same = layout[name].shape == array.shape and layout[name].dtype == array.dtype.newbyteorder("<")
        _need(same, f"its array {name!r} has not the shape or dtype that its document asks for")
    return learner


def _check_shapes(layout: dict[str, _Array], expected: dict[str, tuple[int, ...]]) -> None:
    _need(expected.keys() <= layout.keys(), "arrays are missing or unknown")
    for name, shape in expected.items():
        _need(layout[name].shape == shape, f"its array {name!r} has not the shape that its document asks for")


def _digest(document: dict[str, Any], shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> Any:
    """SHA-256 of all but the arrays' bytes, which follow in the order of their names."""
    listed = [[name, dtype.newbyteorder("<").str, list(shape)] for name, (dtype, shape) in sorted(shapes.items())]
    return hashlib.sha256(_text([document, listed]).encode())


def _little(array: np.ndarray) -> np.ndarray:
    """The array as it lies in a file."""
    return np.ascontiguousarray(array if sys.byteorder == "little" else array.byteswap())


# ---------------------------------------------------------------------------------------- the state


def _matrices(held: dict[str, np.ndarray]) -> list[str]:
    """Names of the symmetric matrices, a row for every point, laid out like the points."""
    return [name for name, array in held.items() if array.ndim == 3 and name.startswith(MATRICES)]


def _check_state(learner: Any, most: int) -> None:
    """Whether a learner that holds at most `most` points may have come to this state."""
    held = arrays(learner)
    for name, array in held.items():
        _need(array.dtype.kind != "f" or np.isfinite(array).all(), f"its array {name!r} has NaN or infinity")
    if isinstance(learner, MultiKernel):
        _check_several(learner, most)
    elif isinstance(learner, AdaRaker):
        _check_course(learner.f)
        f = learner.part.f
        sound = (f.count[:, SIZE] == f.coef.shape[2]).all() and (f.lazy[:, SCALE] > 0).all()
        _need(learner.f.count[PAUSE] == 0 and sound, "its counters are not valid")
    elif isinstance(learner.f, Expansion):
        _check_expansion(learner.f, most)
        _check_points(learner.f)
    else:
        _check_linear(learner.f)
    size = int(learner.f.count[SIZE])
    for name in _matrices(held):
        matrix = np.moveaxis(held[name], 1, 0).reshape(held[name].shape[1], -1)
        empty = not matrix[size:].any() and not matrix[:, size:].any()
        _need(empty, f"its array {name!r} has entries without a point")
        _need(name != "gram.inverse" or np.diagonal(matrix)[:size].all(), f"its array {name!r} has zeros to divide by")
    if rule := RULES.get(type(learner)):
        _need(rule(learner, size), f"the state of its {type(learner).__name__} is not valid")


def _check_expansion(f: Expansion, most: int) -> None:
    size, inserted, seen, pause = f.count.tolist()
    scale, total, rounds = f.lazy.tolist()
    capacity = len(f.born)
    _need(0 <= size <= min(capacity, f.budget), "it has more support vectors than its budget allows")
    _need(size <= inserted <= seen < UNLIMITED, "its counters are not valid")
    ready = capacity < most if pause else size < capacity or capacity == most
    _need(pause in (0, 1) and ready, "it has no room for a further point")
    _need(capacity == most or capacity < f.budget, "it has no room for a point above its budget")
    _need(scale > 0 and total >= 0 and 0 <= rounds <= seen and rounds == int(rounds), "its scale is not valid")
    _need(not f.coef[:, size:].any() and not f.past[:, size:].any(), "it has coefficients without a point")
    born = f.born[:size]
    _need(((born >= -1) & (born < seen)).all(), "its points are not from its stream")


def _check_linear(f: Linear) -> None:
    size, _, seen, pause = f.count.tolist()
    scale, total, rounds = f.lazy.tolist()
    _need(0 < size <= f.coef.shape[1] and 0 <= seen < UNLIMITED and pause == 0, "its counters are not valid")
    _need(scale > 0 and total >= 0 and 0 <= rounds <= seen and rounds == int(rounds), "its scale is not valid")
    _need((f.squares >= 0).all(), "its array 'f.squares' has negative numbers")
    _need(not f.coef[:, size:].any() and not f.past[:, size:].any(), "it has weights without a feature")


def _check_several(learner: MultiKernel, most: int) -> None:
    """What the learners of several kernels share, and how they are weighed."""
    _check_course(learner.f)
    hedge, (seen, pause) = learner.hedge, learner.f.count[SEEN:].tolist()
    marks = hedge.marks.tolist()
    _need(
        ((hedge.mistakes >= 0) & (hedge.mistakes <= seen)).all() and (hedge.cost >= 0).all(),
        "its weights are not valid",
    )
    _need(0 <= marks[0] <= CHECKPOINTS and marks[1] >= 1 and 0 <= marks[2] <= seen, "its checkpoints are not valid")
    if not isinstance(learner.base, Pool):
        _need(pause == 0, "its counters are not valid")
        return
    _check_pool(learner.base, _places(learner), most, pause)


def _check_course(f: Course) -> None:
    zeros, (seen, pause) = f.count[:SEEN], f.count[SEEN:].tolist()
    _need(not zeros.any() and 0 <= seen < UNLIMITED and pause in (0, 1), "its counters are not valid")
    scale, total, rounds = f.lazy.tolist()
    _need(scale == 1 and total == rounds == int(rounds) and 0 <= rounds <= seen, "its rounds are not valid")


def _places(learner: MultiKernel) -> np.ndarray:
    """Where in the pool the points of all kernels lie, one kernel after the other."""
    held = learner.part.f if isinstance(learner.part.f, Bank) else learner.part.map
    places = []
    for row, size in zip(held.place, held.count[:, SIZE]):
        _need(0 <= size <= held.place.shape[1], "it has more points than room for them")
        _need(len(np.unique(row[:size])) == size, "a kernel has a point twice")
        places.append(row[:size])
    return np.concatenate(places)


def _check_pool(base: Pool, places: np.ndarray, most: int, pause: int) -> None:
    (size, free), capacity = base.count.tolist(), len(base.users)
    _need(0 <= free <= size <= capacity and (pause == 0 or capacity < most), "its counters are not valid")
    _need(((places >= 0) & (places < size)).all(), "its kernels have points that are not there")
    users = np.bincount(places, minlength=capacity)
    _need((users == base.users).all(), "its array 'base.users' does not match its kernels' points")
    unused = np.flatnonzero(users[:size] == 0)
    _need(np.array_equal(np.sort(base.free[:free]), unused), "its array 'base.free' is not valid")
    _need(pause == 1 or free > 0 or size < capacity or capacity == most, "it has no room for a further point")
    _need(len(unused) == free, "its counters are not valid")
    _check_points(base)


def _check_parts(model: Any) -> None:
    """The learners of single kernels, as if each were alone."""
    for i in range(len(model._learner.hedge.cost) if isinstance(model._learner, MultiKernel) else 0):
        _check_state(model._alone(i), model._single(i)._most())


def _check_nystroem(map: Nystroem) -> None:
    size, rank, ready = map.count.tolist()
    capacity, most = len(map.born), map.matrix.shape[0] * map.matrix.shape[2]
    _need(0 <= size <= capacity, "it has more landmarks than room for them")
    _need((0 <= rank <= min(size, most) and ready == 1) or rank == ready == 0, "its rank is not valid")
    matrix = np.moveaxis(map.matrix, 1, 2).reshape(-1, capacity)
    _need(not matrix[rank:].any() and not matrix[:, size:].any(), "its array 'map.matrix' has entries without a point")
    _check_points(map)


def _check_points(f: Expansion | Nystroem | Sketch | Pool) -> None:
    """Whether `used` tells of all features that are not 0, and of none beyond the last: it says where to write."""
    capacity, d = len(f.used), f.points.shape[1]
    beyond = f.used[:, -1] >> np.uint64(d % 64) if d % 64 else f.used[:0]
    _need(not beyond.any(), "its array 'f.used' has features that its points do not have")
    bits = np.packbits(f.points != 0, axis=1, bitorder="little")
    found = np.moveaxis(bits, 1, 2).reshape(-1, bits.shape[1])
    told = _little(f.used).view(np.uint8)[:, : bits.shape[1]]
    _need(not (found[:capacity] & ~told).any(), "its array 'f.used' lacks features of its points")
    _need(not found[capacity:].any(), "its array 'f.points' has points beyond its capacity")


def _neighbours_exist(learner: BPANearest, size: int) -> bool:
    near = learner.near[:size]
    return bool(((near >= 0) & (near < size)).all())


def _labels_exist(learner: BudgetPerceptron, size: int) -> bool:
    labels = (-1, 1) if learner.task.kind == BINARY else range(learner.f.coef.shape[0])
    return bool(np.isin(learner.labels[:size], labels).all())


def _squares_finite(learner: BSGDMerging, size: int) -> bool:
    """The place in the look-up table comes from squared coefficients."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(4 * np.sum(learner.f.coef**2)))


def _slack_left(learner: Forgetron, size: int) -> bool:
    """The next update divides what removals may still cost."""
    after = learner.ledger.copy()
    after[UPDATES] += 1
    slack = getattr(slack_of, "py_func", slack_of)(after)
    return bool(learner.ledger[UPDATES] >= 0 and slack > 0)


def _all_features_used(learner: Featured, size: int) -> bool:
    if isinstance(learner.map, Nystroem):
        _check_nystroem(learner.map)
        _need(learner.map.count[READY], "its map has no matrix")
    return bool(size == learner.f.coef.shape[1]) and _order_exists(learner.map)


def _order_exists(map: Any) -> bool:
    """The places that Fastfood's features are taken from."""
    return not isinstance(map, Structured) or bool(((map.order >= 0) & (map.order < map.order.shape[2])).all())


def _halves_agree(learner: DualSGD, size: int) -> bool:
    """The linear half shares scale and rounds with the kernel half, and counts nothing of its own."""
    f, g = learner.f, learner.g
    counts = np.array_equal(g.count, [g.coef.shape[1], 0, 0, 0])
    return bool(counts and np.array_equal(f.lazy, g.lazy)) and _order_exists(learner.map)


def _stage_agrees(learner: NOGD, size: int) -> bool:
    """The features of a stage fill the slots in use; a first stage that should have ended would write beyond them."""
    map, f = learner.map, learner.f
    _check_nystroem(map)
    landmarks, rank, ready = map.count.tolist()
    stored = map.born[:landmarks]
    complete = landmarks == len(map.born)
    right_stage = complete if ready else not complete or learner.moment != FULL
    width = padded(max(rank, 1)) if ready else f.coef.shape[1]
    return bool(right_stage and size == width and ((stored >= 0) & (stored < f.count[SEEN])).all())


def _sketches_agree(learner: SkeGD, size: int) -> bool:
    """The features of a stage fill the slots in use; the sketches are of as many points as were counted."""
    map, sketch, f, clock = learner.map, learner.sketch, learner.f, int(learner.clock[0])
    _check_nystroem(map)
    landmarks, rank, ready = map.count.tolist()
    points, *unused, processed = sketch.count.tolist()
    capacity, fits = len(sketch.born), 0 <= points <= len(sketch.born)
    _need(fits and not any(unused) and capacity >= learner.budget, "it has more points than room for them")
    stored = sketch.born[:points]
    _need(((stored >= 0) & (stored < f.count[SEEN])).all(), "its points are not from its stream")
    _check_points(sketch)
    if ready:
        right_stage = landmarks == len(map.born) and learner.budget <= points == min(processed, sketch.most)
        return bool(right_stage and clock >= 0 and size == padded(max(rank, 1)))
    blank = landmarks == processed == clock == 0 and not sketch.pp.any() and not sketch.pm.any()
    return bool(blank and capacity == learner.budget and size == f.coef.shape[1])


def _sound_factor(factor: Factor, stored: int, capacity: int) -> bool:
    """Triangles with a positive diagonal, nothing beyond them, on points that exist."""
    outputs = len(factor.size)
    for r, n in enumerate(factor.size.tolist()):
        if not 0 <= n <= min(stored, capacity):
            return False
        rows, place = factor.rows[r::outputs], factor.place[r, :n]
        empty = not rows[n:].any() and not np.triu(rows, 1).any() and not factor.roots[r, n:].any()
        if not (empty and (np.diagonal(rows)[:n] > 0).all() and ((place >= 0) & (place < stored)).all()):
            return False
    return True


def _sound_leverage(leverage: Leverage, size: int) -> bool:
    """KORS's factor is of the whole dictionary."""
    factor = leverage.factor
    return _sound_factor(factor, size, factor.place.shape[1]) and factor.size.tolist() == [size]


def _dictionary_complete(learner: Kors, size: int) -> bool:
    return _sound_leverage(learner.leverage, size)


def _terms_agree(learner: KONS, size: int) -> bool:
    """A has a term for every point of the sample, which is all of them without one."""
    A, kept = learner.A, learner.leverage.factor
    if not _sound_factor(A, size, len(learner.f.born)):
        return False
    if learner.leverage.floor >= 1:
        return not kept.size.any() and not kept.rows.any()
    return _sound_factor(kept, size, len(learner.f.born)) and bool((kept.size == A.size).all())


def _sound_newton(newton: Newton, n: int) -> bool:
    """A positive diagonal and strict triangles, on the features in use."""
    outputs = len(newton.weights)
    empty = (
        not newton.weights[:, n:].any() and not newton.diagonal[:, n:].any() and not newton.columns[n * outputs :].any()
    )
    strict = all(not np.triu(newton.columns[r::outputs]).any() for r in range(outputs))
    return bool(empty and strict and (newton.diagonal[:, :n] > 0).all())


def _embedding_agrees(learner: ProsNKons, size: int) -> bool:
    span, (changes, changed) = learner.span, learner.count.tolist()
    sound = _sound_leverage(learner.leverage, size) and _sound_factor(span, size, len(learner.f.born))
    counted = changed in (0, 1) and int(span.size[0]) <= changes <= size
    return sound and counted and _sound_newton(learner.newton, int(span.size[0]))


RULES: dict[type, Callable[[Any, int], bool]] = {
    BPANearest: _neighbours_exist,
    BudgetPerceptron: _labels_exist,
    BSGDMerging: _squares_finite,
    DualSGD: _halves_agree,
    Featured: _all_features_used,
    Forgetron: _slack_left,
    KONS: _terms_agree,
    Kors: _dictionary_complete,
    NOGD: _stage_agrees,
    ProsNKons: _embedding_agrees,
    SkeGD: _sketches_agree,
}
