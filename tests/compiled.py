"""Verbs that only compiled code calls, for tests to call."""

from onkel import expansion
from onkel._jit import jit


@jit
def insert(f, i, kernel, rows, t, step):
    expansion.insert(f, i, kernel, rows, t, step)


@jit
def predict(f, kernel, rows, t, scores):
    expansion.predict(f, kernel, rows, t, scores)
