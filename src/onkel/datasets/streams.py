"""Streams made to try a learner: labels that turn against it, concepts that leap, slide or rotate.

Each is a pure function of its arguments: the same `random_state` gives the same stream. Classes are -1 and +1.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .sets import Folder, load

Random = int | np.random.Generator | None
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ADVERSARIAL = {"1": 10, "2": 20}  # the ending of a name, and the rounds in a block


def repeat_blocks(
    X: Any, y: npt.ArrayLike, blocks: int, repeats: int, *, flip_even: bool = True, random_state: Random = None
) -> tuple[Any, npt.NDArray[Any]]:
    """Blocks of one example each, drawn without replacement and shown `repeats` times; every second block lies.

    Good for: telling learners that forget old support vectors from those that hold on to them. A learner that
    remembers the last label of every point errs once in a block at most.
    """
    y = np.asarray(y)
    if blocks > len(y):
        raise ValueError(f"{blocks} blocks need as many examples, but there are only {len(y)}")
    chosen = np.random.default_rng(random_state).permutation(len(y))[:blocks]
    labels = y[chosen]
    if flip_even:
        labels[1::2] = _other(y, labels[1::2])  # blocks 2, 4, 6, ... counted from 1
    return X[np.repeat(chosen, repeats)], np.repeat(labels, repeats)


def adversarial(
    name: str = "german-1", *, blocks: int = 500, random_state: Random = None, folder: Folder = None
) -> tuple[Any, npt.NDArray[Any]]:
    """german-1 (blocks of 10 rounds) and german-2 (of 20) of Zhang and Liao (ICML 2019, section 6.4).

    Any binary set will do in the place of german.
    """
    base, _, ending = name.rpartition("-")
    if ending not in ADVERSARIAL or not base:
        raise ValueError(f"{name!r} is not the name of a set followed by -1 or -2, as in german-1")
    X, y = load(base, folder=folder)
    return repeat_blocks(X, y, blocks, ADVERSARIAL[ending], random_state=random_state)


def alternating(n: int, point: npt.ArrayLike = (1.0,)) -> tuple[Floats, Ints]:
    """One point again and again, its label +1, -1, +1, ...

    Good for: second-order learners, whose step must shrink (the best fixed answer is 0), and dictionaries,
    which must not grow.
    """
    return np.tile(np.asarray(point, np.float64), (n, 1)), np.where(np.arange(n) % 2, -1, 1)


def turning_moons(
    n: int, *, turns: float = 1.0, noise: float = 0.1, random_state: Random = None
) -> tuple[Floats, Ints]:
    """Two interlocked half-moons that turn about the origin, `turns` times over the stream.

    Good for: pictures, and slow drift that no fixed curve survives: after half a turn the classes have changed places.
    """
    random = np.random.default_rng(random_state)
    y = random.choice(np.array([-1, 1]), n)
    along = random.uniform(0, np.pi, n)
    moons = np.column_stack([np.cos(along) - 0.5, np.sin(along) - 0.25]) * y[:, None]
    moons += random.normal(0, noise, (n, 2))
    angle = _angles(n, turns)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.column_stack([cos * moons[:, 0] - sin * moons[:, 1], sin * moons[:, 0] + cos * moons[:, 1]]), y


def rotating_hyperplane(
    n: int, features: int = 10, *, turns: float = 0.5, noise: float = 0.0, random_state: Random = None
) -> tuple[Floats, Ints]:
    """Points of a Gauss cloud on either side of a hyperplane whose normal turns, `turns` times over the stream.

    Good for: gradual drift of known speed, 360 * turns / n degrees a round; at any time a linear model could be right.
    `noise` is the share of wrong labels.
    """
    if features < 2:
        raise ValueError("a hyperplane needs two features or more to rotate")
    random = np.random.default_rng(random_state)
    plane, _ = np.linalg.qr(random.normal(size=(features, 2)))
    X = random.normal(size=(n, features))
    angle = _angles(n, turns)
    score = np.cos(angle) * (X @ plane[:, 0]) + np.sin(angle) * (X @ plane[:, 1])
    return X, _noisy(np.where(score > 0, 1, -1), noise, random)


def sea(
    n: int, thresholds: tuple[float, ...] = (8.0, 9.0, 7.0, 9.5), *, noise: float = 0.1, random_state: Random = None
) -> tuple[Floats, Ints]:
    """Abrupt drift (Street and Kim, KDD 2001): +1 where x1 + x2 <= a threshold that leaps from block to block.

    Good for: how fast a learner recovers. Of K thresholds the k-th, counted from 0, rules from row k * n // K
    on. Three features in [0, 10], the third means nothing; `noise` is the share of wrong labels.
    """
    random = np.random.default_rng(random_state)
    X = random.uniform(0, 10, (n, 3))
    starts = [k * n // len(thresholds) for k in range(len(thresholds))]
    concept = np.searchsorted(starts, np.arange(n), side="right") - 1
    threshold = np.asarray(thresholds, np.float64)[concept]
    return X, _noisy(np.where(X[:, 0] + X[:, 1] <= threshold, 1, -1), noise, random)


def gradual(
    old: tuple[Any, npt.ArrayLike],
    new: tuple[Any, npt.ArrayLike],
    *,
    centre: float | None = None,
    width: float | None = None,
    random_state: Random = None,
) -> tuple[Any, npt.NDArray[Any]]:
    """Row t comes from the stream `new` with probability 1 / (1 + exp(-4 (t - centre) / width)), else from `old`.

    Good for: gradual drift between any two streams of one length. By default the change is centred on the middle
    row and a tenth of the stream wide.
    """
    (X_old, y_old), (X_new, y_new) = (old[0], np.asarray(old[1])), (new[0], np.asarray(new[1]))
    n = len(y_old)
    if len(y_new) != n or X_old.shape != X_new.shape:
        raise ValueError(f"the streams must be equally large, but are {X_old.shape} and {X_new.shape}")
    centre = n / 2 if centre is None else centre
    width = max(n / 10, 1.0) if width is None else width
    if width <= 0:
        raise ValueError(f"width must be positive, but is {width}")
    share = 0.5 * (1 + np.tanh(2 * (np.arange(n) - centre) / width))  # the logistic function, without overflow
    newer = np.random.default_rng(random_state).random(n) < share
    rows = np.arange(n) + n * newer
    stack = sp.vstack([X_old, X_new], format="csr") if sp.issparse(X_old) else np.concatenate([X_old, X_new])
    return stack[rows], np.where(newer, y_new, y_old)


def permutations(n: int, repeats: int = 20, *, seed: int = 1) -> Ints:
    """Orders in which to show n examples, one per row: row r is that of NumPy's generator with the seed `seed` + r.

    Good for: comparing learners on the same orders. More repeats leave the first ones as they were.
    """
    orders = [np.random.default_rng(seed + r).permutation(n) for r in range(repeats)]
    return np.array(orders, np.int64).reshape(repeats, n)


def _other(y: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The other class of each label."""
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"labels can be flipped between two classes only, but there are {len(classes)}")
    return np.where(labels == classes[0], classes[1], classes[0])


def _angles(n: int, turns: float) -> Floats:
    return 2 * np.pi * turns * np.arange(n) / max(n, 1)


def _noisy(y: Ints, noise: float, random: np.random.Generator) -> Ints:
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is a share of the labels, from 0 to 1, but is {noise}")
    return np.where(random.random(len(y)) < noise, -y, y)
