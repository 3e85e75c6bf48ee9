"""The data sets and stored orders of the thesis, as published."""

import lzma
import os
import pathlib

import numpy as np
import pytest
import scipy.io
from sklearn.datasets import load_svmlight_file

DATA = pathlib.Path(os.environ.get("ONKEL_DATA", pathlib.Path(__file__).parents[2] / "shared" / "data")) / "jmlr16"


def read(name):
    """(X, y, orders), a row of row numbers per order; skips the test where they are absent."""
    if not (DATA / f"{name}.mat").exists():
        pytest.skip(f"{name}.mat is not in the data folder; set ONKEL_DATA to the folder that holds jmlr16/")
    file = scipy.io.loadmat(DATA / f"{name}.mat")
    orders = file["ID_all"] if "ID_all" in file else file["ID_list"]
    return np.ascontiguousarray(file["data"][:, 1:], float), file["data"][:, 0].astype(float), orders.astype(int) - 1


def read_svm(*names):
    """(X, y) of svmlight files, one after the other and dense; skips the test where they are absent."""
    parts = []
    for name in names:
        path = DATA.parent / f"{name}.svm.xz"
        if not path.exists():
            pytest.skip(f"{path.name} is not in the data folder; set ONKEL_DATA to the folder that holds it")
        with lzma.open(path) as file:
            parts.append(load_svmlight_file(file))
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])
