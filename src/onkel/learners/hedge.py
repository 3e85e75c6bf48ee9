"""Online multiple kernel learning: a learner per kernel, and a Hedge over them (Freund & Schapire, JCSS 55, 1997).

OMKC (Jin, Hoi & Yang, ALT 2010; Hoi, Jin, Zhao & Yang, Machine Learning 90, 2013): every kernel's learner votes, and
the weights of those that err shrink. Deterministic: all kernels; stochastic: a kernel takes part with a probability
that falls with its weight. On budgets, with SPA, FOGD and NOGD: Lu's thesis, Algorithms 14 to 18. For numbers, by the
size of the losses: Sahoo, Hoi & Li, KDD 2014; on random features, Shen, Chen & Giannakis, JMLR 20, 2019 (Raker).

The learners are those of single kernels. Their states lie in arrays of one more dimension, of which `nth` makes the
learner of one kernel: one compilation serves any number and mix of kernels.
"""

from typing import Any, NamedTuple

import numpy as np

from .._jit import generic, jit
from .._panels import padded
from .._simd import aligned, exp_of
from ..budget import Budget
from ..expansion import PAUSE, ROUNDS, SCALE, SEEN, SIZE
from ..features import Fans, fan_out, project_on
from ..kernels import Kernels, nth_kernel
from ..linear import Linear, linear, predict
from ..linear import Scratch as LinearScratch
from ..losses import Loss, value
from ..nystroem import READY, embed
from ..outputs import BINARY, Task, aim
from ..pool import (
    NOBODY,
    Bank,
    Pool,
    crowded,
    evaluate_all,
    gather,
    gather_all,
    limit,
    measure_from,
    member,
    nth_landmarks,
)
from ..rng import hashed, uniform_at
from ..stream import ROOM, begin_round, glance, look, step
from .bogd import BOGD
from .bpa import BPASimple
from .featured import Featured
from .forgetron import Forgetron
from .nogd import NOGD
from .passive_aggressive import PassiveAggressive
from .perceptron import Perceptron
from .spa import SPA

MODES = ("deterministic", "stochastic")
ALL, DRAWN, THINNED = range(3)  # who is updated; THINNED: all, and each is told its probability
WEIGHTINGS = ("hedge", "loss", "uniform")
HEDGE, LOSS, UNIFORM = range(3)
OUTPUTS = ("votes", "scores")
VOTES, SCORES = range(2)
CHECKPOINTS = 128  # most rows of the weights' path: when they are full, every other one is dropped
MARKS, STRIDE, LAST = range(3)


class Work(NamedTuple):
    odds: np.ndarray  # (m padded,) the weights, as parts of the largest
    chance: np.ndarray  # (m,) probability of taking part
    drawn: np.ndarray  # (m,) 1 if it does
    loss: np.ndarray  # (m,) what the weights learn from
    told: np.ndarray  # (m, outputs) the scores of every kernel
    said: np.ndarray  # (outputs,) and of all together


class Hedge(NamedTuple):
    """How the kernels' learners are weighed."""

    weighting: int
    update: int
    combination: int  # ALL or DRAWN
    output: int
    decay: float  # minus the logarithm of the factor of a weight after a mistake
    smoothing: float  # least probability of taking part
    rate: float  # LOSS: a weight shrinks by exp(-rate loss / ceiling)
    ceiling: float  # larger losses count as this
    cost: np.ndarray  # (m,) minus the logarithms of the weights, up to a common constant
    mistakes: np.ndarray  # (m,) of every kernel's learner
    key: np.ndarray  # (1,) of the random numbers
    path: np.ndarray  # (CHECKPOINTS, m) the weights after some rounds,
    when: np.ndarray  # (CHECKPOINTS,) and the rows seen by then
    marks: np.ndarray  # [how many, rows between two, the last one's rows seen]
    scratch: Work


class Course(NamedTuple):
    """What the loop over the examples needs of every learner."""

    count: np.ndarray  # [0, 0, rows seen, pause]
    lazy: np.ndarray  # [1, 0, rounds]
    past: np.ndarray  # (outputs, 0)
    scratch: LinearScratch


class MultiKernel(NamedTuple):
    table: Kernels
    task: Task
    loss: Loss  # of every kernel's learner, for LOSS
    part: Any  # the learners of all kernels: one learner whose arrays have one more dimension
    base: Any  # what they share: a Pool of points, or Fans of features
    hedge: Hedge
    f: Course


def hedge_work(m, outputs, dtype):
    new = (np.zeros(m) for _ in range(3))
    return Work(aligned(padded(m), float), *new, aligned((m, outputs), dtype), np.zeros(outputs))


