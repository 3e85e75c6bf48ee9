"""Ctrl-C, and the signal that ends a service, between two batches rather than anywhere."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

import click


class Stop:
    """While it is in force, the first signal is noted in `signal`; a second one, or one while waiting, is Ctrl-C."""

    def __init__(self) -> None:
        self.signal = 0
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """While nothing is at stake: reading."""
        self._waiting = True
        try:
            if self.signal:
                raise KeyboardInterrupt
            yield
        finally:
            self._waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.signal = bool(self.signal), number
        if again or self._waiting:
            raise KeyboardInterrupt
        click.echo("\nonkel: stopping after this batch; once more stops at once", err=True)
