"""Streams of CSV, Parquet, Arrow, data frames, arrays and iterators: rows, positions, faults."""

import gzip
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import onkel
import onkel.datasets
from onkel.io import tables

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
WORDS = ["red", "blue", "green"]


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": random.normal(size=500),
            "colour": random.choice(WORDS, 500),
            "count": random.integers(0, 9, 500),
            "label": random.integers(0, 2, 500),
            "id": [f"n{i}" for i in range(500)],
        }
    )


def csv_of(text, **options):
    file = io.BytesIO(text.encode() if isinstance(text, str) else text)
    return onkel.open_stream(file, format="csv", **options)


def joined(batches):
    """All rows, dense, and all targets."""
    batches = list(batches)
    X = [batch.X.toarray() if sp.issparse(batch.X) else np.asarray(batch.X) for batch in batches]
    return np.vstack(X), np.concatenate([batch.y for batch in batches])


def until_error(stream):
    """The batches, and the error that ended them."""
    batches = []
    try:
        for batch in stream:
            batches.append(batch)
    except onkel.StreamError as error:
        return batches, error
    return batches, None


ROLES = dict(target="label", leave_out=["id"], categorical={"colour": WORDS})


def test_all_kinds_of_tables_agree(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=64)
    table = pa.Table.from_pandas(frame)
    feather.write_feather(table, tmp_path / "a.feather", chunksize=90)
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    hot = (frame["colour"].to_numpy()[:, None] == np.array(WORDS)).astype(float)
    expected = np.hstack([frame[["size"]], hot, frame[["count"]]])
    sources = [tmp_path / f"a.{end}" for end in ("csv", "tsv.gz", "parquet", "feather", "arrow")]
    for source in [*sources, frame, pl.from_pandas(frame), table]:
        batches = list(onkel.open_stream(source, batch_rows=120, **ROLES))
        X, y = joined(batches)
        assert np.array_equal(X, expected), source
        assert np.array_equal(y, frame["label"])
        assert all(len(batch.y) <= 120 for batch in batches)
        for batch in batches:
            position = json.loads(json.dumps(batch.position))
            stream = onkel.open_stream(source, batch_rows=33, start=position, **ROLES)
            left = list(stream)
            assert sum(len(one.y) for one in left) == 500 - position["rows"]
            if left:
                X, y = joined(left)
                assert np.array_equal(X, expected[position["rows"] :])
                assert np.array_equal(y, frame["label"][position["rows"] :])
                assert left[-1].position["rows"] == 500


def test_columns():
    text = "a,b,c\n1,2,3\n4,5,6\n"
    for target, X, y in (
        (None, [[1, 2], [4, 5]], [3, 6]),
        ("b", [[1, 3], [4, 6]], [2, 5]),
        (0, [[2, 3], [5, 6]], [1, 4]),
        (-3, [[2, 3], [5, 6]], [1, 4]),
    ):
        (batch,) = csv_of(text, target=target)
        assert (batch.X.tolist(), batch.y.tolist()) == (X, y)
    (batch,) = csv_of(text, target=False)
    assert batch.X.shape == (2, 3)
    assert np.isnan(batch.y).all()
    (batch,) = csv_of("1;2\n3;4\n", delimiter=";", labels="integer")
    assert (batch.X.tolist(), batch.y.tolist(), batch.y.dtype) == ([[1], [3]], [2, 4], np.int64)
    (batch,) = csv_of("1,2\n3,4\n", header=True)
    assert batch.X.tolist() == [[3]]
    (batch,) = csv_of('name,"the ""label"""\r\n1,"x, y"\r\n\r\n2,"two\nlines"\r\n')
    assert (batch.X.tolist(), batch.y.tolist()) == ([[1], [2]], ["x, y", "two\nlines"])
    (batch,) = csv_of(b"\xef\xbb\xbfa,b\n1,2\n")
    assert batch.X.tolist() == [[1]]
    for wrong, told in (
        (dict(target="d"), "There is no column 'd'; there are: a, b, c"),
        (dict(target=3), "There is no column 3"),
        (dict(leave_out=["a", "b"]), "No column is left"),
        (dict(categorical={"a": []}), "must be different words"),
        (dict(categorical={"a": 0}), "cannot be hashed to 0 columns"),
        (dict(zero_based=True), "zero_based: without meaning"),
        (dict(labels="words"), "labels must be"),
        (dict(errors="ignore"), 'errors must be "strict" or "skip"'),
        (dict(batch_rows=0), "batch_rows must be"),
    ):
        with pytest.raises(ValueError, match=told):
            csv_of(text, **wrong)
    with pytest.raises(onkel.StreamError, match="two columns have the same name"):
        csv_of("a,a\n1,2\n")
    with pytest.raises(onkel.StreamError, match="there is nothing in it"):
        csv_of("")


