"""A table of a paper as a settings file states it: data, learners, protocol, what was left open and what was chosen.

The files are `tables/*.toml`; docs/reproduction.md says what their entries mean.
"""

import dataclasses
import difflib
import functools
import itertools
import operator
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Literal, get_args

Protocol = Literal["progressive", "batch", "approximation"]
Tuning = Literal["pass", "folds"]
Parameters = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A column of the table."""

    name: str  # as the paper prints it
    data: str  # where it comes from: "load:german", "load:a9a/train", "jmlr16:german", "adversarial:german-1"
    scale: str = ""  # by the extremes of each: "inputs" or "both" (and target) to [0, 1], "symmetric" to [-1, 1];
    # "largest": all are divided by the largest
    rows: int | None = None  # only so many, the first of every order
    variables: Parameters = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """A row of the table."""

    name: str  # as the paper prints it
    learner: str = ""  # a class of onkel
    parameters: Parameters = dataclasses.field(default_factory=dict)
    grid: Parameters = dataclasses.field(default_factory=dict)  # values to choose from, by parameter
    alone: bool = False  # without the parameters that all share
    quoted: str = ""  # why it is not run, but only quoted


@dataclasses.dataclass(frozen=True)
class Special:
    """What is different in some cells, or what explains them."""

    datasets: tuple[str, ...] = ()  # none: all
    algorithms: tuple[str, ...] = ()
    parameters: Parameters = dataclasses.field(default_factory=dict)
    grid: Parameters | None = None
    exact: bool = False  # must come out to the printed digits
    heavy: bool = False  # takes so long that it must be asked for
    quoted: str = ""
    text: str = ""  # why the figures are as they are

    def concerns(self, dataset: str, algorithm: str) -> bool:
        return (not self.datasets or dataset in self.datasets) and (not self.algorithms or algorithm in self.algorithms)


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is run for one figure: parameters and variables may hold formulas."""

    dataset: DataSet
    algorithm: str
    point: tuple[str, Any] | None  # of the sweep: a variable and its value
    learner: str
    parameters: Parameters
    grid: Parameters
    variables: Parameters
    exact: bool
    heavy: bool
    quoted: str
    texts: tuple[str, ...]

    @property
    def place(self) -> str:
        return "" if self.point is None else "{} = {:g}".format(*self.point)

    def candidates(self) -> list[Parameters]:
        """The parameters at every point of the grid."""
        axes = [[_assigned(name, value) for value in values] for name, values in self.grid.items()]
        return [functools.reduce(operator.or_, choice, self.parameters) for choice in itertools.product(*axes)]


