"""The svmlight reader: agrees with its slow twin on sound and broken bytes; positions, packings, limits, speed."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
import svmlight_twin
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from thesis import DATA as JMLR16

import onkel
from onkel._jit import COMPILED
from onkel.io import sources, svmlight

A9A = JMLR16.parent / "a9a.train.svm.xz"
zstandard = pytest.importorskip("zstandard")


def rows_of(batches):
    """(label, [(index, value), ...]) of every row."""
    found = []
    for X, y, _ in batches:
        for label, begin, end in zip(y.tolist(), X.indptr[:-1], X.indptr[1:]):
            found.append((label, list(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist()))))
    return found


def read(data, **options):
    """Rows and the error that ends them, if any."""
    stream, batches = onkel.open_stream(io.BytesIO(data), **options), []
    try:
        for batch in stream:
            assert 0 < len(batch.y) <= options.get("batch_rows", 4096)
            assert batch.X.shape[0] == len(batch.y)
            batches.append(batch)
    except onkel.StreamError as error:
        return batches, error, stream
    return batches, None, stream


# Bytes, sound and broken.

WORDS = [
    "1", "-1", "+1", "0", "spam", "é", "nan", "inf", "-infinity", "1e400", "1e-400", "1_0", "0x10", "1,2", "+", "", ".",
    "1:1", "2:0.5", "3:-1e-3", "7:+4.", "8:.25", "9:123456789012345678901234567890", "10:0.1234567890123456789",
    "11:9007199254740993", "12:1e23", "13:1e22", "14:1.7976931348623157e308", "15:1.7976931348623159e308",
    "16:4.9e-324", "2:nan", "3:inf", "4:1_0", "5:0x1p3", "6:1e400", "7:1e", "8:", "9:-", ":3", "1:2:3", "0:1", "-1:1",
    "1.5:1", "+3:1", "2147483647:1", "2147483648:1", "99999999999999999999:1", "000000000000000000002:1", "00017:1",
    "20:00.50", "21:0e99999999999999999999", "22:1e-9999999", "qid:4", "qid:-4", "qid:", "qid:x", "qux", "q", "#",
    "# no", "1:1#", "\r", "\t", "\v", "\f", "\0", "1\0", "2:\0", "2:1\x01", "30:1", "31:2", "32:3",
]  # fmt: skip
lines = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
texts = st.lists(lines, max_size=12).map(lambda some: "\n".join(some).encode())
SOUND = b"+1 1:0.5 3:2 # first\n-1 2:1e-3 9:4\r\n\n1 qid:7 4:0.1234567890123456789\n-1\n+1 3:1"


MARKS = (b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # not the beginning of rows


@st.composite
def broken(draw):
    """A sound file with some bytes changed, taken away or put in."""
    data = bytearray(SOUND * draw(st.integers(1, 3)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 3))] = draw(
            st.binary(max_size=2) | st.sampled_from([b":", b" ", b"\n", b"9"])
        )
    return bytes(data)


@settings(deadline=None, max_examples=400)
@given(
    data=texts | broken(),
    labels=st.sampled_from(["number", "text"]),
    zero_based=st.booleans(),
    batch_rows=st.integers(1, 5),
    limits=st.sampled_from([(2**24, 2**24), (12, 2**24), (2**31 - 1, 30)]),
    block=st.sampled_from([1, 7, 64, 2**18]),
)
@example(
    data=b"1 2:0.1234567890123456789 3:1e23 00017:1\n1",
    labels="number",
    zero_based=False,
    batch_rows=1,
    limits=(2**31 - 1, 30),
    block=1,
)  # the end of a long line comes alone
def test_agrees_with_twin(data, labels, zero_based, batch_rows, limits, block):
    if data.startswith(MARKS):
        data = b" " + data
    most, longest = limits
    expected = svmlight_twin.read(data, base=int(not zero_based), most=most, longest=longest, text=labels == "text")
    options = dict(
        labels=labels, zero_based=zero_based, batch_rows=batch_rows, max_features=most, max_line=longest
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "BLOCK", block)
        batches, error, stream = read(data, errors="skip", **options)
        assert error is None
        assert rows_of(batches) == expected.rows
        assert stream.skipped == len(expected.faults)
        if expected.faults:
            assert (stream.first_skipped.line, stream.first_skipped.offset) == expected.faults[0]

        batches, error, _ = read(data, **options)
        if not expected.faults:
            assert error is None
            assert rows_of(batches) == expected.rows
        else:
            line, offset = expected.faults[0]
            assert (error.line, error.offset) == (line, offset)
            assert f"line {line}, byte {offset}: " in str(error)
            before = svmlight_twin.read(
                b"\n".join(data.split(b"\n")[: line - 1]), base=int(not zero_based), most=most, text=labels == "text"
            )
            assert rows_of(batches) == before.rows
        for batch in batches[:3]:  # what comes behind a position
            rest, _, _ = read(data, start=json.loads(json.dumps(batch.position)), **options)
            assert rows_of(batches)[batch.position["rows"] :] == rows_of(rest)


ODD = {
    "blank line": (b"1 1:1\n\n  \t\n-1 2:1\n", 2),
    "comment": (b"# all\n1 1:1 # some 2:1\n-1 2:1#none\n", 2),
    "no features": (b"1\n-1 \n", 2),
    "CRLF": (b"1 1:1\r\n-1 2:1\r\n", 2),
    "qid": (b"1 qid:3 1:1\n", 1),
    "no end of the last line": (b"1 1:1\n-1 2:1", 2),
    "byte order mark": (b"\xef\xbb\xbf1 1:1\n", 1),
    "empty": (b"", 0),
    "only a comment": (b"# nothing", 0),
    "unsorted": (b"1 2:1 1:1", "'1:1' is smaller than the one before"),
    "repeated": (b"1 2:1 2:1", "'2:1' occurs twice"),
    "NaN": (b"1 1:nan", "'nan' is not a finite"),
    "infinity": (b"1 1:-Infinity", "'-Infinity' is not a finite"),
    "1e400": (b"1 1:1e400", "'1e400' is not a finite"),
    "1_0": (b"1 1:1_0", "'1_0' is not a finite"),
    "hex": (b"1 1:0x1F", "'0x1F' is not a finite"),
    "negative index": (b"1 -1:1", "the index in '-1:1' is not a whole number"),
    "fractional index": (b"1 1.5:1", "the index in '1.5:1' is not a whole number"),
    "above 2^31": (b"1 2147483649:1", "'2147483649:1' is above the limit of 16777216 columns, which max_features sets"),
    "above 2^64": (b"1 99999999999999999999:1", "above the limit"),
    "index 0": (b"1 0:1", "zero_based=True"),
    "no value": (b"1 1:", "a value is missing after the colon"),
    "space behind the colon": (b"1 1: 2", "a value is missing after the colon"),
    "no colon": (b"1 1", "'1' is no feature"),
    "NUL byte": (b"1 1:2\x00", r"'2\x00' is not a finite"),
    "NUL bytes for a line": (b"\x00\x00\x00", r"the label '\x00\x00\x00' is not"),
    "last line cut off": (b"1 1:2 2:", "a value is missing"),
    "no label": (b"1:2 3:4", "its label is missing: '1:2'"),
    "several labels": (b"1,2 1:1", "the label '1,2' is not"),
    "label NaN": (b"nan 1:1", "the label 'nan' is not"),
    "label 1e999": (b"1e999 1:1", "the label '1e999' is not"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_lines(name):
    data, outcome = ODD[name]
    batches, error, _ = read(data)
    if isinstance(outcome, int):
        assert error is None
        assert sum(len(batch.y) for batch in batches) == outcome
        return
    assert outcome.replace("\\x", "\x5cx") in str(error)
    after = b"+1 3:4\n" + data + b"\n-1 1:5\n"
    batches, error, _ = read(after)
    assert error.line == 2
    assert f"line 2, byte {error.offset}: " in str(error)
    assert 7 <= error.offset < 7 + len(data) + 1
    assert rows_of(batches) == [(1.0, [(2, 4.0)])]
    batches, error, stream = read(after, errors="skip")
    assert error is None
    assert rows_of(batches) == [(1.0, [(2, 4.0)]), (-1.0, [(0, 5.0)])]
    assert (stream.skipped, stream.first_skipped.line) == (1, 2)


def test_labels():
    for text, option, kind in (
        (b"+1 1:1\n-1 1:1\n", None, np.float64),
        (b"0 1:1\n1 1:1\n", "integer", np.int64),
        (b"spam 1:1\nham 1:1\n", None, object),
        (b"1 1:1\n2 1:1\n", "text", object),
    ):
        (batch,), error, _ = read(text, labels=option)
        assert error is None
        assert batch.y.dtype == kind
        assert [str(label) for label in batch.y] != []
    _, error, _ = read(b"1 1:1\nspam 1:1\n")
    assert "only labels read as text may be words" in str(error)
    (batch,), error, _ = read(b"? 1:1\n+1 2:1\n\xff\n", labels="ignored")
    assert error is None
    assert np.isnan(batch.y).all()
    assert batch.X.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    _, error, _ = read(b"1 1:1\n1.5 1:1\n", labels="integer")
    assert "line 2, byte 6: the label '1.5' is not a whole number" in str(error)
    batches, _, stream = read(b"1 1:1\n1.5 1:1\n2 1:1", labels="integer", errors="skip")
    assert rows_of(batches) == [(1, [(0, 1.0)]), (2, [(0, 1.0)])]
    assert stream.skipped == 1
    _, error, _ = read(b"spam 1:1\n\xff\xfe 1:1\n")
    assert "not valid UTF-8" in str(error)


@settings(deadline=None)
@given(st.lists(st.floats(-1e308, 1e308), min_size=1), st.sampled_from(["r", ".17e", ".3g", "f"]))
def test_numbers_are_exact(numbers, form):
    written = [repr(x) if form == "r" else format(x, form) for x in numbers]
    (batch,), _, _ = read(b"1 " + " ".join(f"{i}:{word}" for i, word in enumerate(written, 1)).encode())
    assert batch.X.data.tobytes() == np.array([float(word) for word in written]).tobytes()


# Width, limits, sizes.


def test_width_grows_or_is_fixed():
    data = b"1 1:1\n1 5:1\n1 2:1\n"
    batches, _, _ = read(data, batch_rows=1)
    assert [batch.X.shape for batch in batches] == [(1, 1), (1, 5), (1, 5)]
    batches, error, _ = read(data, batch_rows=1, n_features=5)
    assert [batch.X.shape for batch in batches] == [(1, 5)] * 3
    _, error, _ = read(data, n_features=4)
    assert "'5:1' is above the limit of 4 columns, which n_features sets" in str(error)
    rest, _, _ = read(data, batch_rows=1, start=batches[1].position)
    assert rest[0].X.shape == (1, 5)


def test_long_lines():
    long = b"1 " + b" ".join(b"%d:%d" % (i, i) for i in range(1, 300_000))
    (batch,), error, _ = read(long + b"\n-1 1:1\n")
    assert error is None
    assert batch.X.shape == (2, 299_999)
    assert batch.X[0].sum() == 299_999 * 300_000 // 2
    hard = b"1 " + b" ".join(b"%d:0.12345678901234567890" % i for i in range(1, 40_000))
    batches, error, _ = read(hard + b"\n-1 1:1\n")
    assert (batches[0].X[0, :39_999].toarray() == 0.12345678901234567890).all()
    for block in (1000, 2**18):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(svmlight, "BLOCK", block)
            _, error, _ = read(b"1 1:1\n" + long, max_line=100_000)
            assert "line 2, byte 6: the line is longer than the limit of 100000 bytes, which max_line sets" in str(
                error
            )
            batches, _, stream = read(b"1 1:1\n" + long + b"\n-1 1:1\n" + long, max_line=100_000, errors="skip")
            assert (rows_of(batches), stream.skipped) == ([(1.0, [(0, 1.0)]), (-1.0, [(0, 1.0)])], 2)
            assert len(stream._buffer) < 300_000


def test_batches_are_bounded():
    row = b"1 " + b" ".join(b"%d:1" % i for i in range(1, 1001)) + b"\n"
    batches, _, _ = read(row * 3000)
    assert sum(len(batch.y) for batch in batches) == 3000
    assert max(batch.X.nnz for batch in batches) <= svmlight.MOST_ENTRIES


# Files, packed and not; pipes.

PACK = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}  # fmt: skip


@pytest.fixture
def plain():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 20)) * (random.random((3000, 20)) < 0.4)
    file = io.BytesIO()
    dump_svmlight_file(X, random.choice([-1, 1], 3000), file, zero_based=False)
    return file.getvalue()


@pytest.mark.parametrize("suffix", PACK)
def test_packed_files(suffix, plain, tmp_path):
    path = tmp_path / f"rows.svm{suffix}"
    path.write_bytes(PACK[suffix](plain))
    X, y = load_svmlight_file(io.BytesIO(plain), n_features=20)
    with onkel.open_stream(path, batch_rows=700, n_features=20) as stream:
        assert stream.done < 1
        batches = list(stream)
        assert stream.done == 1
    assert [len(batch.y) for batch in batches] == [700, 700, 700, 700, 200]
    assert (np.concatenate([batch.y for batch in batches]) == y).all()
    begin = 0
    for batch in batches:
        assert (X[begin : begin + len(batch.y)] != batch.X).nnz == 0
        begin += len(batch.y)
        rest = onkel.open_stream(path, start=batch.position, n_features=20)
        left = rows_of(rest)
        assert left == rows_of([(X[begin:], y[begin:], None)])
    with onkel.open_stream(io.BytesIO(path.read_bytes())) as stream:  # known by its first bytes, not by its name
        assert sum(len(batch.y) for batch in stream) == 3000


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_damaged_files(suffix, plain):
    """Wherever packed bytes end too early, that is told, behind the rows before."""
    packed, sound = PACK[suffix](plain), svmlight_twin.read(plain).rows
    for end in (10, len(packed) // 2, len(packed) - 5):
        batches, error, _ = read(packed[:end], batch_rows=100)
        assert "damaged or cut off" in str(error)
        assert error.offset is not None
        rows = sum(len(batch.y) for batch in batches)
        assert rows_of(batches) == sound[:rows]
        if suffix in (".gz", ".zst") and end > 10:  # the others have larger blocks
            assert rows > 0
    spoilt = packed[: len(packed) // 2] + b"no" + packed[len(packed) // 2 + 2 :]
    _, error, _ = read(spoilt)
    assert error is not None


def test_several_members(plain):
    for pack in PACK.values():
        batches, error, _ = read(pack(plain) + (pack(plain)))
        assert error is None
        assert sum(len(batch.y) for batch in batches) == 6000
    packed, empty = PACK[".zst"](plain), PACK[".zst"](b"")
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"  # a frame that Zstandard passes over
    batches, error, _ = read(empty + skipped + packed + skipped + empty + packed)
    assert error is None
    assert sum(len(batch.y) for batch in batches) == 6000
    for behind in (skipped[:5], packed[:3], packed[: len(packed) // 2], b"more"):
        batches, error, _ = read(packed + behind)
        assert "damaged or cut off" in str(error)
        assert sum(len(batch.y) for batch in batches) >= 3000


def test_zstandard_unpacks_in_bounded_memory():
    """64 MB of one byte are 6 kB packed; a small part of them is unpacked at a time."""
    source = sources.Bytes(io.BytesIO(PACK[".zst"](bytes(2**26))))
    tracemalloc.start()
    room, size = memoryview(bytearray(2**16)), 0
    while got := source.read(room):
        size += got
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 2**26
    assert peak < 2**25 + 2**20


def test_another_source_is_no_continuation(plain):
    (first, *_), _, _ = read(plain, batch_rows=100)
    _, error, _ = read_from(b"+1 1:1\n" + plain, first.position)
    assert "it begins differently" in str(error)
    _, error, _ = read_from(plain[:50], first.position)
    assert "begins differently" in str(error)
    grown, error, _ = read_from(plain + b"1 1:1\n", first.position)
    assert error is None
    assert sum(len(batch.y) for batch in grown) == 2901


def read_from(data, position):
    try:
        return read(data, start=position)
    except onkel.StreamError as error:
        return [], error, None


PIPE = """
import sys, onkel
for X, y, position in onkel.open_stream("-", batch_rows=int(sys.argv[1])):
    print(X.shape[0], int(y.sum()), position["rows"], flush=True)
