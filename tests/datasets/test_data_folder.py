"""The founders' folder of data: every set in it loads with the shape that ALGORITHMS.md H.5 and MANIFEST.csv give."""

import csv
import os
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

from onkel import datasets

DATA = pathlib.Path(os.environ.get("ONKEL_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not (DATA / "MANIFEST.csv").is_file(), reason="set ONKEL_DATA to the folder that holds MANIFEST.csv"
    ),
]

SIZES = {  # rows, features, classes
    "german": (1000, 24, 2),
    "svmguide3": (1243, 21, 2),
    "spambase": (4601, 57, 2),
    "a9a": (48842, 123, 2),
    "ijcnn1": (141691, 22, 2),
    "covtype.binary": (581012, 54, 2),
    "madelon": (2000 + 600, 500, 2),
    "magic04": (19020, 10, 2),
    "dna": (2000 + 1186, 180, 3),
    "satimage": (4435 + 2000, 36, 6),
    "usps": (7291 + 2007, 256, 10),
    "mnist": (60000 + 10000, 780, 10),
    "letter": (15000 + 5000, 16, 26),
    "shuttle": (43500 + 14500, 9, 7),
    "covtype": (581012, 54, 7),
    "housing": (506, 13, None),
    "mg": (1385, 6, None),
    "abalone": (4177, 8, None),
    "parkinsons": (5875, 20, None),
    "cpusmall": (8192, 12, None),
    "cadata": (20640, 8, None),
    "elec2": (45312, 8, 2),
    "outdoor": (4000, 21, 40),
    "spamstream": (9324, 39916, 2),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    rows, features, classes = SIZES[name]
    X, y = datasets.load(name, folder=DATA, download=False)
    assert X.shape == (rows, features)
    assert len(y) == rows
    about = datasets.describe(name, folder=DATA)
    assert (about.rows, about.features, about.classes) == (rows, features, classes)
    assert about.note
    assert len(about.held) == len(about.parts)
    if classes:
        assert y.dtype == np.int64
        assert len(np.unique(y)) == classes
    else:
        assert y.dtype == np.float64
    assert np.isfinite(X.data if sp.issparse(X) else X).all()


def manifest():
    if not (DATA / "MANIFEST.csv").is_file():
        return []
    with open(DATA / "MANIFEST.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["name"] != "covtype"]  # large, and tested above


@pytest.mark.parametrize("row", manifest(), ids=lambda row: row["file"])
def test_rows_of_the_manifest(row):
    part = re.search(r"train|test", row["file"])
    X, y = datasets.load(row["name"], part[0] if part else "all", folder=DATA, download=False, dense=False)
    assert X.shape == (int(row["n"]), int(row["d"]))
    assert X.nnz / (X.shape[0] * X.shape[1]) == pytest.approx(float(row["nnz_density"]), abs=6e-5)
    span = row["classes_or_target_range"]
    if counts := re.findall(r"(-?\d+)=(\d+)", span):
        assert dict(zip(*map(np.ndarray.tolist, np.unique(y, return_counts=True)))) == {
            int(k): int(n) for k, n in counts
        }
    elif row["task"] == "regression":
        assert [y.min(), y.max()] == pytest.approx([float(v) for v in re.findall(r"[-.\d]+", span)[:2]])


@pytest.mark.parametrize(
    ("name", "shape"),
    [("german", (1000, 24)), ("spambase", (4601, 57)), ("dna", (2000, 180)), ("housing", (506, 13)), ("mg", (1385, 6))],
)
def test_stored_permutations(name, shape):
    X, y, orders = datasets.load_jmlr16(name, folder=DATA)
    assert X.shape == shape
    assert orders.shape == (20, len(y))
    if name in ("spambase", "dna"):  # the same values as in the set of that name
        ours, labels = datasets.load(name, "train" if name == "dna" else "all", folder=DATA, dense=True)
        assert (np.sort(labels) == np.sort(y)).all()
        np.testing.assert_allclose(np.sort(X, axis=0), np.sort(ours, axis=0), atol=1e-12)


def test_the_papers_adversarial_streams():
    for name, rows in (("german-1", 5000), ("german-2", 10000)):
        X, y = datasets.adversarial(name, folder=DATA, random_state=1)
        assert X.shape == (rows, 24)
        assert len(y) == rows
