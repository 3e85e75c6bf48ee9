"""Progressive evaluation: predict, then learn, and write down at checkpoints how it goes."""

import contextlib
import copy
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..estimators._online import OnlineClassifier, OnlineEstimator
from ..io.opening import format_of, open_stream
from ..state import arrays
from .comparators import comparator_loss, hindsight
from .metrics import Metrics
from .names import stem
from .reports import Checkpoint, Report

WARM = 1000  # rows for a copy to learn before the clock starts: all that compiles, or loads, shall have done so
Models = Any  # an estimator, several, or several by name
Schedule = str | int | Iterable[int]
Watch = Callable[[Checkpoint], None]


def progressive(
    models: Models,
    stream: Any,
    *,
    classes: Any = None,
    checkpoints: Schedule = "log",
    window: int = 1000,
    loss: str | None = None,
    comparator: Any = None,
    watch: Watch | None = None,
) -> Report:
    """Let every model predict each example of the stream and then learn it; returns what was seen at checkpoints.

    Parameters
    ----------
    models
        One estimator of onkel, a list, or a dict of names. They learn in place, and go on from what they know.
    stream
        (X, y), a path or data frame or whatever else `onkel.open_stream` reads, or any iterable of batches (X, y, ...).
        It is read once, for all models.
    classes
        All labels that may come; default: those of the first batch.
    checkpoints
        "log" (10, 20, 50, 100, ... examples), a number for every so many, or the numbers themselves; the end is always
        one. Models learn whole batches, cut at the checkpoints only, which changes no bit of what they learn; but
        every cut is a call and costs about a tenth of a millisecond.
    window
        Examples in the metrics of late.
    loss
        The loss that is averaged and that regret is about, one for all models: by default the comparator's, or else
        the hinge or the squared error.
    comparator
        An unfitted SVC, SVR or KernelRidge of scikit-learn, or an `LLSVM`: fitted on the whole stream, which is then
        kept in memory, it is what regret compares with.
    watch
        Called with every new checkpoint.

    Learning is timed without compiling: before the clock starts, a copy of each model learns the first rows.
    """
    run = _Run(_named(models), classes, checkpoints, window, comparator_loss(comparator, loss), watch)
    return run.over(stream, comparator)


