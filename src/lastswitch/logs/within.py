"""Comparing within subjects: what is left when everyone is compared with themselves only.

Some subjects are kinder than others, and kind ones may repeat more: a plain mean over all events
then takes kindness for an effect of repeating. Here a *stratum* is one subject's plays of one arm,
and only differences within strata count.

* Two sets of states are compared by the Mantel-Haenszel difference: in each stratum the difference
  of its two means, weighted by ``n1 n0 / (n1 + n0)``. A short stratum thus weighs little, and one
  that saw a single side nothing.
* A whole curve is fitted by least squares with one level per stratum: every state's mean once
  what is usual for the subject is taken off. The level put back is that of the average subject.

Uncertainty is the jackknife's: how far the answer moves when groups of subjects are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch.logs.counts import Counts, sum_by

#: Events of an arm from which on a subject counts in full towards the arm's level.
FULL = 3
# Numbers held at once while groups are summed.
_AT_ONCE = 4_000_000


class Contrast(NamedTuple):
    """The difference of two means, the means themselves, and how sure it is.

    ``subjects`` is how many were seen on both sides.
    """

    effect: float
    low: float
    high: float
    p_value: float
    before: float
    after: float
    subjects: int


@dataclass(frozen=True)
class Strata:
    """The cells of one arm: who (numbered from 0), in which state, with what."""

    who: NDArray[np.int64]
    column: NDArray[np.int64]
    events: FloatArray
    total: FloatArray
    squares: FloatArray
    group: NDArray[np.int64]  # of each stratum
    groups: int
    width: int

    @property
    def size(self) -> int:
        """The number of strata."""
        return len(self.group)

    @cached_property
    def many(self) -> FloatArray:
        """Events of each stratum."""
        return sum_by(self.who, self.events, self.size)

    @cached_property
    def paid(self) -> FloatArray:
        """Rewards of each stratum."""
        return sum_by(self.who, self.total, self.size)

    def subjects(self, columns: Sequence[int]) -> int:
        """Return how many subjects were seen in any of ``columns``."""
        return int(np.unique(self.who[np.isin(self.column, columns)]).size)

    def side(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return events and rewards of each stratum in ``columns``."""
        mine = np.isin(self.column, columns)
        return (
            sum_by(self.who[mine], self.events[mine], self.size),
            sum_by(self.who[mine], self.total[mine], self.size),
        )

    def by_group(self, values: FloatArray) -> FloatArray:
        """Return the sum over the strata of each group; strata along the first axis."""
        if values.ndim == 1:
            return sum_by(self.group, values, self.groups)
        sums = np.zeros((self.groups, values.shape[1]))
        np.add.at(sums, self.group, values)
        return sums


def strata_of(counts: Counts, arm: int) -> Strata:
    """Return the strata of one arm."""
    mine = counts.rows_of(arm)
    subjects, who = np.unique(counts.subject[mine], return_inverse=True)
    return Strata(
        who.astype(np.int64),
        counts.column[mine],
        counts.events[mine],
        counts.total[mine],
        counts.squares[mine],
        subjects % counts.groups,
        counts.groups,
        counts.width,
    )


def within_contrast(
    strata: Strata, before: Sequence[int], after: Sequence[int], level: float
) -> Contrast:
    """Return the Mantel-Haenszel difference between columns ``after`` and columns ``before``.

    Examples
    --------
    >>> cells = Counts(("a",), 1, 1, 2, *(np.array(x) for x in (
    ...     [0, 0, 1, 1], [0] * 4, [1, 2, 1, 2], [9.0, 1, 1, 9], [9.0, 1, 0, 0], [9.0, 1, 0, 0])))
    >>> within_contrast(strata_of(cells, 0), [1], [2], 0.95).effect  # pooled: 0.1 - 0.9
    0.0
    """
    n0, t0 = strata.side(before)
    n1, t1 = strata.side(after)
    both = (n0 > 0) & (n1 > 0)
    weight = np.where(both, n0 * n1 / np.maximum(n0 + n1, 1.0), 0.0)
    means = [np.divide(t, n, out=np.zeros(len(n)), where=both) for t, n in ((t0, n0), (t1, n1))]
    mass = weight.sum()
    if not mass:
        nan = float("nan")
        return Contrast(nan, nan, nan, nan, nan, nan, 0)
    low, high = (float((weight * mean).sum() / mass) for mean in means)
    pulls = strata.by_group(weight * (means[1] - means[0]))
    shuffled = _shuffled(strata, [*before, *after], weight, n0 + n1, t0 + t1)
    found = ratio(pulls, strata.by_group(weight), level, shuffled)
    return Contrast(*found, low, high, int(both.sum()))


