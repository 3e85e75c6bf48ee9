"""One row per learner, variant and task: the tests of all promises run over CASES."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from sklearn.base import clone

import onkel
from onkel.estimators._base import KernelEstimator

BINARY, MULTICLASS, REGRESSION = TASKS = ("binary", "multiclass", "regression")
D, CLASSES = 7, 4
BUDGET = 13
RBF = {"kernel": "rbf", "gamma": 0.15}
POLY = {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2}
LAPLACIAN = {"kernel": "laplacian", "gamma": 0.3}
SEVERAL = [
    onkel.kernels.rbf(0.15),
    onkel.kernels.laplacian(0.3),
    onkel.kernels.rbf(0.6),
    onkel.kernels.poly(0.2, 1.0, 2),
]
WORDS = ("kernel", "gamma", "sigma", "degree", "coef0")
MATERN = {"kernel": "matern32", "gamma": 0.3}
KERNELS = {
    "rbf": RBF,
    "poly": POLY,
    "laplacian": LAPLACIAN,
    "matern32": MATERN,
}  # a second one beside rbf, whichever the learner takes


@dataclasses.dataclass(frozen=True)
class Case:
    """A configured learner on a task, and the slow function that says what it must compute."""

    name: str
    estimator: type
    params: dict[str, Any]
    task: str
    twin: Callable[..., ref.Result]
    twin_params: dict[str, Any]
    twin_task: str  # the task, or "softmax"

    def __str__(self) -> str:
        return self.name

    def make(self, **overrides: Any) -> Any:
        """A fresh estimator; what says how its map is drawn goes there, and to several kernels nothing about one."""
        params = {**self.params, **overrides}
        if "kernels" in params:
            params = {name: value for name, value in params.items() if name not in WORDS}
        if "map" not in params:
            return self.estimator(**params)
        inner = {name: params.pop(name) for name in MAPPED if name in params}
        if params["map"] is not None:
            inner["grow_features"] = params.get("grow_features", False)
            params["map"] = clone(params["map"]).set_params(**inner)
        return self.estimator(**params)

    @property
    def grows(self) -> bool:
        """Whether its features may become more; landmarks that are given have as many as they have."""
        return not isinstance(self.params.get("map"), onkel.OnlineNystroem)

    @property
    def outputs(self) -> int:
        return CLASSES if self.task == MULTICLASS else 1

    @property
    def first(self) -> dict[str, Any]:
        """What the first call of `learn` or `partial_fit` takes besides X and y."""
        return {} if self.task == REGRESSION else {"classes": classes_of(self)}

    @property
    def stores(self) -> bool:
        """Whether the model is made of support vectors, not of random features."""
        return issubclass(self.estimator, KernelEstimator) or self.params.get("component") == "rbp"

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those of KERNELS to compare with the twin: two, unless the learner is for the Gaussian one."""
        return tuple(name for name in KERNELS if self.takes(name))[:2]

    def takes(self, kernel: str) -> bool:
        """Whether the learner has this kernel; merging is for the Gaussian one."""
        if self.params.get("maintenance") == "merging":
            return kernel == "rbf"
        if "kernels" in self.params:
            return kernel == "rbf"  # it has its own
        if self.params.get("map", kernel) is None:
            return kernel == "rbf"  # nothing takes any
        if self.params.get("features", "plain") != "plain" and kernel == "laplacian":
            return False
        return kernel in self.params.get("map", self.estimator)._choices.get("kernel", (kernel,))

    def run_twin(self, X: Any, y: Any, kernel: Callable[..., float], key: int, weights: Any = None) -> ref.Result:
        """The twin on the same rows; `key` starts its random numbers, the estimator's are `model._setting.key`."""
        draw = ref.Draw(key)
        return self.twin(X, y, kernel, self.twin_task, self.outputs, weights=weights, draw=draw, **self.twin_params)


# ------------------------------------------------------------------ streams
def classes_of(case: Case) -> np.ndarray:
    """All labels of a case's stream."""
    return np.array([-1, 1]) if case.task == BINARY else np.arange(CLASSES)


