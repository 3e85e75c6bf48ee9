"""Rows in the svmlight (LIBSVM) format, one per line: `label index:value index:value ... # comment`."""

import codecs
import math
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import svmlight_scan as scanner
from .sources import Bytes
from .streams import MOST_FEATURES, Batch, Position, Stream, StreamError, check_labels, labels_of
from .svmlight_scan import BAD, ENTRIES, FLAW, FLAW_AT, FLAW_LINE, HARD, LINE, OF_LABEL, POS, ROWS, SKIPPED, scan

BLOCK = 2**18  # bytes read at once
MOST_LINE = 2**24  # bytes of a line, unless the caller allows more
MOST_ENTRIES = 2**20  # of a batch, unless one row has more
HARD_ONES = 2**14  # numbers left to Python at once
LIMIT = 2**31 - 1  # column numbers have 32 bits
WORDS = {
    scanner.NO_LABEL: "the line begins with a feature, its label is missing: {word}",
    scanner.LABEL: "the label {word} is not a finite decimal number, and only labels read as text may be words",
    scanner.NO_COLON: "{word} is no feature: index:value is wanted",
    scanner.INDEX: "the index in {word} is not a whole number",
    scanner.BELOW: "index 0, though indices count from 1: zero_based=True lets them count from 0",
    scanner.ABOVE: "the index in {word} is above the limit of {most} columns, which {how} sets",
    scanner.ORDER: "the index in {word} is smaller than the one before: indices must ascend",
    scanner.TWICE: "the index in {word} occurs twice",
    scanner.NO_VALUE: "a value is missing after the colon",
    scanner.VALUE: "the value {word} is not a finite decimal number",
    scanner.TOO_LONG: "the line is longer than the limit of {longest} bytes, which max_line sets",
    scanner.TEXT: "the label is not valid UTF-8: {word}",
    scanner.WHOLE: "the label {word} is not a whole number",
}


FIRST_WORD = re.compile(rb"(?:\s|#[^\n]*\n)*([^\s#]+)")


