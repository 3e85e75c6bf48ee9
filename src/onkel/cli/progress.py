"""What learning shows while it goes on: a bar on a terminal, else lines, or JSON, or nothing."""

import itertools
import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import click


class State(NamedTuple):
    """How far learning is."""

    rows: int
    share: float | None  # of the source
    error: str  # in words
    facts: dict[str, Any]  # for JSON


class Quiet:
    """Shows nothing; the others show more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, state: State) -> None:
        """After a batch."""

    def say(self, text: str) -> None:
        """A line in between."""


class Lines(Quiet):
    """A line at 1000, 2000, 5000, 10 000, ... rows, or an object of JSON."""

    def __init__(self, as_json: bool) -> None:
        self._json, self._marks, self._start = as_json, _marks(), time.perf_counter()
        self._next = next(self._marks)

    def show(self, state: State) -> None:
        if state.rows < self._next:
            return
        self._next = next(mark for mark in self._marks if mark > state.rows)
        seconds = time.perf_counter() - self._start
        if self._json:
            click.echo(json.dumps({"event": "progress", **plain(state.facts), "seconds": round(seconds, 3)}))
        else:
            share = "" if state.share is None else f"{state.share:5.0%}  "
            click.echo(f"{share}{state.rows:>12,} rows  {state.error}  {seconds:,.1f} s", err=True)

    def say(self, text: str) -> None:
        if not self._json:
            click.echo(text, err=True)


class Bar(Quiet):
    """Rate, running error and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.text import Text

        class Left(ProgressColumn):
            def render(self, task: Any) -> Text:
                return Text.assemble(times.render(task), " left") if task.total else Text("")

        times = TimeRemainingColumn(compact=True)
        columns = SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), Left()
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=10)
        self._task = self._progress.add_task("starting; the first time, learners are compiled", total=None)
        self._first: tuple[int, float] | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, state: State) -> None:
        now = time.perf_counter()
        self._first = self._first or (state.rows, now)  # from then on, nothing is compiled any more
        rows, seconds = state.rows - self._first[0], now - self._first[1]
        rate = f"  {rows / seconds:,.0f} rows/s" if rows and seconds > 0 else ""
        text = f"{state.rows:,} rows  {state.error}{rate}"
        share = None if state.share is None else min(state.share, 1.0)
        self._progress.update(self._task, description=text, total=None if share is None else 1.0, completed=share or 0)

    def say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False)


def plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Infinity and NaN, which JSON has not, as words."""
    odd = {name: str(value) for name, value in facts.items() if isinstance(value, float) and not math.isfinite(value)}
    return {**facts, **odd}


def reporter(quiet: bool, as_json: bool) -> Quiet:
    if quiet:
        return Quiet()
    return Lines(as_json) if as_json or not sys.stderr.isatty() else Bar()


def _marks() -> Iterator[int]:
    for power in itertools.count(3):
        yield from (10**power, 2 * 10**power, 5 * 10**power)
