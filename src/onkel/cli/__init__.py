"""The command `onkel`: learn from streams, race learners, predict, look into models, without a line of Python."""

from .main import main

__all__ = ["main"]