def _shuffled(
    strata: Strata, columns: Sequence[int], weight: FloatArray, many: FloatArray, paid: FloatArray
) -> float:
    """Return the error the difference has when rewards are shuffled within every stratum.

    The Mantel-Haenszel test's own. A few strata that happen to agree do not make it small.
    """
    mine = np.isin(strata.column, columns)
    squares = sum_by(strata.who[mine], strata.squares[mine], strata.size)
    inside = np.maximum(squares - paid**2 / np.maximum(many, 1.0), 0.0) / np.maximum(many - 1, 1.0)
    return float(np.sqrt(np.sum(weight * inside)) / weight.sum())


class Ratio(NamedTuple):
    """A ratio of sums over groups, its interval, and the chance of one so far from 0."""

    value: float
    low: float
    high: float
    p_value: float


def ratio(above: FloatArray, below: FloatArray, level: float, least: float = 0.0) -> Ratio:
    """Return ``sum(above) / sum(below)`` with the uncertainty that leaving out groups shows.

    The jackknife; Student's t with as many degrees of freedom as there are groups of that weight,
    so that a few heavy ones are not taken for many. The error is taken to be at ``least`` so much.

    Examples
    --------
    >>> found = ratio(np.array([1.0, 2.0, 3.0, 2.0]), np.full(4, 4.0), 0.95)
    >>> found.value, round(found.low, 2), round(found.high, 2)
    (0.5, 0.18, 0.82)
    """
    from scipy.special import stdtr, stdtrit

    used = below > 0
    above, below = above[used], below[used]
    mass = float(below.sum())
    value = float(above.sum()) / mass
    if len(below) < 2:
        return Ratio(value, -np.inf, np.inf, 1.0)
    left = (above.sum() - above) / (mass - below)
    share = below / mass
    error = max(float(np.sqrt(np.sum((1 - share) * (left - value) ** 2))), least)
    freedom = max(1.0 / float(np.sum(share**2)) - 1.0, 1.0)
    if error == 0.0:
        # Not a single difference anywhere: certain only if there is nothing to be certain of.
        return Ratio(value, value, value, 1.0 if value == 0 else 2.0 ** (1 - len(below)))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    p_value = 2 * float(stdtr(freedom, -abs(value) / error))
    return Ratio(value, value - half, value + half, p_value)


@dataclass(frozen=True)
class Fitted:
    """Least squares with a level per stratum, for chosen pools of columns.

    ``means`` has one mean per pool, for the average subject; ``pulls`` (groups, pools) is how far
    leaving out each group of subjects moves each mean; ``shape_pulls`` the same without the part
    all means share, for comparing them with one another.
    """

    means: FloatArray
    pulls: FloatArray
    shape_pulls: FloatArray

    @cached_property
    def errors(self) -> FloatArray:
        """The standard error of every mean."""
        return spread(self.pulls)

    @cached_property
    def shape_errors(self) -> FloatArray:
        """The standard error of every mean against the others of its arm."""
        return spread(self.shape_pulls)


def spread(pulls: FloatArray) -> FloatArray:
    """Return the standard error that the groups' pulls amount to: the jackknife's.

    Examples
    --------
    >>> spread(np.array([[0.1], [-0.1], [0.1], [-0.1]])).round(3).tolist()
    [0.231]
    """
    used = max(int(np.count_nonzero(pulls.any(axis=-1))), 2)
    return np.asarray(np.sqrt(used / (used - 1) * np.sum(pulls**2, axis=0)))


class _Sums(NamedTuple):
    """All that least squares needs to know of some strata; sums over strata add up.

    ``normal`` and ``moment`` are the equations once each stratum's own level is taken off;
    ``weight``, ``paid`` and ``held`` give the level of the average subject.
    """

    normal: FloatArray
    moment: FloatArray
    weight: FloatArray
    paid: FloatArray
    held: FloatArray


def fit_within(strata: Strata, pool: NDArray[np.int64], pools: int) -> Fitted:
    """Fit one mean per pool; ``pool`` gives the pool of every column, -1 for none of them.

    Column 0, the first play, is a pool of its own: it ties all states of a stratum together.
    """
    kept = pool[strata.column] >= 0
    at, who = pool[strata.column[kept]], strata.who[kept]
    events, total = strata.events[kept], strata.total[kept]
    used = np.unique(strata.group[who])
    if not used.size:
        nothing = np.zeros((strata.groups, pools))
        return Fitted(np.zeros(pools), nothing, nothing)
    apart = _group_sums(strata.group, used, who, at, events, total, pools)
    whole = _Sums(*(values.sum(axis=0) for values in apart))
    count = sum_by(at, events, pools)
    start = np.divide(sum_by(at, total, pools), count, out=np.zeros(pools), where=count > 0)
    shape, level = _solved(_Sums(*(values[None] for values in whole)), start, count)
    without = _Sums(*(one - each for one, each in zip(whole, apart, strict=True)))
    shapes, levels = _solved(without, start, count)
    several = (len(used) - 1) / len(used)
    share = count / count.sum()
    pulls, shape_pulls = np.zeros((2, strata.groups, pools))
    moved = several * (shape - shapes)
    pulls[used] = moved + several * (level - levels)[:, None]
    shape_pulls[used] = moved - (moved @ share)[:, None]
    return Fitted(shape[0] + level[0], pulls, shape_pulls)


