"""Tables become svmlight row by row; damaged files are named."""

import bz2
import gzip
import lzma
import zipfile

import pytest

from onkel.datasets.catalogue import Table
from onkel.datasets.tables import count_rows, opened, rewrite


def convert(tmp_path, text, table, features):
    (tmp_path / "raw.data").write_text(text)
    rewrite(tmp_path / "raw.data", tmp_path / "raw.svm", table, features)
    return (tmp_path / "raw.svm").read_text()


def test_last_column_with_words(tmp_path):
    table = Table(target=-1, labels={"g": "+1", "h": "-1"})
    assert convert(tmp_path, "0.5,0,1e-3,g\r\n\n0,0.0,-2,h", table, 3) == "+1 1:0.5 3:1e-3\n-1 3:-2\n"


def test_header_and_column_left_out(tmp_path):
    table = Table(target=1, leave_out=(2,), header=True)
    assert convert(tmp_path, "a,b,c,d\n1,20.5,7,3\n4,21,8,5\n", table, 2) == "20.5 1:1 2:3\n21 1:4 2:5\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2", "line 2: 1 features in place of 2"),
        ("1,2,3,4", "line 2: 3 features in place of 2"),
        ("1,x,3", "line 2: could not convert string to float: 'x'"),
        ("1,2,", "line 2: could not convert"),
        ("\xe9,2,3", "line 2: could not convert"),
    ],
)
def test_rows_that_do_not_belong(tmp_path, row, message):
    with pytest.raises(ValueError, match=message):
        convert(tmp_path, f"1,2,3\n{row}\n", Table(target=-1), 2)
    assert not (tmp_path / "raw.svm").exists()


def test_unknown_word(tmp_path):
    with pytest.raises(ValueError, match=r"raw\.data, line 1"):
        convert(tmp_path, "1,2,k\n", Table(target=-1, labels={"g": "1"}), 2)


def test_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "raw.zip", "w") as archive:
        archive.writestr("readme", "not this one")
        archive.writestr("inner.csv", "x,y\n1,2\n3,4\n")
    table = Table(target=-1, header=True, member="inner.csv")
    assert count_rows(tmp_path / "raw.zip", ".zip", table) == 2
    rewrite(tmp_path / "raw.zip", tmp_path / "raw.svm", table, 1)
    assert (tmp_path / "raw.svm").read_text() == "2 1:1\n4 1:3\n"
    with pytest.raises(ValueError, match=r"raw\.zip is damaged.*absent\.csv"):
        rewrite(tmp_path / "raw.zip", tmp_path / "raw.svm", table._replace(member="absent.csv"), 1)


PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_rows_are_counted(tmp_path, suffix):
    file = tmp_path / f"a.svm{suffix}"
    file.write_bytes(PACKERS[suffix](b"# comment\n1 1:1\n\n-1 2:1\n1"))
    assert count_rows(file, suffix, None) == 3


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz"])
@pytest.mark.parametrize("harm", ["cut", "changed"])
def test_damage_is_named(tmp_path, suffix, harm):
    whole = PACKERS[suffix](b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(5000)))
    middle = len(whole) // 2
    file = tmp_path / f"a.svm{suffix}"
    file.write_bytes(whole[:middle] if harm == "cut" else whole[:middle] + bytes(50) + whole[middle + 50 :])
    with pytest.raises(ValueError, match=r"a\.svm.* is damaged"), opened(file) as lines:
        lines.read()


def test_missing_files_are_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError), opened(tmp_path / "a.svm.bz2"):
        pass
