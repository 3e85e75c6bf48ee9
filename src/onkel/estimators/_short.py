"""One row at a time: arrays made once, compiled code entered at once, and enough kept to undo. No mathematics."""

from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._jit import entry
from ..expansion import PAUSE
from ..rows import Dense, Sparse, norm_of
from ..state import arrays, places, sound
from ..stream import INTERLUDE, learn, score

MOST = 256  # rows learnt until the state is copied anew
SMALL = 64  # rows of a batch that is copied rather than the state


def overflow(first: int, last: int) -> ValueError:
    return ValueError(
        f"The model overflowed between rows {first} and {last} of this batch. Smaller steps "
        "(eta, C, larger reg) or scaled features and targets help. Nothing of the batch was learnt."
    )


def one_row(x: Any) -> Any:
    """A row as a batch."""
    if sp.issparse(x) and x.ndim == 2 and x.shape[0] == 1:
        return x
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"Expected one row, an array of 1 dimension; got {x.ndim}. For several, call learn or predict."
        )
    return x[None]


def finite_number(y: Any) -> float | None:
    try:
        y = float(y)
    except ValueError:
        return None
    return y if -np.inf < y < np.inf else None


class Past:
    """A copy of the state and what was learnt since: taking back the latest rows is learning all others again."""

    def __init__(self, estimator: Any) -> None:
        self.learner = estimator._learner
        self.saved = estimator._saved()
        self.batches: list[tuple[Any, np.ndarray, np.ndarray]] = []
        self.rows = 0

    def holds(self, estimator: Any) -> bool:
        return self.learner is estimator._learner and self.rows < MOST

    def add(self, rows: Any, targets: np.ndarray, weights: np.ndarray) -> None:
        if isinstance(rows, Sparse):  # perhaps a part of many
            start, stop = rows.indptr[0], rows.indptr[-1]
            rows = Sparse(rows.values[start:stop].copy(), rows.indices[start:stop].copy(), rows.indptr - start)
        else:
            rows = Dense(rows.values.copy())
        self.batches.append((rows, targets.copy(), weights.copy()))
        self.rows += len(targets)

    def restore(self, estimator: Any) -> None:
        """Give the estimator the state it had after what was added last."""
        estimator._learner = self.learner
        estimator._undo(self.learner, self.saved)
        for batch in self.batches:
            estimator._turns(*batch)


class Watch:
    """Looks whether all numbers that learning may change are finite; points are."""

    def __init__(self, estimator: Any, *others: np.ndarray) -> None:
        self.learner = estimator._learner
        passed = ("f.points", *estimator._constant())
        held = [a for name, a in arrays(self.learner).items() if not name.startswith(passed)]
        self.kept = others
        self.places = places([*held, *others])
        self.enter = entry(sound, *self.places)

    def finds_all_finite(self) -> bool:
        return bool(self.enter(*self.places))


class _Row:
    """Room for rows, and how they are let in."""

    def __init__(self, estimator: Any, n: int) -> None:
        setting = estimator._setting
        self.learner = estimator._learner
        self.rows = Dense(np.zeros((n, setting.d), setting.dtype))
        self.scores = np.zeros((n, setting.outputs), setting.dtype)
        self.shape = (setting.d,)
        self.flat = self.rows.values.reshape(-1)
        self.norm_of = entry(norm_of, self.flat, 0, 1)
        self.single = setting.outputs == 1
        self.limit = -1.0  # the largest |x|^2 that was found sound

    def admit(self, estimator: Any, x: Any, i: int) -> bool:
        """Make x row i; False for what should be looked at closely, by those who validate batches."""
        if type(x) is not np.ndarray:
            try:
                x = np.asarray(x, self.scores.dtype)
            except (TypeError, ValueError):
                return False
        if x.shape != self.shape or x.dtype.kind not in "fiub":
            return False
        self.rows.values[i] = x
        size = self.norm_of(self.flat, i * x.size, (i + 1) * x.size)
        if not size <= self.limit:
            if not size < np.inf:
                return False
            estimator._sound(self.rows.values[i : i + 1])
            self.limit = size
        return True

    def score_of(self, i: int) -> Any:
        return self.scores.item(i) if self.single else self.scores[i].copy()


class Door(_Row):
    """Where rows come in to be learnt one by one."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator, MOST)
        self.targets, self.weights = np.zeros(MOST), np.zeros(MOST)
        self.n = 0  # rows learnt since the past was copied
        self.past = estimator._past = Past(estimator)
        self.count = self.learner.f.count
        self.read = estimator._reading()
        self.watch = Watch(estimator, self.scores)
        self.look_up = attrgetter(*estimator._made_with)
        self.values = self.look_up(estimator)
        self.enter = entry(learn, self.learner, self.rows, self.targets, self.weights, self.scores, 0, 1)

    def is_for(self, estimator: Any) -> bool:
        """Whether nothing happened to the estimator but what came in here."""
        return (
            self.past is estimator._past
            and self.learner is estimator._learner
            and self.look_up(estimator) == self.values
        )

    def learn(self, estimator: Any, x: Any, y: Any, weight: float) -> Any:
        """Learn a row; returns its score or scores, or None for a row to be learnt like a batch."""
        try:
            target, weighs = self.read(y), 0.0 <= weight < np.inf
        except TypeError:
            return None
        if target is None or not weighs:
            return None
        if self.n == MOST:
            self.n, self.past = 0, Past(estimator)
            estimator._past = self.past
        i = self.n
        if not self.admit(estimator, x, i):
            return None
        self.targets[i], self.weights[i] = target, weight
        if self.enter(self.learner, self.rows, self.targets, self.weights, self.scores, i, i + 1) == i:
            if self.count[PAUSE] == INTERLUDE:
                self.count[PAUSE] = 0  # the row is learnt again from the start
            return None
        try:
            if not self.watch.finds_all_finite():
                raise overflow(0, 0)
            if self.count[PAUSE]:
                estimator._settle()
        except Exception:
            self.take_back(estimator)
            raise
        self.n = i + 1
        return self.score_of(i)

    def hand_over(self) -> None:
        """Give the rows that were learnt to the past, because a batch comes."""
        n, self.n = self.n, 0
        if n:
            self.past.add(Dense(self.rows.values[:n]), self.targets[:n], self.weights[:n])

    def take_back(self, estimator: Any) -> None:
        """Undo the latest row."""
        self.hand_over()
        self.past.restore(estimator)
        estimator._past = None


class Window(_Row):
    """Where rows are looked at one by one."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator, 1)
        self.reader = estimator._reader(estimator._setting.d)
        self.enter = entry(score, self.reader, self.rows, self.scores)

    def score(self, estimator: Any, x: Any) -> Any:
        """The score or scores of a row, or None for one to be looked at like a batch."""
        if not self.admit(estimator, x, 0):
            return None
        self.enter(self.reader, self.rows, self.scores)
        return self.score_of(0)
