"""The compiled part of the svmlight reader: whole lines of bytes in, numbers out.

A line is `label [qid:number] index:value ...`, then perhaps `# comment`. Numbers are decimal; those whose value
a product or quotient of two exact doubles does not give are left to Python, which is told where they stand.
"""

from typing import NamedTuple

import numpy as np

from .._jit import jit

POS, LINE, ROWS, ENTRIES, HARD, SKIPPED, FLAW, FLAW_AT, FLAW_LINE = range(9)  # of Lines.state
MORE, FULL, BAD = range(3)  # what `scan` returns: needs more lines; arrays are full; the line at POS has a flaw
NO_ROOM, NO_ROW, SOUND = -2, -1, 0  # of a line; above 0, what is wrong with it
NO_LABEL, LABEL, NO_COLON, INDEX, BELOW, ABOVE, ORDER, TWICE, NO_VALUE, VALUE, TOO_LONG, TEXT, WHOLE = range(1, 14)

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, MINUS, POINT, ZERO, COLON = 9, 10, 13, 32, 35, 43, 45, 46, 48, 58
QUERY = (113, 105, 100, COLON)  # qid:
MOST_DIGITS = 18  # of a whole number of 64 bits
EXACT = 2**53  # whole numbers below are doubles
POWERS = 10.0 ** np.arange(23)  # the powers of ten that are doubles
OF_LABEL = -1  # in place of an entry, in Lines.hard


class Rules(NamedTuple):
    """What a line may be."""

    base: int  # the first index, 0 or 1
    most: int  # columns
    longest: int  # bytes of a line
    text: bool  # labels are words
    skip: bool  # pass over lines with flaws


class Lines(NamedTuple):
    """What came out of them."""

    state: np.ndarray
    labels: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    places: np.ndarray  # (rows, 4): where the line begins, its number, where its label begins and ends
    hard: np.ndarray  # (n, 4): entry or OF_LABEL, row, where the number begins and ends


@jit(inline=True, inside=True)
def is_digit(c):
    return ZERO <= c <= ZERO + 9


@jit(inline=True, inside=True)
def is_blank(c):
    return c == SPACE or (TAB <= c <= RETURN and c != NEWLINE)


@jit(inline=True, inside=True)
def ends(c):
    """Whether c may follow a word."""
    return True if TAB <= c <= RETURN or c == HASH else c == SPACE


@jit(inline=True, inside=True)
def decimal(buffer, p, powers):
    """The number that begins at p: where it ends (p: it is none), its value, and whether that is exact."""
    begin = p
    negative = buffer[p] == MINUS
    if negative or buffer[p] == PLUS:
        p += 1
    whole, first = 0, p
    while is_digit(buffer[p]):
        whole = whole * 10 + (np.int64(buffer[p]) - ZERO)
        p += 1
    digits, exponent = p - first, 0
    if buffer[p] == POINT:
        p += 1
        first = p
        while is_digit(buffer[p]):
            whole = whole * 10 + (np.int64(buffer[p]) - ZERO)
            p += 1
        digits += p - first
        exponent = first - p
    if digits == 0:
        return begin, 0.0, True
    if buffer[p] == 69 or buffer[p] == 101:  # E, e
        q = p + 1
        down = buffer[q] == MINUS
        if down or buffer[q] == PLUS:
            q += 1
        first, power = q, 0
        while is_digit(buffer[q]):
            power = min(power * 10 + (np.int64(buffer[q]) - ZERO), 100000)
            q += 1
        if q == first:
            return begin, 0.0, True
        p = q
        exponent += -power if down else power
    if digits > MOST_DIGITS or whole >= EXACT or exponent > 22 or exponent < -22:
        return p, 0.0, False
    value = whole / powers[-exponent] if exponent < 0 else whole * powers[exponent]
    return p, -value if negative else value, True