def hedge(m, outputs, dtype, key, **numbers):
    """Equal weights for m kernels."""
    return Hedge(
        **numbers,
        cost=np.zeros(m),
        mistakes=np.zeros(m, np.int64),
        key=np.array([key], np.uint64),
        path=np.zeros((CHECKPOINTS, m)),
        when=np.zeros(CHECKPOINTS, np.int64),
        marks=np.array([0, 1, 0]),
        scratch=hedge_work(m, outputs, dtype),
    )


def key_of(key):
    """The key of the random numbers of the weights, apart from those of the kernels' learners."""
    plain = getattr(hashed, "py_func", hashed)
    with np.errstate(over="ignore"):
        return plain(np.uint64(key), np.uint64(2**63 + 1))


def course(outputs, dtype):
    """At the start of a stream."""
    new = (aligned(shape, dtype) for shape in (outputs, outputs, 0))
    return Course(
        np.zeros(4, np.int64),
        np.array([1.0, 0.0, 0.0]),
        aligned((outputs, 0), dtype),
        LinearScratch(*new, np.zeros(1, np.int64)),
    )


def linears(m, n, outputs, dtype):
    """The models of m kernels on n slots of features: those of `linear` with one dimension more."""
    one = linear(n, outputs, dtype)
    each = (np.tile(a, (m,) + (1,) * a.ndim) for a in (one.count, one.lazy))
    new = (aligned((m, *a.shape), dtype) for a in (one.coef, one.past, one.squares))
    work = (aligned(shape, dtype) for shape in (outputs, outputs, (m, n)))
    return Linear(*new, *each, LinearScratch(*work, np.zeros(1, np.int64)))


# The learner of one kernel.


@generic(inline=True)
def nth(part, base, table, i, held, chance):
    """The learner of kernel i, which has this chance of being asked, when all kernels together hold `held` points."""


@nth.register(Perceptron)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    return Perceptron(nth_kernel(table, i), part.task, nth_budget(part.budget, i), f, part.eta)


@nth.register(PassiveAggressive)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    kernel, budget = nth_kernel(table, i), nth_budget(part.budget, i)
    return PassiveAggressive(kernel, part.task, budget, f, part.C, part.variant)


@nth.register(Forgetron)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    return Forgetron(nth_kernel(table, i), part.task, f, part.eta, part.variant, part.ledger[i])


@nth.register(BOGD)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    kernel, rng = nth_kernel(table, i), part.rng[i]
    return BOGD(kernel, part.task, part.loss, f, part.eta, part.reg, part.cap, part.sampling, rng)


@nth.register(BPASimple)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    return BPASimple(nth_kernel(table, i), part.task, f, part.C)


@nth.register(SPA)
def _(part, base, table, i, held, chance):
    f = member(base, part.f, i, limit(part.f, i, held))
    kernel, budget = nth_kernel(table, i), nth_budget(part.budget, i)
    return SPA(kernel, part.task, budget, f, part.eta, part.alpha, part.beta, part.rng[i], chance)


@nth.register(Featured)
def _(part, base, table, i, held, chance):
    return Featured(part.map, part.task, part.loss, part.rule, nth_linear(part.f, i))


@nth.register(NOGD)
def _(part, base, table, i, held, chance):
    map = nth_landmarks(base, part.map, nth_kernel(table, i), i)
    return NOGD(map, part.task, part.loss, part.rule, part.moment, nth_linear(part.f, i))


@jit(inline=True, inside=True)
def nth_budget(budget, i):
    return Budget(budget.kind, budget.rng[i])


@jit(inline=True, inside=True)
def nth_linear(f, i):
    s = f.scratch
    own = LinearScratch(s.move, s.mean, s.z[i], s.at)
    return Linear(f.coef[i], f.past[i], f.squares[i], f.count[i], f.lazy[i], own)


@generic(default=True, inline=True)
def may_learn(f, i, held):
    """Whether kernel i has or may have points: at the common limit, one without points has none to part with."""
    return True


@may_learn.register(Bank)
def _(f, i, held):
    return limit(f, i, held) > 0


@generic(default=True, inline=True)
def penalty(part, i):
    """What the learner of kernel i adds to its loss."""
    return 0.0


@penalty.register(Featured)
def _(part, i):
    if part.rule.reg == 0.0:
        return 0.0
    f, total = part.f, 0.0
    for r in range(f.coef.shape[1]):
        for j in range(f.coef.shape[2]):
            total += f.coef[i, r, j] ** 2
    return 0.5 * part.rule.reg * f.lazy[i, SCALE] ** 2 * total


# What the kernels say, each and together.


@generic(inline=True)
def prepare(base, table, f, rows, t, start, stop):
    """Work out what all kernels need of row t; `start` and `stop` as for `look`."""


