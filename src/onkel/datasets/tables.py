"""Files of comma-separated values, rewritten row by row as svmlight; and how many rows a file has."""

import bz2
import contextlib
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from .catalogue import Table

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


@contextlib.contextmanager
def opened(path: Path, suffix: str | None = None, member: str = "") -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked according to its suffix; what is damaged raises a ValueError."""
    suffix = path.suffix if suffix is None else suffix
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                yield file
        else:
            with OPENERS.get(suffix, open)(path, "rb") as file:
                yield file
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except OSError as error:
        if error.errno is not None:  # bz2 and gzip say OSError where they mean bad data
            raise
        raise ValueError(f"{path} is damaged: {error}") from error


def count_rows(path: Path, suffix: str, table: Table | None) -> int:
    with opened(path, suffix, table.member if table else "") as file:
        rows = sum(1 for line in file if line.strip() and not line.startswith(b"#"))
    return rows - (table is not None and table.header)


def rewrite(path: Path, target: Path, table: Table, features: int) -> None:
    """Write the svmlight file `target`, with the numbers as they are printed in `path`."""
    new = target.with_name(target.name + ".new")
    with opened(path, member=table.member) as file, open(new, "w", encoding="ascii", newline="\n") as out:
        for number, line in enumerate(file, 1):
            if line.strip() and (number > 1 or not table.header):
                out.write(_row(line, table, features, f"{path}, line {number}"))
    os.replace(new, target)


def _row(line: bytes, table: Table, features: int, where: str) -> str:
    cells = [cell.strip() for cell in line.decode("ascii", "replace").split(",")]
    target = table.target % len(cells)
    label = table.labels.get(cells[target], "") if table.labels else cells[target]
    left_out = {target, *table.leave_out}
    words = [cell for column, cell in enumerate(cells) if column not in left_out]
    try:
        float(label)
        values = [f" {index}:{word}" for index, word in enumerate(words, 1) if float(word)]
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if len(words) != features:
        raise ValueError(f"{where}: {len(words)} features in place of {features}")
    return label + "".join(values) + "\n"
