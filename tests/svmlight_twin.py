"""The svmlight format once more, slow and obvious: the judge of the reader."""

import math
import re
from typing import NamedTuple

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class FaultError(Exception):
    def __init__(self, offset):
        self.offset = offset


class Found(NamedTuple):
    rows: list  # (label, [(index, value), ...]), indices from 0
    faults: list  # (line, offset)


def read(data, *, base=1, most=2**24, longest=2**24, text=False):
    rows, faults, offset = [], [], 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if len(line) > longest:
                raise FaultError(offset)
            row = read_line(line, offset, base, most, text)
            if row:
                rows.append(row)
        except FaultError as fault:
            faults.append((number, fault.offset))
        offset += len(line) + 1
    return Found(rows, faults)


def read_line(line, start, base, most, text):
    words = [(word[0], start + word.start()) for word in re.finditer(rb"[^ \t\r\v\f]+", line.split(b"#")[0])]
    if not words:
        return None
    (label, place), *rest = words
    if text:
        if b":" in label or min(label) < 32:
            raise FaultError(place)
    elif not NUMBER.fullmatch(label):
        raise FaultError(place)
    if rest and re.fullmatch(rb"qid:-?[0-9]+", rest[0][0]):
        rest = rest[1:]
    features, before = [], -1
    for word, at in rest:
        found = re.fullmatch(rb"([0-9]+):(.*)", word, re.DOTALL)
        if not found:
            raise FaultError(at)
        index = int(found[1]) - base
        if len(found[1]) > 18 or index >= most or index <= before:
            raise FaultError(at)
        if not NUMBER.fullmatch(found[2]):
            raise FaultError(at + len(found[1]) + 1)
        features.append((index, float(found[2]), at + len(found[1]) + 1))
        before = index
    # Numbers that are well written but too large come last.
    if not text and math.isinf(float(label)):
        raise FaultError(place)
    for _, value, at in features:
        if math.isinf(value):
            raise FaultError(at)
    if text:
        try:
            return label.decode(), [pair[:2] for pair in features]
        except UnicodeDecodeError:
            raise FaultError(place) from None
    return float(label), [pair[:2] for pair in features]
