"""Data sets by name: what there is, where it lies, and its arrays."""

import difflib
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse as sp
import sklearn.datasets

from .catalogue import CATALOGUE, SITES, Entry, File, Task
from .download import DownloadError, Progress, download
from .holdings import PACKED, PARTS, Holdings, part_of
from .tables import count_rows, opened, rewrite

Folder = str | os.PathLike[str] | None
Arrays = tuple[Any, npt.NDArray[Any]]
DENSE = 2 / 3  # from this share of non-zeros on, a dense matrix is neither larger than CSR nor slower to learn from


@dataclass(frozen=True)
class Description:
    """What is known of a data set, and what of it is in the folder; prints as a short text."""

    name: str
    task: Task
    parts: dict[str, int]  # rows of each part
    features: int
    classes: int | None
    values: str
    about: str
    citation: str
    sources: tuple[str, ...]  # addresses
    held: dict[str, Path]  # files in the folder, by part
    note: str  # of the folder's manifest

    @property
    def rows(self) -> int:
        return sum(self.parts.values())

    def __str__(self) -> str:
        size = " + ".join(f"{rows} {part}" for part, rows in self.parts.items()).replace(" all", "")
        classes = f", {self.classes} classes" if self.classes else ""
        said = {"values": self.values, "cite": self.citation, "note": self.note}
        lines = [f"{self.name}: {self.task}, {size} rows, {self.features} features{classes}", self.about]
        lines += [f"{word}: {text}" for word, text in said.items() if text]
        lines += [f"source: {source}" for source in self.sources] + [f"here: {file}" for file in self.held.values()]
        return "\n  ".join(line for line in lines if line)


def names(*, folder: Folder = None) -> list[str]:
    """The sets that can be asked for: those of the catalogue, and those the folder's manifest adds."""
    return sorted({*CATALOGUE, *(row["name"] for row in Holdings(folder).rows)})


def describe(name: str, *, folder: Folder = None) -> Description:
    """What is known of a set; reads the folder, but not the network."""
    holdings = Holdings(folder)
    entry = _find(name, holdings)
    stem = entry.stem or entry.name
    return Description(
        entry.name,
        entry.task,
        {file.part: file.rows for file in entry.files},
        entry.features,
        entry.classes,
        entry.values,
        entry.about,
        entry.citation,
        tuple(_url(file) for file in entry.files if file.address),
        holdings.parts(stem),
        holdings.note(stem),
    )


def fetch(name: str, *, folder: Folder = None, progress: Progress | None = None) -> list[Path]:
    """The files of a set, downloaded if the folder lacks them; `progress` is called with (bytes done, total or None).

    A digest is checked against the folder's MANIFEST.csv, where the first download of a file enters its own.
    """
    holdings = Holdings(folder)
    return _files(_find(name, holdings), "all", holdings, True, progress)


def path(
    name: str, part: str = "all", *, folder: Folder = None, download: bool = True, progress: Progress | None = None
) -> Path:
    """The svmlight file of one part, to be read as a stream."""
    holdings = Holdings(folder)
    entry = _find(name, holdings)
    files = _files(entry, part, holdings, download, progress)
    if not files:
        raise ValueError(f"{entry.name} comes with scikit-learn and has no file: use load({entry.name!r})")
    if len(files) > 1:
        raise ValueError(f"{entry.name} has more files than one: name a part, 'train' or 'test'")
    return files[0]


def load(
    name: str,
    part: str = "all",
    *,
    folder: Folder = None,
    download: bool = True,
    dtype: npt.DTypeLike = np.float64,
    dense: bool | Literal["auto"] = "auto",
    progress: Progress | None = None,
) -> Arrays:
    """The examples and targets of a set; "all" is the training part followed by the test part.

    Labels are integers as the file has them, targets of regression float64. X is an array or, if less than two
    thirds of it are non-zero, a CSR matrix; `dense` decides otherwise.
    """
    if dense not in (True, False, "auto"):
        raise ValueError(f"dense must be True, False or 'auto', but is {dense!r}")
    holdings = Holdings(folder)
    entry = _find(name, holdings)
    files = _files(entry, part, holdings, download, progress)
    X, y = _read_all(files, entry.features, dtype) if files else _bundled(entry, dtype)
    if dense == "auto":
        dense = X.nnz >= DENSE * X.shape[0] * X.shape[1]
    return X.toarray() if dense else X, _targets(y, entry)


def load_jmlr16(name: str, *, folder: Folder = None) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.int64]]:
    """X, y and the stored permutations, one per row and from 0, of Lu, Hoi, Wang, Zhao and Liu (JMLR 17, 2016).

    Reads jmlr16/name.mat in the folder of data sets; where the authors scaled, the values are not those of `load`.
    """
    holdings = Holdings(folder)
    file = holdings.path / "jmlr16" / f"{name}.mat"
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing: it is part of the code that the authors published")
    content = scipy.io.loadmat(file)
    orders = content.get("ID_all", content.get("ID_list"))
    data = content.get("data")
    if data is None or orders is None or not _are_permutations(orders, len(data)):
        raise ValueError(f"{file} does not hold `data` and permutations of its rows, `ID_all` or `ID_list`")
    y = _targets(data[:, 0].astype(np.float64), _find(name, holdings))
    return np.ascontiguousarray(data[:, 1:], np.float64), y, orders.astype(np.int64) - 1


def _are_permutations(orders: npt.NDArray[Any], n: int) -> bool:
    """Whether every row holds 1 to n."""
    return np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(1, n + 1), (len(orders), 1)))