def event_weights(strata: Strata, pool: NDArray[np.int64], wanted: FloatArray) -> FloatArray:
    """Return what a reward in each cell adds to ``wanted @ means`` of :func:`fit_within`.

    The fit is linear in the rewards: ``event_weights(...) @ strata.total`` is ``wanted @ means``.
    """
    pools = len(wanted)
    kept = pool[strata.column] >= 0
    at, who, events = pool[strata.column[kept]], strata.who[kept], strata.events[kept]
    weights = np.zeros(len(strata.column))
    used = np.unique(strata.group[who])
    if not used.size:
        return weights
    apart = _group_sums(strata.group, used, who, at, events, np.zeros(len(at)), pools)
    whole = _Sums(*(values.sum(axis=0) for values in apart))
    count = sum_by(at, events, pools)
    level = wanted.sum() / whole.weight
    shape = wanted - level * whole.held
    solved = np.linalg.solve(whole.normal + _hair(count), shape)
    plain = np.divide(shape - whole.normal @ solved, count, out=np.zeros(pools), where=count > 0)
    many = sum_by(who, events, strata.size)
    usual = sum_by(who, events * solved[at], strata.size)
    own = (level * np.minimum(many, FULL) - usual) / np.maximum(many, 1e-300)
    weights[kept] = (solved + plain)[at] + own[who]
    return weights


def _group_sums(
    group: NDArray[np.int64],
    used: NDArray[np.int64],
    who: NDArray[np.int64],
    at: NDArray[np.int64],
    events: FloatArray,
    total: FloatArray,
    pools: int,
) -> _Sums:
    """Return the sums of every used group, some groups at a time: as many as memory is cheap for.

    ``group`` is that of every stratum; ``who``, ``at``, ``events`` and ``total`` are the cells.
    """
    people = np.unique(who)
    people = people[np.argsort(group[people], kind="stable")]
    begin = np.searchsorted(group[people], used)
    most = int(np.diff(np.append(begin, len(people))).max())
    place = np.zeros(len(group), dtype=np.int64)  # of a stratum: its group's, then its own in it
    number = np.searchsorted(used, group[people])
    place[people] = number * most + np.arange(len(people)) - begin[number]
    row = place[who]
    order = np.argsort(row, kind="stable")
    row, at, events, total = row[order], at[order], events[order], total[order]
    step = max(_AT_ONCE // (most * pools), 1)
    sums = []
    for first in range(0, len(used), step):
        size = min(step, len(used) - first)
        cells = slice(*np.searchsorted(row, [first * most, (first + size) * most]))
        mine = row[cells] - first * most
        sums.append(_sums(mine, at[cells], events[cells], total[cells], (size, most, pools)))
    return _Sums(*(np.concatenate(values) for values in zip(*sums, strict=True)))


def _sums(
    row: NDArray[np.int64],
    at: NDArray[np.int64],
    events: FloatArray,
    total: FloatArray,
    shape: tuple[int, int, int],
) -> _Sums:
    """Return the sums of each of some groups; ``shape`` is groups, strata in each, pools."""
    groups, most, pools = shape
    seen = sum_by(row * pools + at, events, groups * most * pools).reshape(shape)
    many = seen.sum(axis=2)
    mean = sum_by(row, total, groups * most).reshape(groups, most) / np.maximum(many, 1e-300)
    scaled = seen / np.maximum(many, 1e-300)[..., None]
    weight = np.minimum(many, FULL)
    number = row // most
    moment = sum_by(number * pools + at, total, groups * pools).reshape(groups, pools)
    normal = -(scaled.transpose(0, 2, 1) @ seen)
    normal[:, np.arange(pools), np.arange(pools)] += seen.sum(axis=1)
    return _Sums(
        normal,
        moment - np.einsum("gmp,gm->gp", seen, mean),
        weight.sum(axis=1),
        np.einsum("gm,gm->g", weight, mean),
        np.einsum("gm,gmp->gp", weight, scaled),
    )


def _solved(sums: _Sums, start: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve the equations of one or more sums at once; return shapes and levels."""
    right = sums.moment - sums.normal @ start
    shapes = start + np.linalg.solve(sums.normal + _hair(count), right[..., None])[..., 0]
    inside = np.einsum("gp,gp->g", sums.held, shapes)
    return shapes, (sums.paid - inside) / np.maximum(sums.weight, 1e-300)


def _hair(count: FloatArray) -> FloatArray:
    """Return the weight towards plain means: what no stratum compares keeps its own."""
    return 1e-6 * max(float(count.max()), 1.0) * np.eye(len(count))
