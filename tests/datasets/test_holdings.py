"""The folder of data sets: where it is, what it holds, its manifest and its locks."""

import csv
import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onkel.datasets import DownloadError, folder
from onkel.datasets.holdings import Holdings


def write_manifest(home, *rows):
    home.mkdir(exist_ok=True)
    with open(home / "MANIFEST.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, sorted({key for row in rows for key in row}))
        writer.writeheader()
        writer.writerows(rows)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_the_folder_is_the_chosen_one(monkeypatch, tmp_path):
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.setenv("ONKEL_DATA", "~/sets")
    assert folder() == Path.home() / "sets"


@pytest.mark.parametrize(
    ("platform", "variable", "rest"),
    [
        ("linux", "XDG_CACHE_HOME", None),
        ("linux", None, ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", None),
        ("win32", None, "AppData/Local"),
    ],
)
def test_the_folder_is_among_the_caches_of_the_user(monkeypatch, tmp_path, platform, variable, rest):
    for name in ("ONKEL_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
    assert folder() == (tmp_path if variable else Path.home() / rest) / "onkel" / "data"


def test_files_are_found_by_their_names(tmp_path):
    for name in ("a.svm", "b.train.svm.xz", "b.test.svm.bz2", "ab.svm.gz", "a.svm.part", "a.csv"):
        (tmp_path / name).touch()
    holdings = Holdings(tmp_path)
    assert holdings.parts("a") == {"all": tmp_path / "a.svm"}
    assert holdings.parts("b") == {"train": tmp_path / "b.train.svm.xz", "test": tmp_path / "b.test.svm.bz2"}
    assert holdings.parts("ab") == {"all": tmp_path / "ab.svm.gz"}
    assert holdings.parts("c") == {}


def test_files_are_found_by_the_manifest(tmp_path):
    (tmp_path / "other.svm.v2").touch()
    (tmp_path / "mine.csv").touch()
    (tmp_path.parent / "outside.svm").touch()
    write_manifest(
        tmp_path,
        {"name": "mine", "file": "other.svm.v2"},
        {"name": "mine", "file": "mine.csv"},
        {"name": "gone", "file": "gone.svm"},
        {"name": "escaped", "file": "../outside.svm"},
    )
    holdings = Holdings(tmp_path)
    assert holdings.parts("mine") == {"all": tmp_path / "other.svm.v2"}
    assert holdings.parts("gone") == {}
    assert holdings.parts("escaped") == {}


def test_a_changed_file_is_noticed(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n")
    write_manifest(tmp_path, {"name": "a", "file": "a.svm", "sha256": sha256(b"1 1:1\n")})
    holdings = Holdings(tmp_path)
    assert holdings.verify(tmp_path / "a.svm") == tmp_path / "a.svm"
    (tmp_path / "a.svm").write_bytes(b"1 1:2\n")
    with pytest.raises(DownloadError, match=r"a\.svm is not the file that MANIFEST\.csv"):
        holdings.verify(tmp_path / "a.svm")


def test_recording_keeps_what_others_wrote(tmp_path):
    write_manifest(
        tmp_path,
        {"name": "a", "file": "a.svm", "sha256": "1", "colour": "red"},
        {"name": "b", "file": "b.svm", "sha256": "2", "colour": "blue"},
    )
    Holdings(tmp_path).record(name="b", file="b.svm", sha256="3")
    Holdings(tmp_path).record(name="c", file="c.svm", sha256="4")
    rows = Holdings(tmp_path).rows
    assert [(row["file"], row["sha256"], row["colour"]) for row in rows] == [
        ("a.svm", "1", "red"),
        ("b.svm", "3", ""),
        ("c.svm", "4", ""),
    ]


def test_a_ragged_manifest_is_read(tmp_path):
    (tmp_path / "MANIFEST.csv").write_text("name,file,sha256\na,a.svm\nb,b.svm,12,surplus\n\n,,\n")
    rows = Holdings(tmp_path).rows
    assert [(row["name"], row["file"], row["sha256"]) for row in rows] == [("a", "a.svm", ""), ("b", "b.svm", "12")]
    Holdings(tmp_path).record(name="c", file="c.svm")
    assert len(Holdings(tmp_path).rows) == 3


def test_many_threads_record(tmp_path):
    threads = [
        threading.Thread(target=lambda i=i: Holdings(tmp_path).record(name=str(i), file=f"{i}.svm")) for i in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row["name"] for row in Holdings(tmp_path).rows} == {str(i) for i in range(20)}


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = (
        "import sys, time; from onkel.datasets.holdings import Holdings\n"
        "with Holdings(sys.argv[1]).lock('a.svm'):\n    print('locked', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    entered = threading.Event()

    def enter():
        with Holdings(tmp_path).lock("a.svm"):
            entered.set()

    waiter = threading.Thread(target=enter)
    with process:
        assert process.stdout.readline() == b"locked\n"
        waiter.start()
        assert not entered.wait(0.3)
        with Holdings(tmp_path).lock("b.svm"):
            pass  # another file is free
        process.kill()
    assert entered.wait(10)
    waiter.join()
