"""How well learners do: running metrics, progressive evaluation, comparisons with batch learners."""

from .comparators import LLSVM, Hindsight, hindsight, least_squares
from .metrics import LABEL_LOSSES, LOSSES, NUMBER_LOSSES, Metrics
from .racing import Heat, race
from .reports import Checkpoint, Report, Summary
from .runs import progressive, repeated

__all__ = [
    "LABEL_LOSSES",
    "LLSVM",
    "LOSSES",
    "NUMBER_LOSSES",
    "Checkpoint",
    "Heat",
    "Hindsight",
    "Metrics",
    "Report",
    "Summary",
    "hindsight",
    "least_squares",
    "progressive",
    "race",
    "repeated",
]
