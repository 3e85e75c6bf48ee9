"""One run of one learner on one stream: what it is, where its result is kept, and how it is done."""

import hashlib
import inspect
import json
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

import onkel

from ...alignment import distances, gamma_of
from .. import comparators
from ..metrics import Metrics
from ..runs import progressive, size_of
from .settings import Parameters, Protocol
from .streams import TUNING, Facts, Source, held_out, labels, stream

TICKS = 20  # checkpoints of a curve
FOLDS = 5
Outcome = dict[str, Any]  # error, loss, size, seconds, curve; or "failed": why


class Job(NamedTuple):
    """Plain values only: a job travels to other processes and machines."""

    protocol: Protocol | str  # or "folds"
    source: Source
    digest: str  # of the examples
    learner: str
    parameters: Parameters
    repeat: int  # or TUNING

    @property
    def key(self) -> str:
        """The same for the same work, whatever table asks for it."""
        text = json.dumps([onkel.__version__, *self], sort_keys=True, default=float)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def class_of(learner: str) -> Any:
    """A class of onkel or of its comparators; None if there is none of this name."""
    return getattr(onkel, learner, None) or getattr(comparators, learner, None)


def made(job: Job) -> Any:
    """The estimator, with the repeat as its seed."""
    kind = class_of(job.learner)
    seed = {"random_state": max(job.repeat, 0)} if "random_state" in inspect.signature(kind).parameters else {}
    return kind(**seed, **job.parameters)


def run(job: Job) -> Outcome:
    """Do the work. A learner that refuses it, as when it diverges, is an outcome too, and a bad one."""
    try:
        return WORK[job.protocol](job)
    except ValueError as error:
        return {"failed": " ".join(str(error).split())}


def _pass(job: Job) -> Outcome:
    """Predict each example, then learn it."""
    X, y = stream(job.source, job.repeat)
    model = made(job)
    every = max(1, -(-len(y) // TICKS))
    report = progressive({"it": model}, (X, y), classes=_classes(model, job), checkpoints=every)
    last, curve = report.checkpoints[-1], report.curve("it")
    return {
        "error": last.metrics[report.metric],
        "loss": last.metrics["loss"],
        "size": last.size,
        "seconds": last.learning,
        "examples": last.examples,
        "curve": [[c.examples, c.metrics[report.metric]] for c in curve],
    }


def _batch(job: Job) -> Outcome:
    """Learn the training part in one pass, then predict the test part."""
    X, y = stream(job.source, job.repeat)
    return _learnt_and_tested(job, X, y, *held_out(job.source))


def _folds(job: Job) -> Outcome:
    """Cross-validation on the training part: the mean over the folds."""
    X, y = stream(job.source, job.repeat)
    found = []
    for fold in np.array_split(np.arange(len(y)), FOLDS):
        rest = np.setdiff1d(np.arange(len(y)), fold)
        found.append(_learnt_and_tested(job, X[rest], y[rest], X[fold], y[fold]))
    return {"error": float(np.mean([one["error"] for one in found]))}


def _learnt_and_tested(job: Job, X: Any, y: Any, X_test: Any, y_test: Any) -> Outcome:
    model = made(job)
    classes = _classes(model, job)
    made_of = {} if classes is None else {"classes": classes}
    began = time.perf_counter()
    model.partial_fit(X, y, **made_of) if hasattr(model, "partial_fit") else model.fit(X, y)
    learnt = time.perf_counter()
    scores = model.decision_function(X_test) if is_classifier(model) else model.predict(X_test)
    seconds = time.perf_counter() - learnt
    metrics = Metrics(classes)
    metrics.update(scores, y_test)
    size = size_of(model) if hasattr(model, "learn") else None
    return {"error": metrics.error, "size": size, "seconds": learnt - began, "test_seconds": seconds}


def _approximation(job: Job) -> Outcome:
    """How far the Gaussian kernel matrix of the whole stream is from what the features make of it."""
    X, _ = stream(job.source, job.repeat)
    map = made(job)
    made(job).partial_fit(X[:1])  # compiles what it needs before the clock starts
    began = time.perf_counter()
    Z = map.partial_fit(X).transform(X)
    seconds = time.perf_counter() - began
    K = np.exp(-gamma_of("rbf", map.sigma) * distances(X, X, "rbf"))
    return {"error": float(np.square(Z @ Z.T - K).sum() / np.square(K).sum()), "seconds": seconds}


def _classes(model: Any, job: Job) -> Any:
    return labels(job.source) if is_classifier(model) else None


WORK = {"progressive": _pass, "batch": _batch, "folds": _folds, "approximation": _approximation}


def jobs_of(
    protocol: str, tuning: str, source: Source, facts: Facts, learner: str, parameters: Parameters, repeats: int
) -> list[Job]:
    """One per repeat; `repeats` = TUNING: the one that tunes."""
    numbers = [TUNING] if repeats == TUNING else list(range(repeats))
    kind = "folds" if repeats == TUNING and tuning == "folds" else protocol
    return [Job(kind, source, facts.digest, learner, parameters, number) for number in numbers]
