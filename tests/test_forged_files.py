"""Model files that are damaged or forged are refused before anything of theirs is run, allocated or compiled.

`sign` gives a forgery the digest it needs: all that remains is what `load` checks by itself.
"""

import json
import math
import os
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse as sp
from cases import BUDGET, rows_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_bytes import (
    HALF,
    NAMED,
    ONE_PER_LEARNER,
    as_file,
    assert_same,
    closed,
    file_of,
    of_learner,
    opened,
    pack,
    python,
    sign,
    small,
    small_file,
    unpack,
)

import onkel
from onkel.expansion import INSERTED, PAUSE, ROUNDS, SCALE, SEEN, SIZE, TOTAL, UNLIMITED
from onkel.io.model_files import ENTRIES, ESTIMATORS
from onkel.learners.forgetron import DAMAGE, UPDATES
from onkel.nystroem import RANK, READY
from onkel.sketching import PROCESSED


@pytest.fixture
def load(tmp_path):
    """`onkel.load` of bytes."""

    def load_bytes(data):
        (tmp_path / "model").write_bytes(data)
        return onkel.load(tmp_path / "model")

    return load_bytes


@pytest.fixture
def refuses(load):
    """Whether bytes are refused, for a reason."""

    def refuses_bytes(data, reason=""):
        with pytest.raises(onkel.ModelFileError, match=r"model cannot be loaded: .*" + reason) as caught:
            load(data)
        return len(str(caught.value)) < 1000

    return refuses_bytes


def test_the_format():
    """What the digest is of; and the file is one that the safetensors library reads."""
    document, held = unpack(small_file())
    assert tuple(document) == (*ENTRIES, "digest")
    assert document["class"] == "RBPClassifier"
    assert held["f.points"].shape == (1, 3, 8)
    assert sign(document, held) == small_file()


def test_truncated_files(refuses):
    data = small_file()
    header, payload = opened(data)
    start = len(data) - len(payload)
    arrays = header.keys() - {"__metadata__"}
    edges = [0, 8, start, *(start + end for name in arrays for end in header[name]["data_offsets"])]
    lengths = {edge + step for edge in edges for step in (-1, 0, 1)} | set(range(0, len(data), 97))
    for length in sorted(lengths & set(range(len(data)))):
        assert refuses(data[:length], "(ends too early|longer or shorter|not valid JSON)")
    for tail in (b"\0", b" ", bytes(8), data):
        assert refuses(data + tail, "longer or shorter than its header says")


def test_flipped_bits(refuses):
    data = small_file()
    start = len(data) - len(opened(data)[1])
    for place in [*range(start), *range(start, len(data), 7)]:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        assert refuses(bytes(changed))


def test_arrays_that_change_places(refuses):
    document, held = unpack(small_file())
    assert not np.array_equal(held["f.norms"], held["f.diag"])
    held["f.norms"], held["f.diag"] = held["f.diag"], held["f.norms"]
    assert refuses(pack(document, held), "its digest does not match")
    header, payload = opened(small_file())
    one, other = header["f.norms"], header["f.diag"]
    one["data_offsets"], other["data_offsets"] = other["data_offsets"], one["data_offsets"]
    assert refuses(closed(header, payload), "its digest does not match")


@pytest.mark.parametrize("length", [0, 1, 2, 1000, 10**8, 10**8 + 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
def test_length_of_the_header(length, refuses):
    data = length.to_bytes(8, "little") + small_file()[8:]
    assert refuses(data, "(does not begin as a model file does|not valid JSON|is no table|longer or shorter)")


OFFSETS = [
    ([0, 2**40], "shapes and offsets do not match"),
    ([2**62, 2**62 + 8], "shapes and offsets do not match"),
    ([-256, 0], "offsets are not valid"),
    ([0.0, 256.0], "offsets are not valid"),
    ([0], "offsets are not valid"),
    ("0:256", "offsets are not valid"),
    ([8, 264], "overlap or leave gaps"),
    ([256, 512], "overlap or leave gaps"),
]


@pytest.mark.parametrize(("offsets", "reason"), OFFSETS)
def test_offsets(offsets, reason, refuses):
    header, payload = opened(small_file())
    assert header["f.norms"]["data_offsets"] not in [offsets for offsets, _ in OFFSETS]
    header["f.norms"]["data_offsets"] = offsets
    assert refuses(closed(header, payload), reason)


def told(document, arrays=""):
    """A header with this text as its document."""
    return f'{{"__metadata__":{{"onkel":{json.dumps(document)}}}{arrays}}}'


def listed(**changes):
    """A header with one array."""
    entry = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0], **changes}
    return told('{"format":1}', f',"a":{json.dumps(entry)}')