@jit
def scan(buffer, stop, rules, lines, powers):
    """Read the lines from state[POS] up to `stop`, which is behind a line's end; lines have no flaws or are not read.

    With rules.skip, lines with flaws are counted, and the first of them is described in the state.
    """
    state = lines.state
    while state[POS] < stop:
        begin, row = state[POS], state[ROWS]
        if row == lines.labels.size:
            return FULL
        flaw, at, entries, hard = read_line(buffer, begin, rules, lines, powers)
        if flaw == NO_ROOM:
            return FULL
        end = at
        while buffer[end] != NEWLINE:
            end += 1
        if end - begin > rules.longest:
            flaw, at = TOO_LONG, begin
        if flaw > 0:
            if not rules.skip or state[FLAW] == 0:
                state[FLAW], state[FLAW_AT], state[FLAW_LINE] = flaw, at, state[LINE]
            if not rules.skip:
                return BAD
            state[SKIPPED] += 1
        elif flaw == SOUND:
            state[ROWS], state[ENTRIES], state[HARD] = row + 1, entries, hard
            lines.places[row, 0], lines.places[row, 1] = begin, state[LINE]
            lines.indptr[row + 1] = entries
        state[POS] = end + 1
        state[LINE] += 1
    return MORE


@jit(inside=True)
def read_line(buffer, begin, rules, lines, powers):
    """Put the row of one line behind the others: its flaw, where that or else the row's end is, entries, hard ones."""
    state, row = lines.state, lines.state[ROWS]
    entries, hard = state[ENTRIES], state[HARD]
    p = begin
    while is_blank(buffer[p]):
        p += 1
    if buffer[p] == NEWLINE or buffer[p] == HASH:
        return NO_ROW, p, entries, hard
    if hard == len(lines.hard):
        return NO_ROOM, p, entries, hard
    start = p
    if rules.text:
        while buffer[p] > SPACE and buffer[p] != HASH and buffer[p] != COLON:
            p += 1
    else:
        p, lines.labels[row], exact = decimal(buffer, p, powers)
        if not exact:
            hard = note(lines.hard, hard, OF_LABEL, row, start, p)
    if not ends(buffer[p]):
        return (NO_LABEL if buffer[p] == COLON else LABEL), start, entries, hard
    lines.places[row, 2], lines.places[row, 3] = start, p

    before, first = -1, True
    while True:
        while is_blank(buffer[p]):
            p += 1
        if buffer[p] == NEWLINE or buffer[p] == HASH:
            return SOUND, p, entries, hard
        start, index = p, 0
        while is_digit(buffer[p]):
            index = index * 10 + (np.int64(buffer[p]) - ZERO)
            p += 1
        digits = p - start
        if buffer[p] != COLON or digits == 0:
            end = end_of_query(buffer, start) if first else start
            if end == start:
                return (NO_COLON if ends(buffer[p]) else INDEX), start, entries, hard
            p, first = end, False
            continue
        first = False
        index -= rules.base
        if digits > MOST_DIGITS or index >= rules.most:
            return ABOVE, start, entries, hard
        if index <= before:
            return (BELOW if index < 0 else TWICE if index == before else ORDER), start, entries, hard
        if entries == lines.values.size or hard == len(lines.hard):
            return NO_ROOM, start, entries, hard
        before, start = index, p + 1
        p, value, exact = decimal(buffer, start, powers)
        if p == start or not ends(buffer[p]):
            return (NO_VALUE if ends(buffer[start]) else VALUE), start, entries, hard
        if not exact:
            hard = note(lines.hard, hard, entries, row, start, p)
        lines.indices[entries], lines.values[entries] = index, value
        entries += 1


@jit(inline=True, inside=True)
def end_of_query(buffer, start):
    """Behind `qid:number`, or `start` if that is not what is there."""
    for i in range(len(QUERY)):
        if buffer[start + i] != QUERY[i]:
            return start
    p = start + 4
    if buffer[p] == MINUS:
        p += 1
    first = p
    while is_digit(buffer[p]):
        p += 1
    return p if p > first and ends(buffer[p]) else start


@jit(inline=True, inside=True)
def note(hard, n, entry, row, start, stop):
    """Leave a number to Python; returns how many these are."""
    hard[n, 0], hard[n, 1], hard[n, 2], hard[n, 3] = entry, row, start, stop
    return n + 1
