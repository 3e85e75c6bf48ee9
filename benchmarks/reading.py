"""What reading costs: svmlight against scikit-learn and against learning, and memory that does not grow with the file.

    python benchmarks/reading.py [FOLDER]

FOLDER holds the data sets (default: $ONKEL_DATA or the cache). Times are the least of several runs, in one process.
"""

import io
import lzma
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import onkel
from onkel import datasets

# The peak of the process itself: ru_maxrss would also count what its parent held when it started it.
WATCHED = """
import sys
from onkel.cli import main
try:
    main(sys.argv[1:], prog_name="onkel")
finally:
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
"""


def least(work, times):
    """Seconds of the quickest of several runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def against_scikit_learn(names, folder):
    print("parsing of unpacked bytes, ms       onkel  scikit-learn   ratio")
    for name in names:
        data = lzma.decompress(datasets.path(name, "train" if name == "a9a" else "all", folder=folder).read_bytes())
        ours = least(lambda data=data: list(onkel.open_stream(io.BytesIO(data))), 15)
        theirs = least(lambda data=data: load_svmlight_file(io.BytesIO(data)), 3)
        print(f"  {name:<30} {1e3 * ours:8.1f} {1e3 * theirs:13.1f} {theirs / ours:7.1f}")


def against_learning(folder):
    """One pass over packed a9a: reading and parsing, and learning by learners of 1000 support vectors."""
    path = datasets.path("a9a", "train", folder=folder)
    batches = list(onkel.open_stream(path))
    read = least(lambda: list(onkel.open_stream(path)), 10)
    unpack = least(lambda: lzma.decompress(path.read_bytes()), 10)
    print(f"\na9a from {path.name}: {1e3 * read:.0f} ms reading, of which unpacking takes {1e3 * unpack:.0f} ms")
    for kind in (onkel.RBPClassifier, onkel.ForgetronClassifier, onkel.BOGDClassifier, onkel.BPAClassifier):
        took = least(lambda kind=kind: learn(kind, batches), 3)
        print(f"  {kind.__name__:<24} B = 1000: {1e3 * took:6.0f} ms learning, {took / read:5.1f} times reading")


def learn(kind, batches):
    model = kind(budget=1000, sigma=2.0, grow_features=True, random_state=0)
    for X, y, _ in batches:
        model.partial_fit(X, y, classes=np.array([-1.0, 1.0]))


def peak(words, data=None):
    """Megabytes that `onkel learn` takes at most."""
    command = [sys.executable, "-c", WATCHED, "learn", *words, "-q"]
    result = subprocess.run(command, input=data, capture_output=True, check=True)
    return int(result.stderr.split()[-1]) / 1024


def memory(folder):
    print("\npeak memory of `onkel learn -a forgetron`, MB")
    spam = datasets.path("spamstream", folder=folder)
    rows = lzma.decompress(spam.read_bytes()).splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as place:
        half = Path(place, "half.svm.xz")
        half.write_bytes(lzma.compress(b"".join(rows[::2])))  # every second row, so that all columns are there
        thrice = Path(place, "thrice.svm.xz")
        thrice.write_bytes(lzma.compress(b"".join(rows) * 3))
        for what, file in (("half of spamstream", half), ("spamstream", spam), ("spamstream three times", thrice)):
            print(f"  {what:<32} {peak([str(file), '-a', 'forgetron', '--classes', '-1,1']):7.0f}")
        once = lzma.decompress(datasets.path("covtype", folder=folder).read_bytes())
        words = ["-a", "forgetron", "--classes", "1,2,3,4,5,6,7"]
        for times in (1, 5):
            file = Path(place, f"covtype{times}.svm")
            with open(file, "wb") as out:
                for _ in range(times):
                    out.write(once)
            what = f"covtype {times} time{'s' * (times > 1)}, {file.stat().st_size / 1e6:.0f} MB"
            print(f"  {what:<32} {peak([str(file), *words]):7.0f}")
            with open(file, "rb") as data:
                print(f"  {'the same through a pipe':<32} {piped(data, words):7.0f}")


def piped(file, words):
    """The same from standard input."""
    cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
    command = [sys.executable, "-c", WATCHED, "learn", "-", *words, "-q"]
    result = subprocess.run(command, stdin=cat.stdout, capture_output=True, check=True)
    cat.wait()
    return int(result.stderr.split()[-1]) / 1024


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else None
    against_scikit_learn(["a9a", "cadata", "elec2", "spamstream"], place)
    against_learning(place)
    memory(place)