DEEP = 100_000
HEADERS = {
    "[]": "is no table",
    "33": "is no table",
    "{}": "not a model of onkel's",
    '{"__metadata__":[]}': "not a model of onkel's",
    '{"__metadata__":{"onkel":"{}","more":""}}': "not a model of onkel's",
    '{"__metadata__":{"onkel":3}}': "not a model of onkel's",
    '{"__metadata__":{"onkel":"{}"},"__metadata__":{"onkel":"{}"}}': "occurs twice",
    told(""): "not valid JSON",
    told("[]"): "is no table",
    told("{}"): "its format has no valid number",
    told("\ud800"): "not valid JSON",
    told('{"format":1,"format":1}'): "occurs twice",
    told('{"format":1,"x":{"a":1,"b":2,"a":1}}'): "occurs twice",
    told('{"format":1}'): "lacks entries or has too many",
    told('{"format":1} '): "not as onkel writes it",
    told('{"format":1,"x":NaN}'): "not as onkel writes it",
    told('{"format":1,"x":1e999}'): "not as onkel writes it",
    told('{"format":1,"x":"\\u0061"}'): "not as onkel writes it",
    told('{"format":1' + "0" * 5000 + "}"): "not valid JSON",
    told('{"format":1}', ',"a":3'): "its header is not valid",
    told('{"format":1}', ',"a":{"dtype":"F64","shape":[0]}'): "its header is not valid",
    listed(more=1): "its header is not valid",
    listed(dtype="F16"): "unknown dtype",
    listed(dtype=[]): "unknown dtype",
    listed(shape=[-1]): "shapes are not valid",
    listed(shape=[0.0]): "shapes are not valid",
    listed(shape=[float("nan")]): "shapes are not valid",
    listed(shape=[True]): "shapes are not valid",
    listed(shape=[2**63]): "shapes are not valid",
    listed(shape=[0, 0, 0, 0, 0]): "shapes are not valid",
    listed(shape=0): "shapes are not valid",
    "[" * DEEP: "not valid JSON",
    '{"a":' * DEEP: "not valid JSON",
    "[" * DEEP + "]" * DEEP: "not valid JSON",
    told("[" * DEEP + "]" * DEEP): "not valid JSON",
    "\ufeff{}": "not valid JSON",
    "{} {}": "not valid JSON",
}


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header[:60])
def test_headers(header, refuses):
    assert refuses(closed(header.encode("utf-8", "surrogatepass")), HEADERS[header])


def test_headers_that_are_no_text(refuses):
    assert refuses(closed(b'{"\xff":3}'), "not valid JSON")
    assert refuses(closed(b'{"__metadata__":{"onkel":"\xed\xa0\x80"}}'), "not valid JSON")


