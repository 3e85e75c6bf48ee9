"""The examples of a table's data set, in the order of each repeat."""

import functools
import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...alignment import choose_sigma
from ...datasets import describe, fetch, load, load_jmlr16, permutations, repeat_blocks
from ...datasets.streams import ADVERSARIAL

TUNING = -1  # the number of the repeat that parameters are tuned on
KINDS = ("load", "jmlr16", "adversarial")  # the last in blocks of the second
BLOCKS = 500
Ints = npt.NDArray[np.int64]


class Source(NamedTuple):
    """Where the examples come from, all of it in plain values: a source travels to other processes."""

    data: str  # "kind:name"
    scale: str = ""
    rows: int | None = None
    parts: bool = False  # whether there is a training and a test part


class Facts(NamedTuple):
    """What is known of a source without its examples."""

    n: int  # examples in a stream
    d: int
    classes: tuple[int, ...]  # none: regression
    digest: str  # of the examples
    aligned: float | None  # the width of the Gaussian that fits best

    @property
    def variables(self) -> dict[str, Any]:
        """For formulas, in the papers' letters."""
        named = {"T": self.n, "d": self.d, "m": len(self.classes)}
        return named if self.aligned is None else {**named, "aligned": self.aligned}


class _Examples(NamedTuple):
    X: Any
    y: npt.NDArray[Any]
    orders: Ints  # as stored by the authors; none: (0, n)
    numeric: bool


def facts(source: Source, *, aligned: bool = False, download: bool = False) -> Facts:
    """A FileNotFoundError that says how to get the data if they are not there."""
    if download and source.data.startswith("load:"):
        fetch(_base(source.data).partition("/")[0])
    one = _train(source)
    kind = source.data.partition(":")[0]
    n = len(stream(source, 0)[1]) if kind == "adversarial" else _shortened(len(one.y), source.rows)
    width = choose_sigma(one.X, one.y) if aligned else None
    digest = hashlib.blake2b(_bytes(one.X) + np.ascontiguousarray(one.y).tobytes(), digest_size=12)
    classes = () if one.numeric else tuple(int(label) for label in np.unique(one.y))
    return Facts(n, one.X.shape[1], classes, digest.hexdigest(), width)


def stream(source: Source, repeat: int) -> tuple[Any, npt.NDArray[Any]]:
    """The examples of one repeat: in the authors' stored order if there is one, else in one of NumPy's."""
    kind, _, name = source.data.partition(":")
    one = _train(source)
    if kind == "adversarial":
        rounds = ADVERSARIAL[name.rpartition("-")[2]]
        X, y = repeat_blocks(one.X, one.y, min(BLOCKS, len(one.y)), rounds, random_state=repeat + 1)
        return X[: source.rows], y[: source.rows]
    rows = order(len(one.y), one.orders, repeat)[: source.rows]
    return one.X[rows], one.y[rows]


def labels(source: Source) -> npt.NDArray[Any]:
    """All that may come, also where the first rows have but one of them."""
    return np.unique(_train(source).y)


def held_out(source: Source) -> tuple[Any, npt.NDArray[Any]]:
    """The examples that are predicted after all were learnt."""
    X, y = _loaded(source.data, source.scale, "test")[:2]
    return X[: source.rows], y[: source.rows]


def order(n: int, stored: Ints, repeat: int) -> Ints:
    """Of a repeat, or of the pass that tunes, which is a permutation of its own."""
    if 0 <= repeat < len(stored):
        return stored[repeat]
    return permutations(n, 1, seed=repeat + 1)[0]


def _train(source: Source) -> _Examples:
    return _loaded(source.data, source.scale, "train" if source.parts else "all")


@functools.lru_cache(maxsize=4)
def _loaded(data: str, scale: str, part: str) -> _Examples:
    name, _, own_part = _base(data).partition("/")
    if data.startswith("load:"):
        X, y = _part(name, own_part or part)
        orders = np.empty((0, len(y)), np.int64)
    else:
        X, y, orders = load_jmlr16(name)
    if scale:
        X = X / np.abs(X).max() if scale == "largest" else _to_unit(X)
        X = 2 * X - 1 if scale == "symmetric" else X
    return _Examples(X, _to_unit(y) if scale == "both" else y, orders, describe(name).task == "regression")


def _part(name: str, part: str) -> tuple[Any, npt.NDArray[Any]]:
    """Of a set that comes in one piece, a random fifth is the test part."""
    if part in ("train", "test") and part not in describe(name).parts:
        X, y = load(name, download=False)
        shuffled = permutations(len(y), 1, seed=0)[0]
        rows = shuffled[: len(y) // 5] if part == "test" else shuffled[len(y) // 5 :]
        return X[rows], y[rows]
    return load(name, part, download=False)


def _base(data: str) -> str:
    """The data set, with the part that is asked for: german, cod-rna/train."""
    kind, _, name = data.partition(":")
    if kind not in KINDS:
        raise ValueError(f"{data!r} is none of {', '.join(f'{known}:NAME' for known in KINDS)}")
    return name.rpartition("-")[0] if kind == "adversarial" else name


def _to_unit(X: Any) -> Any:
    """Every column to [0, 1], by its extremes over all rows."""
    X = X.toarray() if sp.issparse(X) else X
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


def _shortened(n: int, rows: int | None) -> int:
    return n if rows is None else min(n, rows)


def _bytes(X: Any) -> bytes:
    if sp.issparse(X):
        return b"".join(part.tobytes() for part in (X.data, X.indices, X.indptr))
    return np.ascontiguousarray(X).tobytes()