@functools.cache
def stream(task: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n rows of one fixed stream: 7 features, four of ten values are 0, noisy curved target."""
    random = np.random.default_rng(20)
    X = random.normal(size=(1000, D)) * (random.random((1000, D)) < 0.6)
    value = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.5 * np.abs(X[:, 3]) + 0.3 * X[:, 4]
    value += 0.3 * random.normal(size=1000)
    if task == BINARY:
        y = np.where(value > 0, 1, -1)
    else:
        y = np.digitize(value, [-1.0, -0.2, 0.6]) if task == MULTICLASS else value
    X, y = X[:n], y[:n]
    X.flags.writeable = y.flags.writeable = False  # shared by all tests
    return X, y


def rows_of(case: Case, n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    """(X, y): the first n rows of the case's stream, the same for every n; at most 1000."""
    return stream(case.task, n)


MAPPED = ("kernel", "gamma", "sigma", "degree", "coef0")  # parameters of a map


# ------------------------------------------------------------------ what a model shows
def support(model: Any) -> np.ndarray:
    """Stream positions of the support vectors, sorted; none in feature space."""
    return np.sort(getattr(model, "support_", []))


def coefficients(model: Any) -> np.ndarray:
    """Of the support vectors, or of the features."""
    return model.dual_coef_ if hasattr(model, "dual_coef_") else model.coef_


# ------------------------------------------------------------------ the table
CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "logistic")
REGRESSOR_LOSSES = ("squared", "half_squared", "epsilon_insensitive", "absolute")
LOSSES = {loss: {"loss": loss} for loss in CLASSIFIER_LOSSES + REGRESSOR_LOSSES}
LABEL_LOSSES = {loss: LOSSES[loss] for loss in CLASSIFIER_LOSSES}
AVERAGE = {"average": {"average": True}}
LANDMARKS = np.random.default_rng(9).normal(size=(BUDGET, D))