@prepare.register(Pool)
def _(base, table, f, rows, t, start, stop):
    base.scratch.latest[0] = NOBODY
    for quantity in range(3):
        if table.bases[quantity] > 0:
            measure_from(base, quantity, rows, t)


@prepare.register(Fans)
def _(base, table, f, rows, t, start, stop):
    project_on(base, rows, t, start, stop)


@generic(default=True, inline=True)
def next_kernel(base, f, j):
    """Number of the j-th kernel that is heard, whose features are then ready."""
    return j


@next_kernel.register(Fans)
def _(base, f, j):
    return fan_out(base, j, f.scratch.z, f.count[0, SIZE])


@generic(inline=True)
def hear_all(f, part, base, table, rows, t, told):
    """told[i] = the scores of kernel i's learner, which has its kernel row or features in its scratch."""


@hear_all.register(Bank)
def _(f, part, base, table, rows, t, told):
    gather_all(base, f, table, rows, t)
    evaluate_all(f, told)


@hear_all.register(Linear)
def _(f, part, base, table, rows, t, told):
    for j in range(told.shape[0]):
        i = next_kernel(base, f, j)
        hear(nth(part, base, table, i, np.int64(0), 1.0), rows, t, told, i)


@generic(inline=True)
def hear(one, rows, t, told, i):
    """told[i] = the scores of the learner of one kernel."""


@hear.register(Featured)
def _(one, rows, t, told, i):
    predict(one.f, told, i)


@hear.register(NOGD)
def _(one, rows, t, told, i):
    map, f, k = one.map, one.f, one.map.scratch.k
    if map.count[READY]:
        gather(map, map.kernel, rows, t, k)
        embed(map.matrix, map.count, k, f.scratch.z, 0, f.count[SIZE])
    else:
        gather(map, map.kernel, rows, t, f.scratch.z)
    predict(f, told, i)


@jit(inline=True, inside=True)
def weigh(hedge):
    """odds = the weights, 1 for the best; chance = (1 - smoothing) odds + smoothing."""
    odds, chance, cost, delta = hedge.scratch.odds, hedge.scratch.chance, hedge.cost, hedge.smoothing
    m = cost.shape[0]
    least = cost[0]
    for i in range(m):
        least = min(least, cost[i])
    for i in range(m):
        odds[i] = cost[i] - least
    exp_of(odds, m, -1.0)
    if hedge.update != ALL or hedge.combination != ALL:
        for i in range(m):
            chance[i] = odds[i] + delta * (1.0 - odds[i])


@jit(inside=True)
def draw(hedge, rounds):
    """Who takes part in a round: numbers that depend on the round alone."""
    m = hedge.cost.shape[0]
    for i in range(m):
        u = uniform_at(hedge.key[0], rounds * m + i)
        hedge.scratch.drawn[i] = 1.0 if u < hedge.scratch.chance[i] else 0.0


@jit(inline=True, inside=True)
def combine(hedge, task, scores, t, drawn):
    """scores[t] = the weighted votes, or scores, of all kernels, or of those drawn."""
    told, said, odds = hedge.scratch.told, hedge.scratch.said, hedge.scratch.odds
    total = 0.0
    for i in range(told.shape[0]):
        if not drawn or hedge.scratch.drawn[i] != 0.0:
            total += odds[i]
    if hedge.output == VOTES and task.kind != BINARY:
        elect(hedge, drawn)
    else:
        for r in range(said.shape[0]):
            votes = 0.0
            for i in range(told.shape[0]):
                if not drawn or hedge.scratch.drawn[i] != 0.0:
                    vote = told[i, r] * 1.0 if hedge.output == SCORES else (1.0 if told[i, r] >= 0.0 else -1.0)
                    votes += odds[i] * vote
            said[r] = votes
    for r in range(said.shape[0]):
        said[r] /= total
        scores[t, r] = said[r]


@jit(inside=True)
def elect(hedge, drawn):
    """said = the weights of the kernels for whom each class is best."""
    told, said = hedge.scratch.told, hedge.scratch.said
    for r in range(said.shape[0]):
        said[r] = 0.0
    for i in range(told.shape[0]):
        if not drawn or hedge.scratch.drawn[i] != 0.0:
            said[winner(told, i)] += hedge.scratch.odds[i]


@jit(inside=True)
def winner(told, i):
    """The best class of kernel i; of equals the first."""
    best = 0
    for r in range(told.shape[1]):
        if told[i, r] > told[i, best]:
            best = r
    return best