class Trap:
    """What unpickling runs."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_foreign_files(refuses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data in (b"", b"\0", pickle.dumps(Trap()), pickle.dumps(small()[0]), b"0.5 1:3.0\n" * 100, bytes(1000)):
        assert refuses(data, "(does not begin as a model file does|not valid JSON)")
    assert b"mkdir" in pickle.dumps(Trap())
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]
    assert refuses(safetensors.numpy.save({"weight": np.zeros(3)}), "not a model of onkel's. Load it with the program")
    assert refuses(safetensors.numpy.save({"weight": np.zeros(3)}, {"format": "pt"}), "not a model of onkel's")


# ------------------------------------------------------------------ documents that do not fit, correctly signed
KERNEL = {"kind": 1, "gamma": 0.5, "coef0": 0.0, "degree": 1, "doublings": 0}
WRONG = {
    "notes": {"its notes are no table": [[], "a", 3, True]},
    "format": {
        "Upgrade onkel": [2, 10**9],
        "its format has no valid number": [0, -1, "1", 1.0, True, None, [], 2**63],
    },
    "class": {
        "is no estimator of onkel": ["Nothing", "KernelEstimator", "os.system", 3, None, ["SPARegressor"], "a" * 10**6],
    },
    "parameters": {"its parameters are (no table|not those)": [None, [], {}, {"budget": 8}]},
    "parameters.budget": {
        "budget must be": [0, -1, 1.5, "8", True, None, {"float": "inf"}, {"kernel": "Kernel", "numbers": KERNEL}],
        "a parameter is too large": [2**63, -(2**63), 10**400],
        "a parameter is no number": [[8], [], {}, {"float": "nan"}, {"float": "1"}, {"float": []}],
        "no room for a further point": [9, 2**62],
        "its capacity is not valid": [7],
    },
    "parameters.eta": {"eta must be": [0, -0.5, "1", None, False, {"float": "inf"}, "x" * 10**6]},
    "parameters.random_state": {"random_state is no whole number": [0.5, "0", {"float": "inf"}]},
    "parameters.sigma": {
        "sigma must be": [0, "wide"],
        "its parameters are not valid": [1e200, 1e-200],
    },
    "parameters.degree": {"degree must be": [0, 1.5]},
    "parameters.kernel": {
        "kernel must be": ["gauss", 3, None],
        "its kernel is not that of its parameters": ["linear", "poly", "laplacian"],
        "its kernel's numbers are not those": [{"kernel": "Kernel", "numbers": {}}],
        "its kernel's numbers are not valid": [{"kernel": "Kernel", "numbers": {**KERNEL, "gamma": 0}}],
        "is a 'popen', a type that onkel does not have": [{"kernel": "popen", "numbers": {}}],
        "its kernel is not valid": [{"kernel": name, "numbers": {}} for name in ("a b", "", 3)],
    },
    "learnt_with": {
        "its parameters are (no table|not those)": [None, [], {"nothing": 1}, {"random_state": 3}],
        "budget must be": [{"budget": 0}],
        "no room for a further point": [{"budget": 30}],
        "its capacity is not valid": [{"budget": 3}],
        "its kernel is not that": [{"kernel": "linear"}, {"kernel": "poly", "degree": 2}],
    },
    "kernel": {
        "a parameter is no number|not valid": [[1, 0.5, 0.0, 1], {}, {"kernel": "Kernel"}],
        "its kernel's numbers are not those": [{"kernel": "Kernel", "numbers": dict(reversed(KERNEL.items()))}],
        "its kernel's numbers are not valid": [
            {"kernel": "Kernel", "numbers": {**KERNEL, **change}}
            for change in (
                {"kind": 9}, {"kind": -1}, {"kind": 1.0}, {"kind": True}, {"gamma": 0.0}, {"gamma": -1.0},
                {"degree": 0}, {"degree": 1.0}, {"gamma": {"float": "inf"}}, {"coef0": {"float": "-inf"}},
            )
        ],
        "its kernel is not that of its parameters": [
            {"kernel": "Kernel", "numbers": {**KERNEL, **change}}
            for change in ({"kind": 0}, {"kind": 3}, {"degree": 2}, {"degree": 2**62}, {"coef0": 1.0})
        ],
        "numbers are not those": [
            {"kernel": "Kernel", "numbers": {**KERNEL, "gamma": gamma}} for gamma in ("0.5", None)
        ],
    },
    "classes": {
        "its classes are not valid": [
            None, [-1, 1], {}, {"dtype": "int64"}, {"dtype": "int64", "values": 3},
            *({"dtype": dtype, "values": [-1, 1]} for dtype in (
                "S3", "U0", "datetime64[s]", "float128", ">i4", "i8", "bool", "float64", "object", "U3", 3, None,
                "int64,int64", "int64\n",
            )),
            *({"dtype": "int64", "values": values} for values in (
                [], [1], [1, -1], [1, 1], [True, 2], [1.0, 2.0], ["a", "b"], [[1], [2]], [None, 1],
            )),
            {"dtype": "U1", "values": ["aa", "b"]},
            {"dtype": "U2", "values": ["a", "a\0"]},
            {"dtype": "object", "values": ["b", "a"]},
            {"dtype": "float64", "values": [-0.0, 0.0]},
            {"dtype": "float16", "values": [0.0, 1e300]},
        ],
        "do not fit their dtype": [{"dtype": "int8", "values": [1, 200]}, {"dtype": "uint8", "values": [-1, 1]}],
        "take too much room": [{"dtype": f"U{n}", "values": ["a", "b"]} for n in (99_999_999, 2**22)],
        "its task is not that": [{"dtype": "int64", "values": [1, 2, 3]}],
    },
    "n_features": {
        "its setting is not valid": [0, -1, 3.0, True, None, "3", 2**63],
        "not the shape": [1, 2, 4, 2**40, 2**62],
    },
    "feature_names": {
        "feature names are not valid": [["a"], [1, 2, 3], "abc", ["a", "b", None], [], {"a": 1, "b": 2, "c": 3}],
    },
    "outputs": {"its task is not that": [0, 2, "1", None, 2**40]},
    "task": {"its task is not that": [[1, 0.0], [3, 0.0], [0, 1.0], [0], 0, None]},
    "dtype": {"its setting is not valid": ["float16", "object", None, 3, "U1"], "not the (shape|dtype)": ["float32"]},
    "key": {"its setting is not valid": [-1, 2**63, 1.5, None, True]},
    "capacity": {
        "its capacity is not valid": [0, -1, 8.0, True, None, 9, 2**40, 2**62, 2**63],
        "not the shape": [1, 7],
    },
    "n_seen": {"its counters do not match": [0, 39, 2**63, None, "40"]},
    "n_support": {"its counters do not match": [0, 7, 9, -1]},
}  # fmt: skip


@pytest.mark.parametrize("entry", WRONG)
def test_documents_that_do_not_fit(entry, refuses):
    document, held = unpack(small_file())
    assert "parameters.kernel" in WRONG
    table, name = (document["parameters"], entry.partition(".")[2]) if "." in entry else (document, entry)
    right = table[name]
    for reason, values in WRONG[entry].items():
        for value in values:
            table[name] = value
            assert refuses(sign(document, held), reason), value
    table[name] = right
    assert sign(document, held) == small_file()


def test_documents_with_other_entries(refuses):
    document, held = unpack(small_file())
    assert refuses(sign({**document, "more": 1}, held), "lacks entries or has too many")
    assert refuses(sign(dict(reversed(document.items())), held), "lacks entries or has too many")
    for name in ENTRIES:
        fewer = {key: value for key, value in document.items() if key != name}
        assert refuses(sign(fewer, held), "lacks entries or has too many|its format")
    for name in document["parameters"]:
        fewer = {key: value for key, value in document["parameters"].items() if key != name}
        assert refuses(sign({**document, "parameters": fewer}, held), "its parameters are not those")
    for digest in (None, "", "0" * 64, document["digest"].upper(), 3, [document["digest"]]):
        assert refuses(pack({**document, "digest": digest}, held), "its digest does not match")
    assert refuses(pack({**document, "onkel": "0.0.9"}, held), "its digest does not match")


def test_classes_change_places(load, refuses):
    """Signed, a file may hold another learner of the same form, and nothing else."""
    document, held = unpack(small_file())
    alike = set()
    for name in ESTIMATORS.keys() - {"RBPClassifier"}:
        changed = {**document, "class": name}
        assert refuses(pack(changed, held))
        try:
            model = load(sign(changed, held))
        except onkel.ModelFileError:
            continue
        alike.add(type(model).__name__)
    assert alike == {"StoptronClassifier"}
    assert load(sign({**document, "class": "StoptronClassifier"}, held)).learn(*small()[1:]).shape == (20,)


ROWS = {"points": [[0.0] * 7] * BUDGET}
MAPS = {
    "its feature map is none of onkel's": [
        {"map": name, "parameters": {}} for name in ("os.system", "FOGDClassifier", 3, None, ["RandomFourierFeatures"])
    ],
    "parameters of its feature map are not valid": [
        {"map": "OnlineNystroem", "parameters": {}},
        {"map": "RandomFourierFeatures", "parameters": {"n_components": 3}},
    ],
    "map must be": [3, "RandomFourierFeatures", True],
    "a parameter is no number": [[], {}, {"map": "OnlineNystroem"}],
    "its kernel is not that of its parameters": [None],
}
INNER = {
    "rank": {"OnlineNystroem: rank must be": [0, 1.5, "6"], "rank must be at most 13": [14], "not the shape": [9]},
    "budget": {"budget must be": [0, True]},
    "gamma": {"gamma must be": [0, None, "wide"], "its parameters are not valid": ["alignment"]},
    "kernel": {"kernel must be": ["gauss", 3], "its kernel is not that of its parameters": ["linear", "matern52"]},
    "random_state": {"random_state is no whole number": [0.5, "0"]},
    "landmarks": {
        "landmarks must be": ["best", 3, None],
        "its landmarks are not valid": [
            {"points": rows} for rows in ([], [[]], 3, [3], [[0.0], [0.0, 1.0]], [["a"]], [[None]], [[0.0, True]])
        ],
        "rank must be at most": [{"points": [[0.0] * 7]}],
        "its capacity is not valid": [{"points": [[0.0] * 7] * 20}],
        "its feature map is not valid": [
            {"map": "RandomFourierFeatures", "parameters": onkel.RandomFourierFeatures().get_params()}
        ],
    },
}


@pytest.mark.xdist_group("FeatureMap")
def test_feature_maps_that_do_not_fit(refuses, load):
    document, held = unpack(file_of("mapped-nystroem-binary"))
    right = document["parameters"]["map"]
    for reason, values in MAPS.items():
        for value in values:
            document["parameters"]["map"] = value
            assert refuses(sign(document, held), reason), value
    document["parameters"]["map"] = right
    for name, wrong in INNER.items():
        for reason, values in wrong.items():
            for value in values:
                document["parameters"]["map"] = {**right, "parameters": {**right["parameters"], name: value}}
                assert refuses(sign(document, held), reason), value
    for huge in ({"n_components": 2**40}, {"n_components": 2**62, "features": "fastfood"}):
        inner = {**onkel.RandomFourierFeatures(gamma=0.15).get_params(), **huge}
        document["parameters"]["map"] = {"map": "RandomFourierFeatures", "parameters": inner}
        assert refuses(sign(document, held), "its capacity is not valid|arrays are missing")
        assert refuses(sign({**document, "capacity": huge["n_components"]}, held), "arrays are missing")
    document["parameters"]["map"] = {**right, "parameters": {**right["parameters"], "landmarks": ROWS}}
    assert load(sign(document, held)).n_seen_ == HALF  # it says what a new fit would do, not what was learnt


@pytest.mark.xdist_group("DualSGD")
def test_frequencies_that_a_file_only_declares(refuses):
    document, held = unpack(file_of("dual-sgd-binary"))
    for kind in ("plain", "structured"):
        document["parameters"] |= {"n_components": 2**50, "features": kind}
        assert refuses(sign(document, held), "arrays are missing|not the shape")
        assert most_allocated(refuses, sign(document, held)) < 500_000


# ------------------------------------------------------------------ arrays that do not fit, correctly signed
@pytest.mark.parametrize("name", [of_learner(name) for name in ONE_PER_LEARNER])
def test_shapes_and_dtypes(name, refuses):
    document, held = unpack(file_of(name))
    assert refuses(sign(document, {**held, "more": np.zeros(1)}), "arrays are missing or unknown")
    for key, array in held.items():
        others = {k: a for k, a in held.items() if k != key}
        assert refuses(sign(document, others), "arrays are missing or unknown")
        wrong = [array.ravel()[:, None], array[:0], np.concatenate([array, array]), array[None, None], array.T]
        wrong += [np.zeros(array.shape, dtype) for dtype in ("<f8", "<f4", "<i8", "<u8", "<i4", "<f2")]
        for other in wrong:
            if other.shape != array.shape or other.dtype != array.dtype:
                assert refuses(sign(document, {**others, key: other}), "shape|dtype")


@pytest.mark.parametrize("name", [of_learner(name) for name in ONE_PER_LEARNER])
def test_numbers_are_finite(name, refuses):
    document, held = unpack(file_of(name))
    for key, array in held.items():
        if array.dtype.kind != "f":
            continue
        for place, value in ((0, np.nan), (-1, np.inf), (array.size // 2, -np.inf)):
            if array.size:
                changed = array.copy()
                changed.flat[place] = value
                assert refuses(sign(document, {**held, key: changed}), f"array '{key}' has NaN or infinity")


def recount(document, held):
    """The document's counters as the arrays have them."""
    document["n_seen"] = int(held["f.count"][SEEN])
    document["n_support"] = int(held["f.count"][SIZE]) if "f.points" in held else 0