# name; estimators without Classifier and Regressor; twin; parameters; variants (each in all the tasks whose estimator
# has its parameters and losses).
TABLE: list[tuple[str, str, Callable[..., ref.Result], dict[str, Any], dict[str, dict[str, Any]]]] = [
    ("perceptron", "KernelPerceptron", ref.kernel_perceptron, {"eta": 0.5}, {"": {}, **AVERAGE}),
    (
        "ogd",
        "KernelOGD",
        ref.kernel_ogd,
        {"eta": 0.2, "reg": 0.01},
        {
            **LOSSES,
            **AVERAGE,
            "invsqrt": {"schedule": "invsqrt", "eta": 0.5},
            "pegasos": {"schedule": "pegasos", "reg": 0.1},
            "ball": {"radius": 1.0},
            "plain": {"reg": 0.0},
            "average-ball-logistic": {"average": True, "radius": 1.0, "loss": "logistic"},
        },
    ),
    (
        "pegasos",
        "KernelPegasos",
        ref.pegasos,
        {"reg": 0.1},
        {
            **LABEL_LOSSES,
            **AVERAGE,
            "project": {"project": True},
            "project-average": {"project": True, "average": True},
        },
    ),
    (
        "norma",
        "NORMA",
        ref.norma,
        {"eta": 0.1, "reg": 0.05},
        {
            "": {},
            "fixed": {"adaptive": False},
            "truncation": {"truncation": BUDGET},
            "clip_tube": {"clip_tube": True, "nu": 0.9},
        },
    ),
    (
        "pa",
        "KernelPassiveAggressive",
        ref.passive_aggressive,
        {"C": 0.3},
        {variant: {"variant": variant} for variant in ("pa", "pa1", "pa2")} | AVERAGE,
    ),
    ("duol", "DUOL", ref.duol, {"C": 1.0}, {"": {}, "any-conflict": {"rho": 0.0}}),
    ("krls", "KernelRLS", ref.krls, {"threshold": 0.3}, {"": {}, "bounded": {"max_dictionary": BUDGET}}),
    (
        "fogd",
        "FOGD",
        ref.fogd,
        {"n_components": 37, "reg": 0.01},
        {
            **LOSSES,
            **AVERAGE,
            "adagrad": {"rule": "adagrad"},
            "adagrad-average": {"rule": "adagrad", "average": True, "reg": 0.0},
            **{variant: {"rule": variant} for variant in ("pa", "pa1", "pa2")},
            "invsqrt": {"schedule": "invsqrt", "eta": 0.5},
            "pegasos": {"schedule": "pegasos", "reg": 0.1},
            "orthogonal": {"features": "orthogonal", "loss": "absolute"},
            "structured": {"features": "structured", "loss": "logistic"},
            "fastfood": {"features": "fastfood", "loss": "squared", "n_components": 70},
        },
    ),
    (
        "dual-sgd",
        "DualSGD",
        ref.dual_sgd,
        {"budget": BUDGET, "moved": 4, "n_components": 37, "reg": 0.1},
        {
            "": {},
            "average": {"average": True, "moved": 1, "loss": "logistic"},
            "squared": {"average": True, "loss": "squared"},
        },
    ),
    (
        "mapped",
        "FeatureMap",
        ref.mapped,
        {"reg": 0.01, "rule": "gradient"},
        {
            "rows": {"map": None, "rule": "adagrad", "average": True, "loss": "logistic"},
            "fourier": {"map": onkel.RandomFourierFeatures(n_components=37, random_state=7), "loss": "half_squared"},
            "nystroem": {"map": onkel.OnlineNystroem(landmarks=LANDMARKS, rank=6), "loss": "squared_hinge"},
        },
    ),
    (
        "nogd",
        "NOGD",
        ref.nogd,
        {"budget": BUDGET, "rank": 5, "reg": 0.01},
        {"": {}, "late": {"switch": "next_loss", "rank": BUDGET, "schedule": "invsqrt", "average": True}},
    ),
    (
        "skegd",
        "SkeGD",
        ref.skegd,
        {"budget": BUDGET, "sample_size": 7, "rank": 5, "update_every": 9, "reg": 0.01},
        {
            "": {"init": "paper", "carry": "paper"},
            "average": {
                "average": True,
                "update_every": 0.1,
                "stream_length": 83,
            },
            "bounded": {"max_processed": BUDGET + 2, "carry": "keep", "svd": "randomized", "rank": 3},
        },
    ),
    ("stoptron", "Stoptron", ref.stoptron, {"budget": BUDGET}, {"": {}}),
    ("rbp", "RBP", ref.rbp, {"budget": BUDGET}, {"": {}}),
    (
        "budget-perceptron",
        "BudgetPerceptron",
        ref.budget_perceptron,
        {"budget": BUDGET},
        {"": {}, "shrinking": {"budget": None}},
    ),
    (
        "forgetron",
        "Forgetron",
        ref.forgetron,
        {"budget": BUDGET, "eta": 0.5},
        {variant: {"variant": variant} for variant in ("selftuned", "basic", "greedy")},
    ),
    *[
        (
            name,
            stem,
            twin,
            {"budget": BUDGET},
            {
                "budget": {},
                "tolerance": {"budget": None, "tolerance": 0.8},
                "both": {"tolerance": 0.5},
                "exact": {"budget": 400, "tolerance": 0.0},
            },
        )
        for name, stem, twin in (
            ("projectron", "Projectron", ref.projectron),
            ("projectron++", "ProjectronPlusPlus", ref.projectron_pp),
        )
    ],
    (
        "bogd",
        "BOGD",
        ref.bogd,
        {"budget": BUDGET, "eta": 0.2, "reg": 0.01, "cap": 3.0},
        {**LOSSES, "nonuniform": {"sampling": "nonuniform"}, "tight": {"cap": 1.2, "sampling": "nonuniform"}},
    ),
    (
        "bpa",
        "BPA",
        ref.bpa,
        {"budget": BUDGET, "C": 0.5},
        {strategy: {"strategy": strategy} for strategy in ("simple", "nearest", "projecting")},
    ),
    (
        "bsgd",
        "BSGD",
        ref.bsgd,
        {"budget": BUDGET, "reg": 0.1, "maintenance": "removal"},
        {
            **LOSSES,
            "projection": {"maintenance": "projection"},
            "merging-golden": {"maintenance": "merging", "search": "golden"},
            "merging-lookup": {"maintenance": "merging", "search": "lookup"},
        },
    ),
    (
        "spa",
        "SPA",
        ref.spa,
        {"beta": 3.0},
        {"": {}, "last": {"average": False}, "hard-budget": {"budget": BUDGET}},
    ),
    (
        "kons",
        "KONS",
        ref.kons,
        {"clip": 2.0},
        {
            "": {},
            "logistic": {"loss": "logistic", "alpha": 0.1, "curvature": "hessian"},
        },
    ),
    ("sketched-kons", "SketchedKONS", ref.kons, {"clip": 2.0, "curvature": 0.5, "min_probability": 0.2}, {"": {}}),
    (
        "pros-n-kons",
        "ProsNKons",
        ref.pros_n_kons,
        {"clip": 2.0, "alpha": 0.5, "oversampling": 0.2},
        {"": {}, "idle": {"idle_restarts": False, "loss": "hinge"}},
    ),
    (
        "con-kons",
        "ConKons",
        ref.con_kons,
        {"clip": 2.0, "alpha": 0.5, "oversampling": 0.2},
        {"": {}, "literal": {"literal": True, "curvature": "hessian", "ridge": 2.0}},
    ),
    ("b-kons", "BKons", ref.pros_n_kons, {"clip": 2.0, "max_dictionary": BUDGET}, {"": {}}),
    (
        "oskl",
        "OSKL",
        ref.oskl,
        {"G": 2.0},
        {**LOSSES, "last": {"average": False}, "hard-budget": {"budget": BUDGET}},
    ),
    (
        "multi-kernel",
        "MultiKernel",
        ref.multi_kernel,
        {"kernels": SEVERAL, "eta": 0.3, "discount": 0.8, "smoothing": 0.05, "budget": BUDGET, "share": True},
        {
            "stochastic": {"component": "rbp", "update": "stochastic", "combination": "stochastic"},
            "fogd": {"component": "fogd", "kernels": SEVERAL[:3], "n_components": 37, "weighting": "loss"},
        },
    ),
    (
        "adaraker",
        "AdaRaker",
        ref.adaraker,
        {"kernels": SEVERAL[:3], "n_components": 21, "reg": 0.1, "levels": 5},
        {"": {}},
    ),
]

