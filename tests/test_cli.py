"""The command `onkel`: what it prints, keeps and returns; going on after Ctrl-C and after being killed."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import onkel
import onkel.datasets
from onkel.cli.learners import find, learners
from onkel.cli.main import COMMANDS, main
from onkel.estimators._online import OnlineClassifier, OnlineRegressor
from onkel.io import read_model
from onkel.io.model_files import ESTIMATORS

ONKEL = [sys.executable, "-m", "onkel"]


def onkel_(*words, code=0, stdin=None):
    """What the command prints to standard output and error."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=stdin, prog_name="onkel")
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path / "sets"))


def moons(n, seed=0):
    X, y = onkel.datasets.turning_moons(n, turns=0.0, random_state=seed)
    return X, y


def svm(X, y):
    features = (" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for row in X.tolist())
    return "".join(f"{label} {row}\n" for label, row in zip(y, features))


@pytest.fixture
def files():
    for name, n, seed in (("train.svm", 600, 0), ("test.svm", 300, 1)):
        with open(name, "w") as file:
            file.write(svm(*moons(n, seed)))


# Learning.


def test_learn_test_keep_predict(files):
    out, err = onkel_("learn", "train.svm", "--test", "test.svm", "-o", "m.onkel", "-a", "perceptron", "--gamma", "2")
    assert "KernelPerceptronClassifier, classes -1, 1" in out
    assert "on the 300 rows of test.svm" in out
    assert err == ""
    X, y = moons(600)
    expected = onkel.KernelPerceptronClassifier(gamma=2.0, random_state=0)
    scores = expected.learn(X, y, classes=[-1, 1])
    mistakes = np.mean((scores >= 0) != (y == 1))
    assert f"mistakes  {mistakes:.2%}" in out
    model = onkel.load("m.onkel")
    assert model.grow_features
    assert model.n_support_ == expected.n_support_
    test, labels = moons(300, 1)
    assert f"test      {np.mean(model.predict(test) != labels):.2%} mistakes" in out

    out, _ = onkel_("predict", "m.onkel", "test.svm")
    assert [int(line) for line in out.splitlines()] == model.predict(test).tolist()
    out, _ = onkel_("predict", "m.onkel", "test.svm", "--what", "scores", "-o", "scores.txt")
    with open("scores.txt") as file:
        assert np.allclose([float(line) for line in file], model.decision_function(test), rtol=1e-9)
    _, err = onkel_("predict", "m.onkel", "test.svm", "--what", "probabilities", code=2)
    assert "loss=logistic" in err


def test_probabilities(files):
    onkel_("learn", "train.svm", "-a", "ogd", "--loss", "logistic", "-o", "m.onkel", "-q")
    out, _ = onkel_("predict", "m.onkel", "test.svm", "--what", "probabilities")
    rows = np.array([[float(word) for word in line.split()] for line in out.splitlines()])
    assert rows.shape == (300, 2)
    assert np.allclose(rows.sum(axis=1), 1)


def test_the_same_from_everywhere(files):
    """File, packed file, standard input, any size of batches: the same model."""
    with open("train.svm", "rb") as file:
        data = file.read()
    with gzip.open("train.gz", "wb") as file:
        file.write(data)
    words = ["-a", "bpa", "--sigma", "0.7", "-o"]
    onkel_("learn", "train.svm", *words, "1.onkel")
    onkel_("learn", "train.gz", *words, "2.onkel", "--batch-rows", 7)
    onkel_("learn", "-", *words, "3.onkel", stdin=data)
    onkel_("learn", "-", *words, "4.onkel", "--classes", "-1,1", stdin=gzip.compress(data))
    states = [onkel.load(f"{i}.onkel") for i in (1, 2, 3, 4)]
    assert len({model.dual_coef_.tobytes() + model.support_.tobytes() for model in states}) == 1
    assert len({model.sigma for model in states}) == 1


def test_regression_and_csv():
    X = np.random.default_rng(0).normal(size=(200, 2))
    frame = pd.DataFrame({"a": X[:, 0], "price": np.sin(X[:, 0]), "town": np.where(X[:, 1] > 0, "x", "y"), "id": "?"})
    frame.to_csv("houses.csv", index=False)
    frame.to_parquet("houses.parquet")
    words = ["--target", "price", "--leave-out", "id", "--categorical", "town=x,y", "-a", "rls", "-o"]
    for name in ("houses.csv", "houses.parquet"):
        out, _ = onkel_("learn", name, *words, f"{name}.onkel")
        assert "KernelRLSRegressor, regression" in out
        assert "200, 3 features" in out
    first, second = onkel.load("houses.csv.onkel"), onkel.load("houses.parquet.onkel")
    assert np.allclose(first.support_vectors_, second.support_vectors_)
    out, _ = onkel_("predict", "houses.csv.onkel", "houses.csv", *words[:6])
    assert np.abs(np.array(out.split(), float) - frame["price"]).mean() < 0.2
    with open("numbers.csv", "w") as file:
        file.write("0.5,x\n0.25,y\n")
    out, _ = onkel_("predict", "houses.csv.onkel", "numbers.csv", "--target", "none", "--categorical", "1=x,y")
    assert len(out.splitlines()) == 2


@pytest.fixture
def weather():
    """A table with words, and the same rows in other tables."""
    random = np.random.default_rng(0)
    kind = random.choice(["rain", "sun"], 300)
    frame = pd.DataFrame({"id": range(300), "temp": random.normal(size=300) + 2 * (kind == "sun")})
    frame["wind"], frame["town"] = 9 * random.normal(size=300), random.choice(["Ulm", "Bonn"], 300)
    frame["kind"] = kind
    frame.to_csv("w.csv", index=False)
    other = frame[["kind", "wind", "town", "temp"]].assign(more="?")
    other.to_csv("w2.csv", index=False)
    other.to_parquet("w2.parquet")
    other.drop(columns=["kind", "more"]).to_csv("bare.csv", index=False)
    other.assign(kind="").to_csv("unknown.csv", index=False)
    frame[["temp", "wind", "town"]].to_csv("numbers.csv", index=False, header=False)
    frame.drop(columns="wind").to_csv("lacks.csv", index=False)
    return frame


WEATHER = ["learn", "w.csv", "-a", "perceptron", "--categorical", "town=8", "--leave-out", "id", "-o", "w.onkel"]


def test_columns_are_found_by_name(weather):
    """Tables with the columns in another order, with more of them, without the target, without names."""
    out, _ = onkel_(*WEATHER, "--test", "w2.csv")
    expected, _ = onkel_("predict", "w.onkel", "w.csv")
    mistakes = np.mean(np.array(expected.split()) != weather["kind"])
    assert f"test      {mistakes:.2%} mistakes on the 300 rows of w2.csv" in out
    assert "columns     temp, wind, town (hashed to 8); target kind\n" in onkel_("inspect", "w.onkel")[0]
    for source in ("w2.csv", "w2.parquet", "bare.csv", "unknown.csv"):
        assert onkel_("predict", "w.onkel", source)[0] == expected, source
    assert onkel_("predict", "w.onkel", "w2.csv", "--categorical", "town=8", "--target", "kind")[0] == expected
    assert onkel_("predict", "w.onkel", "numbers.csv")[0] == expected
    for source, words, code, told in (
        ("lacks.csv", [], 1, "There is no column 'wind'; there are: id, temp, town, kind"),
        ("w2.csv", ["--categorical", "town=9"], 2, "the model has learnt a word hashed to 8 columns, not a word hash"),
        ("w2.csv", ["--categorical", "temp=9"], 2, "column 'temp': the model has learnt a number, not a word"),
        ("w2.csv", ["--target", "temp"], 1, "Column 'temp' is named as a feature, and as the target"),
        ("w2.csv", ["--leave-out", "temp"], 1, "Column 'temp' is named as a feature, and"),
        ("w.csv", ["--no-header"], 1, "The columns have no names, and 5 of them cannot be the features temp, wind"),
    ):
        _, err = onkel_("predict", "w.onkel", source, *words, code=code)
        assert told in " ".join(err.split()), source
    _, err = onkel_(*WEATHER, "--test", "lacks.csv", code=1)
    assert "There is no column 'wind'" in err


def test_columns_without_names():
    """These go by their place, and there have to be as many."""
    with open("learnt.csv", "w") as file:
        file.write("x,1,0.5\ny,0,0.25\n" * 20)
    with open("bare.csv", "w") as file:
        file.write("x,0.5\ny,0.25\n")
    onkel_("learn", "learnt.csv", "--target", "1", "--categorical", "0=x,y", "-o", "m.onkel", "-q")
    expected = onkel_("predict", "m.onkel", "learnt.csv")[0].split()[:2]
    assert onkel_("predict", "m.onkel", "bare.csv", "--target", "none")[0].split() == expected
    _, err = onkel_("predict", "m.onkel", "bare.csv", code=2)
    assert "has 1 columns of features, and the model has learnt from 2: 0, 2. Is there a target in it?" in err
    _, err = onkel_("predict", "m.onkel", "learnt.csv", "--categorical", "0=y,x", code=2)
    assert "the model has learnt one of the words x, y, not one of the words y, x" in " ".join(err.split())


def test_predict_with_a_model_of_named_columns(weather):
    """One that was saved in Python, and knows the names of a frame."""
    model = onkel.BPAClassifier(gamma=0.1, random_state=0).fit(weather[["temp", "wind"]], weather["kind"])
    onkel.save(model, "m.onkel")
    expected = model.predict(weather[["temp", "wind"]]).tolist()
    for source in ("w2.csv", "w2.parquet"):
        out, err = onkel_("predict", "m.onkel", source)
        assert (out.split(), err) == (expected, "")
    out, err = onkel_("predict", "m.onkel", "-", stdin="0 1:2\n")
    assert (out.split(), err) == (model.predict(pd.DataFrame({"temp": [2.0], "wind": 0.0})).tolist(), "")


def test_predict_looks_at_no_labels(files):
    onkel_("learn", "train.svm", "-o", "m.onkel", "-q")
    rows = "{} 1:0.5\n{} 2:1 # more\n"
    expected, _ = onkel_("predict", "m.onkel", "-", stdin=rows.format(0, 0))
    for first, second in (("?", "0"), ("0", "?"), ("nan", "1,2"), ("é", "+")):
        assert onkel_("predict", "m.onkel", "-", stdin=rows.format(first, second))[0] == expected


def test_the_other_base_of_indices(files):
    """Rows to predict count from where the model's did, unless it is said."""
    with open("zero.svm", "w") as file:
        file.write(re.sub(r"(\d):", lambda found: f"{int(found[1]) - 1}:", svm(*moons(600))))
    onkel_("learn", "zero.svm", "--zero-based", "-o", "zero.onkel")
    onkel_("learn", "train.svm", "-o", "one.onkel")
    expected, _ = onkel_("predict", "one.onkel", "train.svm")
    assert onkel_("predict", "zero.onkel", "zero.svm")[0] == expected
    assert onkel_("predict", "zero.onkel", "train.svm", "--one-based")[0] == expected
    assert onkel_("predict", "one.onkel", "zero.svm", "--zero-based")[0] == expected


def test_models_without_notes_of_how_rows_were_read(weather):
    """As they were written before there were such notes."""
    words = ["--categorical", "town=8", "--leave-out", "id"]
    onkel_(*WEATHER, "--rows", 100)
    expected, _ = onkel_("predict", "w.onkel", "w.csv")
    model, document = read_model("w.onkel")
    notes = {name: document["notes"][name] for name in ("position", "labels", "metrics")}
    onkel.save(model, "w.onkel", notes=notes)
    assert onkel_("predict", "w.onkel", "w.csv", *words)[0] == expected
    out, _ = onkel_(*WEATHER, "--resume")
    assert "200 of 300, 10 features" in out
    for odd in (3, {"options": {}}, {**document["notes"]["reading"], "columns": [1]}):
        onkel.save(model, "odd.onkel", notes={**notes, "reading": odd})
        _, err = onkel_("predict", "odd.onkel", "w.csv", code=1)
        assert "the model's notes of how rows are read are not those of `onkel learn`" in err


def test_words_as_labels():
    X, y = moons(200)
    with open("pets.svm", "w") as file:
        file.write(svm(X, np.where(y > 0, "dog", "cat")))
    out, _ = onkel_("learn", "pets.svm", "-o", "m.onkel")
    assert "classes cat, dog" in out
    out, _ = onkel_("predict", "m.onkel", "pets.svm")
    assert set(out.split()) == {"cat", "dog"}
    out, _ = onkel_("learn", "pets.svm", "-o", "m.onkel", "--classes", "dog,cow,cat")
    assert "classes cat, cow, dog" in out


def test_new_features_on_the_way():
    """Columns that come late: the model grows, and predicts rows of any width."""
    with open("late.svm", "w") as file:
        file.write("+1 1:1\n-1 1:-1\n" * 50 + "+1 1:1 70:2\n-1 1:-1 65:1\n" * 50)
    for name in ("bpa", "fogd", "nogd"):
        onkel_("learn", "late.svm", "-a", name, "-o", "m.onkel", "--batch-rows", 10, "--sigma", 1)
        assert onkel.load("m.onkel").n_features_in_ == 70
        out, _ = onkel_("predict", "m.onkel", "-", stdin="0 1:1\n0 1:-1 3000:1\n")
        assert len(out.split()) == 2


def test_task_and_classes_are_found():
    with open("few.svm", "w") as file:
        file.write("1 1:1\n2 1:2\n3 1:3\n" * 10)
    with open("many.svm", "w") as file:
        file.write("".join(f"{i} 1:{i}\n" for i in range(51)))
    assert "classes 1, 2, 3" in onkel_("learn", "few.svm")[0]
    assert "regression" in onkel_("learn", "many.svm", "-a", "fogd")[0]
    assert "regression" in onkel_("learn", "few.svm", "--task", "regression")[0]
    with open("few.svm") as file:
        rows = file.read()
    _, err = onkel_("learn", "-", "-o", "m.onkel", stdin=20 * rows + "4 1:4\n", code=1)
    assert "the label 4 is not among the classes 1, 2, 3. --classes names all that may come" in err
    assert onkel.load("m.onkel").n_seen_ == 500
    out, _ = onkel_("learn", "-", "--classes", "1,2,3,4", stdin=rows + "4 1:4\n")
    assert "31, 1 features" in out
    onkel_("learn", "-", "--sigma", 1, stdin=rows)
    _, err = onkel_("learn", "-", stdin="1 1:1\n1 1:2\n", code=1)
    assert "one label only in the first 2 rows" in err


def test_rows_limits(files):
    onkel_("learn", "train.svm", "--rows", 250, "-o", "m.onkel")
    model, document = read_model("m.onkel")
    assert model.n_seen_ == document["notes"]["position"]["rows"] == 250
    assert document["notes"]["position"]["line"] == 251


def test_json(files):
    out, err = onkel_("learn", "train.svm", "--json", "--test", "test.svm", "-a", "rbp")
    result = json.loads(out.splitlines()[-1])
    assert err == ""
    assert result["event"] == "result"
    assert result["rows"] == 600
    assert result["classes"] == [-1, 1]
    assert result["test"]["rows"] == 300
    assert 0 <= result["mistake_rate"] < 0.5
    assert onkel_("learn", "train.svm", "-q") == ("", "")
    assert json.loads(onkel_("learn", "train.svm", "-q", "--json")[0])["estimator"] == "BPAClassifier"
    onkel_("learn", "train.svm", "-o", "m.onkel", "-q")
    told = json.loads(onkel_("inspect", "m.onkel", "--json")[0])
    assert told["class"] == "BPAClassifier"
    assert told["n_seen"] == 600
    assert told["notes"]["metrics"].keys() == {"n", "sums"}


def test_plain_lines():
    with open("long.svm", "w") as file:
        file.write(svm(*moons(3000)))
    _, err = onkel_("learn", "long.svm", "--batch-rows", 500)
    shown = [line.split() for line in err.splitlines()]
    assert [line[1] for line in shown] == ["1,000", "2,000"]
    assert [line[0] for line in shown] == ["33%", "67%"]
    out, _ = onkel_("learn", "long.svm", "--batch-rows", 500, "--json")
    assert [json.loads(line)["rows"] for line in out.splitlines()] == [1000, 2000, 3000]


# Other commands.


def test_list():
    out, _ = onkel_("list")
    names = [line.split()[0] for line in out.splitlines()[2:] if line.strip()]
    assert names == list(learners())
    lines = [json.loads(line) for line in onkel_("list", "--json")[0].splitlines()]
    assert {line["name"] for line in lines} == set(names)
    made = {kind for learner in learners().values() for kind in (learner.classifier, learner.regressor) if kind}
    assert made == {kind for kind in ESTIMATORS.values() if issubclass(kind, OnlineClassifier | OnlineRegressor)}
    projectron = next(line for line in lines if line["name"] == "projectron")
    assert projectron["tasks"] == "2 n r"
    assert projectron["paper"] == "Orabona, Keshet & Caputo 2009"
    for name in ("Projectron++", "projectron_plus_plus", "ProjectronPlusPlusClassifier"):
        assert find(name).name == "projectron++"
    for name in ("passive-aggressive", "KernelPassiveAggressive", "passive_aggressive"):
        assert find(name).name == "passive-aggressive"
    for learner in learners().values():
        assert find(learner.name) == learner


ALL = """
import sys
from click.testing import CliRunner
from onkel.cli.learners import learners
from onkel.cli.main import main

for name, learner in learners().items():
    for task, kind in (("classification", learner.classifier), ("regression", learner.regressor)):
        if kind:
            words = ["learn", sys.argv[1], "-a", name, "--task", task, "-o", "m.onkel"]
            for words in (words, ["inspect", "m.onkel"]):
                result = CliRunner().invoke(main, words)
                assert result.exit_code == 0 and kind.__name__ in result.stdout, (name, words, result.output)
"""


def test_whatever_is_listed_learns():
    """Every learner, for each of its tasks; not compiled, which would take longer than the rows."""
    with open("few.svm", "w") as file:
        file.write(svm(*moons(12)))
    subprocess.run([sys.executable, "-c", ALL, "few.svm"], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True)


def test_feature_maps_by_name(files):
    words = ["learn", "train.svm", "-a", "feature-map", "-o", "m.onkel", "-p"]
    for name, more, size in (("fourier", ["--n-components", 9], 18), ("nystroem", ["--budget", 20], 4)):
        out, _ = onkel_(*words, f"map={name}", *more, "--rows", 550)
        assert "from the first 500 rows" in out
        model = onkel.load("m.onkel")
        assert model.coef_.shape == (1, size)
        assert model.map.sigma == pytest.approx(float(re.search(r"sigma = ([\d.]+)", out)[1]))
        assert f"map__{more[0][2:].replace('-', '_')} = {more[1]} *" in onkel_("inspect", "m.onkel")[0]
        onkel_(*words, f"map={name}", *more, "--resume")
        assert onkel.load("m.onkel").n_seen_ == 600
        _, err = onkel_(*words, f"map={name}", *more[:1], 7, "--resume", code=2)
        assert "with another " in err
    onkel_(*words, "map=nystroem", "--sigma", 2, "--eta", 0.3, "--seed", 5, "-q")
    model = onkel.load("m.onkel")
    assert (model.map.sigma, model.eta, model.random_state, model.map.random_state) == (2, 0.3, 5, 5)
    for given, told in (
        (["map=forest"], "map must be one of fourier, nystroem, sketch or none; got 'forest'"),
        (["map=fourier", "-p", "rank=3"], "FeatureMapClassifier has no parameter rank"),
        (["map=fourier", "--n-components", "0"], "RandomFourierFeatures: n_components must be a whole number"),
        (["map=sketch", "-p", "rank=99"], "rank must be at most"),
    ):
        _, err = onkel_(*words, *given, code=2)
        assert told in " ".join(err.split())


def test_features_are_no_support_vectors(files):
    words = ["learn", "train.svm", "-a", "multi-kernel", "--rows", 20, "-o", "m.onkel", "-p"]
    assert "model     in m.onkel" in onkel_(*words, "component=fogd")[0]
    assert "support  " not in onkel_("inspect", "m.onkel")[0]
    assert json.loads(onkel_(*words, "component=fogd", "-q", "--json")[0])["n_support"] is None
    assert " support vectors, in m.onkel" in onkel_(*words, "component=perceptron")[0]


def test_inspect(files):
    onkel_("learn", "train.svm", "-o", "m.onkel", "--budget", 30)
    out, _ = onkel_("inspect", "m.onkel")
    assert "BPAClassifier, float64" in out
    assert "budget = 30 *" in out
    assert "C = 1.0\n" in out
    assert "600 rows, 2 features" in out
    assert "line 601" in out
    with open("m.onkel", "r+b") as file:
        file.truncate(2000)
    _, err = onkel_("inspect", "m.onkel", code=1)
    assert err.startswith("onkel: m.onkel cannot be loaded: ")
    assert err.count("\n") == 1


def test_data(files):
    out, _ = onkel_("data")
    assert out == onkel_("data", "list")[0]
    table = {line[1:].split()[0]: line[0] for line in out.splitlines() if " rows " in line}
    assert table["a9a"] == " "
    assert table["digits"] == "•"
    assert table["spamstream"] == " "
    assert "H. Hofmann" in onkel_("data", "describe", "german")[0]
    os.mkdir("sets")
    with open("sets/german.svm", "w") as file:
        file.write(svm(*moons(100)))
    listed = {line["name"]: line for line in map(json.loads, onkel_("data", "list", "--json")[0].splitlines())}
    assert listed["german"] == {
        "name": "german", "task": "binary", "rows": 1000, "features": 24, "classes": 2, "here": True
    }  # fmt: skip
    assert onkel_("data", "fetch", "german")[0].endswith("german.svm\n")
    assert "100, 2 features" in onkel_("learn", "german")[0]
    assert "569, 30 features" in onkel_("learn", "breast_cancer")[0]
    _, err = onkel_("learn", "a9a:train", code=1)
    assert "`onkel data fetch a9a` brings it" in err


# Errors.


def test_usage_errors(files):
    for words, told in (
        (["learn"], "Missing argument 'SOURCE'"),
        (["learn", "train.svm", "-a", "projecton"], "Did you mean projectron?"),
        (["learn", "train.svm", "-a", "rls"], "rls does not do classification"),
        (["learn", "train.svm", "-a", "kors", "--task", "regression"], "No learner is called 'kors'"),
        (["learn", "train.svm", "-p", "bugdet=3"], "BPAClassifier has no parameter bugdet. It has: C, budget, "),
        (["learn", "train.svm", "-p", "budget=0"], "budget must be a whole number of at least 1"),
        (["learn", "train.svm", "-p", "budget"], "'budget' is not NAME=VALUE"),
        (["learn", "train.svm", "-p", "n_passes=2"], "a stream is learnt in one pass"),
        (["learn", "train.svm", "-a", "ogd", "--loss", "x"], "loss must be one of 'hinge'"),
        (["learn", "train.svm", "--resume"], "-o FILE"),
        (["learn", "train.svm", "--checkpoint", "9", "-o", "-"], "-o FILE"),
        (["learn", "train.svm", "--classes", "1"], "two labels or more"),
        (["learn", "train.svm", "--classes", "1,2", "--task", "regression"], "--classes are for classification"),
        (["learn", "train.csv", "--categorical", "x"], "is not COLUMN=WORDS"),
        (["reproduce", "thesis-4.4", "--jobs", "0"], "0 runs at a time would never end"),
        (["nothing"], "No such command 'nothing'"),
    ):
        _, err = onkel_(*words, code=2)
        assert told in err, words


def test_data_and_model_errors(files):
    with open("bad.svm", "w") as file:
        file.write("1 1:1\n-1 1:2\n1 1:x\n-1 1:1\n")
    with open("one.svm", "w") as file:
        file.write("1 1:1\n")
    with open("empty.svm", "w"):
        pass
    for words, told in (
        (["learn", "bad.svm"], "onkel: bad.svm, line 3, byte 17: the value 'x' is not a finite decimal number"),
        (["learn", "nowhere.svm"], "onkel: nowhere.svm: there is no such file"),
        (["learn", "train.svm", "-o", "no/folder/m.onkel"], "is no folder"),
        (["learn", "one.svm"], "there is one label only, 1; --classes"),
        (["learn", "empty.svm"], "there are no rows in it"),
        (["learn", "empty.svm", "--task", "regression"], "there are no rows in it"),
        (["learn", "train.svm", "--test", "empty.svm"], "empty.svm: there are no rows in it"),
        (["learn", "train.svm", "--delimiter", ";"], "delimiter: without meaning for a source of format svmlight"),
        (["predict", "nowhere.onkel", "train.svm"], "nowhere.onkel"),
        (["predict", "train.svm", "train.svm"], "train.svm cannot be loaded"),
    ):
        _, err = onkel_(*words, code=1)
        assert told in err, (words, err)
        assert err.startswith("onkel: ")
        assert err.count("\n") == 1
    _, err = onkel_("learn", "bad.svm", "-o", "m.onkel", code=1)
    assert "the model of 2 rows is in m.onkel" in err
    assert onkel.load("m.onkel").n_seen_ == 2
    out, _ = onkel_("learn", "bad.svm", "--skip-errors")
    assert "skipped   1 faulty rows; the first: bad.svm, line 3, byte 17: " in out
    result = CliRunner().invoke(main, ["--debug", "learn", "bad.svm"])
    assert isinstance(result.exception, onkel.StreamError)


def test_help_is_quick_and_true():
    start = time.perf_counter()
    out = subprocess.run([*ONKEL, "--help"], capture_output=True, text=True, check=True).stdout
    assert time.perf_counter() - start < 20
    for name, command in COMMANDS.items():
        assert f"  {name} " in out
        assert command.about in " ".join(out.split())
        text, _ = onkel_(name, "--help")
        assert " ".join(text.split()).startswith(f"Usage: onkel {name} ")
    assert onkel.__version__ in onkel_("--version")[0]


# Real processes: pipes, Ctrl-C, SIGKILL.


def test_pipes(files):
    """A model to standard output, predictions down a pipe that closes early."""
    with open("train.svm", "rb") as file:
        made = subprocess.run([*ONKEL, "learn", "-", "-o", "-"], stdin=file, capture_output=True, check=True)
    with open("m.onkel", "wb") as file:
        file.write(made.stdout)
    assert onkel.load("m.onkel").n_seen_ == 600
    assert b"mistakes" in made.stderr
    command = " ".join(ONKEL) + " predict m.onkel - --batch-rows 10 < train.svm | head -3"
    seen = subprocess.run(["sh", "-c", command], capture_output=True, check=True, text=True)
    assert len(seen.stdout.splitlines()) == 3
    assert seen.stderr == ""


LONG = ["learn", "long.svm", "-a", "forgetron", "--sigma", "0.5", "--classes", "-1,1", "--batch-rows", "20"]


@pytest.fixture
def uninterrupted(monkeypatch):
    """The bytes of the model of a stream that is learnt in one go."""
    X, y = moons(4000)
    with open("long.svm", "w") as file:
        file.write(svm(X, y))
    onkel_(*LONG, "-o", "whole.onkel", "--checkpoint", 20, "-q")
    with open("whole.onkel", "rb") as file:
        return file.read()


def started(*words):
    process = subprocess.Popen([*ONKEL, *LONG, *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return process


def wait_for_change(process, before):
    """Until the model file is another one, or the process has ended."""
    while process.poll() is None and stamp() == before:
        time.sleep(0.002)


def stamp():
    try:
        return os.stat("m.onkel").st_mtime_ns
    except FileNotFoundError:
        return 0


@pytest.mark.slow
def test_killed_at_any_moment(uninterrupted):
    """SIGKILL loses what came after the last checkpoint, and nothing else."""
    moments, seen = random.Random(0), 0
    for _ in range(6):
        before = stamp()
        process = started("-o", "m.onkel", "--checkpoint", "20", "--resume")
        wait_for_change(process, before)
        time.sleep(moments.uniform(0, 0.15))
        process.kill()
        process.communicate()
        model, document = read_model("m.onkel")
        assert model.n_seen_ == document["notes"]["position"]["rows"] == document["notes"]["metrics"]["n"]
        assert seen <= model.n_seen_ <= 4000
        seen = model.n_seen_
    process = started("-o", "m.onkel", "--checkpoint", "20", "--resume")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert f"going on behind row {seen:,}" in err
    with open("m.onkel", "rb") as file:
        assert file.read() == uninterrupted
    assert [name for name in os.listdir() if name.endswith(".tmp")] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(number, uninterrupted):
    process = started("-o", "m.onkel", "--checkpoint", "20")
    wait_for_change(process, 0)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    rows = onkel.load("m.onkel").n_seen_
    assert f"stopped at row {rows:,}; the model of {rows:,} rows is in m.onkel" in err
    assert 500 <= rows < 4000
    onkel_(*LONG, "-o", "m.onkel", "--resume")
    with open("m.onkel", "rb") as file:
        assert file.read() == uninterrupted


@pytest.mark.slow
def test_stopped_while_it_waits_for_rows():
    command = [*ONKEL, "learn", "-", "--classes", "-1,1", "--batch-rows", "10", "-o", "m.onkel", "--checkpoint", "10"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(svm(*moons(535)).encode())
    process.stdin.flush()
    deadline = time.time() + 120
    while not (stamp() and onkel.load("m.onkel").n_seen_ == 530) and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert process.returncode == 130
    assert b"stopped at row 530; the model of 530 rows is in m.onkel" in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def test_resume_refuses_another_task(uninterrupted):
    onkel_(*LONG, "-o", "m.onkel", "--rows", 100)
    for words, told in (
        (["-a", "bpa"], "another algorithm"),
        (["--budget", "7"], "another budget"),
        (["--classes", "1,2"], "another classes"),
    ):
        _, err = onkel_("learn", "long.svm", "-o", "m.onkel", "--resume", *words, code=2)
        assert told in err
    with open("other.svm", "w") as file:
        file.write(svm(*moons(4000, 3)))
    _, err = onkel_("learn", "other.svm", "-o", "m.onkel", "--resume", code=1)
    assert "it begins differently than the source that the position is of" in err
    onkel.save(onkel.load("m.onkel"), "m.onkel", notes={"reading": 3})
    _, err = onkel_("learn", "long.svm", "-o", "m.onkel", "--resume", code=1)
    assert "was not written by `onkel learn`" in err
    onkel_(*LONG, "-o", "new.onkel", "--resume", "--rows", 100)
    assert onkel.load("new.onkel").n_seen_ == 100


OPTIONS = {  # how a source begins, how it is read, how not, and what may change on the way
    "target": ("a,b,c\n", ["--target", "a"], ["--target", "b"], []),
    "categorical": ("a,b,c\n", ["--categorical", "b=8"], ["--categorical", "b=9"], []),
    "leave_out": ("a,b,c\n", ["--leave-out", "a"], ["--leave-out", "b"], []),
    "missing": ("a,b,c\n", ["--missing", "1"], ["--missing", "2"], []),
    "header": ("1,2,3\n", ["--header"], ["--no-header"], []),
    "delimiter": ("a;b;c\n", ["--delimiter", ";"], ["--delimiter", ","], []),
    "zero_based": ("", ["--zero-based"], ["--one-based"], ["--max-features", "9"]),
    "format": ("a,b,c\n", ["--format", "csv"], ["--format", "svmlight"], []),
    "none": ("a,b,c\n", [], ["--target", "a"], ["--missing", "0", "--target", "c", "--header", "--format", "csv"]),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_resumed_rows_are_read_as_before(name):
    """Options of reading are remembered; others than before are refused."""
    first, words, others, free = OPTIONS[name]
    path = {"zero_based": "rows.svm", "format": "rows"}.get(name, "rows.csv")
    row = "{0} 0:{1} 2:{2}\n" if path == "rows.svm" else "{0},{1},{2}\n"
    row = row.replace(",", ";") if ";" in first else row
    with open(path, "w") as file:
        file.write(first + "".join(row.format(i % 7, i % 5, i % 3) for i in range(90)))
    start = ["learn", path, "-a", "fogd", "--task", "regression", "--sigma", 1, "-q", "-o"]
    onkel_(*start, "whole.onkel", *words, *free)
    onkel_(*start, "m.onkel", *words, "--rows", 40)
    _, err = onkel_(*start, "m.onkel", *others, "--resume", code=2)
    assert f"another {name if name != 'none' else 'target'}, and --resume" in " ".join(err.split())
    onkel_(*start, "m.onkel", *free, "--resume")
    with open("m.onkel", "rb") as file, open("whole.onkel", "rb") as whole:
        assert file.read() == whole.read()


def test_resumed_columns_are_found_by_name(weather):
    """A file of which nothing else says that it is another one."""
    weather.to_parquet("w.parquet")
    weather[["temp", "kind", "town", "id", "wind"]].to_parquet("other.parquet")
    words = ["-a", "perceptron", "--categorical", "town=8", "--leave-out", "id", "--sigma", 1, "-q", "-o"]
    onkel_("learn", "w.parquet", *words, "whole.onkel")
    onkel_("learn", "w.parquet", *words, "m.onkel", "--rows", 40)
    onkel_("learn", "other.parquet", "-o", "m.onkel", "--resume", "-q")
    assert onkel.load("m.onkel").dual_coef_.tobytes() == onkel.load("whole.onkel").dual_coef_.tobytes()