def repeated(
    models: Models,
    stream: Any,
    *,
    repeats: int = 20,
    seed: int = 1,
    **options: Any,
) -> Report:
    """`progressive` over several streams, with fresh copies of the models; the report gives mean and deviation.

    `stream`: (X, y), shown in orders that `onkel.datasets.permutations` draws from `seed`, the same for every
    model; or a function that makes a stream from a seed: seed, seed + 1, ... The models' own random numbers start
    from the same seeds. `options` are those of `progressive`.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be a whole number of at least 1; got {repeats!r}.")
    named, made = _named(models), []
    for repeat, one in enumerate(_streams(stream, repeats, seed)):
        fresh = {name: clone(model).set_params(random_state=seed + repeat) for name, model in named.items()}
        watch = options.get("watch")
        mark = _marked(repeat, watch) if watch else None
        made.append(progressive(fresh, one, **{**options, "watch": mark}))
    return Report(tuple(_of_repeat(repeat, c) for repeat, report in enumerate(made) for c in report.checkpoints))


class _Run:
    """One pass over one stream."""

    def __init__(
        self,
        models: dict[str, OnlineEstimator],
        classes: Any,
        checkpoints: Schedule,
        window: int,
        loss: str | None,
        watch: Watch | None,
    ) -> None:
        self.models, self.classes, self.window, self.loss, self.watch = models, classes, window, loss, watch
        self.marks = _marks(checkpoints)
        self.next, self.n, self.reading = next(self.marks, None), 0, 0.0
        self.metrics: dict[str, Metrics] = {}
        self.learning = dict.fromkeys(models, 0.0)
        self.found: list[Checkpoint] = []

    def over(self, stream: Any, comparator: Any) -> Report:
        kept: list[tuple[Any, Any]] = []
        for X, y, seconds in _read(stream):
            self.reading += seconds
            if not self.metrics:
                self._begin(X, y)
            self._batch(X, y)
            if comparator is not None:
                kept.append((X, y))
        if self.n == 0:
            raise ValueError("The stream has no examples.")
        if not self.found or self.found[-1].examples < self.n:
            self._mark()
        if comparator is None:
            return Report(tuple(self.found))
        return self._with_regret(comparator, kept)

    def _begin(self, X: Any, y: Any) -> None:
        """The first batch settles what it has to, and a copy of every model compiles what it needs."""
        for name, model in self.models.items():
            with _naming(name, 0):
                if not model.__sklearn_is_fitted__():
                    model._begin(X, y, self.classes)
                classes = model.classes_ if isinstance(model, OnlineClassifier) else None
                epsilon = float(getattr(model, "epsilon", 0.0))
                self.metrics[name] = Metrics(classes, window=self.window, loss=self.loss, epsilon=epsilon)
                with contextlib.suppress(ValueError):  # what is wrong with a row will be said when its turn comes
                    copy.deepcopy(model).learn(_rows(X, 0, WARM), y[:WARM])

    def _batch(self, X: Any, y: Any) -> None:
        """Learn a batch, piece by piece from checkpoint to checkpoint."""
        ends = self._ends(len(y))
        learnt = {name: model._pieces(X, y, ends) for name, model in self.models.items()}
        for start, end in itertools.pairwise([0, *ends]):
            for name, pieces in learnt.items():
                with _naming(name, self.n):
                    began = time.perf_counter()
                    scores = next(pieces)
                    self.learning[name] += time.perf_counter() - began
                self.metrics[name].update(scores, y[start:end])
            self.n += end - start
            if self.n == self.next:
                self._mark()
                self.next = next(self.marks, None)

    def _ends(self, rows: int) -> list[int]:
        """Where to cut a batch: at checkpoints, and at its end."""
        self.marks, ahead = itertools.tee(self.marks)
        marks = itertools.chain([] if self.next is None else [self.next], ahead)
        inside = itertools.takewhile(lambda n: n < rows, (mark - self.n for mark in marks))
        return [*inside, rows]

    def _mark(self) -> None:
        for name, model in self.models.items():
            metrics = self.metrics[name]
            made = Checkpoint(
                learner=name,
                repeat=0,
                examples=self.n,
                metrics=metrics.cumulative,
                recent=metrics.recent,
                regret=None,
                size=size_of(model),
                bytes=bytes_of(model),
                learning=self.learning[name],
                reading=self.reading,
            )
            self.found.append(made)
            if self.watch:
                self.watch(made)

    def _with_regret(self, comparator: Any, kept: list[tuple[Any, Any]]) -> Report:
        X, y = _stacked([X for X, _ in kept]), np.concatenate([y for _, y in kept])
        first = next(iter(self.metrics.values()))
        best = hindsight(comparator, X, y, classes=first.classes)
        least = np.cumsum(best.losses)
        found = [
            dataclasses.replace(c, regret=c.metrics["loss"] * c.examples - float(least[c.examples - 1]) - best.penalty)
            for c in self.found
        ]
        return Report(tuple(found))


@contextlib.contextmanager
def _naming(name: str, n: int) -> Iterator[None]:
    """Errors say whose they are."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}, after {n:,} examples: {error}") from error


def size_of(model: OnlineEstimator) -> int | None:
    """Points in the dictionary or, in feature space, random frequencies, else features; None for none of these."""
    if hasattr(model, "n_support_"):
        return int(model.n_support_)
    if hasattr(model, "component_indices_"):
        return len(model.component_indices_)
    if hasattr(model, "n_components"):
        return int(model.n_components)
    return int(model.coef_.shape[1]) if hasattr(model, "coef_") else None


def bytes_of(model: OnlineEstimator) -> int:
    """What the model's state takes in memory, with the room it keeps for more points."""
    return sum(a.nbytes for a in arrays(model._learner).values())