def test_features_by_name():
    options = dict(features=["a", "town"], categorical={"town": ["x", "y"]})
    for text, more, X, y in (
        ("a,town,c\n1,x,3\n", {}, [1, 1, 0], 3),
        ("town,c,a\nx,3,1\n", {}, [1, 1, 0], 3),
        ("c,d,town,a\n3,4,x,1\n", dict(target="c"), [1, 1, 0], 3),
        ("c,d,town,a\n3,4,x,1\n", dict(leave_out=["d"]), [1, 1, 0], 3),
        ("town,a\nx,1\n", dict(), [1, 1, 0], np.nan),
        ("1,x,3\n", {}, [1, 1, 0], 3),
        ("1,x\n", {}, [1, 1, 0], np.nan),
        ("3,1,x\n", dict(target=0), [1, 1, 0], 3),
        ("1,x,3\n", dict(target="c"), [1, 1, 0], 3),
        ("1,2,3\n", dict(features=[2, 0], categorical=None), [3, 1], 2),
    ):
        (batch,) = csv_of(text, **{**options, **more})
        assert (sp.csr_matrix(batch.X).toarray()[0].tolist(), str(batch.y[0])) == (X, str(float(y))), text
        assert list(csv_of(text, start=batch.position, **{**options, **more})) == []
    for text, more, told in (
        ("a,c\n1,2\n", {}, "There is no column 'town'; there are: a, c"),
        ("a,town\n1,x\n", dict(target="a"), "Column 'a' is named as a feature, and as the target"),
        ("a,town\n1,x\n", dict(leave_out=["a"]), "Column 'a' is named as a feature, and"),
        ("1\n", {}, "The columns have no names, and 1 of them cannot be the features a, town"),
        ("1,x,3,4\n", {}, "The columns have no names, and 4 of them cannot be"),
    ):
        with pytest.raises(ValueError, match=told):
            csv_of(text, **{**options, **more})


def test_labels_may_be_ignored(frame):
    for text in ("a,b\n1,\n2,x\n3,4\n", "1,\n2,x\n3,4\n"):
        (batch,) = csv_of(text, labels="ignored")
        assert batch.X.tolist() == [[1], [2], [3]]
        assert np.isnan(batch.y).all()
    frame.loc[3, "label"] = np.nan
    X, y = joined(onkel.open_stream(frame, labels="ignored", **ROLES))
    assert len(X) == 500
    assert np.isnan(y).all()


def test_hashing_is_bounded_and_lasting():
    rows = "\n".join(f"town{i},{i % 2}" for i in range(300))
    (batch,) = csv_of(f"town,y\n{rows}\n", categorical={"town": 16})
    assert batch.X.shape == (300, 16)
    assert (batch.X.sum(axis=1) == 1).all()
    assert (batch.X.sum(axis=0) > 5).all()
    assert batch.X.indices[:8].tolist() == [9, 15, 5, 3, 0, 6, 12, 10]  # the same in every process and version


ODD = {
    "x,1": "column 'a' has 'x', which is no finite number",
    "nan,1": "column 'a' has 'nan'",
    "1e999,1": "column 'a' has '1e999'",
    "1_0,1": "column 'a' has '1_0'",
    "0x1,1": "column 'a' has '0x1'",
    "١,1": "column 'a' has '١'",
    ",1": "column 'a' is empty; missing=0 would take it as 0",
    " ,1": "column 'a' is empty",
    "1,": "the target, column 'b', is empty",
    "1,x": "the target, column 'b', has 'x', which is no finite number",
    "1": "1 cells in place of 2",
    "1,2,3": "3 cells in place of 2",
    '"1,2': "unexpected end of data",
    '"1"2,2': "',' expected after '\"'",
    "1,2\xff": "not valid UTF-8",
    "1,\0": "the target, column 'b', has '\\x00'",
    "1," + "2" * 200: "longer than the limit of 100 bytes",
}


