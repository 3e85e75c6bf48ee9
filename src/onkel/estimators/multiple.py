"""Learners with several kernels at once."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import kernels as known
from .._panels import panel_shape, slots
from ..expansion import PAUSE, ROUNDS, SCALE, SEEN, SIZE, UNLIMITED
from ..features import SPECTRA, fans, fourier_slots, with_doublings
from ..kernels import Kernel, kernels_of
from ..learners import adaraker, apart, hedge
from ..learners.featured import Featured
from ..learners.hedge import ALL, DRAWN, MARKS, MODES, OUTPUTS, THINNED, WEIGHTINGS, MultiKernel
from ..linear import GRADIENT, Rule
from ..losses import NAMES, Loss
from ..nystroem import switch
from ..pool import Pool, bank, landmarks, pool
from ..rng import generator
from ..state import arrays, own_scratch, transplant
from ..steps import CONSTANT
from . import budget, exact, features
from ._base import check_values
from ._online import OnlineClassifier, OnlineEstimator, OnlineRegressor, Setting, cores, in_threads
from ._parameters import KERNELS, estimator
from .exact import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class Component(NamedTuple):
    """What learns with one kernel."""

    classifier: type
    regressor: type
    fixed: dict[str, Any]


COMPONENTS = {
    "perceptron": Component(exact.KernelPerceptronClassifier, exact.KernelPerceptronRegressor, {}),
    "pa1": Component(exact.KernelPassiveAggressiveClassifier, exact.KernelPassiveAggressiveRegressor, {}),
    "rbp": Component(budget.RBPClassifier, budget.RBPRegressor, {}),
    "forgetron": Component(budget.ForgetronClassifier, budget.ForgetronRegressor, {}),
    "bogd": Component(budget.BOGDClassifier, budget.BOGDRegressor, {}),
    "bpa": Component(budget.BPAClassifier, budget.BPARegressor, {}),
    "spa": Component(budget.SPAClassifier, budget.SPARegressor, {"average": False}),
    "fogd": Component(features.FOGDClassifier, features.FOGDRegressor, {}),
    "nogd": Component(features.NOGDClassifier, features.NOGDRegressor, {}),
}
EXCHANGING = ("rbp", "forgetron", "bogd", "bpa")  # on a full budget, a point for a point
BOUNDED = (*EXCHANGING, "nogd")
KERNEL_NAMES = {getattr(known, name.upper()): name for name in KERNELS}
WORTH = 2**23  # multiply-adds that are worth a second thread
SIGMAS = tuple(2.0**i for i in range(6, -7, -1))


def thesis_kernels(shift_invariant: bool = False) -> tuple[Kernel, ...]:
    """Lu's thesis: 13 Gaussian kernels of widths 2^6..2^-6 and, where they serve, <x, z>^p for p = 1, 2, 3."""
    gaussians = tuple(known.rbf(1 / (2 * sigma**2)) for sigma in SIGMAS)
    return gaussians if shift_invariant else (*(known.poly(1.0, 0.0, p) for p in (1, 2, 3)), *gaussians)


