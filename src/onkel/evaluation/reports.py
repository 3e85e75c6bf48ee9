"""What an evaluation found: checkpoints, as dictionaries, JSON lines, data frames, text and plots."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

WORDS = {
    "mistake_rate": "mistakes",
    "squared_error": "mean squared error",
    "size": "dictionary size",
    "examples": "examples",
    "seconds": "seconds of learning",
}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """How one learner does after so many examples of one stream."""

    learner: str
    repeat: int  # which of several streams
    examples: int
    metrics: dict[str, float]  # means over all examples so far
    recent: dict[str, float]  # means over the latest ones
    regret: float | None  # against the comparator
    size: int | None  # of the dictionary
    bytes: int  # of the state
    learning: float  # seconds, of predicting and learning
    reading: float  # seconds, of reading, the same for all learners

    def to_dict(self) -> dict[str, Any]:
        """One flat row: metrics under their names, recent ones with "recent_" before it, times as *_seconds."""
        row = {"learner": self.learner, "repeat": self.repeat, "examples": self.examples, **self.metrics}
        row |= {f"recent_{name}": value for name, value in self.recent.items()}
        if self.regret is not None:
            row["regret"] = self.regret
        row |= {"size": self.size, "bytes": self.bytes}
        return row | {"learning_seconds": self.learning, "reading_seconds": self.reading}


class Summary(NamedTuple):
    """A learner at the end: means and deviations (of the sample; 0 for one stream) over the streams."""

    learner: str
    examples: float
    error: float
    error_deviation: float
    size: float | None
    bytes: float
    microseconds: float  # per example, of learning
    regret: float | None


@dataclasses.dataclass(frozen=True)
class Report:
    """All checkpoints of an evaluation, in the order they came."""

    checkpoints: tuple[Checkpoint, ...]

    @property
    def metric(self) -> str:
        """The main one: "mistake_rate" or "squared_error"."""
        return next(iter(self.checkpoints[0].metrics))

    @property
    def learners(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(c.learner for c in self.checkpoints))

    @property
    def repeats(self) -> int:
        """The number of streams."""
        return 1 + max(c.repeat for c in self.checkpoints)

    def curve(self, learner: str, repeat: int = 0) -> list[Checkpoint]:
        """The checkpoints of one learner on one stream."""
        found = [c for c in self.checkpoints if (c.learner, c.repeat) == (learner, repeat)]
        if not found:
            raise KeyError(f"no learner {learner!r} with a repeat {repeat}")
        return found

    def mean_curve(self, learner: str, value: str) -> tuple[list[float], list[float]]:
        """Examples, and the mean over all streams of a value of `to_dict`, where all of them have a checkpoint."""
        known = [name for name in self.checkpoints[0].to_dict() if name not in ("learner", "repeat")]
        if value not in known:
            raise ValueError(f"Checkpoints have no {value!r}; they have: {', '.join(known)}.")
        rows: dict[int, list[float]] = {}
        for c in self.checkpoints:
            if c.learner == learner and (found := c.to_dict()[value]) is not None:
                rows.setdefault(c.examples, []).append(float(found))
        whole = {n: values for n, values in sorted(rows.items()) if len(values) == self.repeats}
        return [float(n) for n in whole], [float(np.mean(values)) for values in whole.values()]

    @property
    def final(self) -> dict[str, list[Checkpoint]]:
        """The last checkpoint on every stream, by learner."""
        return {name: [self.curve(name, r)[-1] for r in range(self.repeats)] for name in self.learners}

    @property
    def summary(self) -> list[Summary]:
        """A row per learner."""
        return [self._summary(name, last) for name, last in self.final.items()]

    def to_dict(self) -> list[dict[str, Any]]:
        """A flat dictionary per checkpoint."""
        return [c.to_dict() for c in self.checkpoints]

    def to_jsonl(self, path: str | Path | None = None) -> str:
        """A line of JSON per checkpoint, also written to a file if one is named; what is not finite is null."""
        text = "".join(json.dumps(finite(row)) + "\n" for row in self.to_dict())
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_pandas(self) -> Any:
        """A pandas data frame, a row per checkpoint."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars data frame, a row per checkpoint."""
        import polars

        return polars.DataFrame(self.to_dict(), infer_schema_length=None)

    def plot(self, value: str | None = None, *, against: str = "examples", ax: Any = None) -> Any:
        """Curves of a value of `to_dict` (by default the main metric) of every learner, on matplotlib's axes.

        `against`: "examples" or "seconds" (of learning). Needs matplotlib: the extra `plot`.
        """
        if against not in ("examples", "seconds"):
            raise ValueError(f'against must be "examples" or "seconds"; got {against!r}.')
        value = self.metric if value is None else value
        curves = {name: self.mean_curve(name, value) for name in self.learners}
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        for name, (x, y) in curves.items():
            if against == "seconds":
                x = self.mean_curve(name, "learning_seconds")[1]
            ax.plot(x, y, label=name)
        ax.set_xscale("log")
        ax.set_xlabel(WORDS[against])
        ax.set_ylabel(WORDS.get(value, value.replace("_", " ")))
        ax.legend()
        return ax

    def __str__(self) -> str:
        """A table, a row per learner."""
        lines = [[cell for _, cell in row] for row in self.cells]
        lines.insert(0, [name for name, _ in self.cells[0]])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(line, widths))
            )
            for line in lines
        )

    @property
    def cells(self) -> list[list[tuple[str, str]]]:
        """The summary in words: (column, cell) of every row."""
        rows = []
        for s in self.summary:
            row = [("learner", s.learner), (WORDS[self.metric], error_text(self, s))]
            if s.regret is not None:
                row.append(("regret", f"{s.regret:,.1f}"))
            row.append(("size", "–" if s.size is None else f"{s.size:,.0f}"))
            rows.append([*row, ("kB", f"{s.bytes / 1000:,.1f}"), ("µs per example", f"{s.microseconds:,.2f}")])
        return rows

    def _summary(self, name: str, last: list[Checkpoint]) -> Summary:
        errors = [c.metrics[self.metric] for c in last]
        regrets = [c.regret for c in last if c.regret is not None]
        sizes = [c.size for c in last if c.size is not None]
        return Summary(
            learner=name,
            examples=float(np.mean([c.examples for c in last])),
            error=float(np.mean(errors)),
            error_deviation=float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0,
            size=float(np.mean(sizes)) if sizes else None,
            bytes=float(np.mean([c.bytes for c in last])),
            microseconds=1e6 * sum(c.learning for c in last) / sum(c.examples for c in last),
            regret=float(np.mean(regrets)) if regrets else None,
        )


def error_text(report: Report, summary: Summary) -> str:
    """The error in words: percent for mistakes, with the deviation if there were several streams."""
    if report.metric == "mistake_rate":
        text, spread = f"{100 * summary.error:.2f}%", f" ± {100 * summary.error_deviation:.2f}"
    else:
        text, spread = f"{summary.error:.4g}", f" ± {summary.error_deviation:.2g}"
    return text + (spread if report.repeats > 1 else "")


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """A row fit for JSON: None for what is infinite or not a number."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