@dataclasses.dataclass(frozen=True)
class Table:
    name: str  # "thesis-4.4"
    title: str
    paper: str
    protocol: Protocol
    metric: str  # the one that is judged, as in published.csv
    repeats: int
    stated: tuple[str, ...]  # by the paper
    chosen: tuple[str, ...]  # by us, where the paper leaves it open
    source: str = ""  # in published.csv; none: a figure, of which no numbers are printed
    number: str = ""  # in published.csv
    also: tuple[str, ...] = ()  # metrics that are shown, too
    caveats: tuple[str, ...] = ()  # of the published figures
    tuning: Tuning = "pass"
    curve: bool = False  # the figure's curves run along the stream
    variables: Parameters = dataclasses.field(default_factory=dict)
    common: Parameters = dataclasses.field(default_factory=dict)  # parameters of all learners
    sweep: Mapping[str, list[Any]] = dataclasses.field(default_factory=dict)  # a variable and its values
    datasets: Mapping[str, DataSet] = dataclasses.field(default_factory=dict)
    algorithms: Mapping[str, Algorithm] = dataclasses.field(default_factory=dict)
    exceptions: tuple[Special, ...] = ()

    @property
    def points(self) -> list[tuple[str, Any] | None]:
        return [(name, value) for name, values in self.sweep.items() for value in values] or [None]

    def cell(self, dataset: str, algorithm: str, point: tuple[str, Any] | None) -> Cell:
        data, row = self.datasets[dataset], self.algorithms[algorithm]
        special = [one for one in self.exceptions if one.concerns(dataset, algorithm)]
        parameters = dict(row.parameters) if row.alone else {**self.common, **row.parameters}
        grid, quoted = dict(row.grid), row.quoted
        for one in special:
            parameters |= one.parameters
            grid = {k: v for k, v in grid.items() if k not in one.parameters} if one.grid is None else dict(one.grid)
            quoted = quoted or one.quoted
        return Cell(
            data, algorithm, point, row.learner, parameters, grid,
            {**self.variables, **data.variables, **(dict([point]) if point else {})},
            any(one.exact for one in special), any(one.heavy for one in special), quoted,
            tuple(one.text for one in special if one.text),
        )  # fmt: skip

    def cells(self, dataset: str, algorithms: tuple[str, ...] = ()) -> Iterator[Cell]:
        for algorithm in algorithms or self.algorithms:
            for point in self.points:
                yield self.cell(dataset, algorithm, point)

    def chosen_names(self, kind: Literal["datasets", "algorithms"], wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The wanted ones as the table spells them, all if none is wanted; a ValueError names what is not there."""
        there = list(getattr(self, kind))
        plain = {name.lower(): name for name in there}
        for name in wanted:
            if name.lower() not in plain:
                raise ValueError(f"{self.name} has no {kind[:-1]} {name!r}; it has {', '.join(there)}")
        return tuple(plain[name.lower()] for name in wanted) or tuple(there)


def _assigned(name: str, value: Any) -> Parameters:
    """A value of the grid: of one parameter, or of several at once."""
    return value if isinstance(value, dict) else {name: value}


def names() -> list[str]:
    """All tables there are."""
    files = resources.files(__package__).joinpath("tables").iterdir()
    return sorted((file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")), key=_order)


def table(name: str) -> Table:
    """A table by its name, as "thesis-4.4"."""
    if name not in names():
        near = difflib.get_close_matches(name, names(), 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names())}"
        raise ValueError(f"no table is called {name!r}; {hint}")
    return _read(name)


@functools.cache
def _read(name: str) -> Table:
    return parsed(name, _entries(name))


def _entries(name: str) -> dict[str, Any]:
    """What the file says, and what it takes over from another table: variables, parameters, the rows it keeps."""
    text = resources.files(__package__).joinpath("tables", f"{name}.toml").read_text(encoding="utf-8")
    own = tomllib.loads(text)
    if "like" not in own:
        return own
    other, kept = _entries(own.pop("like")), own.pop("keep")
    for key in ("variables", "common"):
        own[key] = {**other.get(key, {}), **own.get(key, {})}
    own["algorithms"] = {name: other["algorithms"][name] for name in kept} | own.get("algorithms", {})
    return own


def parsed(name: str, entries: Mapping[str, Any]) -> Table:
    """A table from the entries of its file; a ValueError names what is wrong with them."""
    where = f"the settings of {name}"
    rest = {key: value for key, value in entries.items() if key not in ("datasets", "algorithms", "exceptions")}
    for key in ("stated", "chosen", "also", "caveats"):
        rest[key] = tuple(rest.get(key, ()))
    found: Table = _made(
        Table, where, rest, name=name,
        datasets={key: _made(DataSet, where, one, name=key) for key, one in entries.get("datasets", {}).items()},
        algorithms={key: _made(Algorithm, where, one, name=key) for key, one in entries.get("algorithms", {}).items()},
        exceptions=tuple(_exception(where, one) for one in entries.get("exceptions", ())),
    )  # fmt: skip
    for word, choices in ((found.protocol, Protocol), (found.tuning, Tuning)):
        if word not in get_args(choices):
            raise ValueError(f"{where}: {word!r} is none of {', '.join(get_args(choices))}")
    for one in found.exceptions:
        found.chosen_names("datasets", one.datasets)
        found.chosen_names("algorithms", one.algorithms)
    return found


def _exception(where: str, entries: Mapping[str, Any]) -> Special:
    tuples = {key: tuple(entries.get(key, ())) for key in ("datasets", "algorithms")}
    made: Special = _made(Special, where, {**entries, **tuples})
    return made


def _made(kind: Any, where: str, entries: Mapping[str, Any], **given: Any) -> Any:
    try:
        return kind(**entries, **given)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _order(name: str) -> tuple[str, list[int]]:
    paper, _, number = name.rpartition("-")
    return paper, [int(part) for part in number.split(".")]
