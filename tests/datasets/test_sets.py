"""Sets by name: fetched from a mirror on this machine, or read from a folder."""

import bz2
import hashlib
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from dataset_server import Answer

from onkel import datasets
from onkel.datasets import DownloadError
from onkel.datasets.catalogue import CATALOGUE, SITES

GERMAN = b"".join(b"%+d 1:%d 24:0.5\n" % (1 if i % 3 else -1, i) for i in range(1000))
A9A = b"-1 3:1 11:1\n" * 32561
A9A_TEST = b"+1 122:1\n" * 16281
IJCNN1 = bz2.compress(b"-1 1:0.5\n" * 49990)


@pytest.fixture
def mirror(site, home, monkeypatch):
    monkeypatch.setenv("ONKEL_DATA_URL", site.url + "/mirror/")
    site.files["/mirror/libsvm/binary/german.numer_scale"] = GERMAN
    site.files["/mirror/libsvm/binary/a9a"] = A9A
    site.files["/mirror/libsvm/binary/a9a.t"] = A9A_TEST
    site.files["/mirror/libsvm/binary/ijcnn1.bz2"] = IJCNN1
    return site


def put(home, name, data=b"1 1:0.5\n-1 2:0.25\n"):
    home.mkdir(exist_ok=True)
    (home / name).write_bytes(data)


def test_fetched_once(mirror, home):
    seen = []
    files = datasets.fetch("german", progress=lambda done, total: seen.append((done, total)))
    assert files == [home / "german.svm"]
    assert files[0].read_bytes() == GERMAN
    assert seen[-1] == (len(GERMAN), len(GERMAN))
    mirror.always = Answer(status=404)
    assert datasets.fetch("german") == files
    X, y = datasets.load("german")
    assert X.shape == (1000, 24)
    assert len(mirror.requests) == 1
    assert X[7, 0] == 7
    assert set(y) == {-1, 1}
    assert y.dtype == np.int64


def test_parts(mirror, home):
    X, y = datasets.load("a9a")
    assert X.shape == (48842, 123)  # though neither file names the last feature
    assert isinstance(X, sp.csr_matrix)
    assert (y == np.repeat([-1, 1], [32561, 16281])).all()
    assert datasets.load("a9a", "train")[0].shape == (32561, 123)
    assert datasets.load("a9a", "test")[0].shape == (16281, 123)
    assert datasets.path("a9a", "test") == home / "a9a.test.svm"
    with pytest.raises(ValueError, match="name a part, 'train' or 'test'"):
        datasets.path("a9a")
    with pytest.raises(ValueError, match="a9a has no part 'val'; there are: all, train, test"):
        datasets.load("a9a", "val")
    with pytest.raises(ValueError, match="german has no part 'train'; there are: all"):
        datasets.load("german", "train")


def test_packed(mirror, home):
    assert datasets.path("ijcnn1", "train") == home / "ijcnn1.train.svm.bz2"
    assert (home / "ijcnn1.train.svm.bz2").read_bytes() == IJCNN1
    assert datasets.load("ijcnn1", "train")[0].shape == (49990, 22)


def test_a_table_is_rewritten(mirror, home):
    row = ",".join(["0.5", "0"] * 28 + ["3"])
    mirror.files["/mirror/uci/spambase/spambase.data"] = "".join(f"{row},{i % 2}\n" for i in range(4601)).encode()
    X, y = datasets.load("spambase")
    assert X.shape == (4601, 57)
    assert (X[[0]].toarray()[0, :4] == [0.5, 0, 0.5, 0]).all()
    assert (y[:4] == [-1, 1, -1, 1]).all()
    assert (home / "spambase.data").is_file()
    assert datasets.path("spambase") == home / "spambase.svm"
    (home / "spambase.svm").unlink()
    put(home, "spambase.data", b"changed")
    with pytest.raises(DownloadError, match=r"spambase\.data is not the file that MANIFEST\.csv"):
        datasets.load("spambase")


def test_a_table_put_there_by_hand_is_rewritten(home):
    rows = "".join(f"1,70,0,5.6,{i}.5,{i},{','.join('1' * 16)}\n" for i in range(30))
    put(home, "parkinsons_updrs.data", ("header," * 21 + "header\n" + rows).encode())
    X, y = datasets.load("parkinsons")
    assert X.shape == (30, 20)
    assert (X[0, :5] == [1, 70, 0, 5.6, 1]).all()
    assert (y == np.arange(30)).all()
    assert y.dtype == np.float64


