"""How well learners do: running metrics, progressive evaluation, comparisons."""

from .metrics import LABEL_LOSSES, LOSSES, NUMBER_LOSSES, Metrics

__all__ = ["LABEL_LOSSES", "LOSSES", "NUMBER_LOSSES", "Metrics"]