def _find(name: str, holdings: Holdings) -> Entry:
    rows = [row for row in holdings.rows if row["name"] == name]
    known = CATALOGUE.get(name.lower())
    if known or rows:
        return known or _of_manifest(name, rows)
    near = difflib.get_close_matches(name.lower(), names(folder=holdings.path), 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "onkel.datasets.names() lists those there are"
    raise ValueError(f"no data set is called {name!r}; {hint}")


def _of_manifest(name: str, rows: list[dict[str, str]]) -> Entry:
    """A set that only the folder knows."""
    first = rows[0]
    classes = re.match(r"\d+", first["classes_or_target_range"])
    number = int(classes[0]) if classes and first["task"] != "regression" else None
    task: Task = "regression" if number is None else "binary" if number == 2 else "multiclass"
    files = tuple(File(part_of(row), int(row["n"] or 0)) for row in rows)
    advice = f"MANIFEST.csv lists {', '.join(row['file'] for row in rows)}"
    return Entry(name, task, int(first["d"] or 0), number, files, "", "", first["source"], advice=advice)


def _files(entry: Entry, part: str, holdings: Holdings, fetch: bool, progress: Progress | None) -> list[Path]:
    """The files that make up a part, in order; none for a set of scikit-learn's."""
    held = holdings.parts(entry.stem or entry.name)
    offered = {file.part: file for file in entry.files}
    if part == "all" and "all" not in held and (held.keys() >= set(PARTS) or "all" not in offered):
        wanted = [word for word in PARTS if word in held or word in offered]
    else:
        wanted = [part]
    for word in wanted:
        if word not in held and word not in offered:
            there = ", ".join({"all": None} | held | offered)
            raise ValueError(f"{entry.name} has no part {part!r}; there are: {there}")
    if entry.loader:
        return []
    obtain = partial(_obtain, entry=entry, holdings=holdings, fetch=fetch, progress=progress)
    return [holdings.verify(held[word]) if word in held else obtain(offered[word]) for word in wanted]


def _obtain(file: File, entry: Entry, holdings: Holdings, fetch: bool, progress: Progress | None) -> Path:
    """Download one part, unless another process does so meanwhile."""
    target = holdings.path / _file_name(file, entry)
    if not file.address:
        raise FileNotFoundError(f"{target} is missing. {entry.advice}. Put the file there, in svmlight format")
    if not fetch:
        raise FileNotFoundError(
            f"{target} is missing: allow the download or save {_url(file)} as {_landing(file, target)}"
        )
    try:
        with holdings.lock(target.name):
            holdings, landing = Holdings(holdings.path), _landing(file, target)
            if not landing.is_file():
                _download(file, landing, entry, holdings, progress)
            if file.table and not target.is_file():
                rewrite(holdings.verify(landing), target, file.table, entry.features)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(f"{target} cannot be stored: {error}. Set ONKEL_DATA to a folder of yours") from error
    return target


def _file_name(file: File, entry: Entry) -> str:
    suffix = Path(file.address).suffix
    part = "" if file.part == "all" else f".{file.part}"
    return f"{entry.stem or entry.name}{part}.svm" + (suffix if suffix in PACKED and not file.table else "")


def _landing(file: File, target: Path) -> Path:
    """Where the download goes: tables keep their own name and are rewritten as `target`."""
    return target.with_name(Path(file.address).name) if file.table else target


def _download(file: File, target: Path, entry: Entry, holdings: Holdings, progress: Progress | None) -> None:
    digest = file.sha256 or holdings.digest(target.name)
    check = None if digest else partial(_check_rows, target.suffix, file)
    found = download(_url(file), target, sha256=digest, check=check, progress=progress)
    holdings.record(
        name=entry.stem or entry.name,
        task=entry.task,
        n=str(file.rows),
        d=str(entry.features),
        file=target.name,
        sha256=found,
        source=_url(file),
    )


def _check_rows(suffix: str, file: File, part: Path) -> None:
    rows = count_rows(part, suffix, file.table)
    if rows != file.rows:
        raise ValueError(f"what the server sent has {rows} rows, the right file {file.rows}")


def _url(file: File) -> str:
    """Where to get a file: its own site, or the mirror that ONKEL_DATA_URL names."""
    site, _, rest = file.address.partition("/")
    mirror = os.environ.get("ONKEL_DATA_URL")
    return f"{mirror.rstrip('/')}/{file.address}" if mirror else f"{SITES[site]}/{rest}"


def _read_all(files: list[Path], features: int, dtype: npt.DTypeLike) -> Arrays:
    pieces = [_read(file, dtype) for file in files]
    width = max(features, *(X.shape[1] for X, _ in pieces))
    for X, _ in pieces:
        X.resize(X.shape[0], width)
    if len(pieces) == 1:
        return pieces[0]  # without a second copy
    return sp.vstack([X for X, _ in pieces], format="csr"), np.concatenate([y for _, y in pieces])


def _read(file: Path, dtype: npt.DTypeLike) -> Arrays:
    """A CSR matrix and the targets as numbers."""
    try:
        with opened(file) as lines:
            X, y = sklearn.datasets.load_svmlight_file(lines, dtype=dtype, zero_based=False)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return X, y


def _bundled(entry: Entry, dtype: npt.DTypeLike) -> Arrays:
    X, y = getattr(sklearn.datasets, entry.loader)(return_X_y=True)
    return sp.csr_matrix(X, dtype=dtype), y


def _targets(y: npt.NDArray[Any], entry: Entry) -> npt.NDArray[Any]:
    if entry.task == "regression":
        return y.astype(np.float64)
    labels = y.astype(np.int64)
    if entry.positive is not None:
        return np.where(labels == entry.positive, 1, -1)
    return labels if (labels == y).all() else y