class _Several(OnlineEstimator):
    """Estimators with a list of kernels."""

    _grows: ClassVar[bool] = True
    kernels: Any

    def _features(self) -> bool:
        """Whether all kernels must have random Fourier features."""
        raise NotImplementedError

    def _kernels(self) -> tuple[Kernel, ...]:
        return thesis_kernels(self._features()) if self.kernels is None else tuple(self.kernels)

    def _kernel(self, X: Any, targets: Any, key: int) -> Any:
        for kernel in self._kernels():
            check_values(X, kernel)
        return with_doublings(self._kernels()) if self._features() else self._kernels()

    def _sound(self, X: Any) -> Any:
        X = super()._sound(X)
        if hasattr(self, "_setting"):
            self._kernel(X, None, 0)
        return X

    def _check(self) -> None:
        if self._features() and any(KERNEL_NAMES[kernel.kind] not in SPECTRA for kernel in self._kernels()):
            raise ValueError(
                f"kernels must have random Fourier features for this learner, as {', '.join(SPECTRA)} have."
            )

    # Kernels whose learners depend neither on each other nor on the weights: see `apart`.

    def _apart(self, threads: int) -> bool:
        """Whether that is so, and all kernels' learners go first when there are so many threads."""
        raise NotImplementedError

    def _threads(self, learner: Any, rows: int) -> int:
        """How many are worth their while."""
        return min(cores(), len(self._setting.kernel)) if rows * self._work(learner) > WORTH else 1

    def _stretch(self, learner: Any) -> int:
        return self._turn(learner) * (4 if self._apart(cores()) else 1)  # fewer beginnings of threads

    def _advance(self, rows: Any, targets: Any, weights: Any, scores: Any, start: int, stop: int) -> int:
        learner, threads = self._learner, self._threads(self._learner, stop - start)
        if not self._apart(threads):
            return super()._advance(rows, targets, weights, scores, start, stop)
        before = self._saved()
        try:
            heard = self._hear(learner, rows, targets, weights, start, stop, threads)
            apart.weigh_apart(learner, heard, targets, weights, scores, start, stop)
        except BaseException:  # Ctrl-C, too, finds learners and weights of the same round
            self._undo(learner, before)
            raise
        return stop

    def _glance(self, reader: Any, rows: Any, scores: Any) -> None:
        if not self._apart(1):
            super()._glance(reader, rows, scores)
            return
        nothing = np.zeros(len(scores))
        apart.score_apart(reader, self._hear(reader, rows, nothing, nothing, 0, len(scores), 1), scores)

    def _hear(self, learner: Any, rows: Any, y: Any, weights: Any, start: int, stop: int, threads: int) -> Any:
        """What the kernels' learners say of the rows, which they learn, every thread those of some kernels."""
        m = len(self._setting.kernel)
        cuts = [-(-m * k // threads) for k in range(threads + 1)]
        heard = apart.heard(stop - start, learner.part, learner.base.table.order, cuts)

        def learn(k: int) -> None:
            desk = apart.desk(learner.base, learner.part)
            apart.learn_apart(learner, desk, heard, rows, y, weights, start, stop, cuts[k], cuts[k + 1])

        in_threads(learn, range(threads))
        return heard

    @property
    def kernels_(self) -> tuple[Kernel, ...]:
        """The kernels."""
        self._fitted()
        return tuple(self._setting.kernel)


class _MultiKernel(_Several):
    component: Any
    update: Any
    combination: Any
    weighting: Any
    discount: Any
    smoothing: Any
    rate: Any
    ceiling: Any
    budget: Any
    share: Any
    rank: Any
    n_components: Any
    loss: Any

    # The learners of single kernels.

    def _component(self, kernel: Kernel, **more: Any) -> Any:
        """The estimator that one kernel's learner would be if it were alone."""
        kind = COMPONENTS[self.component]
        cls = kind.regressor if self._numeric else kind.classifier
        own = cls._get_param_names()  # type: ignore[attr-defined]
        steered = {
            name: getattr(self, name) for name in ("eta", "C", "epsilon") if getattr(self, name, None) is not None
        }
        rest = {name: getattr(self, name) for name in ("loss", "reg", "cap", "alpha", "beta", "n_components", "rank")}
        words = {"kernel": KERNEL_NAMES[kernel.kind], "gamma": kernel.gamma, "coef0": kernel.coef0}
        words["degree"] = kernel.degree
        known_here = {"grow_features": self.grow_features, "budget": self._each(), **rest, **steered}
        if self.component not in BOUNDED:
            del known_here["budget"]
        params = {name: value for name, value in {**known_here, **words}.items() if name in own}
        one = cls(**{**params, **kind.fixed, **more})
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(one, name, getattr(self, name))
        return one

    def _setting_of(self, one: Any, s: Setting, i: int) -> Setting:
        """What the learner of kernel i would know; one key for all who share random frequencies."""
        key = s.key if self.component == "fogd" else (s.key + i) % 2**63
        return s._replace(kernel=s.kernel[i], task=one._task(), key=key)

    def _each(self) -> int:
        """Most points of one kernel."""
        if self.component not in BOUNDED:
            return UNLIMITED
        split = self.share and self._total() == UNLIMITED
        return max(int(self.budget) // len(self._kernels()), 1) if split else int(self.budget)

    def _total(self) -> int:
        """Most points of all kernels, where they are counted together."""
        counted = self.share and self.update == "stochastic" and self.component in EXCHANGING
        return int(self.budget) if counted else UNLIMITED

    def _features(self) -> bool:
        return bool(self.component == "fogd")

    def _check(self) -> None:
        super()._check()
        m = len(self._kernels())
        if self.share and self.component in BOUNDED and self._total() == UNLIMITED and self.budget < m:
            raise ValueError(f"budget must be at least the number of kernels, {m}, to be shared in equal parts.")
        self._component(self._kernels()[0])._check()

    # The learner.

    def _make(self, s: Setting, capacity: int) -> Any:
        m, dtype = len(s.kernel), np.dtype(s.dtype)
        one = self._component(s.kernel[0])
        if self.component == "fogd":
            alone = one._make(self._setting_of(one, s, 0)._replace(d=1), 1)
            part = alone._replace(map=0, f=hedge.linears(m, fourier_slots(capacity), s.outputs, dtype))
            base = fans(s.kernel, capacity, s.d, dtype, s.key)
        else:
            c = min(capacity, self._each())
            base = pool(capacity, s.d, dtype, self._most())
            alone = one._make(self._setting_of(one, s, 0)._replace(d=1), 1)
            if self.component == "nogd":
                f = hedge.linears(m, slots(c, dtype), s.outputs, dtype)
                part = alone._replace(map=landmarks(m, c, one._rank(c), dtype), f=f)
            else:
                f = bank(m, c, s.d, s.outputs, dtype, self._each(), self._total())
                part = _repeated(alone, m, s.key)._replace(f=f)
        loss = Loss(NAMES.index(self.loss), float(getattr(self, "epsilon", 0.0)))
        return MultiKernel(
            kernels_of(s.kernel), s.task, loss, part, base, self._hedge(m, s), hedge.course(s.outputs, dtype)
        )

    def _hedge(self, m: int, s: Setting) -> Any:
        update = {"deterministic": ALL, "stochastic": THINNED if self.component == "spa" else DRAWN}[self.update]
        return hedge.hedge(
            m,
            s.outputs,
            np.dtype(s.dtype),
            hedge.key_of(s.key),
            weighting=WEIGHTINGS.index(self.weighting),
            update=update,
            combination=DRAWN if self.combination == "stochastic" else ALL,
            output=OUTPUTS.index(getattr(self, "output", "scores")),
            decay=-float(np.log(self.discount)),
            smoothing=float(self.smoothing),
            rate=float(self.rate),
            ceiling=float(self.ceiling),
        )

    def _most(self) -> int:
        if self.component == "fogd":
            return int(self.n_components)
        if self.component not in BOUNDED:
            return UNLIMITED
        return min(self._each() * len(self._kernels()), self._total())

    def _first_capacity(self, setting: Setting) -> int:
        if self.component in ("fogd", "nogd"):
            return self._most()
        return min(16 * (64 // np.dtype(setting.dtype).itemsize), self._most())

    def _capacity(self) -> int:
        base = self._learner.base
        return int(base.n) if self.component == "fogd" else len(base.users)

    def _make_room(self) -> None:
        learner = self._learner
        if self.component == "nogd":
            for i in np.flatnonzero(learner.part.f.count[:, PAUSE]):
                one = self._alone(int(i))
                switch(one.map, one.f, self._component(self._setting.kernel[i])._rank(self._each()))
                self._take_back(int(i), one)
        else:
            grown = self._make(self._setting, min(2 * self._capacity(), self._most()))
            learner = self._learner = transplant(grown, arrays(learner))
        learner.part.f.count[:, PAUSE] = learner.f.count[PAUSE] = 0

    def _apart(self, threads: int) -> bool:
        return bool(self.component == "fogd" and self.update == "deterministic")

    def _settle(self) -> None:
        if self.component == "nogd" and self._learner.f.count[PAUSE]:  # the last example filled a kernel's budget
            self._make_room()

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        m, c = len(s.kernel), min(capacity, self._each())
        if self.component == "fogd":
            return {"part.f.coef": (m, s.outputs, fourier_slots(capacity))}
        panels, width = panel_shape(capacity, s.dtype)
        shapes: dict[str, tuple[int, ...]] = {"base.points": (panels, s.d, width), "base.users": (capacity,)}
        n = slots(c, s.dtype)
        shapes["part.f.coef"] = (m, s.outputs, n)
        shapes["part.map.place" if self.component == "nogd" else "part.f.place"] = (m, c)
        return shapes

    def _constant(self) -> tuple[str, ...]:
        return ("base.",) if self.component == "fogd" else ()

    def _widened(self, learner: Any, d: int) -> Any:
        s = self._setting._replace(d=d)
        return transplant(self._make(s, self._capacity()), {**arrays(learner), **self._constants(s)})

    def _constants(self, s: Setting) -> dict[str, np.ndarray]:
        """What does not come from the learner at hand when it gets room for more features."""
        if self.component != "fogd":
            return {}
        return {"base.weights": fans(s.kernel, self._most(), s.d, np.dtype(s.dtype), s.key).weights}

    def _reader(self, d: int) -> Any:
        if d != self._setting.d:
            return self._widened(self._learner, d)
        held, part = self._learner, self._learner.part
        part = part._replace(
            f=own_scratch(part.f), **({"map": own_scratch(part.map)} if self.component == "nogd" else {})
        )
        shared = {name: own_scratch(getattr(held, name)) for name in ("base", "hedge", "f")}
        return held._replace(part=part, **shared)

    def _work(self, learner: Any) -> int:
        m, base = len(self._setting.kernel), learner.base
        if self.component == "fogd":
            return int(base.n * (base.weights.shape[1] + 8 * m))
        return int((base.count[SIZE] + 16) * (base.points.shape[1] + 16)) + 8 * m * self._largest() + 64 * m

    def _largest(self) -> int:
        """Most points that any kernel has."""
        return int(self.n_supports_.max())

    # One kernel's learner, by itself.

    def _alone(self, i: int) -> Any:
        """The learner that kernel i would have if it were alone, with arrays of its own."""
        learner, s = self._learner, self._setting
        one = self._single(i)
        size = int(learner.part.f.count[i, SIZE]) if self.component not in ("fogd", "nogd") else 0
        capacity = one._first_capacity(s)
        while capacity <= size and capacity < one._most():
            capacity = one._room(2 * capacity)
        made = one._make(self._setting_of(one, s, i), capacity)
        held = {name: a[i] for name, a in arrays(learner.part).items()}
        for name, array in arrays(made).items():
            if name in held:
                part = tuple(slice(min(n, k)) for n, k in zip(array.shape, held[name].shape, strict=True))
                array[part] = held[name][part]
        stored = made.map if self.component == "nogd" else made.f
        if self.component != "fogd":
            places = self._places(i)
            points = _points_at(learner.base, places)
            for slot, place in enumerate(places):
                stored.points[slot // stored.points.shape[2], :, slot % stored.points.shape[2]] = points[slot]
                stored.used[slot] = learner.base.used[place]
        made.f.count[SEEN], made.f.count[PAUSE] = learner.f.count[SEEN], 0
        return made

    def _take_back(self, i: int, one: Any) -> None:
        """Write the numbers of a lone learner into the arrays of all."""
        for name, array in arrays(self._learner.part).items():
            array[i] = arrays(one)[name] if name in arrays(one) else array[i]

    def _single(self, i: int) -> Any:
        """The estimator of kernel i, without its learner."""
        more: dict[str, Any] = {"random_state": self.random_state}
        if self._total() < UNLIMITED:
            counts = self._learner.part.f.count[:, SIZE]
            more["budget"] = int(self._total() - counts.sum() + counts[i]) or 1
        return self._component(self._setting.kernel[i], **more)

    def _places(self, i: int) -> np.ndarray:
        """Where in the pool the points of kernel i lie."""
        own = self._learner.part.map if self.component == "nogd" else self._learner.part.f
        return np.array(own.place[i, : own.count[i, SIZE]])

    @property
    def best_estimator_(self) -> Any:
        """The learner of the kernel with the largest weight, an estimator of its own that goes on from here."""
        self._fitted()
        return self.estimator_of(int(self.weights_.argmax()))

    def estimator_of(self, i: int) -> Any:
        """The learner of kernel i, an estimator of its own that goes on from here."""
        self._fitted()
        one = self._single(i)
        one._setting, one._made_with = self._setting_of(one, self._setting, i), one._parameters()
        one._learner = self._alone(i)
        return one

    # What a reader may look at.

    @property
    def weights_(self) -> np.ndarray:
        """Weights of the kernels' learners, which sum to 1."""
        self._fitted()
        return _softmax(-self._learner.hedge.cost)

    @property
    def mistakes_(self) -> np.ndarray:
        """Mistakes of every kernel's learner so far, ties included; for numbers, misses above epsilon."""
        self._fitted()
        return np.array(self._learner.hedge.mistakes)

    @property
    def checkpoints_(self) -> np.ndarray:
        """Rows seen at the points of `weights_path_`: all at first, then at growing distances."""
        self._fitted()
        held = self._learner.hedge
        return np.array(held.when[: held.marks[MARKS]])

    @property
    def weights_path_(self) -> np.ndarray:
        """The weights after the rows of `checkpoints_`, (checkpoints, kernels)."""
        self._fitted()
        held = self._learner.hedge
        return np.array(held.path[: held.marks[MARKS]])

    @property
    def support_(self) -> np.ndarray:
        """Positions in the stream of the support vectors of all kernels; none in feature space."""
        return self._stored()[1]

    @property
    def support_vectors_(self) -> np.ndarray:
        """The support vectors of all kernels, (n, n_features)."""
        return _points_at(self._learner.base, self._stored()[0])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients, (kernels * outputs, n): a row for every output of every kernel; 0 for points of others."""
        places, f, s = self._stored()[0], self._learner.part.f, self._setting
        column = np.full(len(self._learner.base.users), -1)
        column[places] = np.arange(len(places))
        coef = np.zeros((len(s.kernel), s.outputs, len(places)), s.dtype)
        for i, size in enumerate(self.n_supports_):
            coef[i][:, column[self._places(i)]] = f.lazy[i, SCALE] * f.coef[i, :, :size]
        return coef.reshape(-1, len(places))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, (kernels * outputs, features), with zeros where a kernel has fewer."""
        self._fitted()
        if self.component not in ("fogd", "nogd"):
            raise AttributeError(f"coef_ is for features; component={self.component!r} has dual_coef_.")
        each = [self.estimator_of(i).coef_ for i in range(len(self._setting.kernel))]
        width = max(w.shape[1] for w in each)
        return np.vstack([np.pad(w, ((0, 0), (0, width - w.shape[1]))) for w in each])

    def _stored(self) -> tuple[np.ndarray, np.ndarray]:
        """Places in use in the pool, and the stream positions of their points."""
        self._fitted()
        if self.component in ("fogd", "nogd"):
            raise AttributeError(f"component={self.component!r} has no common support vectors, but coef_.")
        born = np.full(len(self._learner.base.users), -1)
        for i, size in enumerate(self.n_supports_):
            born[self._places(i)] = self._learner.part.f.born[i, :size]
        places = np.flatnonzero(born >= 0)
        return places, born[places]

    @property
    def n_supports_(self) -> np.ndarray:
        """Number of support vectors of every kernel's learner; with random features, none."""
        self._fitted()
        part = self._learner.part
        if self.component == "fogd":
            return np.zeros(len(self._setting.kernel), np.int64)
        return np.array((part.map if self.component == "nogd" else part.f).count[:, SIZE])

    @property
    def n_support_(self) -> int:
        """Number of support vectors of all kernels' learners together."""
        return int(self.n_supports_.sum())


@estimator
class MultiKernelClassifier(OnlineClassifier, _MultiKernel):
    """A learner for every kernel, and a Hedge over them: OMKC (Hoi, Jin, Zhao & Yang 2013) and its kin."""

    kernels: list[Kernel] | None = None
    component: str = "perceptron"
    update: str = "deterministic"
    combination: str = "deterministic"
    weighting: str = "hedge"
    output: str = "votes"
    discount: float = 0.99
    smoothing: float = 0.001
    rate: float = 0.1
    ceiling: float = 1.0
    budget: int = 100
    share: bool = False
    rank: int | None = None
    n_components: int = 100
    loss: str = "hinge"
    eta: float | None = None
    C: float = 1.0
    reg: float = 0.0
    cap: float = 10.0
    alpha: float = 1.0
    beta: float = 3.0
    _softmax: ClassVar[bool] = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "component": tuple(COMPONENTS),
        "update": MODES,
        "combination": MODES,
        "weighting": WEIGHTINGS,
        "output": OUTPUTS,
        "loss": CLASSIFIER_LOSSES,
    }


@estimator
class MultiKernelRegressor(OnlineRegressor, _MultiKernel):
    """A learner of numbers for every kernel, weighed by their losses (after Sahoo, Hoi & Li 2014)."""

    kernels: list[Kernel] | None = None
    component: str = "perceptron"
    update: str = "deterministic"
    combination: str = "deterministic"
    weighting: str = "loss"
    discount: float = 0.99
    smoothing: float = 0.001
    rate: float = 0.1
    ceiling: float = 1.0
    budget: int = 100
    share: bool = False
    rank: int | None = None
    n_components: int = 100
    loss: str = "squared"
    eta: float | None = None
    C: float = 1.0
    reg: float = 0.0
    cap: float = 10.0
    alpha: float = 1.0
    beta: float = 3.0
    epsilon: float = 0.1
    _slow: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "component": tuple(COMPONENTS),
        "update": MODES,
        "combination": MODES,
        "weighting": WEIGHTINGS,
        "loss": REGRESSOR_LOSSES,
    }


def _repeated(learner: Any, m: int, key: int) -> Any:
    """A learner whose own arrays have one more dimension, of length m; random numbers get keys of their own."""

    def repeat(value: Any) -> Any:
        if hasattr(value, "_fields"):
            return _repeated(value, m, key)
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == np.uint64:
            return np.stack([generator((key + i) % 2**63) for i in range(m)])
        return np.stack([value] * m)

    return learner._replace(
        **{name: repeat(x) for name, x in zip(learner._fields, learner, strict=True) if name != "f"}
    )


def _softmax(log: np.ndarray) -> np.ndarray:
    odds = np.exp(log - log.max())
    return np.array(odds / odds.sum())


def _points_at(base: Pool, places: np.ndarray) -> np.ndarray:
    """The points at these places of a pool, (n, d)."""
    d = base.points.shape[1]
    return np.moveaxis(base.points, 1, 2).reshape(-1, d)[places]


class _AdaRaker(_Several):
    n_components: Any
    loss: Any
    eta: Any
    reg: Any
    ceiling: Any
    levels: Any

    def _features(self) -> bool:
        return True

    def _apart(self, threads: int) -> bool:
        return threads > 1  # in one, it is faster to go from example to example

    def _check(self) -> None:
        super()._check()
        if not min(0.5, self.eta) * self.reg < 1:
            raise ValueError(f"eta * reg must be below 1, or nothing is remembered; got {self.eta * self.reg:g}.")

    def _make(self, s: Setting, capacity: int) -> Any:
        m, levels, dtype = len(s.kernel), int(self.levels), np.dtype(s.dtype)
        loss = Loss(NAMES.index(self.loss), float(getattr(self, "epsilon", 0.0)))
        rule = Rule(GRADIENT, float(self.eta), CONSTANT, float(self.reg), 1.0)
        f = hedge.linears(levels * m, fourier_slots(capacity), s.outputs, dtype)
        plain = getattr(adaraker.pace, "py_func", adaraker.pace)
        return adaraker.AdaRaker(
            s.task,
            loss,
            float(self.ceiling),
            Featured(0, s.task, loss, rule, f),
            fans(s.kernel, capacity, s.d, dtype, s.key),
            np.zeros((levels, m)),
            np.log([plain(float(self.eta), level) for level in range(levels)]),
            hedge.course(s.outputs, dtype),
            adaraker.work(levels, m, s.outputs, dtype),
        )

    def _most(self) -> int:
        return int(self.n_components)

    def _shapes(self, s: Setting, capacity: int) -> dict[str, tuple[int, ...]]:
        return {"part.f.coef": (int(self.levels) * len(s.kernel), s.outputs, fourier_slots(capacity))}

    def _constant(self) -> tuple[str, ...]:
        return ("base.",)

    def _widened(self, learner: Any, d: int) -> Any:
        made = self._make(self._setting._replace(d=d), self._most())
        return transplant(made, arrays(learner) | {"base.weights": made.base.weights})

    def _reader(self, d: int) -> Any:
        if d != self._setting.d:
            return self._widened(self._learner, d)
        held = own_scratch(self._learner)
        part = held.part._replace(f=own_scratch(held.part.f))
        return held._replace(part=part, base=own_scratch(held.base), f=own_scratch(held.f))

    def _work(self, learner: Any) -> int:
        return int(learner.base.n * (learner.base.weights.shape[1] + 16 * learner.log.size))

    @property
    def intervals_(self) -> np.ndarray:
        """Lengths of the intervals that there are by now."""
        seen = float(self._fitted().lazy[ROUNDS]) + 1
        return np.array([2**level for level in range(int(self.levels)) if 2**level <= seen])

    @property
    def interval_weights_(self) -> np.ndarray:
        """Weights of the intervals, which sum to 1."""
        return _softmax(self._learner.trust[: len(self.intervals_)])

    @property
    def weights_(self) -> np.ndarray:
        """Weights of the kernels, over all intervals; they sum to 1."""
        return np.array(self.interval_weights_ @ self.kernel_weights_)

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the kernels in every interval, (intervals, kernels)."""
        n = len(self.intervals_)
        return np.array([_softmax(row) for row in self._learner.log[:n]])

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, (levels * kernels * outputs, 2 n_components): all sines, then all cosines."""
        self._fitted()
        f, n = self._learner.part.f, self._learner.base.n
        w = f.coef * f.lazy[:, None, None, SCALE].astype(f.coef.dtype)
        w, half = w.reshape(-1, w.shape[2]), w.shape[2] // 2
        return np.hstack([w[:, :n], w[:, half : half + n]])


@estimator
class AdaRakerClassifier(OnlineClassifier, _AdaRaker):
    """AdaRaker: several kernels on random features, over intervals of many lengths (Shen, Chen & Giannakis 2019)."""

    kernels: list[Kernel] | None = None
    n_components: int = 50
    loss: str = "hinge"
    eta: float = 5.0
    reg: float = 1e-3
    ceiling: float = 2.0
    levels: int = 12
    _softmax: ClassVar[bool] = False
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": CLASSIFIER_LOSSES}


@estimator
class AdaRakerRegressor(OnlineRegressor, _AdaRaker):
    """AdaRaker for numbers: several kernels, over intervals of many lengths (Shen, Chen & Giannakis 2019)."""

    kernels: list[Kernel] | None = None
    n_components: int = 50
    loss: str = "squared"
    eta: float = 1.0
    reg: float = 1e-3
    ceiling: float = 1.0
    levels: int = 12
    epsilon: float = 0.0
    _slow: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": REGRESSOR_LOSSES}
