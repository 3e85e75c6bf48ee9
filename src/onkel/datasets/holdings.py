"""A folder of data files: which it holds, whether they are sound, and one process at a time that adds to it.

The files are named name.svm or name.part.svm, compressed or not. MANIFEST.csv, if present, gives their digests.
"""

import contextlib
import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .download import DownloadError, file_digest

MANIFEST = "MANIFEST.csv"
PARTS = ("train", "test")
PACKED = ("", ".xz", ".bz2", ".gz")
COLUMNS = (
    "name", "task", "n", "d", "nnz_density", "classes_or_target_range", "file", "sha256", "source", "licence",
    "fidelity_note",
)  # fmt: skip


def folder() -> Path:
    """The folder of data sets: $ONKEL_DATA, or onkel's place among the caches of this user."""
    if chosen := os.environ.get("ONKEL_DATA"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "onkel" / "data"


class Holdings:
    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else folder()
        self.rows = _read_manifest(self.path / MANIFEST)

    def parts(self, stem: str) -> dict[str, Path]:
        """The files of one set by part, as listed in the manifest or, failing that, as named."""
        named = {part: self._named(stem, part) for part in ("all", *PARTS)}
        rows = [row for row in self.rows if row["name"] == stem and ".svm" in row["file"]]
        listed = {part_of(row): self.path / row["file"] for row in rows}
        return {part: file for part, file in (named | listed).items() if file and file.is_file()}

    def verify(self, file: Path) -> Path:
        """`file`, if its digest is the manifest's."""
        digest = self.digest(file.name)
        if digest and file_digest(file) != digest:
            raise DownloadError(
                f"{file} is not the file that {MANIFEST} beside it describes: the SHA-256 differs. "
                f"Delete the file to have it fetched again, or its row in {MANIFEST} if the change was meant"
            )
        return file

    def digest(self, file: str) -> str | None:
        return next((row["sha256"] for row in self.rows if row["file"] == file and row["sha256"]), None)

    def note(self, stem: str) -> str:
        """What the manifest says of how the files of a set came to be."""
        return next((row["fidelity_note"] for row in self.rows if row["name"] == stem), "")

    def record(self, **row: str) -> None:
        """Add a row to the manifest, in place of the one for the same file if there is one."""
        with self.lock(MANIFEST):
            others = [other for other in _read_manifest(self.path / MANIFEST) if other["file"] != row["file"]]
            self.rows = [*others, dict.fromkeys(COLUMNS, "") | row]
            _write_manifest(self.path / MANIFEST, self.rows)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Wait until no other process or thread works on `name`. The lock ends with the process that holds it."""
        locks = self.path / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        with open(locks / name, "ab") as file:
            _lock(file.fileno())
            yield

    def _named(self, stem: str, part: str) -> Path | None:
        base = f"{stem}.svm" if part == "all" else f"{stem}.{part}.svm"
        return next((self.path / (base + packed) for packed in PACKED if (self.path / (base + packed)).is_file()), None)


def part_of(row: dict[str, str]) -> str:
    word = row["file"].removeprefix(row["name"] + ".").split(".")[0]
    return word if word in PARTS else "all"


def _read_manifest(path: Path) -> list[dict[str, str]]:
    """Its rows, but those that name no file or one outside the folder."""
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        found = [{column: cell or "" for column, cell in row.items() if column} for row in csv.DictReader(file)]
        rows = [dict.fromkeys(COLUMNS, "") | row for row in found]
    return [row for row in rows if row["file"] and Path(row["file"]).name == row["file"]]


def _write_manifest(path: Path, rows: list[dict[str, str]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    new = path.with_name(path.name + ".new")
    with open(new, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(new, path)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        while True:
            with contextlib.suppress(OSError):  # msvcrt gives up after ten seconds
                return msvcrt.locking(file, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)
