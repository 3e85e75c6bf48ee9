"""The results database: one row per finished run, under a key that says what was run, so that nothing runs twice."""

import json
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from .jobs import Job, Outcome
from .streams import Facts, Source

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    learner TEXT NOT NULL, parameters TEXT NOT NULL, data TEXT NOT NULL, repeat INTEGER NOT NULL, -- for people
    outcome TEXT NOT NULL,
    finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS sources (source TEXT PRIMARY KEY, facts TEXT NOT NULL);
"""
PATIENCE = 60.0  # seconds to wait for another process that writes


class Results:
    """Several processes may use one file at once. What a killed process had finished stays."""

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = Path(path)
        if must_exist and not self.path.is_file():
            raise FileNotFoundError(f"there is no results database {self.path}")
        try:
            self._base = sqlite3.connect(self.path, timeout=PATIENCE)
            self._base.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise ValueError(f"{self.path} cannot be used as a results database: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def outcome(self, job: Job) -> Outcome | None:
        """What came out, if it was run."""
        row = self._base.execute("SELECT outcome FROM runs WHERE key = ?", (job.key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """Those that were not run yet, each once."""
        return [job for job in {job.key: job for job in jobs}.values() if self.outcome(job) is None]

    def add(self, job: Job, outcome: Outcome) -> None:
        row = job.key, job.learner, json.dumps(job.parameters), job.source.data, job.repeat, json.dumps(outcome)
        with self._base:
            self._base.execute(
                "INSERT OR REPLACE INTO runs (key, learner, parameters, data, repeat, outcome) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )

    def facts(self, source: Source) -> Facts | None:
        """As they were when a table last ran on the source."""
        row = self._base.execute("SELECT facts FROM sources WHERE source = ?", (json.dumps(source),)).fetchone()
        return None if row is None else _facts(json.loads(row[0]))

    def note(self, source: Source, facts: Facts) -> None:
        known = self.facts(source)
        if facts.aligned is None and known and known.digest == facts.digest:
            facts = facts._replace(aligned=known.aligned)
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (json.dumps(source), json.dumps(facts)))


def _facts(row: list[Any]) -> Facts:
    made = Facts(*row)
    return made._replace(classes=tuple(made.classes))