def put(key, where, value):
    """A change of one entry, or of one per support vector."""

    def change(document, held):
        held[key][where] = value

    change.words = f"{key}{where}={value}".replace(" ", "")
    return change


ROOM, COUNTERS, SCALES = "no room for a further point", "its counters are not valid", "its scale is not valid"
MANY, NO_POINT = "more support vectors than its budget", "coefficients without a point"
STREAM, BITS = "not from its stream", "'f.used'"
STATES = [
    ("rbp-binary", put("f.count", SIZE, -1), MANY),
    ("rbp-binary", put("f.count", SIZE, BUDGET + 1), MANY),
    ("rbp-binary", put("f.count", SIZE, 2**62), MANY),
    ("rbp-binary", put("f.count", SIZE, BUDGET - 1), NO_POINT),
    ("rbp-binary", put("f.count", INSERTED, BUDGET - 1), COUNTERS),
    ("rbp-binary", put("f.count", INSERTED, HALF + 1), COUNTERS),
    ("rbp-binary", put("f.count", SEEN, 1), COUNTERS),
    ("rbp-binary", put("f.count", SEEN, -1), COUNTERS),
    ("rbp-binary", put("f.count", SEEN, UNLIMITED), COUNTERS),
    ("rbp-binary", put("f.count", PAUSE, 1), ROOM),
    ("rbp-binary", put("f.count", PAUSE, -1), ROOM),
    ("ogd-plain-binary", put("f.count", PAUSE, 2), ROOM),
    ("rbp-binary", put("f.lazy", SCALE, 0.0), SCALES),
    ("rbp-binary", put("f.lazy", SCALE, -1.0), SCALES),
    ("rbp-binary", put("f.lazy", TOTAL, -1.0), SCALES),
    ("rbp-binary", put("f.lazy", ROUNDS, -1.0), SCALES),
    ("rbp-binary", put("f.lazy", ROUNDS, 0.5), SCALES),
    ("rbp-binary", put("f.lazy", ROUNDS, HALF + 1.0), SCALES),
    ("rbp-binary", put("f.coef", (0, BUDGET), 1.0), NO_POINT),
    ("rbp-multiclass", put("f.coef", (3, -1), 1e-300), NO_POINT),
    ("perceptron-average-binary", put("f.past", (0, -1), 1.0), NO_POINT),
    ("rbp-binary", put("f.born", 0, -2), STREAM),
    ("rbp-binary", put("f.born", BUDGET - 1, HALF), STREAM),
    ("rbp-binary", put("f.born", 3, -(2**63)), STREAM),
    ("rbp-binary", put("f.used", (0, 0), 1 << 7), BITS),
    ("rbp-binary", put("f.used", (BUDGET - 1, 0), 2**64 - 1), BITS),
    ("rbp-binary", put("f.used", (3, 0), 0), BITS),
    ("ogd-plain-binary", put("f.used", (127, 0), 1 << 63), BITS),  # of a slot that is free
    ("ogd-plain-binary", put("f.points", (0, 3, 127), 1.0), BITS),
    ("rbp-binary", put("f.points", (0, 6, BUDGET), 1.0), "points beyond its capacity"),
    ("budget-perceptron-binary", put("labels", 0, 0.0), "state of its BudgetPerceptron"),
    ("budget-perceptron-multiclass", put("labels", 0, 4.0), "state of its BudgetPerceptron"),
    ("budget-perceptron-multiclass", put("labels", BUDGET - 1, -1.0), "state of its BudgetPerceptron"),
    ("budget-perceptron-multiclass", put("labels", 1, 1.5), "state of its BudgetPerceptron"),
    ("budget-perceptron-multiclass", put("labels", 1, 1e300), "state of its BudgetPerceptron"),
    ("bpa-nearest-binary", put("near", 0, BUDGET), "state of its BPANearest"),
    ("bpa-nearest-binary", put("near", BUDGET - 1, -1), "state of its BPANearest"),
    ("bpa-nearest-binary", put("near", 3, 2**63 - 1), "state of its BPANearest"),
    ("forgetron-greedy-binary", put("ledger", UPDATES, -1.0), "state of its Forgetron"),
    ("forgetron-selftuned-binary", put("ledger", DAMAGE, 1e6), "state of its Forgetron"),
    ("bsgd-merging-lookup-binary", put("f.coef", (0, 0), 1e200), "state of its BSGDMerging"),
    ("fogd-hinge-binary", put("f.count", SIZE, 32), "weights without a feature"),
    ("fogd-hinge-binary", put("f.count", SIZE, 2**40), COUNTERS),
    *[("fogd-fastfood-regression", put("map.order", (0, 0, 3), place), "its Featured") for place in (64, -1, 2**62)],
    ("dual-sgd-binary", put("g.count", SIZE, 32), "state of its DualSGD"),
    ("dual-sgd-binary", put("g.count", SIZE, 2**40), "state of its DualSGD"),
    ("dual-sgd-binary", put("g.count", PAUSE, 1), "state of its DualSGD"),
    ("dual-sgd-binary", put("g.lazy", SCALE, 0.0), "state of its DualSGD"),
    ("dual-sgd-average-binary", put("g.lazy", TOTAL, 1e9), "state of its DualSGD"),
    ("dual-sgd-binary", put("f.count", SIZE, BUDGET + 1), MANY),
    ("mapped-nystroem-binary", put("map.count", SIZE, BUDGET + 1), "more landmarks than room"),
    ("mapped-nystroem-binary", put("map.count", RANK, 99), "its rank is not valid"),
    ("mapped-nystroem-binary", put("map.count", READY, 0), "its rank is not valid"),
    ("mapped-nystroem-binary", put("map.used", (0, 0), 1 << 7), BITS),
    ("mapped-rows-binary", put("f.count", SIZE, 31), "state of its Featured"),
    ("nogd-binary", put("f.count", SIZE, 0), COUNTERS),
    ("nogd-binary", put("f.count", SIZE, 31), "state of its NOGD"),
    ("nogd-binary", put("f.count", PAUSE, 2), COUNTERS),
    ("nogd-binary", put("map.count", SIZE, BUDGET + 1), "more landmarks than room"),
    ("nogd-binary", put("map.count", SIZE, BUDGET - 1), "entries without a point"),
    ("nogd-binary", put("map.count", RANK, 9), "its rank is not valid"),
    ("nogd-binary", put("map.count", RANK, -1), "its rank is not valid"),
    ("nogd-binary", put("map.count", READY, 0), "its rank is not valid"),
    ("nogd-binary", put("map.count", slice(RANK, None), 0), "entries without a point"),
    *[
        (name, put(f"{part}.{key}", where, value), state)
        for name, part, state in (
            ("kons-binary", "A", "state of its KONS"),
            ("sketched-kons-binary", "leverage.factor", "state of its KONS"),
            ("pros-n-kons-binary", "span", "state of its ProsNKons"),
            ("b-kons-binary", "leverage.factor", "state of its ProsNKons"),
        )
        for key, where, value in (
            ("size", 0, -1),
            ("size", 0, 2**40),
            ("place", (0, 0), -1),
            ("place", (0, 0), 2**62),
            ("rows", (0, 0), 0.0),
            ("rows", (0, 3), 1.0),
            ("roots", (0, -1), 1.0),
        )
    ],
    ("con-kons-binary", put("newton.diagonal", (0, 0), 0.0), "state of its ProsNKons"),
    ("con-kons-binary", put("newton.columns", (0, 0), 1.0), "state of its ProsNKons"),
    ("con-kons-binary", put("newton.weights", (0, -1), 1.0), "state of its ProsNKons"),
    ("con-kons-binary", put("count", 1, 2), "state of its ProsNKons"),
    ("nogd-late-binary", put("map.used", (0, 0), 1 << 7), BITS),
    ("nogd-late-binary", put("map.born", 0, -1), "state of its NOGD"),
    ("skegd-binary", put("f.count", SIZE, 31), "state of its SkeGD"),
    ("skegd-binary", put("map.count", READY, 0), "its rank is not valid"),
    ("skegd-binary", put("sketch.count", SIZE, BUDGET - 1), "state of its SkeGD"),
    ("skegd-binary", put("sketch.count", SIZE, 10**6), "more points than room"),
    ("skegd-binary", put("sketch.count", RANK, 1), "more points than room"),
    ("skegd-binary", put("sketch.count", PROCESSED, BUDGET), "state of its SkeGD"),
    ("skegd-bounded-binary", put("sketch.count", PROCESSED, -1), "state of its SkeGD"),
    ("skegd-binary", put("sketch.born", 0, HALF), STREAM),
    ("skegd-binary", put("sketch.used", (0, 0), 1 << 7), BITS),
    ("skegd-binary", put("clock", 0, -1), "state of its SkeGD"),
    *[
        (name, put("gram.inverse", where, value), reason)
        for name in ("projectron-budget-binary", "bpa-projecting-binary", "krls-bounded-regression")
        for where, value, reason in (
            ((0, 0, -1), 1e-9, "entries without a point"),
            ((0, 3, 3), 0.0, "zeros to divide by"),
        )
    ],
    ("bsgd-projection-binary", put("gram.inverse", (0, -1, 0), 1e-9), "entries without a point"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [of_learner(name, change, reason) for name, change, reason in STATES],
    ids=lambda value: getattr(value, "words", value if value in NAMED else ""),
)
def test_states_that_no_learner_comes_to(name, change, reason, refuses):
    document, held = unpack(file_of(name))
    change(document, held)
    recount(document, held)
    assert refuses(sign(document, held), reason)


@pytest.mark.xdist_group("BSGD")
def test_room_for_the_point_above_the_budget(load, refuses):
    """Learners that hold one point too many for a moment write to the slot behind the budget's last."""
    document, held = unpack(file_of("bsgd-hinge-binary"))
    held["f.born"], held["f.used"] = held["f.born"][:BUDGET], held["f.used"][:BUDGET]
    held["f.points"][:, :, BUDGET:] = 0
    document["capacity"] = BUDGET
    assert refuses(sign(document, held), ROOM)
    held["f.count"][SIZE] = document["n_support"] = BUDGET - 1
    held["f.coef"][:, BUDGET - 1] = 0
    assert refuses(sign(document, held), "no room for a point above its budget")
    document["parameters"]["budget"] = BUDGET - 1
    assert load(sign(document, held)).n_support_ == BUDGET - 1


# ------------------------------------------------------------------ room
def most_allocated(act, data):
    """Bytes, at the highest."""
    tracemalloc.start()
    try:
        act(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_nothing_is_allocated_for_what_a_file_only_declares(refuses):
    document, held = unpack(small_file())
    budget = {**document["parameters"], "budget": 2**50}
    labels = [{"dtype": f"U{n}", "values": ["a", "b"]} for n in (2**22, 2**26)]
    forgeries = [
        sign({**document, **change}, held)
        for change in (
            {"n_features": 2**40},
            {"capacity": 2**40, "parameters": budget},
            {"parameters": budget},
            {"classes": {"dtype": "int64", "values": list(range(1000))}, "outputs": 1000},
            *({"classes": classes} for classes in labels),
        )
    ]
    for shape in ([1, 2**40, 8], [2**40, 3, 8], [2**62, 2**62, 2**62], [0, 2**40, 8]):
        header, payload = opened(small_file())
        header["f.points"] = {"dtype": "F64", "shape": shape, "data_offsets": [0, 8 * math.prod(shape)]}
        forgeries += [closed(header, payload)]
    for data in forgeries:
        refuses(data)
        assert most_allocated(refuses, data) < 500_000


def test_a_file_is_loaded_in_a_few_times_its_size(load):
    X = np.random.default_rng(0).normal(size=(512, 200))
    data = as_file(onkel.RBPRegressor(budget=512, epsilon=0.0).fit(X, X[:, 0]))
    assert len(data) > 500_000
    load(data)
    assert most_allocated(load, data) < 4 * len(data)


# ------------------------------------------------------------------ anything at all
anything = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PLACE = st.integers(0, 2**16)
EDITS = st.lists(
    st.tuples(PLACE, PLACE, st.one_of(st.binary(max_size=8), st.sampled_from([b"}", b'"', b"0", b"\\"]), PLACE)),
    min_size=1,
    max_size=4,
)


def damaged(data, edits):
    """Stretches of the file overwritten, left out, or put somewhere else."""
    for start, length, new in edits:
        start, length = start % len(data), length % 12
        if isinstance(new, int):
            new, length = data[new % len(data) :][:length], length // 2
        data = data[:start] + new + data[start + length :]
    return data


@anything
@given(edits=EDITS)
def test_any_damage(edits, load):
    """Either what was saved comes back or the file is refused."""
    try:
        model = load(damaged(small_file(), edits))
    except onkel.ModelFileError:
        return
    assert_same(model, small()[0])


WORDS = st.sampled_from(["kernel", "numbers", "float", "dtype", "values", "Kernel", "inf", "rbf", "U2", "\ud800", ""])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from([2**31, 2**62, 2**63, -1, 8, 9]), WORDS,
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4),
)  # fmt: skip
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=5,
)