def test_the_first_download_is_trusted_and_later_ones_compared(mirror, home):
    datasets.fetch("german")
    row = (home / "MANIFEST.csv").read_text().splitlines()[1]
    assert hashlib.sha256(GERMAN).hexdigest() in row
    assert "german,binary,1000,24" in row
    (home / "german.svm").unlink()
    mirror.files["/mirror/libsvm/binary/german.numer_scale"] = GERMAN.replace(b"0.5", b"0.6")
    with pytest.raises(DownloadError, match="the right file has " + hashlib.sha256(GERMAN).hexdigest()):
        datasets.fetch("german")
    mirror.files["/mirror/libsvm/binary/german.numer_scale"] = GERMAN
    datasets.fetch("german")


def test_a_first_download_of_the_wrong_size_is_not_trusted(mirror, home):
    mirror.files["/mirror/libsvm/binary/german.numer_scale"] = GERMAN[: len(GERMAN) // 2]
    with pytest.raises(DownloadError, match="rows, the right file 1000"):
        datasets.fetch("german")
    assert not list(home.glob("*.svm*"))
    mirror.files["/mirror/libsvm/binary/ijcnn1.bz2"] = IJCNN1[:-10]
    with pytest.raises(DownloadError, match="is damaged"):
        datasets.fetch("ijcnn1")


def test_a_file_changed_in_the_folder(mirror, home):
    datasets.fetch("german")
    (home / "german.svm").write_bytes(GERMAN.replace(b"0.5", b"0.6"))
    with pytest.raises(DownloadError, match=r"Delete the file.*or its row in MANIFEST\.csv"):
        datasets.load("german")
    (home / "MANIFEST.csv").unlink()
    assert datasets.load("german")[0].shape == (1000, 24)


def test_the_message_says_what_to_do_by_hand(mirror, home):
    mirror.always = Answer(status=404)
    with pytest.raises(DownloadError, match=r"404.*save that file as .*german\.svm") as caught:
        datasets.load("german")
    address, target = re.search(r"^(\S+): .* as (\S+)$", str(caught.value)).groups()
    assert address == f"{mirror.url}/mirror/libsvm/binary/german.numer_scale"
    put(home, pathlib.Path(target).name, GERMAN)
    assert datasets.load("german")[0].shape == (1000, 24)


def test_no_download_without_leave(mirror, home):
    with pytest.raises(FileNotFoundError, match=r"german\.svm is missing: allow the download or save http"):
        datasets.load("german", download=False)
    with pytest.raises(FileNotFoundError, match="allow the download"):
        datasets.path("german", download=False)
    assert not mirror.requests
    assert not home.exists()


def test_sets_without_an_address(home):
    with pytest.raises(FileNotFoundError, match=r"kdd08\.svm is missing.*KDD Cup 2008 asks for a registration"):
        datasets.fetch("kdd08")
    put(home, "kdd08.svm.gz", b"")
    assert datasets.fetch("kdd08") == [home / "kdd08.svm.gz"]


def test_a_folder_that_cannot_be(mirror, tmp_path):
    put(tmp_path, "file")
    with pytest.raises(DownloadError, match=r"cannot be stored.*Set ONKEL_DATA"):
        datasets.fetch("german", folder=tmp_path / "file")


def test_two_processes_fetch_at_once(mirror, home):
    code = "from onkel import datasets; print(datasets.load('german')[0].shape)"
    mirror.script["/mirror/libsvm/binary/german.numer_scale"] = [Answer(cut=len(GERMAN) // 2)]
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == [b"(1000, 24)\n"] * 2
    assert mirror.ranges() == [None, f"bytes={len(GERMAN) // 2}-"]  # one download between them
    assert not list(home.glob("*.part*"))


def test_the_folder_is_an_argument_too(tmp_path, home):
    put(tmp_path, "german.svm", GERMAN)
    assert datasets.load("german", folder=tmp_path)[0].shape == (1000, 24)
    assert datasets.path("german", folder=str(tmp_path)) == tmp_path / "german.svm"


def test_names_in_capitals(home):
    put(home, "german.svm", GERMAN)
    assert datasets.describe("German").name == "german"
    assert datasets.load("GERMAN")[0].shape == (1000, 24)


def test_unknown_names(home):
    with pytest.raises(ValueError, match=r"'germann'; did you mean german\?"):
        datasets.load("germann")
    with pytest.raises(ValueError, match=r"'xyzzy'; onkel\.datasets\.names\(\) lists"):
        datasets.describe("xyzzy")


def test_a_merged_file_is_the_whole_set(home):
    put(home, "a9a.svm")
    assert datasets.load("a9a")[0].shape == (2, 123)


def test_parts_of_a_set_that_is_offered_whole(home):
    put(home, "german.train.svm")
    put(home, "german.test.svm")
    assert datasets.load("german")[0].shape == (4, 24)
    assert datasets.load("german", "test")[0].shape == (2, 24)


def test_dense_or_not(home):
    put(home, "mg.svm", b"0.5 1:1 2:1 3:1 4:1\n0.25 1:2 2:1 3:4 6:1\n")  # two thirds
    put(home, "housing.svm", b"0.5 1:1 2:1\n")
    assert isinstance(datasets.load("mg")[0], np.ndarray)
    assert sp.issparse(datasets.load("housing")[0])
    X, y = datasets.load("mg", dense=False, dtype=np.float32)
    assert X.dtype == np.float32
    assert y.dtype == np.float64
    dense = datasets.load("housing", dense=True)[0]
    assert (dense == [[1, 1] + [0] * 11]).all()
    assert dense.flags.c_contiguous
    with pytest.raises(ValueError, match="dense must be True, False or 'auto', but is 'csr'"):
        datasets.load("housing", dense="csr")


def test_one_class_against_the_others(home):
    put(home, "covtype.svm", b"2 1:1\n7 1:1\n2 2:1\n1 3:1\n")
    assert (datasets.load("covtype.binary")[1] == [1, -1, 1, -1]).all()
    assert (datasets.load("covtype")[1] == [2, 7, 2, 1]).all()
    assert datasets.path("covtype.binary") == home / "covtype.svm"


def test_sets_of_the_folder_alone(home):
    put(home, "mine.train.svm", b"1 1:0.5\n3 4:1\n")
    put(home, "mine.test.svm", b"2 1:0.5\n")
    put(home, "curve.svm", b"0.5 1:1\n")
    put(
        home,
        "MANIFEST.csv",
        b"name,task,n,d,classes_or_target_range,file,source,fidelity_note\n"
        b"mine,stream,2,5,3: 1=1 2=1 3=1,mine.train.svm,my own,made up\n"
        b"mine,stream,1,5,3: 1=1 2=1 3=1,mine.test.svm,my own,made up\n"
        b'curve,regression,1,1,"[0, 1]",curve.svm,,\n',
    )
    assert {"mine", "curve", "german", "iris"} <= set(datasets.names())
    X, y = datasets.load("mine")
    assert X.shape == (3, 5)
    assert (y == [1, 3, 2]).all()
    about = datasets.describe("mine")
    assert (about.task, about.parts, about.features, about.classes) == ("multiclass", {"train": 2, "test": 1}, 5, 3)
    assert "made up" in str(about)
    assert datasets.load("curve")[1] == [0.5]
    (home / "curve.svm").unlink()
    with pytest.raises(FileNotFoundError, match=r"curve\.svm is missing\. MANIFEST\.csv lists curve\.svm"):
        datasets.load("curve")


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.loader])
def test_sets_of_scikit_learn(home, name):
    about = datasets.describe(name)
    X, y = datasets.load(name, dense=True, download=False)
    assert X.shape == (about.rows, about.features)
    assert about.classes == (None if about.task == "regression" else len(np.unique(y)))
    assert y.dtype == (np.float64 if about.task == "regression" else np.int64)
    assert datasets.fetch(name) == []
    with pytest.raises(ValueError, match="comes with scikit-learn and has no file"):
        datasets.path(name)
    with pytest.raises(ValueError, match="has no part 'train'"):
        datasets.load(name, "train")


def test_zero_based_files_are_refused(home):
    put(home, "german.svm", b"1 0:1 3:1\n")
    with pytest.raises(ValueError, match=r"german\.svm: Invalid index 0"):
        datasets.load("german")


def test_damaged_files_are_named(home):
    put(home, "german.svm.bz2", bz2.compress(GERMAN)[:-20])
    with pytest.raises(ValueError, match=r"german\.svm\.bz2 is damaged"):
        datasets.load("german")


def test_descriptions(home):
    put(home, "a9a.train.svm")
    about = datasets.describe("a9a")
    assert about.rows == 48842
    assert about.held == {"train": home / "a9a.train.svm"}
    assert about.sources == tuple(f"{SITES['libsvm']}/binary/{name}" for name in ("a9a", "a9a.t"))
    for text in ("a9a: binary, 32561 train + 16281 test rows, 123 features, 2 classes", about.about, about.citation):
        assert text in str(about)
    assert "here: " + str(home / "a9a.train.svm") in str(about)


def test_the_catalogue_is_consistent():
    files = [(file, entry) for entry in CATALOGUE.values() for file in entry.files if entry.name != "covtype.binary"]
    addresses = [file.address for file, _ in files if file.address]
    assert len(set(addresses)) == len(addresses)
    assert {address.split("/")[0] for address in addresses} == set(SITES)
    for file, entry in files:
        assert file.part == "all" or [each.part for each in entry.files] == ["train", "test"]
        assert bool(file.address) + bool(entry.loader) + bool(entry.advice) == 1
        assert (entry.classes is None) == (entry.task == "regression")
        assert (entry.classes == 2) == (entry.task == "binary")
    for entry in CATALOGUE.values():
        assert entry.name == entry.name.lower()
        assert entry.about.endswith((".", "?"))
        assert entry.citation


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [
        ("w7a", {24692, 49749}, 300, 2),
        ("w8a", {64700}, 300, 2),
        ("cod-rna", {59535, 271617}, 8, 2),
        ("kdd08", {102294}, 117, 2),
        ("kdd99", {1131571}, 127, 2),
        ("susy", {5_000_000}, 18, 2),
        ("acoustic", {78823}, 50, 3),
        ("poker", {1_000_000}, 10, 10),
        ("casp", {45730}, 9, None),
        ("slice", {53500}, 385, None),
        ("year", {463715}, 90, None),
    ],
)
def test_sizes_are_those_of_the_papers(home, name, rows, features, classes):
    """ALGORITHMS.md H.5, for the sets that test_data_folder.py does not read."""
    about = datasets.describe(name)
    assert rows <= {*about.parts.values(), about.rows}
    assert (about.features, about.classes) == (features, classes)