"""


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_standard_input(suffix, plain):
    command = [sys.executable, "-c", PIPE, "2000"]
    result = subprocess.run(command, input=PACK[suffix](plain), capture_output=True, check=True, timeout=300)
    y = load_svmlight_file(io.BytesIO(plain))[1]
    expected = [[2000, int(y[:2000].sum()), 2000], [1000, int(y[2000:].sum()), 3000]]
    assert [list(map(int, line.split())) for line in result.stdout.splitlines()] == expected


def test_rows_come_when_they_are_there():
    """A full batch is given out though the pipe stays open."""
    process = subprocess.Popen([sys.executable, "-c", PIPE, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(3):
        process.stdin.write(b"1 1:1\n")
        process.stdin.flush()
        assert process.stdout.readline().split() == [b"1", b"1", b"%d" % (i + 1)]
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux to tell the peak of a process")
def test_memory_is_bounded(tmp_path):
    """Ten times the file, the same memory."""
    program = (
        "import sys, onkel\n"
        "for batch in onkel.open_stream(sys.argv[1], batch_rows=1000): pass\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]\n"
        "print(batch.position['rows'], peak)"
    )
    row = b"1 " + b" ".join(b"%d:0.25" % i for i in range(1, 60)) + b"\n"
    peaks = []
    for times in (5_000, 50_000):
        (tmp_path / "x.svm").write_bytes(row * times)
        out = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.svm")], capture_output=True, check=True)
        rows, peak = map(int, out.stdout.split())
        assert rows == times
        peaks.append(peak)
    assert peaks[1] < 1.05 * peaks[0]


@pytest.mark.data
@pytest.mark.skipif(not COMPILED, reason="about compiled code")
@pytest.mark.skipif(not A9A.exists(), reason="a9a is not in the data folder")
def test_ten_times_as_fast_as_scikit_learn():
    data = lzma.decompress(A9A.read_bytes())

    def seconds(work, times):
        best = float("inf")
        for _ in range(times):
            start = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - start)
        return best

    ours = seconds(lambda: list(onkel.open_stream(io.BytesIO(data))), 10)
    theirs = seconds(lambda: load_svmlight_file(io.BytesIO(data)), 3)
    assert theirs / ours >= 10
