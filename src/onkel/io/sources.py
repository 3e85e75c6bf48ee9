"""Bytes from a file, a pipe or standard input, unpacked whatever they are packed with, and how many there were."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from .streams import StreamError

MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
HEAD = 4096  # bytes by which a source is known again
SIP = 512  # packed bytes that Zstandard gets at once: at the very most they become 16 MB


class Bytes:
    """The unpacked bytes of a source; `offset` counts those that were read."""

    def __init__(self, source: str | os.PathLike[str] | BinaryIO) -> None:
        self.name, raw, self._ours = _opened(source)
        self.live = not raw.seekable()  # what has come should be used before more is waited for
        self.size = None if self.live else raw.seek(0, os.SEEK_END)
        if not self.live:
            raw.seek(0)
        head = raw.read(max(map(len, MAGIC)))
        if not isinstance(head, bytes):
            raise TypeError(f"{self.name} is open as text: pass it as bytes, by open(path, 'rb') or io.BytesIO.")
        packing = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")
        if self.live:
            raw = cast(BinaryIO, io.BufferedReader(_Rejoined(head, raw), 2**16))
        else:
            raw.seek(0)
        self._raw = raw
        self._damage: tuple[Any, ...] = (EOFError, lzma.LZMAError, zlib.error)
        self._file: Any = self._unpacking(packing, raw)
        self.seekable = not self.live and not packing
        self.offset = self._end = 0
        self.head: list[Any] = []  # how many of the first bytes, and their digest: by it a source is known again
        self._again = b""  # read already, but not given out

    def _unpacking(self, packing: str, raw: BinaryIO) -> Any:
        if packing == "zst":
            zstd = _zstandard(self.name)
            self._damage += (zstd.ZstdError,)
            return _Frames(zstd.ZstdDecompressor().decompressobj, raw)
        openers: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
        return openers[packing](raw) if packing else raw

    def read(self, target: memoryview) -> int:
        """Fill `target` from its beginning: how many bytes; 0 at the end. A live source may give less than there is."""
        done = min(len(self._again), len(target))
        target[:done], self._again = self._again[:done], self._again[done:]
        try:
            while done < len(target) and not (self.live and done):
                got = self._file.readinto1(target[done:]) if self.live else self._file.readinto(target[done:])
                if not got:
                    break
                done += got
        except self._damage as error:
            self._broken(error, done)
        except OSError as error:
            if error.errno is not None:
                raise
            self._broken(error, done)  # bz2 and gzip say OSError where they mean bad data
        if self.offset == 0 and not self.head:
            self.head = _fingerprint(target[: min(done, HEAD)])
        self.offset += done
        return done

    def _broken(self, error: Exception, done: int) -> None:
        """What was unpacked before the damage is given out first."""
        if not done:
            problem = f"the packed data is damaged or cut off here: {error}"
            raise StreamError(self.name, problem, offset=self.offset) from error

    def go_to(self, offset: int, head: list[Any]) -> None:
        """From the beginning to `offset`; `head` is what the source must begin with."""
        first = memoryview(bytearray(head[0] if head else 0))
        while self.offset < len(first) and self.read(first[self.offset :]):
            pass
        if head and _fingerprint(first[: self.offset]) != head:
            raise StreamError(self.name, "it begins differently than the source that the position is of")
        self.head = head
        if offset < self.offset:
            self._again, self.offset = bytes(first[offset : self.offset]), offset
        elif self.seekable:
            self.offset = min(self._file.seek(offset), self._file.seek(0, os.SEEK_END))
            self._file.seek(self.offset)
        block = memoryview(bytearray(2**20 if self.offset < offset else 0))
        while self.offset < offset and self.read(block[: offset - self.offset]):
            pass
        if self.offset < offset:
            raise StreamError(self.name, f"it ends before byte {offset}, where it should go on", offset=self.offset)

    @property
    def done(self) -> float | None:
        """The share of the source that was read."""
        return (self._end or self._raw.tell()) / self.size if self.size else None

    def close(self) -> None:
        if not self.live and not self._raw.closed:
            self._end = self._raw.tell()
        if self._file is not self._raw:
            self._file.close()
        if self._ours:
            self._raw.close()

    def __del__(self) -> None:
        if hasattr(self, "head"):
            self.close()


class _Rejoined(io.RawIOBase):
    """A pipe whose first bytes were looked at already."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._head:
            piece = self._rest.read1(len(target)) if hasattr(self._rest, "read1") else self._rest.read(len(target))
        else:
            piece, self._head = self._head[: len(target)], self._head[len(target) :]
        target[: len(piece)] = piece
        return len(piece)


class _Frames(io.RawIOBase):
    """What Zstandard packed into frames, one behind the other; bytes that end within one are an error."""

    def __init__(self, begin: Callable[[], Any], packed: BinaryIO) -> None:
        self._begin, self._frame = begin, None  # the frame at hand, if one has begun
        self._take: Callable[[int], bytes] = getattr(packed, "read1", packed.read)
        self._rest, self._ready = b"", memoryview(b"")  # what is behind a frame; what is unpacked

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            packed = self._rest or self._take(SIP)
            if not packed and self._frame is not None:
                raise EOFError("it ends within a frame")
            if not packed:
                return 0
            self._unpack(self._frame or self._begin(), packed)
        n = min(len(target), len(self._ready))
        target[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    readinto1 = readinto

    def _unpack(self, frame: Any, packed: bytes) -> None:
        self._ready = memoryview(frame.decompress(packed))
        self._frame, self._rest = (None, frame.unused_data) if frame.eof else (frame, b"")


def _opened(source: str | os.PathLike[str] | BinaryIO) -> tuple[str, BinaryIO, bool]:
    """What errors call the source, its bytes as they are, and whether to close it."""
    if source == "-":
        return "standard input", sys.stdin.buffer, False
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return path, open(path, "rb"), True
    return str(getattr(source, "name", "source")), source, False


def _fingerprint(first: memoryview) -> list[Any]:
    return [len(first), hashlib.sha256(first).hexdigest()]


def _zstandard(name: str) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(f"{name} is packed with zstd, which needs: pip install 'onkel[zstd]'") from error
    return zstandard