def write_mat(home, name, **content):
    (home / "jmlr16").mkdir(parents=True)
    scipy.io.savemat(home / "jmlr16" / f"{name}.mat", content)


@pytest.mark.parametrize("key", ["ID_all", "ID_list"])
def test_stored_permutations(home, key):
    orders = np.array([[3, 1, 2], [1, 2, 3]], np.uint16)
    write_mat(home, "german", data=np.array([[1, 0.5, 2], [-1, 0, 0], [1, 1, 1]]), **{key: orders})
    X, y, got = datasets.load_jmlr16("german")
    assert (X == [[0.5, 2], [0, 0], [1, 1]]).all()
    assert X.flags.c_contiguous
    assert (y == [1, -1, 1]).all()
    assert y.dtype == np.int64
    assert (got == [[2, 0, 1], [0, 1, 2]]).all()


@pytest.mark.parametrize(
    "content",
    [
        {"data": np.ones((3, 2))},
        {"ID_all": np.array([[1, 2, 3]])},
        {"data": np.ones((3, 2)), "ID_all": np.array([[1, 2, 2]])},
        {"data": np.ones((3, 2)), "ID_all": np.array([[0, 1, 2]])},
        {"data": np.ones((3, 2)), "ID_all": np.array([[1, 2]])},
    ],
    ids=["no orders", "no data", "twice", "from 0", "too short"],
)
def test_other_mat_files_are_refused(home, content):
    write_mat(home, "german", **content)
    with pytest.raises(ValueError, match=r"german\.mat does not hold"):
        datasets.load_jmlr16("german")


def test_missing_mat_file(home):
    with pytest.raises(FileNotFoundError, match=r"german\.mat is missing"):
        datasets.load_jmlr16("german")
