"""Made-up sets with the names, features, classes and parts of the real ones, and 60 rows in each part."""

import numpy as np
import scipy.io
from sklearn.datasets import dump_svmlight_file

from onkel.datasets import describe
from onkel.evaluation.reproduction import settings

ROWS = 60


def examples(name, rows=ROWS, seed=0):
    """Dense, learnable, with all classes among the first rows."""
    about = describe(name)
    random = np.random.default_rng([seed, about.features])
    X = random.uniform(0.1, 1, (rows, about.features))
    score = X[:, :3] @ [1, 1, -1]
    if about.classes is None:
        return X, score
    y = np.digitize(score, np.quantile(score, np.arange(1, about.classes) / about.classes))
    y[: about.classes] = np.arange(about.classes)
    return X, 2 * y - 1 if about.classes == 2 else y + 1


def asked_for():
    """(kind, name) of all data sets of all tables."""
    for table in map(settings.table, settings.names()):
        for one in table.datasets.values():
            kind, _, name = one.data.partition(":")
            name = name.partition("/")[0]
            yield ("jmlr16", name.rpartition("-")[0]) if kind == "adversarial" else (kind, name)


def write_sets(folder):
    (folder / "jmlr16").mkdir()
    for kind, name in dict.fromkeys(asked_for()):
        if kind == "load":
            write_set(folder, name)
        else:
            X, y = examples(name)
            orders = np.array([np.random.default_rng(k).permutation(ROWS) + 1 for k in range(2)])
            scipy.io.savemat(folder / "jmlr16" / f"{name}.mat", {"data": np.column_stack([y, X]), "ID_all": orders})
    return folder


def write_set(folder, name, rows=ROWS):
    about = describe(name, folder=folder)
    stem = "covtype" if name == "covtype.binary" else name
    for seed, part in enumerate(about.parts):
        X, y = examples("covtype" if name == "covtype.binary" else name, rows, seed)
        file = f"{stem}.svm" if part == "all" else f"{stem}.{part}.svm"
        dump_svmlight_file(X, y, str(folder / file), zero_based=False)