@pytest.mark.parametrize("line", ODD)
def test_odd_rows(line):
    before, after = b"a,b\n1,2\n", b"\n3,4\n"
    odd = line.encode("latin-1") if line.endswith("\xff") else line.encode()
    swallows = line.startswith('"1,')  # an open quote takes in all that follows
    stream = csv_of(before + odd + after, max_line=100)
    assert joined([next(stream)])[1].tolist() == [2]
    with pytest.raises(onkel.StreamError) as caught:
        next(stream)
    assert ODD[line] in str(caught.value) or (line == "1,\0" and "NUL" in str(caught.value))
    assert (caught.value.line, caught.value.offset) == (3, len(before))
    with pytest.raises(StopIteration):
        next(stream)
    stream = csv_of(before + odd + after, max_line=100, errors="skip")
    assert joined(stream)[1].tolist() == ([2] if swallows else [2, 4])
    assert stream.skipped == 1
    assert stream.first_skipped.line == 3


def test_first_fault_wins():
    """Whatever kinds of faults a batch has, the first ends it, and no row before is lost."""
    text = "a,b\n1,2\n1,2\nx,2\n1\ny,2\n"
    stream = csv_of(text)
    assert len(next(stream).y) == 2
    with pytest.raises(onkel.StreamError, match="line 4, byte 12: column 'a' has 'x'"):
        next(stream)
    stream = csv_of(text, errors="skip")
    assert len(next(stream).y) == 2
    assert next(stream, None) is None
    assert (stream.skipped, stream.first_skipped.line) == (3, 4)


def test_missing_cells(frame):
    (batch,) = csv_of("a,b\n,1\n2,1\n", missing=-1)
    assert batch.X.tolist() == [[-1], [2]]
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "w": ["x", None, "y"], "y": [0, 1, 0]})
    for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        options = dict(categorical={"w": ["x", "y", ""]})
        with pytest.raises(onkel.StreamError, match="row 1: column 'a'"):
            list(onkel.open_stream(source, **options))
        assert joined(onkel.open_stream(source, errors="skip", **options))[1].tolist() == [0, 0]
        X, _ = joined(onkel.open_stream(source, missing=9, **options))
        assert X.tolist() == [[1, 1, 0, 0], [9, 0, 0, 1], [3, 0, 1, 0]]
    for text in ("w,y\nx,1\n,2\n", "w,y\nx,1\n ,2\n"):  # hashed words
        stream = csv_of(text, categorical={"w": 8})
        assert joined([next(stream)])[1].tolist() == [1]
        with pytest.raises(onkel.StreamError, match="line 3, byte 8: column 'w' is empty; missing=0"):
            next(stream)
        assert joined(csv_of(text, categorical={"w": 8}, missing=0))[1].tolist() == [1, 2]
    with pytest.raises(onkel.StreamError, match="column 'w' has 'x', which is no finite number"):
        list(onkel.open_stream(frame, missing=0))


cells = st.sampled_from(["1", "-2.5", "1e3", "", "x", "nan", "1_0", '"3"', '"4', "5\n", "é"])


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.lists(cells, min_size=1, max_size=4).map(",".join), max_size=10),
    batch_rows=st.integers(1, 4),
    block=st.sampled_from([1, 5, 2**18]),
)
def test_csv_is_the_same_however_it_is_cut(rows, batch_rows, block):
    """Any batches, any blocks, any place to resume: the same rows; strict, it stops where they are faulty."""
    text = "a,b,c\n" + "\n".join(rows)
    whole = [csv_of(text, errors="skip"), csv_of(text, errors="skip", batch_rows=batch_rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", block)
        found = [[(tuple(x), y) for X, t, _ in stream for x, y in zip(X.tolist(), t.tolist())] for stream in whole]
        assert found[0] == found[1]
        assert whole[0].skipped == whole[1].skipped
        for x, y in found[0]:
            assert all(math.isfinite(value) for value in x)
            assert isinstance(y, str) or math.isfinite(y)
        stream = csv_of(text, batch_rows=batch_rows)
        batches, error = until_error(stream)
        assert (error is None) == (whole[0].skipped == 0)
        assert error is None or error.line == whole[0].first_skipped.line
        assert sum(len(batch.y) for batch in batches) <= len(found[0])
        for position in [batch.position for batch in batches]:
            rest = csv_of(text, errors="skip", start=position)
            left = [(tuple(x), y) for X, t, _ in rest for x, y in zip(X.tolist(), t.tolist())]
            assert left == found[0][position["rows"] :]


def test_memory_stays_with_the_batch(tmp_path):
    path = tmp_path / "x.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("a,b\n")
        for i in range(20_000):
            file.write(f"{i},{i}\n")
    stream = onkel.open_stream(path, batch_rows=100)
    for batch in stream:
        assert len(batch.y) <= 100
        assert len(stream._lines._block) <= tables.BLOCK
    assert batch.position["line"] == 20_002


# In memory.


def test_arrays():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for rows in (X, sp.csr_matrix(X), sp.coo_matrix(X), frame, pl.from_pandas(frame), X.tolist()):
        stream = onkel.open_stream((rows, y), batch_rows=4)
        batches = list(stream)
        assert stream.done == 1
        assert [len(batch.y) for batch in batches] == [4, 4, 2]
        assert np.array_equal(joined(batches)[0], X)
        rest = joined(onkel.open_stream((rows, y), start=batches[0].position))
        assert np.array_equal(rest[0], X[4:])
    assert next(onkel.open_stream((frame, pd.Series(y)), batch_rows=4)).X.columns.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="X has 10 rows, y 9"):
        onkel.open_stream((X, y[:9]))


def test_iterators():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)

    def pairs():
        yield X[:1], y[:1]
        yield X[1:1], y[1:1]
        yield sp.csr_matrix(X[1:8]), y[1:8]
        yield X[8:].tolist(), y[8:].tolist()

    batches = list(onkel.open_stream(pairs(), batch_rows=3))
    assert [len(batch.y) for batch in batches] == [1, 3, 3, 1, 2]
    assert np.array_equal(joined(batches)[0], X)
    for batch in batches[:-1]:
        rest, labels = joined(onkel.open_stream(pairs(), start=batch.position))
        assert np.array_equal(rest, X[batch.position["rows"] :])
        assert np.array_equal(labels, y[batch.position["rows"] :])
    with pytest.raises(ValueError, match=r"A batch after row 0 has 1 rows of X, but 2 of y\."):
        list(onkel.open_stream(iter([(X[:1], y[:2])])))


