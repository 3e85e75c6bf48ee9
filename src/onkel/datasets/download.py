"""One file over HTTP: taken up again where it broke off, checked, and in its place only when whole."""

import contextlib
import hashlib
import http.client
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Progress = Callable[[int, int | None], object]
CHUNK = 2**16
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that another try may better
MAGIC = {".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".gz": b"\x1f\x8b", ".zip": b"PK"}


class DownloadError(OSError):
    """A data file could not be had; the message says why and how to put it into place by hand."""


class Patience(NamedTuple):
    """How long to wait for a server."""

    timeout: float = 30.0  # seconds without a byte
    tries: int = 5  # in a row, without getting further
    pause: float = 0.5  # seconds before the second try; doubles from try to try


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    check: Callable[[Path], None] | None = None,
    progress: Progress | None = None,
    patience: Patience = Patience(),  # noqa: B008 -- immutable
) -> str:
    """Fetch `url` to `target` and return its SHA-256; `check` raises a ValueError if the content will not do.

    What came of a broken download stays in `target`.part and is taken up by the next call.
    """
    part = target.with_name(target.name + ".part")
    try:
        if not url.startswith(("http://", "https://")):
            raise DownloadError("only http and https addresses are read")
        _gather(url, part, progress, patience)
        digest = _accepted(part, target.suffix, sha256, check)
        os.replace(part, target)
        _tag(part).unlink(missing_ok=True)
    except OSError as error:
        raise DownloadError(f"{url}: {_reason(error)}. To do it by hand, save that file as {target}") from error
    return digest


def file_digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _gather(url: str, part: Path, progress: Progress | None, patience: Patience) -> None:
    """Go on until all of `url` is in `part`; give up after some tries that bring nothing new."""
    furthest, vain = _size(part), 0
    while True:
        try:
            return _go_on(url, part, progress, patience.timeout)
        except (OSError, http.client.HTTPException) as error:
            if not _passing(error):
                raise
            vain = vain + 1 if _size(part) <= furthest else 0
            furthest = max(furthest, _size(part))
            if vain >= patience.tries:
                raise DownloadError(f"given up after {vain} tries, the last one: {_reason(error)}") from error
            time.sleep(patience.pause * 2 ** max(vain - 1, 0))


def _go_on(url: str, part: Path, progress: Progress | None, timeout: float) -> None:
    """One request, for what is not yet in `part`."""
    held, version = _size(part), _version(part, url)
    headers = {"User-Agent": "onkel", "Accept-Encoding": "identity"}
    if held and version:
        headers |= {"Range": f"bytes={held}-", "If-Range": version}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != 416 or "Range" not in headers:
                raise
            if error.headers.get("Content-Range") == f"bytes */{held}":
                return  # the last request was cut off after the last byte
            part.unlink()
            raise ConnectionError("the file on the server has become shorter") from None
    with answer:
        start, total = _extent(answer)
        if start not in (0, held):
            part.unlink()
            raise ConnectionError("the server sent another piece of the file than the one asked for")
        if not start:
            _remember(part, url, answer)
        _write(answer, part, start, total, progress)


def _extent(answer: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Where the bytes of this answer begin, and how long the whole file is if that is known."""
    if answer.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
        return (int(found[1]), int(found[2]) if found[2] != "*" else None) if found else (-1, None)
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _write(
    answer: http.client.HTTPResponse, part: Path, start: int, total: int | None, progress: Progress | None
) -> None:
    done = start
    with open(part, "r+b" if start else "wb") as out:
        out.seek(start)
        while piece := answer.read1(CHUNK):  # what has come, even if the rest never does
            out.write(piece)
            out.flush()
            done += len(piece)
            if progress:
                progress(done, total)
        os.fsync(out.fileno())
    if total is not None and done != total:
        raise ConnectionError(f"the connection ended after {done} of {total} bytes")


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _remember(part: Path, url: str, answer: http.client.HTTPResponse) -> None:
    """Keep the server's name for this version of the file: a later answer may only add to the same version."""
    part.unlink(missing_ok=True)
    etag = answer.headers.get("ETag", "")
    version = etag if etag.startswith('"') else answer.headers.get("Last-Modified", "")
    _tag(part).write_text(f"{url}\n{version}", encoding="utf-8")


def _version(part: Path, url: str) -> str:
    with contextlib.suppress(OSError, ValueError):
        begun, version = _tag(part).read_text(encoding="utf-8").split("\n")
        return version if begun == url else ""
    return ""


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _passing(error: Exception) -> bool:
    """Whether another try may succeed."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in PASSING
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError | socket.gaierror):
        return False
    network = isinstance(error, urllib.error.URLError)
    return network or isinstance(cause, ConnectionError | TimeoutError | ssl.SSLError | http.client.HTTPException)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError) and not isinstance(error, urllib.error.HTTPError):
        return str(error.reason)
    return str(error) or type(error).__name__


def _accepted(part: Path, suffix: str, sha256: str | None, check: Callable[[Path], None] | None) -> str:
    """The digest of `part`, which is removed if it is not the file that was meant."""
    try:
        with open(part, "rb") as file:
            first = file.read(64)
        if first.lstrip()[:1] == b"<":
            raise DownloadError("the server sent a web page in place of the file")
        if not first.startswith(MAGIC.get(suffix, b"")):
            raise DownloadError(f"what the server sent is not a {suffix} file")
        digest = file_digest(part)
        if sha256 and digest != sha256:
            raise DownloadError(f"what the server sent has the SHA-256 {digest}, the right file has {sha256}")
        if check:
            check(part)
    except (DownloadError, ValueError) as error:
        part.unlink()
        _tag(part).unlink(missing_ok=True)
        raise DownloadError(str(error)) from error
    return digest