@anything
@given(changes=st.lists(st.tuples(PLACE, JSON), min_size=1, max_size=3))
def test_any_document(changes, load):
    """Either it is refused or it makes a model that can be saved again."""
    document, held = unpack(small_file())
    tables = [document, document["parameters"], document["kernel"]["numbers"], document["classes"]]
    places = [(table, name) for table in tables for name in table if name != "digest"]
    for place, value in changes:
        table, name = places[place % len(places)]
        table[name] = value
    try:
        model = load(sign(document, held))
    except onkel.ModelFileError:
        return
    assert unpack(as_file(model))[0].keys() == document.keys()


ODD = {
    "i": [-(2**63), -1, 0, 1, 7, 12, 13, 14, HALF, HALF + 1, 2**31, 2**61, 2**63 - 1],
    "u": [0, 1, 127, 128, 2**63, 2**64 - 1],
    "f": [0.0, -1.0, 1.0, 0.5, 2.0, 3.0, 1e-300, -1e-9, 1e9, 1e150, -1e300],
}
ABUSED = (
    "rbp-multiclass",
    "ogd-average-ball-logistic-binary",
    "norma-truncation-regression",
    "duol-binary",
    "fogd-hinge-multiclass",
    "fogd-fastfood-regression",
    "dual-sgd-average-multiclass",
    "mapped-rows-binary",
    "mapped-nystroem-multiclass",
    "nogd-regression",
    "nogd-late-multiclass",
    "skegd-regression",
    "skegd-bounded-multiclass",
    "krls-bounded-regression",
    "kons-multiclass",
    "sketched-kons-binary",
    "pros-n-kons-multiclass",
    "con-kons-literal-binary",
    "budget-perceptron-multiclass",
    "budget-perceptron-shrinking-binary",
    "forgetron-greedy-binary",
    "forgetron-basic-multiclass",
    "projectron++-both-binary",
    "bogd-nonuniform-multiclass",
    "bpa-simple-binary",
    "bpa-nearest-multiclass",
    "bpa-projecting-binary",
    "bsgd-hinge-binary",
    "bsgd-projection-regression",
    "bsgd-merging-lookup-binary",
    "spa-hard-budget-multiclass",
)


