"""The learners by the names that the command line gives them, all of it derived from the estimators."""

import difflib
import re
from collections.abc import Set
from typing import Any, Literal, NamedTuple

import click

from ..estimators._online import OnlineClassifier
from ..estimators._parameters import validate
from ..estimators.transformers import IncrementalSketch, OnlineNystroem, RandomFourierFeatures
from ..evaluation.names import KINDS, known, plain, short, stem

Task = Literal["classification", "regression"]
MAPS = {"fourier": RandomFourierFeatures, "nystroem": OnlineNystroem, "sketch": IncrementalSketch}


class Learner(NamedTuple):
    name: str
    classifier: Any  # class, or None
    regressor: Any

    @property
    def tasks(self) -> str:
        """2 two classes, n many classes, r regression."""
        kinds = "2n" if self.classifier and self.classifier._multiclass else "2" if self.classifier else ""
        return " ".join(kinds + "r" * (self.regressor is not None))

    @property
    def about(self) -> str:
        """The first line of the estimator's documentation, without the paper."""
        return re.sub(r" ?\((after )?[^()]*\d{4}\)", "", self._headline).rstrip(".")

    @property
    def paper(self) -> str:
        found = re.search(r"\(([^()]*\d{4})\)", self._headline)
        return found[1] if found else ""

    @property
    def _headline(self) -> str:
        return str((self.classifier or self.regressor).__doc__).partition("\n")[0]

    def estimator(self, task: Task) -> Any:
        """The class for a task; a usage error if there is none."""
        found = self.classifier if task == "classification" else self.regressor
        if found is None:
            raise click.UsageError(f"{self.name} does not do {task}; `onkel list` shows what each learner does.")
        return found


def learners() -> dict[str, Learner]:
    """All of them by name, in the order of their estimators' modules."""
    pairs: dict[str, dict[str, Any]] = {}
    for name, kind in KINDS.items():
        role = "classifier" if issubclass(kind, OnlineClassifier) else "regressor"
        pairs.setdefault(short(stem(name)), {})[role] = kind
    return {name: Learner(name, pair.get("classifier"), pair.get("regressor")) for name, pair in pairs.items()}


def find(name: str) -> Learner:
    """By its name in the list or that of its class, however hyphens and capitals are set."""
    table = known()
    if plain(name) in table:
        return learners()[short(table[plain(name)])]
    near = difflib.get_close_matches(plain(name), table, 1)
    hint = f"Did you mean {short(table[near[0]])}?" if near else "`onkel list` shows all learners."
    raise click.UsageError(f"No learner is called {name!r}. {hint}")


def estimator_of(kind: Any, given: dict[str, Any]) -> Any:
    """An estimator whose rows may become wider; usage errors for parameters that it has not, or not so."""
    known = kind().get_params().keys()
    given = _with_map(given, known) if "map" in known and isinstance(given.get("map"), str) else given
    if wrong := sorted(given.keys() - known):
        has = ", ".join(sorted(known - {"n_passes", "shuffle", "grow_features"}))
        raise click.UsageError(f"{kind.__name__} has no parameter {', '.join(wrong)}. It has: {has}.")
    model = kind(**{"grow_features": True, **given})
    try:
        validate(model, model._choices)
        model._check()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return model


def _with_map(given: dict[str, Any], known: Set[str]) -> dict[str, Any]:
    """A feature map in place of its name; it takes what the learner has no parameter for, and the seed."""
    kind = MAPS.get(given["map"])
    if kind is None:
        raise click.UsageError(f"map must be one of {', '.join(MAPS)} or none; got {given['map']!r}.")
    its = {name for name in kind().get_params() if name not in known or name == "random_state"}
    inner = {name: value for name, value in given.items() if name in its}
    others = {name: value for name, value in given.items() if name in known or name not in its}
    return {**others, "map": kind(**{"grow_features": True, **inner})}


def parameter(model: Any, name: str) -> Any:
    """A parameter as the command line has it: a feature map by its name, its parameters as if they were the model's."""
    held = model.get_params()
    if name == "map":
        return next((word for word, kind in MAPS.items() if type(held.get("map")) is kind), held.get("map"))
    return held.get(name, held.get(f"map__{name}"))


def support_of(model: Any) -> int | None:
    """How many support vectors a model has; None if it is made of no points."""
    return None if getattr(model, "component", "") == "fogd" else getattr(model, "n_support_", None)