def test_what_no_stream_is_made_of():
    with pytest.raises(TypeError, match="cannot be made of a int"):
        onkel.open_stream(3)
    with pytest.raises(ValueError, match="format must be one of"):
        onkel.open_stream("x.svm", format="arff")
    with pytest.raises(ValueError, match="position is of a stream of format 'csv', not 'svmlight'"):
        onkel.open_stream(io.BytesIO(b"1 1:1"), start={"format": "csv"})


def test_what_is_no_place_in_a_stream():
    X = np.eye(4)
    for start in ({"rows": -1}, {"rows": 1.5}, {"rows": "1"}, {}, {"rows": 1, "skipped": -1}):
        with pytest.raises(ValueError, match=r"The position is none of a stream's: (rows|skipped) is "):
            onkel.open_stream((X, X[0]), start={"format": "arrays", **start})
    with pytest.raises(ValueError, match="byte is -1"):
        csv_of("a,b\n1,2\n", start={"format": "csv", "rows": 1, "byte": -1})


def test_text_and_lazy_frames_are_refused(tmp_path):
    with pytest.raises(
        TypeError, match=r"source is open as text: pass it as bytes, by open\(path, 'rb'\) or io.BytesIO"
    ):
        onkel.open_stream(io.StringIO("a,b\n1,2\n"), format="csv")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with open(tmp_path / "a.csv") as file, pytest.raises(TypeError, match=r"a\.csv is open as text"):
        onkel.open_stream(file)
    with pytest.raises(TypeError, match=r"A LazyFrame has no rows before it is collected: pass what collect\(\) gives"):
        onkel.open_stream(pl.LazyFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_damaged_tables(kind, frame, tmp_path):
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        frame.to_parquet(path, row_group_size=100)
    else:
        feather.write_feather(frame, path, chunksize=100, compression="lz4")
    data = path.read_bytes()
    spoilt = bytearray(data)
    spoilt[len(data) // 2 : len(data) // 2 + 500] = bytes(500)
    for broken in (data[: len(data) // 2], b"a,b\n1,2\n", b"", bytes(spoilt)):
        path.write_bytes(broken)
        with pytest.raises(onkel.StreamError, match=f"a.{kind}: the file is damaged, or of another format"):
            list(onkel.open_stream(path, **ROLES))
    with pytest.raises(FileNotFoundError):
        onkel.open_stream(tmp_path / f"none.{kind}")


def test_learners_take_streams():
    """Batch by batch, a learner comes to the same as at once."""
    X, y = onkel.datasets.turning_moons(300, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    model = onkel.RBPClassifier(budget=20, gamma=1.0, random_state=0)
    for rows, labels, _ in onkel.open_stream(frame, batch_rows=50):
        model.partial_fit(rows, labels, classes=[-1, 1])
    whole = onkel.RBPClassifier(budget=20, gamma=1.0, random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert model.dual_coef_.tobytes() == whole.dual_coef_.tobytes()
