"""The learners by the names that the command line gives them, all of it derived from the estimators."""

import difflib
import re
from typing import Any, Literal, NamedTuple

import click

from ..estimators._parameters import validate
from ..io.model_files import ESTIMATORS

Task = Literal["classification", "regression"]


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
    for name, kind in ESTIMATORS.items():
        stem = name.removesuffix("Classifier").removesuffix("Regressor")
        pairs.setdefault(_short(stem), {})["classifier" if name.endswith("Classifier") else "regressor"] = kind
    return {name: Learner(name, pair.get("classifier"), pair.get("regressor")) for name, pair in pairs.items()}


def find(name: str) -> Learner:
    """By its name in the list or that of its class, however hyphens and capitals are set."""
    table = {_plain(known): learner for known, learner in learners().items()}
    for learner in list(table.values()):
        for kind in filter(None, (learner.classifier, learner.regressor)):
            whole = _plain(kind.__name__)
            table |= {whole: learner, whole.removesuffix("classifier").removesuffix("regressor"): learner}
    if _plain(name) in table:
        return table[_plain(name)]
    near = difflib.get_close_matches(_plain(name), table, 1)
    hint = f"Did you mean {table[near[0]].name}?" if near else "`onkel list` shows all learners."
    raise click.UsageError(f"No learner is called {name!r}. {hint}")


def _short(stem: str) -> str:
    """KernelPassiveAggressive -> passive-aggressive."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", stem).lower()
    return words.removeprefix("kernel-").replace("-plus-plus", "++")


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower().replace("plusplus", "++")


def estimator_of(kind: Any, given: dict[str, Any]) -> Any:
    """An estimator whose rows may become wider; usage errors for parameters that it has not, or not so."""
    known = kind().get_params()
    if wrong := sorted(given.keys() - known.keys()):
        has = ", ".join(sorted(known.keys() - {"n_passes", "shuffle", "grow_features"}))
        raise click.UsageError(f"{kind.__name__} has no parameter {', '.join(wrong)}. It has: {has}.")
    model = kind(**{"grow_features": True, **given})
    try:
        validate(model, model._choices)
        model._check()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return model