# What the twins call parameters of another name.
RENAMED = {
    ref.norma: {"edge": "rho", "truncation": "tau"},
    ref.krls: {"threshold": "nu"},
    ref.budget_perceptron: {"margin": "beta"},
    ref.projectron: {"tolerance": "eta", "eta": "step"},
    ref.projectron_pp: {"tolerance": "eta"},
}


def _twin_params(estimator: Any, twin: Callable[..., ref.Result], task: str) -> dict[str, Any]:
    """The estimator's parameters, defaults too, as far as the twin has them."""
    known, renamed = inspect.signature(twin).parameters, RENAMED.get(twin, {})
    params = {renamed.get(name, name): value for name, value in estimator.get_params().items() if name != "kernel"}
    if twin is ref.mapped and params["map"] is not None:
        params["map"] = params["map"].get_params()
    if twin is ref.bsgd:
        params["ties"] = 0.0  # the engine lets rounding decide, as the recorded trace does
        if task == MULTICLASS:
            params["search"] = "golden"  # the table is for scalar coefficients
    return {name: value for name, value in params.items() if name in known}


def _applies(estimator: type, params: dict[str, Any]) -> bool:
    return set(params) <= set(estimator._get_param_names()) and params.get("loss") in (
        None,
        *estimator._choices.get("loss", ()),
    )


def _cases() -> list[Case]:
    made = []
    for name, stem, twin, common, variants in TABLE:
        for variant, own in variants.items():
            before = len(made)
            for task in TASKS:
                estimator = getattr(onkel, stem + ("Regressor" if task == REGRESSION else "Classifier"), None)
                if estimator is None or (task == MULTICLASS and not estimator._multiclass):
                    continue
                if not _applies(estimator, own):
                    continue
                params = {**RBF, "random_state": 0, **common, **own}
                configured = estimator(**{k: v for k, v in params.items() if k in estimator._get_param_names()})
                softmax = task == MULTICLASS and getattr(configured, "loss", "") == "logistic" and configured._softmax
                made.append(
                    Case(
                        "-".join(filter(None, (name, variant, task))),
                        estimator,
                        params,
                        task,
                        twin,
                        _twin_params(configured, twin, task),
                        "softmax" if softmax else task,
                    )
                )
            assert len(made) > before, f"{name}: the variant {variant} exists in no task"
    return made


def group_of(case: Case) -> str:
    """Cases of one group share compiled code: one worker runs them all."""
    return case.estimator.__name__.removesuffix("Classifier").removesuffix("Regressor")


CASES = _cases()
each_case = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=pytest.mark.xdist_group(group_of(case))) for case in CASES]
)
