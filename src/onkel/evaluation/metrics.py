"""Running metrics: from the scores that a learner gave before it saw the targets, batch by batch.

Sums are taken one example after the other, so they do not depend on where batches are cut, not even to a bit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Floats = npt.NDArray[np.float64]

# As in `losses`, of whole batches: the gap is 1 - margin for labels, |y - f| for numbers.
LOSSES: dict[str, Callable[[Floats, float], Floats]] = {
    "hinge": lambda gap, epsilon: np.maximum(gap, 0),
    "squared_hinge": lambda gap, epsilon: np.maximum(gap, 0) ** 2,
    "logistic": lambda gap, epsilon: np.logaddexp(0, gap - 1),
    "squared": lambda gap, epsilon: gap**2,
    "half_squared": lambda gap, epsilon: gap**2 / 2,
    "epsilon_insensitive": lambda gap, epsilon: np.maximum(gap - epsilon, 0),
    "absolute": lambda gap, epsilon: np.maximum(gap, 0),
}
LABEL_LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "half_squared")
NUMBER_LOSSES = ("squared", "half_squared", "epsilon_insensitive", "absolute")
OF_LABELS = ("mistake_rate", "log_loss", "loss")
OF_NUMBERS = ("squared_error", "absolute_error", "loss")


class Metrics:
    """Cumulative metrics, and the same over the last `window` examples.

    With `classes` (as in `classes_`) for labels: mistake_rate, accuracy, log_loss (of the logistic function or the
    softmax of the scores), loss. Without, for numbers: squared_error, absolute_error, loss. A score of exactly 0
    predicts classes[1]. `loss`: one of LABEL_LOSSES, by default the hinge, or NUMBER_LOSSES, by default the squared
    error; `epsilon`: the half width of its tube.
    """

    def __init__(
        self,
        classes: npt.ArrayLike | None = None,
        *,
        window: int = 1000,
        loss: str | None = None,
        epsilon: float = 0.0,
    ) -> None:
        if window < 1:
            raise ValueError(f"window must be a whole number of at least 1; got {window!r}.")
        self.classes = None if classes is None else np.asarray(classes)
        self.loss = loss or ("squared" if classes is None else "hinge")
        choices = NUMBER_LOSSES if classes is None else LABEL_LOSSES
        if self.loss not in choices:
            raise ValueError(f"loss must be one of {', '.join(map(repr, choices))}; got {loss!r}.")
        self.window, self.epsilon = window, epsilon
        self.names = OF_NUMBERS if classes is None else OF_LABELS
        self.n = 0
        self._sums, self._latest = np.zeros(len(self.names)), np.empty((len(self.names), 0))

    def update(self, scores: npt.ArrayLike, y: npt.ArrayLike) -> None:
        """Count in a batch: the scores before each update, (n,) or (n, n_classes), and the targets."""
        values = self.of_each(scores, y)
        self.n += values.shape[1]
        self._sums = np.cumsum(np.hstack([self._sums[:, None], values]), axis=1)[:, -1]
        self._latest = np.hstack([self._latest, values])[:, -self.window :]

    def of_each(self, scores: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """What `names` says of every example, (len(names), n); changes nothing."""
        f, targets = np.asarray(scores, np.float64), np.asarray(y)
        targets = targets.reshape(-1)
        if len(f) != len(targets):
            raise ValueError(f"There are {len(f)} scores, but {len(targets)} targets.")
        with np.errstate(over="ignore"):  # an infinite error is one
            return self._of_numbers(f, targets) if self.classes is None else self._of_labels(f, targets)

    @property
    def cumulative(self) -> dict[str, float]:
        """Means over all examples so far; NaN before the first."""
        return self._named(self._sums / self.n if self.n else np.full(len(self.names), np.nan))

    @property
    def recent(self) -> dict[str, float]:
        """Means over the last `window` examples, or all if they are fewer."""
        return self._named(self._latest.mean(axis=1) if self.n else np.full(len(self.names), np.nan))

    @property
    def error(self) -> float:
        """The main one of the cumulative metrics: mistake rate or mean squared error."""
        return self.cumulative[self.names[0]]

    @property
    def total_loss(self) -> float:
        """The sum of all losses so far."""
        return float(self._sums[-1])

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from, of arrays and numbers."""
        return {"n": self.n, "sums": self._sums.copy(), "latest": self._latest.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of metrics that were made alike."""
        sums, latest = np.array(state["sums"], np.float64), np.array(state["latest"], np.float64)
        if sums.shape != self._sums.shape or latest.shape != (len(sums), min(int(state["n"]), self.window)):
            raise ValueError("The state is of other metrics: another task or another window.")
        self.n, self._sums, self._latest = int(state["n"]), sums, latest

    def _named(self, values: Floats) -> dict[str, float]:
        named = dict(zip(self.names, values.tolist(), strict=True))
        if self.classes is None:
            return named
        return {"mistake_rate": named["mistake_rate"], "accuracy": 1 - named["mistake_rate"], **named}

    def _of_numbers(self, f: Floats, y: npt.NDArray[Any]) -> Floats:
        miss = np.abs(y.astype(np.float64) - f)
        return np.array([miss**2, miss, LOSSES[self.loss](miss, self.epsilon)])

    def _of_labels(self, f: Floats, y: npt.NDArray[Any]) -> Floats:
        index = self._indices(y)
        if f.ndim == 1:
            right, margin = (f >= 0) == (index == 1), np.where(index == 1, f, -f)
            log_loss = np.logaddexp(0, -margin)
        else:
            every = np.arange(len(index))
            right, own, others = f.argmax(axis=1) == index, f[every, index], f.copy()
            others[every, index] = -np.inf
            margin, log_loss = own - others.max(axis=1), logsumexp(f, axis=1) - own
        loss = log_loss if self.loss == "logistic" else LOSSES[self.loss](1 - margin, self.epsilon)
        return np.array([~right, log_loss, loss], np.float64)

    def _indices(self, y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The place of every label among the classes."""
        assert self.classes is not None
        index = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unseen = self.classes[index] != y
        if unseen.any():
            raise ValueError(f"y has labels that are not among the classes {self.classes!r}: {y[unseen][:5]!r}.")
        return index