def _named(models: Models) -> dict[str, OnlineEstimator]:
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        named = {}
        for model in models if isinstance(models, list | tuple) else [models]:
            first = stem(type(model).__name__)
            names = itertools.chain([first], (f"{first} {k}" for k in itertools.count(2)))
            named[next(name for name in names if name not in named)] = model
    if not named:
        raise ValueError("There is no model to evaluate.")
    for name, model in named.items():
        if not isinstance(model, OnlineEstimator):
            raise TypeError(f"{name} is a {type(model).__name__}, not an estimator of onkel.")
    if len({id(model) for model in named.values()}) < len(named):
        raise ValueError("The same model is named twice: it would learn every example twice. Pass a clone.")
    if len({isinstance(model, OnlineClassifier) for model in named.values()}) > 1:
        raise ValueError("Classifiers and regressors do not learn from the same stream.")
    return named


def _marks(checkpoints: Schedule) -> Iterator[int]:
    """Ever larger numbers of examples."""
    if isinstance(checkpoints, str):
        if checkpoints != "log":
            raise ValueError(f'checkpoints must be "log", a whole number or several; got {checkpoints!r}.')
        return (digit * 10**power for power in itertools.count(1) for digit in (1, 2, 5))
    if isinstance(checkpoints, Iterable):
        return _rising(checkpoints)
    return _rising(itertools.count(int(checkpoints), int(checkpoints)))


def _rising(numbers: Iterable[int]) -> Iterator[int]:
    last = 0
    for n in map(int, numbers):
        if n <= last:
            raise ValueError(f"checkpoints must rise from 1 on; got {n} after {last}.")
        yield (last := n)


def _read(stream: Any) -> Iterator[tuple[Any, np.ndarray, float]]:
    """Batches that are not empty, with the seconds it took to read each."""
    if isinstance(stream, tuple) and len(stream) >= 2 and not isinstance(stream[0], tuple):
        stream = [stream]
    elif not isinstance(stream, tuple) and format_of(stream, None) not in ("arrays", "batches"):
        stream = open_stream(stream)
    batches = iter(stream)
    while True:
        began = time.perf_counter()
        batch = next(batches, None)
        if batch is None:
            return
        X, y = _sliceable(batch[0]), np.asarray(batch[1])
        if len(y) != X.shape[0]:
            raise ValueError(f"A batch has {X.shape[0]} rows, but {len(y)} targets.")
        if len(y):
            yield X, y, time.perf_counter() - began


def _sliceable(X: Any) -> Any:
    if sp.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _rows(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def _stacked(batches: list[Any]) -> Any:
    if not any(sp.issparse(X) for X in batches):
        return np.concatenate([np.asarray(X) for X in batches])
    width = max(X.shape[1] for X in batches)
    wide = []
    for X in batches:  # later batches may have columns of their own
        X = sp.csr_matrix(X)
        X.resize(X.shape[0], width)
        wide.append(X)
    return sp.vstack(wide, format="csr")


def _streams(stream: Any, repeats: int, seed: int) -> Iterator[Any]:
    if callable(stream):
        return (stream(seed + repeat) for repeat in range(repeats))
    if not (isinstance(stream, tuple) and len(stream) == 2):
        raise TypeError("To be repeated, a stream must be (X, y) or a function from a seed to a stream.")
    X, y = stream
    from ..datasets.streams import permutations  # loads much

    X, y = X.to_numpy() if hasattr(X, "to_numpy") else _sliceable(X), np.asarray(y)
    return ((X[order], y[order]) for order in permutations(len(y), repeats, seed=seed))


def _of_repeat(repeat: int, checkpoint: Checkpoint) -> Checkpoint:
    return dataclasses.replace(checkpoint, repeat=repeat)


def _marked(repeat: int, watch: Watch) -> Watch:
    return lambda checkpoint: watch(_of_repeat(repeat, checkpoint))
