"""One pass of one learner over one source: learning, keeping, stopping, going on."""

import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np

from ..evaluation.metrics import Metrics
from ..evaluation.racing import default_sigma
from ..io.model_files import read_model, save
from ..io.streams import Batch, Stream
from .learners import Task, estimator_of, find, parameter, support_of
from .looking import PEEK, look
from .options import Source, whole_labels
from .progress import Quiet, State, plain
from .reading import Reading
from .stopping import Stop

SLOW, QUICK = 0.5, 0.1  # seconds of learning after which batches become smaller, and larger again


class Plan(NamedTuple):
    """What the user wants."""

    output: str | None
    checkpoint: int | None
    rows: int | None
    test: Source | None


class Run:
    """One pass over one source."""

    def __init__(self, source: Source, plan: Plan, show: Quiet, model: Any, metrics: Metrics, stream: Stream) -> None:
        self.source, self.plan, self.show = source, plan, show
        self.model, self.metrics, self.stream = model, metrics, stream
        self.classes: Any = metrics.classes
        self.position: dict[str, Any] | None = None
        self.batches: Iterator[Batch] = stream if self.classes is None else whole_labels(stream)
        self.known_rows: int | None = None
        self.free_width = False  # whether the kernel width is still to be chosen
        self.torn = False  # whether the model has learnt more than the position tells
        self.began = metrics.n
        self.reading = self.learning = 0.0
        self.first: tuple[float, int] | None = None  # seconds and rows of the first batch, which compiles
        self.kept = self.began
        self.notes: list[str] = []

    @classmethod
    def new(
        cls, source: Source, plan: Plan, show: Quiet, algorithm: str, task: Task | None, classes: Any,
        given: dict[str, Any],
    ) -> "Run":  # fmt: skip
        learner = find(algorithm)
        if task is not None:
            estimator_of(learner.estimator(task), given)  # before a long first look
        found, stream, first = look(source, task, classes)
        stream.batch_rows = PEEK
        model = estimator_of(learner.estimator(found.task), given)
        run = cls(source.with_labels(found.labels), plan, show, model, Metrics(found.classes), stream)
        run.known_rows, run.free_width = found.rows, not given.keys() & {"gamma", "sigma"}
        run.batches = itertools.chain(whole_labels(iter(first)) if found.classes is not None else first, run.batches)
        return run

    @classmethod
    def resumed(cls, source: Source, plan: Plan, show: Quiet) -> "Run":
        model, document = read_model(str(plan.output))
        notes = document["notes"] or {}
        if not notes.keys() >= {"position", "labels", "metrics"}:
            raise ValueError(f"{plan.output} cannot be resumed: it was not written by `onkel learn`")
        metrics = Metrics(getattr(model, "classes_", None))
        metrics.restore(notes["metrics"])
        before = Reading.kept_with(model, notes)
        if before:
            _refuse(plan, before.changed_by(source.given))
        source = source.going_on(before).with_labels(notes["labels"])
        run = cls(source, plan, show, model, metrics, source.open(notes["position"]))
        run.position = notes["position"]
        show.say(f"going on behind row {metrics.n:,} with {plan.output}")
        return run

    def compare(self, algorithm: str | None, task: Task | None, classes: Any, given: dict[str, Any]) -> None:
        """A usage error if what the user asks for is not what the file holds."""
        kind: Task = "classification" if self.classes is not None else "regression"
        wrong = [name for name, value in given.items() if parameter(self.model, name) != value]
        if algorithm and find(algorithm).estimator(task or kind) is not type(self.model):
            wrong.append("algorithm")
        if (task or kind) != kind:
            wrong.append("task")
        if classes is not None and not np.array_equal(np.unique(classes), self.classes):
            wrong.append("classes")
        _refuse(self.plan, wrong)

    # Learning.

    def learn(self) -> None:
        """All batches; whatever ends it early, what was learnt is kept."""
        stopped: BaseException | None = None
        with Stop() as stop, self.show:
            try:
                while not stop.signal and (batch := self._next(stop)):
                    self._learn(batch)
            except (Exception, KeyboardInterrupt) as error:
                stopped = error
                self.torn &= isinstance(error, KeyboardInterrupt)  # errors take everything back
        number = stop.signal
        if self.metrics.n > self.kept or stopped is None:
            self._keep()
        if isinstance(stopped, KeyboardInterrupt) or number:
            self._say_stopped("stopped")
            sys.exit(128 + (number or 2))
        if stopped is not None:
            if self.plan.output and self.position:
                self._say_stopped("what was learnt before the error is kept")
            raise stopped

    def _next(self, stop: Stop) -> Batch | None:
        if self.plan.rows:
            self.stream.batch_rows = min(self.stream.batch_rows, self.plan.rows - self.metrics.n)
            if self.stream.batch_rows < 1:
                return None
        start = time.perf_counter()
        with stop.waiting():
            batch = next(self.batches, None)
        self.reading += time.perf_counter() - start
        return batch

    def _learn(self, batch: Batch) -> None:
        X, y, position = batch
        self._check_labels(y)
        begin = time.perf_counter()
        if not hasattr(self.model, "n_features_in_"):
            self._choose_width(X)
        more = {} if self.classes is None or self.position else {"classes": self.classes}
        self.torn = True
        scores = self.model.learn(X, y, **more)
        took = time.perf_counter() - begin
        self.learning += took
        self.first = self.first or (took, len(y))
        self.metrics.update(scores, y)
        if self.position:
            self._pace(took)
        else:  # the first batch decides some things, so its size is always the same; and it compiles
            self.stream.batch_rows = self.source.batch_rows
        self.position, self.torn = position, False
        every = self.plan.checkpoint
        if every and self.metrics.n // every > self.kept // every:
            self._keep()
        self.show.show(self._state())

    def _check_labels(self, y: Any) -> None:
        if self.classes is None:
            return
        unseen = [label for label in np.unique(y).tolist() if label not in self.classes]
        if unseen:
            raise ValueError(
                f"{self.source.name}, after row {self.metrics.n:,}: the label {unseen[0]!r} is not among the classes "
                f"{_words(self.classes)}. --classes names all that may come"
            )

    def _choose_width(self, X: Any) -> None:
        """A kernel width from the first rows, unless the user gave one."""
        if self.free_width and parameter(self.model, "kernel") == "rbf":
            sigma, own = float(f"{default_sigma(X):.4g}"), hasattr(self.model, "kernel")
            self.model.set_params(**{"sigma" if own else "map__sigma": sigma})
            self.notes.append(f"sigma = {sigma:g} from the first {X.shape[0]} rows")

    def _pace(self, took: float) -> None:
        """Batches that take about a third of a second at most: for the display, and for Ctrl-C."""
        if took > SLOW:
            self.stream.batch_rows = max(self.stream.batch_rows // 2, 16)
        elif took < QUICK:
            self.stream.batch_rows = min(self.stream.batch_rows * 2, self.source.batch_rows)

    def _keep(self) -> None:
        """Write model and position."""
        if self.plan.output is None or self.position is None or self.torn:
            return
        state = {name: np.asarray(value).tolist() for name, value in self.metrics.state().items()}
        reading = self.source.reading(self.stream)
        notes = {
            "position": self.position,
            "labels": self.source.labels,
            "metrics": state,
            "reading": reading.to_json(),
        }
        if self.plan.output != "-":
            save(self.model, self.plan.output, notes=notes)
        else:
            _to_standard_output(self.model, notes)
        self.kept = self.metrics.n

    def _say_stopped(self, why: str) -> None:
        kept = self.plan.output and self.kept
        where = f"the model of {self.kept:,} rows is in {self.plan.output}" if kept else "no model was kept"
        click.echo(f"onkel: {why} at row {self.metrics.n:,}; {where}", err=True)

    def _state(self) -> State:
        share = self.stream.done
        total = self.plan.rows or self.known_rows
        if total:
            share = self.metrics.n / total
        return State(self.metrics.n, share, self._error(self.metrics), {"rows": self.metrics.n, **self._facts()})

    # Words.

    def _facts(self) -> dict[str, Any]:
        facts = self.metrics.cumulative
        return {name: facts[name] for name in facts if name != "loss"}

    def _error(self, metrics: Metrics) -> str:
        if self.classes is not None:
            return f"{metrics.error:.2%} mistakes"
        return f"{metrics.error:.4g} squared error"

    def finish(self, as_json: bool, quiet: bool) -> None:
        """The result, and the error on rows kept apart."""
        if self.metrics.n == 0:
            raise ValueError(f"{self.source.name}: there are no rows in it")
        tested = self._test() if self.plan.test else None
        if quiet:
            return
        to_err = self.plan.output == "-"
        if as_json:
            click.echo(json.dumps(self._as_json(tested), default=str), err=to_err)
        else:
            for name, text in self._as_text(tested):
                click.echo(f"{name:<9} {text}", err=to_err)

    def _test(self) -> Metrics:
        assert self.plan.test is not None
        metrics = Metrics(self.classes)
        ask = self.model.predict if self.classes is None else self.model.decision_function
        rows = self.plan.test.like(self.source.reading(self.stream)).with_labels(self.source.labels)
        with rows.open() as stream:
            for X, y, _ in stream if self.classes is None else whole_labels(stream):
                metrics.update(ask(X), y)
        if not metrics.n:
            raise ValueError(f"{self.plan.test.name}: there are no rows in it")
        return metrics

    def _as_json(self, tested: Metrics | None) -> dict[str, Any]:
        result = {
            "event": "result", "estimator": type(self.model).__name__, "rows": self.metrics.n,
            "features": self.model.n_features_in_, **plain(self._facts()),
            "recent": self.metrics.recent[self.metrics.names[0]], "skipped": self.stream.skipped,
            "seconds_learning": round(self.learning, 4), "seconds_reading": round(self.reading, 4),
            "n_support": support_of(self.model),
            "parameters": plain(self.model.get_params(deep=False)), "output": self.plan.output,
        }  # fmt: skip
        if self.classes is not None:
            result["classes"] = self.classes.tolist()
        if tested:
            result["test"] = {"rows": tested.n, **tested.cumulative}
        return result

    def _as_text(self, tested: Metrics | None) -> Iterator[tuple[str, str]]:
        metrics, model, fresh = self.metrics, self.model, self.metrics.n - self.began
        kind = "regression" if self.classes is None else f"classes {_words(self.classes)}"
        yield "learner", f"{type(model).__name__}, {kind}" + "".join(f", {note}" for note in self.notes)
        before = f" of {metrics.n:,}" if self.began else ""
        yield "rows", f"{fresh:,}{before}, {model.n_features_in_:,} features"
        if self.stream.skipped:
            yield "skipped", f"{self.stream.skipped:,} faulty rows; the first: {self.stream.first_skipped}"
        window = min(metrics.window, metrics.n)
        name = "mistakes" if self.classes is not None else "error"
        recent = metrics.recent[metrics.names[0]]
        last = f"{recent:.2%}" if self.classes is not None else f"{recent:.4g}"
        yield name, f"{self._error(metrics).removesuffix(' mistakes')}; {last} in the last {window:,} rows"
        if tested:
            assert self.plan.test is not None
            yield "test", f"{self._error(tested)} on the {tested.n:,} rows of {self.plan.test.name}"
        seconds, rows = self.first or (0.0, 0)
        each = 1e6 * (self.learning - seconds) / max(fresh - rows, 1)
        rate = f"; {each:.2f} µs per row after the first batch" if fresh > rows else ""
        yield "time", f"learning {self.learning:.2f} s, reading {self.reading:.2f} s{rate}"
        support = support_of(model)
        size = "" if support is None else f"{support:,} support vectors"
        kept = f"in {self.plan.output}" if self.plan.output else "not kept: -o FILE would"
        yield "model", f"{size}{', ' if size else ''}{kept}"


def _refuse(plan: Plan, wrong: list[str]) -> None:
    if wrong:
        raise click.UsageError(
            f"{plan.output} was learnt with another {', '.join(wrong)}, and --resume goes on as it began."
        )


def _to_standard_output(model: Any, notes: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onkel")
        save(model, path, notes=notes)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _words(classes: Any) -> str:
    names = [str(name) for name in classes.tolist()]
    return ", ".join(names) if len(names) <= 10 else f"{', '.join(names[:9])}, ... ({len(names)} in all)"
