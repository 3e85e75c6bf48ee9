"""The vocabulary of all estimators: what each constructor argument means and which values it may have."""

import dataclasses
import math
import numbers
import typing

import numpy as np

from ..kernels import LINEAR, Kernel


class Check(typing.NamedTuple):
    words: str  # completes "must be ..."
    passes: typing.Callable[[typing.Any], bool]


def _real(value: typing.Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and not math.isnan(value)


def real(
    low: float, high: float = math.inf, *, over: bool = False, under: bool = False, infinite: bool = False
) -> Check:
    """A number in [low, high]; `over`, `under`: the ends do not count; `infinite`: infinity does."""

    def passes(x: typing.Any) -> bool:
        if not _real(x) or (math.isinf(x) and not infinite):
            return False
        return bool((x > low if over else x >= low) and (x < high if under else x <= high))

    words = f"a number {'above' if over else 'of at least'} {low:g}" if low > -math.inf else "a number"
    if high < math.inf:
        words += f" and {'below' if under else 'at most'} {high:g}"
    return Check(words, passes)


def whole(low: int) -> Check:
    def passes(x: typing.Any) -> bool:
        return not isinstance(x, bool) and isinstance(x, numbers.Integral) and low <= int(x) < 2**63

    return Check(f"a whole number of at least {low} and below 2**63", passes)


def one_of(*choices: str) -> Check:
    return Check("one of " + ", ".join(map(repr, choices)), lambda x: isinstance(x, str) and x in choices)


def optional(check: Check) -> Check:
    return Check(check.words + " or None", lambda x: x is None or check.passes(x))


def _kernel_list(value: typing.Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(type(x) is Kernel and _sound(x) for x in value)


def _kernel(value: typing.Any) -> bool:
    return _sound(value) if type(value) is Kernel else isinstance(value, tuple) and hasattr(value, "_fields")


def _sound(kernel: Kernel) -> bool:
    return math.isfinite(kernel.coef0) and math.isfinite(kernel.gamma) and (kernel.gamma > 0 or kernel.kind == LINEAR)


FLAG = Check("True or False", lambda x: isinstance(x, bool | np.bool_))
ANY = Check("anything", lambda x: True)
KERNELS = ("rbf", "laplacian", "exponential", "matern32", "matern52", "poly", "linear", "sigmoid", "cosine")
GAMMAS = ("auto", "scale", "alignment", "centred_alignment")

PARAMETERS: dict[str, tuple[str, Check]] = {
    "kernel": (
        "The kernel, k(x, z); docs/own_kernel.md tells how to bring one of your own.",
        Check(
            "one of " + ", ".join(map(repr, KERNELS)) + ", or a kernel from onkel.kernels, its numbers finite",
            lambda x: x in KERNELS if isinstance(x, str) else _kernel(x),
        ),
    ),
    "gamma": (
        'Kernel coefficient: a number, "auto" (1 / n_features), "scale" (1 / (n_features * variance of the first '
        'batch)), "alignment" or "centred_alignment" (of 25 widths the one whose kernel fits the targets of the first '
        "batch best, for rbf and laplacian). What looks at the first batch depends on how the stream is cut.",
        Check(
            "a number above 0 or one of " + ", ".join(map(repr, GAMMAS)),
            lambda x: x in GAMMAS if isinstance(x, str) else real(0, over=True).passes(x),
        ),
    ),
    "sigma": (
        "Kernel width as the papers write it, in place of gamma: rbf exp(-|x-z|^2 / (2 sigma^2)), laplacian "
        "exp(-|x-z|_1 / sigma), exponential and matern 1 / gamma; without effect on the other kernels.",
        real(0, over=True),
    ),
    "degree": ("Degree of the poly kernel (paper: p).", whole(1)),
    "coef0": ("Constant of the poly and sigmoid kernels (paper: c).", real(-math.inf)),
    "budget": ("Most support vectors kept (paper: B).", whole(1)),
    "n_components": ("Number of random Fourier frequencies, each a sine and a cosine (paper: D).", whole(1)),
    "features": (
        "How the frequencies are drawn: independent; orthogonal in blocks; or products of diagonals and Hadamard "
        "matrices, SORF and Fastfood, which take O(log n_features) for each. The laplacian kernel has plain ones only.",
        one_of("plain", "orthogonal", "structured", "fastfood"),
    ),
    "map": (
        "The feature map. One that is fitted is used as it is; another is fitted to the first batch, and what looks at "
        "rows then depends on how the stream is cut. None: the rows are the features.",
        Check(
            "None, RandomFourierFeatures, OnlineNystroem or IncrementalSketch",
            lambda x: x is None or hasattr(x, "_map_size"),
        ),
    ),
    "landmarks": (
        "What the landmarks are: the first rows, a uniform sample of all rows so far, rows sampled by leverage score "
        "(KORS) until the budget is full, or an array of points.",
        Check(
            "'first', 'uniform', 'leverage' or an array of points (n_landmarks, n_features)",
            lambda x: x in ("first", "uniform", "leverage") if isinstance(x, str) else np.ndim(x) == 2 and len(x) > 0,
        ),
    ),
    "rule": (
        "How the weights move: a gradient step, AdaGrad, or the passive-aggressive steps PA, PA-I, PA-II.",
        one_of("gradient", "adagrad", "pa", "pa1", "pa2"),
    ),
    "moved": ("Support vectors that become features at once when the budget is full (paper: k).", whole(1)),
    "rank": (
        "Most eigenvectors kept (paper: k); None for a fifth of the budget, or in SkeGD for a tenth.",
        whole(1),
    ),
    "sketch_size": ("Columns of the random sketch (paper: s_p); None for 3/4 of the budget.", whole(1)),
    "sample_size": (
        "Points of the buffer that the features are made of (paper: s_m); None for a fifth of sketch_size.",
        whole(1),
    ),
    "blocks": ("Entries in a row of the random sketch, at most sketch_size (paper: d).", whole(1)),
    "update_every": (
        "Rounds between two renewals of the features (paper: rho), or the part that this is of stream_length beyond "
        "the budget (paper: theta).",
        Check(
            "a whole number of at least 1, or a number between 0 and 1",
            lambda x: whole(1).passes(x) or real(0, 1, over=True, under=True).passes(x),
        ),
    ),
    "stream_length": ("How many examples are expected (paper: T), for an update_every below 1.", whole(1)),
    "init": (
        "The first weights on features: such that the score of the example at hand stays, or those of the whole buffer "
        "do, as nearly as they can.",
        one_of("paper", "least_squares"),
    ),
    "carry": (
        "The weights on renewed features: such that the score of the example at hand stays; the same numbers; or such "
        "that the scores of the landmarks stay, as nearly as they can.",
        one_of("paper", "keep", "least_squares"),
    ),
    "svd": ("How the eigenvectors are found.", one_of("exact", "randomized")),
    "max_processed": (
        "Most points kept of those that the sketches are of, at least budget; then the oldest leaves. None for all: "
        "a further one with every renewal.",
        whole(1),
    ),
    "switch": (
        "When features take over: after the example that fills the budget, or at the next one that has a loss.",
        one_of("full", "next_loss"),
    ),
    "max_dictionary": ("Most points in the dictionary (paper: M, J_max); None for no bound.", whole(1)),
    "clip": ("Bound on the predictions (paper: C); infinity for none.", real(0, over=True, infinite=True)),
    "curvature": (
        "What a round adds to A: sigma / 2 times the outer product of its gradient, for a number sigma (paper: "
        "sigma_t); None for the largest that the loss allows on [-clip, clip], or 1/8 if it allows none. "
        '"hessian" adds the second derivative itself, which for squares is online ridge regression.',
        Check(
            "a number of at least 0, 'hessian' or None",
            lambda x: x is None or (x == "hessian" if isinstance(x, str) else real(0).passes(x)),
        ),
    ),
    "ridge": ("Ridge of the leverage scores (paper: gamma); where it may be None, that is alpha.", real(0, over=True)),
    "accuracy": ("Accuracy of the leverage scores, which are raised by it (paper: epsilon).", real(0, 1)),
    "oversampling": ("Leverage scores times this are the sampling probabilities (paper: beta).", real(0, over=True)),
    "force_first": ("Whether the first row is always sampled.", FLAG),
    "min_probability": ("Least probability of a term of A to be kept (paper: gamma, eta_min).", real(0, 1, over=True)),
    "idle_restarts": ("Whether to begin anew also after a point that did not widen the span.", FLAG),
    "literal": (
        "Whether a change of the dictionary drops the pending gradient step and the next bound, as the text has it.",
        FLAG,
    ),
    "loss": ("The loss that is descended.", ANY),
    "eta": ("Step size (paper: eta).", real(0, over=True)),
    "schedule": (
        "Step size over time: eta, eta / sqrt(t), or 1 / (reg t).",
        one_of("constant", "invsqrt", "pegasos"),
    ),
    "reg": ("Weight of the squared norm (paper: lambda).", real(0)),
    "radius": (
        "Radius of the ball that holds the model (paper: R); infinity for none.",
        real(0, over=True, infinite=True),
    ),
    "C": ("Aggressiveness: largest step (paper: C).", real(0, over=True)),
    "epsilon": ("Half width of the tube: regression leaves smaller misses alone (paper: epsilon).", real(0)),
    "nu": ("Fraction of margin errors, or of examples outside the tube, aimed at (paper: nu).", real(0, 1)),
    "edge": ("First margin, or half width of the tube (paper: rho, epsilon).", real(0)),
    "adaptive": ("Whether the margin or tube adapts.", FLAG),
    "clip_tube": ("Whether the tube's width stays at least 0.", FLAG),
    "truncation": ("Keep only so many of the latest support vectors (paper: tau); None for all.", whole(1)),
    "variant": ("Form of the algorithm.", ANY),
    "rho": ("Conflict above which a stored example is updated too (paper: rho).", real(0, 1, under=True)),
    "threshold": ("Squared distance from the span above which a point joins the dictionary (paper: nu).", real(0)),
    "margin": ("Margin up to which an example is learnt (paper: beta).", real(0)),
    "tolerance": ("Largest distance from the span that is projected away (paper: eta).", real(0)),
    "strategy": ("Who takes over the part of the point that leaves.", one_of("simple", "nearest", "projecting")),
    "cap": ("Largest coefficient, in units of eta (paper: gamma).", real(0, over=True)),
    "sampling": ('Whom the budget drops: "uniform" (BOGD), "nonuniform" (BOGD++).', one_of("uniform", "nonuniform")),
    "maintenance": ("What happens to the lightest point.", one_of("removal", "projection", "merging")),
    "search": (
        'How the merging partner is sought: "lookup" (table) or "golden" (golden section; always for several outputs).',
        one_of("lookup", "golden"),
    ),
    "alpha": (
        "In SPA, the loss from which the sampling probability stays the same; in Newton learners, the multiple of the "
        "identity that their matrix A begins with (paper: alpha).",
        real(0, over=True),
    ),
    "beta": ("Divisor of the sampling probability, at least alpha (paper: beta).", real(0, over=True)),
    "G": ("Slope that is always sampled; larger, sparser (paper: G).", real(0, over=True)),
    "project": ("Whether the model is kept in the ball of radius 1 / sqrt(reg).", FLAG),
    "average": ("Whether predictions come from the mean of all models so far.", FLAG),
    "kernels": (
        "The kernels, a list of those of onkel.kernels; None for the pool of Lu's thesis: <x, z>^p for p = 1, 2, 3 and "
        "Gaussians of the widths 2^6, 2^5, ..., 2^-6 (for FOGD only these).",
        Check("a list of kernels from onkel.kernels", _kernel_list),
    ),
    "levels": ("Most intervals at a time, of the lengths 1, 2, 4, ...", whole(1)),
    "component": ("What learns with each of the kernels.", ANY),
    "update": ("Whether all kernels learn from an example, or those drawn by their weights.", ANY),
    "combination": ("Whether all kernels vote, or those drawn by their weights.", ANY),
    "weighting": ("What the weights learn from: mistakes, losses, or nothing.", ANY),
    "output": ("What is summed up: signs, or the best classes, as votes; or the scores themselves.", ANY),
    "discount": ('Factor of a weight after a mistake, for weighting="hedge" (paper: gamma).', real(0, 1, over=True)),
    "smoothing": ("Least probability of being drawn (paper: delta).", real(0, 1)),
    "rate": ('For weighting="loss": a weight shrinks by exp(-rate loss / ceiling) (paper: eta).', real(0)),
    "ceiling": ('For weighting="loss": larger losses count as this.', real(0, over=True)),
    "share": (
        "Whether the budget is that of all kernels together: in equal parts, or counted together when updates are "
        "stochastic.",
        FLAG,
    ),
    "grow_features": (
        "Whether rows may be wider than those before (new columns were 0 until then) or narrower (the last are 0).",
        FLAG,
    ),
    "n_passes": ("Passes over the data; `fit` only.", whole(1)),
    "shuffle": ("Whether each pass is in random order; `fit` only.", FLAG),
    "random_state": ("Seed of everything random.", ANY),
}

# What `set_params` may change between two batches: they steer updates to come and shape nothing that is kept.
STEERING = {
    "eta", "reg", "C", "epsilon", "nu", "adaptive", "clip_tube", "rho", "threshold", "margin", "tolerance", "cap",
    "sampling", "search", "alpha", "beta", "G", "moved", "update_every", "stream_length", "carry", "svd",
}  # fmt: skip


def validate(estimator: typing.Any, choices: dict[str, tuple[str, ...]]) -> None:
    """Raise a ValueError that names the first parameter with a value it may not have."""
    for field in dataclasses.fields(estimator):
        value = getattr(estimator, field.name)
        check = one_of(*choices[field.name]) if field.name in choices else PARAMETERS[field.name][1]
        if type(None) in typing.get_args(field.type):
            check = optional(check)
        if not check.passes(value):
            name = type(estimator).__name__
            raise ValueError(f"{name}: {field.name} must be {check.words}; got {value!r}.")


def described(transformer: typing.Any) -> dict[str, typing.Any]:
    """A transformer by its class and parameters, to compare and to write down."""
    parameters = transformer.get_params(deep=False)
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parameters.items()}
    return {"map": type(transformer).__name__, "parameters": plain}


T = typing.TypeVar("T")


@typing.dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[T]) -> type[T]:
    """Constructor from the class's annotated parameters, and their part of the docstring from PARAMETERS."""
    made = dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
    lines = ["", "", "Parameters", "----------"]
    fields = {field.name: field.default for field in dataclasses.fields(typing.cast(typing.Any, made))}
    own = vars(cls).get("__annotations__", {})
    for name in sorted(fields, key=lambda name: name not in own):  # what is special about it first
        lines += [f"{name} : default={fields[name]!r}", f"    {_explain(name, getattr(cls, '_choices', {}))}"]
    lines += ["", "Attributes", "----------"]
    for name in sorted(name for name in dir(cls) if name.endswith("_") and not name.startswith("_")):
        lines += [name, f"    {getattr(cls, name).__doc__}"]
    made.__doc__ = (cls.__doc__ or "").rstrip() + "\n".join(lines) + "\n"
    return made


def _explain(name: str, choices: dict[str, tuple[str, ...]]) -> str:
    """A parameter in words, with its choices where they are few and named."""
    words, check = PARAMETERS[name]
    if name in choices:
        check = one_of(*choices[name])
    return words + (f" {check.words[0].upper()}{check.words[1:]}." if check.words.startswith("one of") else "")
