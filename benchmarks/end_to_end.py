"""`onkel learn` on a compressed file: where the time goes.

python benchmarks/end_to_end.py [learn] [--json FILE]

The file is a9a, as it comes; machine code is compiled by a first run that does not count.
"""

import lzma
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import a9a, fastest, main, once
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import onkel
from onkel.io import open_stream


def spent(command):
    """Wall seconds of a process."""
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def read(path):
    """Every batch of a file, and nothing done with it."""
    for _ in open_stream(path):
        pass


def learn(figures):
    """`onkel learn rbp` with B=1000 on a9a.xz: the process, the import, reading alone, learning alone"""
    X, y = a9a()
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = pathlib.Path(folder) / "a9a.svm", pathlib.Path(folder) / "a9a.svm.xz"
        dump_svmlight_file(X, y, str(plain), zero_based=False)
        packed.write_bytes(lzma.compress(plain.read_bytes()))
        command = [
            sys.executable,
            "-m",
            "onkel",
            "learn",
            str(packed),
            "-a",
            "rbp",
            "--budget",
            "1000",
            "--gamma",
            "0.05",
        ]
        spent(command)
        whole = min(spent(command) for _ in range(5))
        nothing = min(spent([sys.executable, "-c", "import onkel"]) for _ in range(5))
        figures.add("the process, compressed file", seconds=whole)
        figures.add("python and `import onkel`", seconds=nothing)
        learnt = fastest(
            lambda: onkel.RBPClassifier(budget=1000, gamma=0.05, random_state=0).learn(X, y, classes=np.unique(y)), 2.0
        )
        figures.add("learning alone, from memory", seconds=learnt)
        unpack = fastest(lambda: lzma.decompress(packed.read_bytes()), 1.0)
        figures.add("unpacking alone", seconds=unpack, times_learning=unpack / learnt)
        for path in (plain, packed):
            seconds = fastest(lambda: read(path), 2.0)  # noqa: B023
            figures.add(f"reading {path.suffix} in batches", seconds=seconds, times_learning=seconds / learnt)
        seconds = once(lambda: load_svmlight_file(str(plain)))
        figures.add("scikit-learn's reader, file not compressed", seconds=seconds, times_learning=seconds / learnt)


PARTS = {"learn": learn}

if __name__ == "__main__":
    main("end_to_end", __doc__, PARTS)