class Svmlight(Stream):
    """X is a CSR matrix, as wide as the rows so far need, or `n_features` wide.

    `labels`: one of LABELS, or None: words if the first label is one. Lines: one label, then features in ascending
    order; `qid:` and comments are passed over, so are blank lines. The last line may lack its end.
    """

    kind = "svmlight"

    def __init__(
        self,
        source: Any,
        *,
        start: Position | None = None,
        labels: str | None = None,
        zero_based: bool = False,
        n_features: int | None = None,
        max_features: int = MOST_FEATURES,
        max_line: int = MOST_LINE,
        **options: Any,
    ) -> None:
        check_labels(labels)
        limits = {"n_features": n_features or 1, "max_features": max_features, "max_line": max_line}
        for name, value in limits.items():
            if not 1 <= value <= LIMIT:
                raise ValueError(f"{name} must be between 1 and {LIMIT}; got {value!r}.")
        self._bytes = Bytes(source)
        super().__init__(self._bytes.name, **options)
        start = self._resume(start)
        self.labels: str | None = labels or start.get("labels")
        self.width, self._fixed = int(start.get("width", 0)), n_features
        self._first_index, self._most, self._longest = int(not zero_based), n_features or max_features, max_line
        self._state = np.zeros(9, np.int64)
        self._state[LINE] = start.get("line", 1)
        self._make_room(1, MOST_ENTRIES, HARD_ONES)
        self._buffer = np.empty(BLOCK + 1, np.uint8)  # and one byte for the end of the last line
        self._have = self._whole = 0  # bytes in the buffer; those up to the end of a line
        self._ended = False
        self._cutting = False  # whether the beginning of the buffer belongs to a line that was too long
        if start:
            self._bytes.go_to(int(start["byte"]), list(start["head"]))
        self._offset = self._bytes.offset  # of the buffer's first byte

    @property
    def done(self) -> float | None:
        return self._bytes.done

    def close(self) -> None:
        self._bytes.close()

    # One batch.

    def _read(self) -> Batch | None:
        while not self._ended and self._pending is None:
            batch = self._scan()
            if batch is not None:
                return batch
        return None

    def _scan(self) -> Batch | None:
        """The rows that fill the arrays, if there are sound ones."""
        state = self._state
        state[ROWS] = state[ENTRIES] = state[HARD] = 0
        if self._lines.labels.size != self.batch_rows:
            self._make_room(self.batch_rows, self._lines.values.size, len(self._lines.hard))
        words: list[str] = []  # labels
        faulty: dict[int, StreamError] = {}  # rows with flaws that the compiled code does not see
        while self._pending is None and (state[POS] < self._whole or self._more()):
            seen = int(state[ROWS])
            code = scan(self._buffer, self._whole, self._rules(), self._lines, scanner.POWERS)
            left, found = int(state[HARD]), self._look_again(seen, words)
            if found and not self.skip:
                row = min(found)
                state[ROWS] = row
                state[POS], state[LINE] = self._lines.places[row, :2]
                self._pending = found[row]
                break
            faulty |= found
            self._count(found)
            if code == BAD:
                self._pending = self._error(int(state[FLAW]), int(state[FLAW_AT]), int(state[FLAW_LINE]))
            elif code == scanner.FULL and not left:  # else the numbers left to Python took the room
                if state[ROWS]:
                    break
                self._make_room(self.batch_rows, 2 * self._lines.values.size, 2 * len(self._lines.hard))
            if state[ROWS] == self.batch_rows:
                break
        return self._batch(words, faulty)

    def _batch(self, words: list[str], faulty: dict[int, StreamError]) -> Batch | None:
        n, lines = int(self._state[ROWS]), self._lines
        entries = int(lines.indptr[n])
        y: Any = labels_of(words[:n]) if self.labels == "text" else lines.labels[:n].copy()
        if self.labels == "ignored":
            y[:] = np.nan
        X = sp.csr_matrix((n, self._most), dtype=np.float64)
        X.data, X.indices, X.indptr = (
            a.copy() for a in (lines.values[:entries], lines.indices[:entries], lines.indptr[: n + 1])
        )
        if faulty:
            sound = np.setdiff1d(np.arange(n), list(faulty))
            X, y = X[sound], y[sound]
        if not len(y):
            return None
        self.width = self._fixed or max(self.width, int(X.indices.max(initial=-1)) + 1)
        X.resize(len(y), max(self.width, 1))
        if self.labels == "integer":
            y = y.astype(np.int64)
        return Batch(X, y, self._position(self.rows + len(y)))

    def _position(self, rows: int) -> Position:
        byte = min(self._offset + int(self._state[POS]), self._bytes.offset)  # the last line's end may be ours
        return {
            "format": self.kind, "rows": rows, "byte": byte, "line": int(self._state[LINE]), "skipped": self.skipped,
            "width": self.width, "labels": self.labels, "head": self._bytes.head,
        }  # fmt: skip

    def _rules(self) -> scanner.Rules:
        words = self.labels in ("text", "ignored")
        return scanner.Rules(self._first_index, self._most, self._longest, words, self.skip)

    def _make_room(self, rows: int, entries: int, hard: int) -> None:
        self._lines = scanner.Lines(
            self._state, np.empty(rows), np.zeros(rows + 1, np.int64), np.empty(entries, np.int32), np.empty(entries),
            np.empty((rows, 4), np.int64), np.empty((hard, 4), np.int64),
        )  # fmt: skip

    # What compiled code leaves to Python.

    def _look_again(self, seen: int, words: list[str]) -> dict[int, StreamError]:
        """Numbers that need more care, and labels, of the rows from `seen` on: what is wrong with rows."""
        lines, state, flaws = self._lines, self._state, dict[int, StreamError]()
        text = self._buffer[: self._whole].tobytes() if state[HARD] or self.labels == "text" else b""
        for entry, row, begin, end in lines.hard[: state[HARD]].tolist():
            value = float(text[begin:end])
            if not math.isfinite(value):
                flaws.setdefault(row, self._flaw(scanner.LABEL if entry == OF_LABEL else scanner.VALUE, row, begin))
            elif entry == OF_LABEL:
                lines.labels[row] = value
            else:
                lines.values[entry] = value
        state[HARD] = 0
        places = lines.places[seen : state[ROWS]]
        if self.labels == "text":
            for row, (begin, end) in enumerate(places[:, 2:].tolist(), seen):
                try:
                    words.append(text[begin:end].decode())
                except UnicodeDecodeError:
                    words.append("")
                    flaws[row] = self._flaw(scanner.TEXT, row, begin)
        if self.labels == "integer":
            labels = lines.labels[seen : state[ROWS]]
            for row in np.flatnonzero(labels != np.rint(labels)).tolist():
                flaws.setdefault(seen + row, self._flaw(scanner.WHOLE, seen + row, int(places[row, 2])))
        return flaws

    def _flaw(self, flaw: int, row: int, at: int) -> StreamError:
        return self._error(flaw, at, int(self._lines.places[row, 1]))

    def _count(self, found: dict[int, StreamError]) -> None:
        """What was passed over since the last look."""
        state, errors = self._state, list(found.values())
        if self.skip and state[FLAW]:
            errors.append(self._error(int(state[FLAW]), int(state[FLAW_AT]), int(state[FLAW_LINE])))
            self.skipped += int(state[SKIPPED]) + len(found)
            state[FLAW] = state[SKIPPED] = 0
        else:
            self.skipped += len(found)
        self._remember(errors)

    def _error(self, flaw: int, at: int, line: int) -> StreamError:
        word = re.split(rb"[\s#]", self._buffer[at : min(at + 60, self._have)].tobytes())[0]
        words = WORDS[flaw].format(
            word=repr(word.decode("utf-8", "backslashreplace")),
            most=self._most, longest=self._longest, how="n_features" if self._fixed else "max_features",
        )  # fmt: skip
        return StreamError(self.source, words, line=line, offset=self._offset + at)

    # Bytes.

    def _more(self) -> bool:
        """Read on until there is another whole line; False at the end."""
        state = self._state
        while True:
            self._drop(int(state[POS]))
            if self._have == len(self._buffer) - 1:
                self._buffer = np.concatenate([self._buffer, np.empty(len(self._buffer), np.uint8)])
            room = self._buffer[self._have : -1]
            try:
                got = self._bytes.read(memoryview(room))  # type: ignore[arg-type]
            except StreamError as error:
                self._pending = error
                return False
            ends, self._have = room[:got].tobytes(), self._have + got
            if not got and self._have and not self._cutting:
                self._buffer[self._have] = scanner.NEWLINE
                self._have += 1
                ends = b"\n"
            self._whole = self._have - len(ends) + ends.rfind(b"\n") + 1 if b"\n" in ends else 0
            if self._cutting:
                self._cut(ends)
            elif self._offset == 0 and self._buffer[: self._have].tobytes().startswith(codecs.BOM_UTF8):
                state[POS] = len(codecs.BOM_UTF8)
            if state[POS] < self._whole:
                break
            if not got:
                self._ended = True
                return False
            if self._have - int(state[POS]) > self._longest and not self._cutting:
                self._fault(self._error(scanner.TOO_LONG, 0, int(state[LINE])))
                if not self.skip:
                    return False
                self._cutting = True
                self._cut(b"")
        if self.labels is None:
            self._decide()
        return True

    def _drop(self, n: int) -> None:
        """Forget the first bytes of the buffer."""
        self._buffer[: self._have - n] = self._buffer[n : self._have].copy()
        self._offset, self._have, self._whole = self._offset + n, self._have - n, 0
        self._state[POS] = 0

    def _cut(self, fresh: bytes) -> None:
        """Pass over a line that is too long, as far as it has come."""
        end = fresh.find(b"\n") + 1
        self._cutting = not end
        self._state[POS] = self._have - len(fresh) + end if end else self._have
        self._state[LINE] += bool(end)

    def _decide(self) -> None:
        """Labels are words if the first one is."""
        first = FIRST_WORD.match(self._buffer[self._state[POS] : self._whole].tobytes())
        if first:
            word = first[1]
            plain = re.match(rb"[A-Za-z_\x80-\xff]", word) and not re.fullmatch(rb"(?i)nan|inf|infinity", word)
            self.labels = "text" if plain and b":" not in word else "number"
