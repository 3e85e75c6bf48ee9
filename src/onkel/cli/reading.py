"""How the rows were read that a model learnt from: kept with it, so that it sees other rows in the same way."""

from typing import Any, NamedTuple

import click

from ..io.streams import Stream

Options = dict[str, Any]  # of open_stream
BY_PLACE = {"target", "categorical", "leave_out"}  # what the columns of a table without names go by
FOUND = {"format", "header", "missing"}  # where it is not given, the source tells, or there is none
OF_ROWS = {"missing", "zero_based", "max_features"}  # what holds for rows from elsewhere, too


class Reading(NamedTuple):
    """Options as the user gave them, and what they made of the columns of a table."""

    options: Options
    columns: list[list[Any]] | None  # those that are features, each with how it becomes numbers, as in Encoding.how
    target: str | None
    named: bool  # whether the table has names for its columns

    @classmethod
    def of(cls, options: Options, stream: Stream) -> "Reading":
        roles = getattr(stream, "roles", None)
        if roles is None:
            return cls(options, None, None, False)
        target = None if roles.target is None else roles.names[roles.target]
        return cls(options, [[one.name, one.how] for one in roles.plan], target, roles.named)

    @classmethod
    def kept_with(cls, model: Any, notes: dict[str, Any] | None) -> "Reading | None":
        """That of a model of `onkel learn`, or else what names of columns tell; None if nothing is known."""
        if notes and notes.keys() >= {"position", "reading"}:
            try:
                return cls._from_json(**notes["reading"])
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"the model's notes of how rows are read are not those of `onkel learn`: {error}"
                ) from error
        if hasattr(model, "feature_names_in_"):
            return cls({}, [[str(name), None] for name in model.feature_names_in_], None, True)
        return None

    @classmethod
    def _from_json(cls, options: Any, columns: Any, target: str | None, named: bool) -> "Reading":
        options = dict(options)
        if "categorical" in options:
            options["categorical"] = {column: how for column, how in options["categorical"]}
        return cls(options, None if columns is None else [[str(name), how] for name, how in columns], target, named)

    def to_json(self) -> dict[str, Any]:
        options = dict(self.options)
        if "categorical" in options:  # whose columns may be numbers, which no key of JSON is
            options["categorical"] = [[column, how] for column, how in options["categorical"].items()]
        return {**self._asdict(), "options": options}

    def changed_by(self, given: Options) -> list[str]:
        """Options that would read a source otherwise than before. What was an error may be allowed."""
        before = {"zero_based": False, **self.options}
        free = {"max_features"} | FOUND - self.options.keys()
        if given.get("target") == self.target:
            free.add("target")
        return sorted(name for name, value in given.items() if name not in free and value != before.get(name))

    def for_others(self, given: Options, known: set[str]) -> Options:
        """The options for another source, of a format that knows some options."""
        wanted = (OF_ROWS | (set() if self.named else BY_PLACE)) & known
        kept = {name: value for name, value in self.options.items() if name in wanted}
        return {**kept, **given}

    def by_name(self, given: Options, *, labelled: bool) -> Options:
        """The options that find the columns wherever they stand; `labelled`: the target, too."""
        if not (self.named and self.columns):
            return {}
        words = {name: how for name, how in self.columns if how is not None}
        found: Options = {
            "features": [name for name, _ in self.columns],
            "categorical": words | given.get("categorical", {}),
        }
        left_out = self.options.get("leave_out", [])  # need not be there
        found["leave_out"] = [column for column in given.get("leave_out", []) if column not in left_out]
        return {**found, "target": self.target} if labelled and self.target is not None else found

    def __str__(self) -> str:
        """The columns in words."""
        hashed = {name: f" (hashed to {how})" for name, how in self.columns or [] if isinstance(how, int)}
        names = _few([name + hashed.get(name, "") for name, _ in self.columns or []])
        return names + (f"; target {self.target}" if self.target is not None else "")

    def check(self, stream: Stream) -> None:
        """An error that names the first column that a stream of a table makes other features of."""
        found = Reading.of({}, stream).columns
        if self.columns is None or found is None:
            return
        if len(found) != len(self.columns):
            raise click.UsageError(
                f"{stream.source} has {len(found)} columns of features, and the model has learnt from "
                f"{len(self.columns)}: {_few([name for name, _ in self.columns])}. Is there a target in it? If not: "
                "--target none."
            )
        for (name, now), (_, before) in zip(found, self.columns):
            if now != before:
                raise click.UsageError(
                    f"{stream.source}, column {name!r}: the model has learnt {_words(before)}, not {_words(now)}."
                )


def _few(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")


def _words(how: Any) -> str:
    if how is None:
        return "a number"
    return f"a word hashed to {how} columns" if isinstance(how, int) else f"one of the words {_few(how)}"