@jit(inline=True, inside=True)
def say(hedge, task, rounds, scores, t, learning):
    """scores[t] = what all say together; in a round of learning some may be drawn."""
    weigh(hedge)
    if learning and (hedge.update == DRAWN or hedge.combination == DRAWN):
        draw(hedge, np.int64(rounds))
    combine(hedge, task, scores, t, learning and hedge.combination == DRAWN)


@look.register(MultiKernel)
def _(self, rows, t, start, stop, scores):
    table, task, _, part, base, hedge, f = self
    prepare(base, table, part.f, rows, t, start, stop)
    hear_all(part.f, part, base, table, rows, t, hedge.scratch.told)
    say(hedge, task, f.lazy[ROUNDS], scores, t, True)


@glance.register(MultiKernel)
def _(self, rows, t, start, stop, scores):
    table, task, _, part, base, hedge, f = self
    prepare(base, table, part.f, rows, t, start, stop)
    hear_all(part.f, part, base, table, rows, t, hedge.scratch.told)
    say(hedge, task, f.lazy[ROUNDS], scores, t, False)


# Learning.


@step.register(MultiKernel)
def _(self, rows, t, y, weight, scores):
    table, task, loss, part, base, hedge, f = self
    work, counts = hedge.scratch, part.f.count
    m, outputs = work.told.shape
    judge(hedge, task, loss, y, f.scratch.move)
    held, waits = np.int64(0), np.int64(0)
    for i in range(m):
        held += counts[i, SIZE]
        if hedge.weighting == LOSS:
            cap(hedge, i, penalty(part, i))
    for i in range(m):
        if hedge.update == DRAWN and work.drawn[i] == 0.0:
            continue
        punish(hedge, i)
        if may_learn(part.f, i, held):
            size = counts[i, SIZE]
            one = nth(part, base, table, i, held, work.chance[i] if hedge.update == THINNED else 1.0)
            for r in range(outputs):
                scores[t, r] = work.told[i, r]
            one.f.count[SEEN] = f.count[SEEN]
            begin_round(one.f)
            step(one, rows, t, y, weight, scores)
            held += counts[i, SIZE] - size
            waits = max(waits, counts[i, PAUSE])
    for r in range(outputs):
        scores[t, r] = work.said[r]
    mark(hedge, f.count[SEEN] + 1)
    f.count[PAUSE] = ROOM if waits > 0 or needs_room(base) else 0


@generic(default=True, inline=True)
def needs_room(base):
    """Whether a further example may not fit."""
    return False


@needs_room.register(Pool)
def _(base):
    return crowded(base)


@jit(inline=True, inside=True)
def judge(hedge, task, loss, y, move):
    """Count the kernels' mistakes, and leave in the scratch what their weights learn from."""
    told, out = hedge.scratch.told, hedge.scratch.loss
    for i in range(told.shape[0]):
        wrong, gap = aim(task, told, i, y, move)
        hedge.mistakes[i] += wrong
        out[i] = value(loss, gap) if hedge.weighting == LOSS else wrong


@jit(inline=True, inside=True)
def cap(hedge, i, more):
    """The loss of kernel i, and `more`, as a part of the ceiling."""
    hedge.scratch.loss[i] = min(hedge.scratch.loss[i] + more, hedge.ceiling) / hedge.ceiling


@jit(inline=True, inside=True)
def punish(hedge, i):
    """theta_i <- theta_i discount^mistake, or theta_i exp(-rate loss / ceiling)."""
    if hedge.weighting == HEDGE:
        hedge.cost[i] += hedge.decay * hedge.scratch.loss[i]
    elif hedge.weighting == LOSS:
        hedge.cost[i] += hedge.rate * hedge.scratch.loss[i]


@jit(inline=True, inside=True)
def mark(hedge, seen):
    """After every so many rows, add the weights to their path."""
    if seen >= hedge.marks[LAST] + hedge.marks[STRIDE]:
        record(hedge, seen)


@jit(inside=True)
def record(hedge, seen):
    """Add the weights to their path; when it is full, every other row leaves, and the next ones come half as often."""
    path, when, marks = hedge.path, hedge.when, hedge.marks
    if marks[MARKS] == CHECKPOINTS:
        for j in range(CHECKPOINTS // 2):
            when[j] = when[2 * j + 1]
            for i in range(path.shape[1]):
                path[j, i] = path[2 * j + 1, i]
        marks[MARKS] = CHECKPOINTS // 2
        marks[STRIDE] *= 2
        if seen < marks[LAST] + marks[STRIDE]:
            return
    weigh(hedge)
    odds, total = hedge.scratch.odds, 0.0
    for i in range(path.shape[1]):
        total += odds[i]
    for i in range(path.shape[1]):
        path[marks[MARKS], i] = odds[i] / total
    when[marks[MARKS]] = marks[LAST] = seen
    marks[MARKS] += 1
