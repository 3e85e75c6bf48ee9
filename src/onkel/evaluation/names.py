"""What learners are called: stems of estimators' names, such as KernelPassiveAggressive, and short forms of these."""

import re

from ..estimators._online import OnlineClassifier, OnlineRegressor
from ..io.model_files import ESTIMATORS

KINDS = {name: kind for name, kind in ESTIMATORS.items() if issubclass(kind, OnlineClassifier | OnlineRegressor)}


def stem(name: str) -> str:
    """Without Classifier and Regressor."""
    return name.removesuffix("Classifier").removesuffix("Regressor")


def short(stem: str) -> str:
    """KernelPassiveAggressive -> passive-aggressive."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", stem).lower()
    return words.removeprefix("kernel-").replace("-plus-plus", "++")


def plain(name: str) -> str:
    """However hyphens and capitals are set."""
    return re.sub(r"[-_ ]", "", name).lower().replace("plusplus", "++")


def known() -> dict[str, str]:
    """All stems, by their plain names, short ones and those of classes."""
    return {plain(form): stem(name) for name in KINDS for form in (name, stem(name), short(stem(name)))}
