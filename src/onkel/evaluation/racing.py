"""A race: several learners over the same streams, side by side."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..alignment import distances, gamma_of
from ..estimators._online import OnlineEstimator
from ..io.streams import MOST_LABELS
from .names import KINDS, known, plain, short
from .reports import Checkpoint, Report, finite
from .runs import _read, _rows, _stacked, progressive, repeated

# Who races unless told otherwise, by the estimators' names without Classifier and Regressor, and with which parameters
# beside those that all are given.
FIELD: dict[str, dict[str, Any]] = {
    "KernelPerceptron": {},
    "RBP": {},
    "Forgetron": {},
    "Projectron": {},
    "BPA": {},
    "BOGD": {},
    "FOGD": {},
    "NOGD": {},
}
WINDOW = 1000  # examples that count as of late, of a stream whose length is not known
PEEK = 500  # rows that the kernel width is made from
Say = Callable[[str, str], None]


class Track(NamedTuple):
    """A stream to race on, new for every seed."""

    name: str
    about: str
    stream: Callable[[int], tuple[Any, Any]]


class Heat(NamedTuple):
    """What a race on one stream found."""

    name: str
    about: str
    examples: int
    features: int
    classes: int  # 0 for numbers
    sigma: float  # of the Gaussian kernel
    window: int  # examples that count as of late
    report: Report
    left_out: dict[str, str]  # who did not take part, and why

    @property
    def gamma(self) -> float:
        """The same as a coefficient."""
        return gamma_of("rbf", self.sigma)

    @property
    def best(self) -> str:
        """The learner with the smallest error."""
        return min(self.report.summary, key=lambda s: s.error if math.isfinite(s.error) else math.inf).learner

    def to_dicts(self) -> list[dict[str, Any]]:
        """A flat row per learner; None for what is not finite."""
        about = {"stream": self.name, "examples": self.examples, "features": self.features, "classes": self.classes}
        about |= {"sigma": self.sigma, "gamma": self.gamma, "runs": self.report.repeats, "metric": self.report.metric}
        return [finite({**about, **s._asdict(), "examples": self.examples}) for s in self.report.summary]

    @property
    def facts(self) -> str:
        """The stream in words."""
        task = f"{self.classes} classes" if self.classes else "regression"
        streams = f"{self.report.repeats} runs" if self.report.repeats > 1 else "one run"
        return (
            f"{self.examples:,} examples, {self.features:,} features, {task}; {streams}; "
            f"sigma = {self.sigma:.4g}, gamma = {self.gamma:.4g}"
        )


def race(
    source: Any = None,
    algorithms: Sequence[str] | None = None,
    *,
    name: str = "stream",
    budget: int = 50,
    sigma: float | None = None,
    repeats: int | None = None,
    seed: int = 1,
    classes: Any = None,
    task: str | None = None,
    say: Say = lambda stream, text: None,
    watch: Callable[[Checkpoint], None] | None = None,
) -> list[Heat]:
    """Let learners race on a source, which `progressive` takes, or else on four streams that are built in.

    Parameters
    ----------
    algorithms
        Names of estimators without Classifier and Regressor, or as `onkel list` has them; default: those of FIELD.
    budget
        Most support vectors or landmarks; random Fourier features have four times as many frequencies.
    sigma
        Width of the Gaussian kernel; default: half the median distance between the first 500 rows.
    repeats
        Runs: of a source in as many random orders, for which it is read into memory; default: one, in its own order.
        Built-in streams are made or shuffled anew for each of, by default, 5 runs.
    seed
        Of orders, streams and models.
    classes, task
        All labels that may come, as words or as the source has them; "classification" or "regression". Default: what
        the first batch looks like.
    say
        Told the name of a stream and, in words, what goes on.
    watch
        Called with every checkpoint.
    """
    entry = _entry(algorithms)
    settings = {"budget": budget, "sigma": sigma, "seed": seed, "say": say, "watch": watch}
    if source is not None:
        return [_on_source(source, entry, name, repeats or 1, classes, task, settings)]
    return [_on_track(track, entry, 5 if repeats is None else repeats, settings) for track in TRACKS]


def default_sigma(X: Any) -> float:
    """Half the median distance between the first 500 rows that differ; 1 if none do."""
    X = X[: min(PEEK, X.shape[0])]
    squares = distances(X, X, "rbf")[np.triu_indices(X.shape[0], 1)]
    apart = squares[squares > 0]
    return float(np.sqrt(np.median(apart)) / 2) if len(apart) else 1.0


def looks_numeric(y: np.ndarray) -> bool:
    """Whether targets are numbers to come close to, not labels: fractions, or whole numbers of many values."""
    if y.dtype.kind not in "iuf":
        return False
    return bool((y != np.round(y)).any()) or len(np.unique(y)) > MOST_LABELS


def _entry(algorithms: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    if algorithms is None:
        return FIELD
    stems = known()
    for name in algorithms:
        if plain(name) not in stems:
            raise ValueError(
                f"No learner is called {name!r}. There are: {', '.join(map(short, dict.fromkeys(stems.values())))}."
            )
    if not algorithms:
        raise ValueError("There is no algorithm to race.")
    return {stem: FIELD.get(stem, {}) for stem in (stems[plain(name)] for name in algorithms)}


def _on_track(track: Track, entry: Any, repeats: int, settings: dict[str, Any]) -> Heat:
    X, y = track.stream(settings["seed"])
    models, left_out, sigma = _line_up(track.name, entry, X, y, np.unique(y), settings, wider=False)
    window = max(100, len(y) // 20)
    report = repeated(
        models,
        track.stream,
        repeats=repeats,
        seed=settings["seed"],
        checkpoints=max(50, len(y) // 40),
        window=window,
        watch=_told(track.name, settings),
    )
    return Heat(track.name, track.about, len(y), X.shape[1], len(np.unique(y)), sigma, window, report, left_out)


def _on_source(
    source: Any, entry: Any, name: str, repeats: int, classes: Any, task: str | None, settings: dict[str, Any]
) -> Heat:
    if task not in (None, "classification", "regression"):
        raise ValueError(f'task must be "classification", "regression" or None; got {task!r}.')
    settings["say"](name, "reading")
    batches = ((X, y) for X, y, _ in _read(source))
    first = next(batches, None)
    if first is None:
        raise ValueError(f"{name} has no examples.")
    stream: Any = itertools.chain([first], batches)
    if repeats > 1:
        parts = list(stream)
        stream = first = _stacked([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    X, y = first
    if task == "regression" or (task is None and classes is None and looks_numeric(y)):
        classes = None
    else:
        classes = np.unique(y if classes is None else _like(y, classes))
    models, left_out, sigma = _line_up(name, entry, X, y, classes, settings, wider=True)
    options = {"checkpoints": _marks(), "window": WINDOW, "classes": classes, "watch": _told(name, settings)}
    if repeats > 1:
        report = repeated(models, stream, repeats=repeats, seed=settings["seed"], **options)
        width = X.shape[1]
    else:
        report = progressive(models, stream, **options)
        width = max(model.n_features_in_ for model in models.values())
    examples = report.checkpoints[-1].examples
    return Heat(name, "", examples, width, 0 if classes is None else len(classes), sigma, WINDOW, report, left_out)


def _line_up(
    name: str,
    entry: dict[str, dict[str, Any]],
    X: Any,
    y: np.ndarray,
    classes: Any,
    settings: dict[str, Any],
    *,
    wider: bool,
) -> tuple[dict[str, OnlineEstimator], dict[str, str], float]:
    """The models, compiled; who is left out and why; the kernel width."""
    sigma = settings["sigma"] or default_sigma(X)
    models, left_out = {}, {}
    for stem, own in entry.items():
        kind = KINDS.get(stem + ("Regressor" if classes is None else "Classifier"))
        if kind is None:
            left_out[stem] = "no regression" if classes is None else "no classification"
        elif classes is not None and len(classes) > 2 and not kind._multiclass:
            left_out[stem] = "two classes only"
        else:
            models[stem] = _configured(kind, own, sigma, settings, wider)
            settings["say"](name, f"making {stem} ready (its first run on a machine compiles it)")
            models[stem]._begin(X, y, classes)
            models[stem].learn(_rows(X, 0, 2), y[:2])
            models[stem] = _configured(kind, own, sigma, settings, wider)
    if not models:
        raise ValueError("None of these algorithms can take part: " + ", ".join(map(": ".join, left_out.items())))
    return models, left_out, sigma


def _configured(kind: Any, own: dict[str, Any], sigma: float, settings: dict[str, Any], wider: bool) -> OnlineEstimator:
    """With what all share, as far as it has such parameters."""
    budget = settings["budget"]
    common = {"sigma": sigma, "budget": budget, "n_components": 4 * budget, "random_state": settings["seed"]}
    params = {**common, "grow_features": wider, **own}
    model: OnlineEstimator = kind()
    return model.set_params(**{name: value for name, value in params.items() if name in model.get_params()})


def _told(name: str, settings: dict[str, Any]) -> Callable[[Checkpoint], None]:
    def told(checkpoint: Checkpoint) -> None:
        settings["say"](name, f"run {checkpoint.repeat + 1}, {checkpoint.examples:,} examples")
        if settings["watch"]:
            settings["watch"](checkpoint)

    return told


def _like(y: np.ndarray, classes: Any) -> np.ndarray:
    """Labels as the source has them."""
    try:
        return np.array([y.dtype.type(label) for label in classes]) if y.dtype.kind in "iuf" else np.asarray(classes)
    except ValueError as error:
        raise ValueError(f"The labels of the source are numbers, but classes are {list(classes)}.") from error


def _marks() -> Iterator[int]:
    """Checkpoints for a stream of unknown length: 32 to 64 of them, evenly spread, wherever it ends."""
    step = 10
    for power in itertools.count():
        yield from range(32 * step if power else step, 64 * step, step)
        step *= 2


def _digits(*, parity: bool) -> Callable[[int], tuple[Any, Any]]:
    def shuffled(seed: int) -> tuple[Any, Any]:
        from ..datasets import load  # loads much

        X, y = load("digits", dtype=np.float64, dense=True)
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order] / 16, (y % 2 if parity else y)[order]

    return shuffled


def _moons(seed: int) -> tuple[Any, Any]:
    from ..datasets import turning_moons  # loads much

    return turning_moons(20_000, turns=1, noise=0.2, random_state=seed)


def _threshold(seed: int) -> tuple[Any, Any]:
    from ..datasets import sea  # loads much

    return sea(20_000, noise=0.1, random_state=seed)


TRACKS = (
    Track("digits", "Which digit was written by hand? 8 x 8 pixels, in random order.", _digits(parity=False)),
    Track("odd digits", "Is the digit that was written by hand odd? The same pixels.", _digits(parity=True)),
    Track(
        "turning moons",
        "In which of two half-moons is the point? They turn slowly, once in all.",
        _moons,
    ),
    Track(
        "leaping threshold",
        "Is x1 + x2 below a threshold that leaps three times? 10% of labels are wrong.",
        _threshold,
    ),
)
