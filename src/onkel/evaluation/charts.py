"""Line charts as inline SVG: small, without scripts or fonts of their own, in the colours of the page they are on.

Series k has the class `s{k}`; the page's style says what that looks like, in light and in dark.
"""

import html
import math
import statistics
from collections.abc import Iterator
from typing import NamedTuple

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 44  # margins
WIDE, NAMES, ROW = 620, 150, 24  # charts of ranges: width, room for the names, height of a row
MOST_POINTS = 120  # of a line


class Series(NamedTuple):
    name: str
    x: list[float]
    y: list[float]


class Axis(NamedTuple):
    """From values to places between 0 and 1."""

    low: float
    high: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        return (value - low) / (high - low)


def chart(
    series: list[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    percent: bool = False,
    chop: bool = False,
) -> str:
    """One SVG. All values must be finite and at least 0; with `log_x` those of x above 0.

    `chop`: lines of more than three times the usual height do not decide how high the chart is, but are named in it.
    """
    x = _axis([value for s in series for value in s.x], log_x)
    top, above = _top(series, chop)
    y = Axis(0.0, top, False)
    lines = [(k, s.name, _line(s, x, y)) for k, s in enumerate(series) if s.x]
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title>",
        *_vertical(y, y_label, "%" if percent else ""),
        *_horizontal(x, x_label),
        *(f'<path class="line s{k}" d="{d}"><title>{html.escape(name)}</title></path>' for k, name, d in lines),
    ]
    if above:
        words = html.escape("above: " + ", ".join(above))
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{TOP + 14}" text-anchor="end">{words}</text>')
    return "\n".join([*parts, "</svg>"])


class Range(NamedTuple):
    """A value of one row in one series, and how far it spreads."""

    row: int
    value: float
    spread: float


def ranges(series: list[list[Range]], rows: list[str], *, title: str, x_label: str) -> str:
    """One SVG: a row per name, in it a dot with a bar for each series, one below the other."""
    every = [one for ranges in series for one in ranges]
    low, high = min(one.value - one.spread for one in every), max(one.value + one.spread for one in every)
    margin = 0.03 * (high - low) or 0.03 * abs(high) or 1.0
    x, height = Axis(low - margin, high + margin, False), TOP + ROW * len(rows) + BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDE} {height}" role="img" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title>",
    ]
    for value in _ticks(x):
        place = _along(x(value))
        parts.append(f'<path class="grid" d="M{place:.1f} {TOP}V{height - BOTTOM}"/>')
        parts.append(f'<text x="{place:.1f}" y="{height - BOTTOM + 17}" text-anchor="middle">{_brief(value)}</text>')
    for row, name in enumerate(rows):
        parts.append(f'<text x="{NAMES - 8}" y="{TOP + ROW * (row + 0.5) + 4:.1f}" text-anchor="end">')
        parts.append(f"{html.escape(name)}</text>")
    for k, found in enumerate(series):
        for one in found:
            y = TOP + ROW * (one.row + (k + 1) / (len(series) + 1))
            ends = _along(x(one.value - one.spread)), _along(x(one.value + one.spread))
            parts.append(f'<path class="line s{k}" d="M{ends[0]:.1f} {y:.1f}H{ends[1]:.1f}"/>')
            parts.append(f'<circle class="line s{k}" cx="{_along(x(one.value)):.1f}" cy="{y:.1f}" r="3"/>')
    middle = (NAMES + WIDE - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{height - 6}" text-anchor="middle">{html.escape(x_label)}</text>')
    return "\n".join([*parts, "</svg>"])


def _along(part: float) -> float:
    return NAMES + part * (WIDE - RIGHT - NAMES)


def _vertical(y: Axis, label: str, unit: str) -> Iterator[str]:
    for value in _ticks(y):
        place, words = _down(y(value)), _brief(100 * value if unit else value) + unit
        yield f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 7}" y="{place + 4:.1f}" text-anchor="end">{words}</text>'
    middle = f"translate(13 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"
    yield f'<text transform="{middle}" text-anchor="middle">{html.escape(label)}</text>'


def _horizontal(x: Axis, label: str) -> Iterator[str]:
    bottom, middle = HEIGHT - BOTTOM, (LEFT + WIDTH - RIGHT) / 2
    yield f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
    for value in _powers(x) if x.log else _ticks(x):
        place = _across(x(value))
        yield f'<path class="tick" d="M{place:.1f} {bottom}v4"/>'
        yield f'<text x="{place:.1f}" y="{bottom + 17}" text-anchor="middle">{_brief(value)}</text>'
    yield f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(label)}</text>'


def _top(series: list[Series], chop: bool) -> tuple[float, list[str]]:
    """How high the chart is, and whose lines go beyond it. The first few values of each are wild and do not count."""
    highest = {s.name: max(s.y[len(s.y) // 10 :], default=0.0) for s in series}
    most = 3 * statistics.median(highest.values()) if chop else math.inf
    above = [name for name, value in highest.items() if value > most]
    top = max(value for name, value in highest.items() if name not in above)
    return (1.25 if above else 1.0) * (top or 1.0), above


def _axis(values: list[float], log: bool) -> Axis:
    low, high = (min(values), max(values)) if values else (1.0, 10.0)
    if log:
        return Axis(low, high if high > low else 10 * low, True)
    return Axis(low, high if high > low else low + (abs(low) or 1.0), False)


def _line(s: Series, x: Axis, y: Axis) -> str:
    """The path through some of the points, the last one always; what is above the chart runs along its edge."""
    every = max(1, math.ceil(len(s.x) / MOST_POINTS))
    chosen = [k for k in range(len(s.x)) if (len(s.x) - 1 - k) % every == 0]
    return "".join(
        f"{'L' if n else 'M'}{_across(x(s.x[k])):.1f} {_down(min(y(s.y[k]), 1.0)):.1f}" for n, k in enumerate(chosen)
    )


def _across(part: float) -> float:
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _down(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _ticks(axis: Axis) -> list[float]:
    """Round values, three to six of them."""
    span = axis.high - axis.low
    step = 10.0 ** math.floor(math.log10(span / 3))
    step *= max(factor for factor in (1, 2, 5) if factor * step <= span / 3)
    first = math.ceil(axis.low / step - 1e-9)
    return [k * step for k in range(first, math.floor(axis.high / step + 1e-9) + 1)]


def _powers(axis: Axis) -> list[float]:
    """Powers of ten or, where there are fewer than two, their multiples by 2 and 5."""
    exponents = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    rounds = [(digit, digit * 10.0**e) for e in exponents for digit in (1, 2, 5)]
    inside = [(digit, value) for digit, value in rounds if axis.low <= value <= axis.high]
    powers = [value for digit, value in inside if digit == 1]
    return powers[:: math.ceil(len(powers) / 7)] if len(powers) >= 2 else [value for _, value in inside]


def _brief(value: float) -> str:
    """12000 -> 12k, 0.0005 -> 0.0005."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"