def odd(document, held, random):
    """Some entries of some arrays replaced by numbers that tend to hurt."""
    for name in random.choice(sorted(held), random.integers(1, 3)):
        array = held[name]
        if array.size:
            array.flat[random.integers(array.size)] = random.choice(np.array(ODD[array.dtype.kind], array.dtype))
    recount(document, held)
    return sign(document, held)


def abuse(path, rounds):
    """Load, predict and learn on from odd states; prints how many were refused, learnt, and given up by the learner."""
    warnings.simplefilter("ignore")
    random, refused, learnt, given_up = np.random.default_rng(0), 0, 0, 0
    for name in ABUSED:
        X, y = rows_of(NAMED[name], 10)
        data = file_of(name)
        for turn in range(int(rounds)):
            with open(path, "wb") as file:
                file.write(odd(*unpack(data), random))
            try:
                model = onkel.load(path)
            except onkel.ModelFileError:
                refused += 1
                continue
            rows = sp.csr_matrix(X) if turn % 2 else X
            model.predict(rows)
            try:
                model.learn(rows, y)
                learnt += 1
            except ValueError as error:
                if "The model overflowed" not in str(error):
                    raise
                given_up += 1
    print(refused, learnt, given_up)


def test_odd_states_never_lead_out_of_an_array(tmp_path):
    """In plain Python, where a wrong index is an IndexError and not another array's memory."""
    code = "import sys, test_forged_files; test_forged_files.abuse(*sys.argv[1:])"
    refused, learnt, given_up = map(int, python(code, tmp_path / "model", 12, NUMBA_DISABLE_JIT="1").split())
    assert refused > 50
    assert learnt > 50
    assert refused + learnt + given_up == 12 * len(ABUSED)
