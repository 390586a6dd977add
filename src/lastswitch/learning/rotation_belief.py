r"""What an arm's states may pay: where its curve may change, and what looking is worth.

**Posterior.** Where an arm's curve may change is known as far as
:mod:`lastswitch.learning.rotation_segments` says; changes are rarer beyond rest 4, or beyond 2 less
than the arms, which those that take turns have. The pay of a state is then a mixture of Beta
distributions, one for every segment that covers it: states that pay alike share what was seen of
them, and a state unlike its neighbours is soon believed for itself. How often curves change is
learned from all arms: beforehand each hazard is as likely as the others' posteriors say, with as
many votes as arms were seen beside a few for all hazards alike.

**Reservation index.** The value of a state is the :math:`U` at which paying :math:`U - m` for one
look, :math:`m` its mean, is just worth what the look may win,

.. math:: U - m = \frac{N}{1 + \kappa n} \sum_j w_j E_j[(\mu - U)_+],

over the components :math:`j` of its mixture, :math:`w_j` their weights. :math:`N` is how many later
plays would profit. A look teaches less the more was seen of the state itself, which is what
:math:`1 + \kappa n` says; that its neighbours are well known makes a look no less telling, for
what it tells is whether the state is like them. The right side falls in :math:`U`, so there is
one solution, and Newton's method comes up to it from :math:`m` without overshooting.

The posterior alone would give up too soon on a state that is unlike its neighbours and was unlucky
when first seen. So one more component, of small and fixed weight, takes each state for itself. And
short rests, of which there are few, are worth 1 until they are seen; a longer one never seen is
judged by its neighbours at once, because seeing each of many long rests costs many rounds.

Segments that cover the same states *seen* are one component, however far they reach into states
never seen; there are few of them, which is what makes this cheap.

Cells are those of :mod:`lastswitch.learning.rotation_price`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lastswitch._arrays import FloatArray
from lastswitch._kernels import inner, jit
from lastswitch.learning.beta_excess import excess_at
from lastswitch.learning.rotation_segments import (
    HAZARDS,
    segment_likelihoods,
    segment_weights,
    segment_weights_reference,
    staying,
)

#: Changes are rarer, in proportion, beyond this rest, or beyond one that arms in turn have.
_EVEN_RESTS, _TURNS = 4, 2
#: Votes for all hazards alike; every arm seen has one.
_ALIKE = 3.0
#: How fast a look teaches less as rewards accumulate (κ).
_TAUGHT = 0.23
#: The weight of a state taken for itself; it falls where changes do, on both of its sides.
_ALONE = 0.05
#: Rests up to this one are to be seen before they are judged.
_CURIOUS = 4
#: Later plays that profit from a look, per play so far and state seen.
PROFIT = 4.0
#: What moves an index by less than this is left out of it.
_SMALL = 2e-3
_RARE = 1e-12
_NEWTON_STEPS = 12
_CLOSE = 1e-2


@inner
def _cell_at(place: int, streaks: int) -> int:
    """Return the cell at a place of the axis; the places of the cells are the same way round."""
    return streaks - 1 - place if place < streaks else place


@inner
def _solve(
    mean: float,
    start: float,
    a: FloatArray,
    b: FloatArray,
    log_beta: FloatArray,
    scale: FloatArray,
    kept: int,
) -> float:
    """Return the U > mean at which U - mean = Σ scale · E[(μ - U)₊]; at most 1.

    Newton's method from ``start``: the first step ends below the solution, wherever it began.
    """
    u = start
    for _ in range(_NEWTON_STEPS):
        gap, slope = u - mean, 1.0
        log_u, log_rest = math.log(u), math.log1p(-u)
        for k in range(kept):
            more, above = excess_at(a[k], b[k], log_beta[k], u, log_u, log_rest)
            gap -= scale[k] * more
            slope += scale[k] * above
        step = gap / slope
        u = max(u - step, mean)
        if u >= 1.0 - 1e-9:
            return 1.0
        if abs(step) < _CLOSE:  # what is left is of the order of its square
            break
    return u


@inner
def _components(count: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation of the pay of the states seen from i to before j."""
    places = count.size
    mean, deviation = np.empty((places, places)), np.empty((places, places))
    for i in range(places):
        for j in range(i, places):
            rewards = 2.0 + count[j] - count[i]
            here = (1.0 + total[j] - total[i]) / rewards
            mean[i, j] = here
            deviation[i, j] = math.sqrt(here * (1.0 - here) / (rewards + 1.0))
    return mean, deviation


@inner
def _keep_parts(
    together: FloatArray,
    pay: FloatArray,
    deviation: FloatArray,
    count: FloatArray,
    total: FloatArray,
    likely: FloatArray,
    low: int,
    high: int,
    later: float,
    mean: float,
    parts: FloatArray,
) -> int:
    """Fill in (a, b, log B, scale) of the components that matter to a state; return how many.

    Those that move the index little are many; they are taken together, as one Beta distribution
    of their mean and variance.
    """
    kept, few, first, second = 0, 0.0, 0.0, 0.0
    for i in range(low + 1):
        for j in range(high, count.size):
            weight = together[i, j]
            if weight < _RARE:
                continue
            wins, here, spread = later * weight, pay[i, j], deviation[i, j]
            if wins * (max(here - mean, 0.0) + spread) > _SMALL:
                hits, rewards = 1.0 + total[j] - total[i], 2.0 + count[j] - count[i]
                parts[0, kept], parts[1, kept] = hits, rewards - hits
                parts[2, kept], parts[3, kept] = likely[i, j], wins
                kept += 1
            else:
                few += wins
                first += wins * here
                second += wins * (spread * spread + here * here)
    if few > 0.0:
        here = first / few
        variance = second / few - here * here
        if few * (max(here - mean, 0.0) + math.sqrt(max(variance, 0.0))) > _SMALL:
            rewards = here * (1.0 - here) / variance - 1.0
            parts[0, kept], parts[1, kept] = here * rewards, (1.0 - here) * rewards
            parts[2, kept] = (
                math.lgamma(parts[0, kept]) + math.lgamma(parts[1, kept]) - math.lgamma(rewards)
            )
            parts[3, kept] = few
            kept += 1
    return kept


@inner
def _around(
    weights: FloatArray,
    stays: FloatArray,
    seen: NDArray[np.int64],
    place: int,
    after: int,
    together: FloatArray,
) -> None:
    """Weigh the components of a state never seen, with ``after`` states seen before its place.

    It shares the segment of its neighbour seen on the left, on the right, of both, or of none.
    Those of both are there already; others' rows and columns are overwritten.
    """
    states = seen.size
    together[: after + 1, after] = 0.0
    together[after, after:] = 0.0
    for k in range(stays.shape[0]):
        left, right = math.exp(stays[k, place] - stays[k, seen[after - 1]]), 0.0
        if after < states:
            right = math.exp(stays[k, seen[after]] - stays[k, place])
        change = 1.0 - left * right
        cut = 0.0
        for i in range(after):
            weight = weights[k, i, after - 1]
            cut += weight
            together[i, after] += weight * left * (1.0 - right) / change
        for j in range(after, states):
            together[after, j + 1] += weights[k, after, j] * right * (1.0 - left) / change
        together[after, after] += cut * (1.0 - left) * (1.0 - right) / change


@inner
def _segments_of(weights: FloatArray) -> FloatArray:
    """Return how likely a segment holds just the states seen from i to before j."""
    ways, states, _ = weights.shape
    together = np.zeros((states + 1, states + 1))
    for k in range(ways):
        for i in range(states):
            for j in range(i, states):
                together[i, j + 1] += weights[k, i, j]
    return together


@jit
def believe(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    profit: float,
    arms: int,
    stays: FloatArray,
    hazards: FloatArray,
    values: FloatArray,
    means: FloatArray,
) -> None:
    """Fill in the index and the mean of one arm's cells; those to be seen first are worth 1.

    Parameters
    ----------
    n, s
        Rewards and their sum by cell.
    streaks
        How many of the cells are streaks.
    profit
        Later plays that would profit from a look at any one state; fewer do after a rest that is
        longer than ``arms`` in turn have, by as much as it is longer.
    stays
        How likely states of an arm pay alike, of :func:`stays_of`.
    hazards
        How likely each hazard is beforehand, and then how likely it is after all.
    values, means
        What to fill in. The values there are, such as those of last time, are where the search for
        the new ones starts; the closer they are the sooner it ends.
    """
    places, states = np.empty(n.size, np.int64), 0
    count, total = np.zeros(n.size + 1), np.zeros(n.size + 1)  # over the states seen
    for place in range(n.size):
        cell = _cell_at(place, streaks)
        if n[cell] > 0.0:
            count[states + 1] = count[states] + n[cell]
            total[states + 1] = total[states] + min(max(s[cell], 0.0), n[cell])
            places[states] = place
            states += 1
    if states == 0:
        values[: n.size] = 1.0
        return
    seen, count, total = places[:states], count[: states + 1], total[: states + 1]
    even = max(_EVEN_RESTS, arms - _TURNS)
    likely = segment_likelihoods(count, total)
    weights, hazards[:] = segment_weights(likely, seen, stays, hazards)
    pay, deviation = _components(count, total)
    together = _segments_of(weights)
    around, after = together.copy(), 0
    parts = np.empty((4, (states + 1) ** 2 + 1))
    for place in range(n.size):
        cell, rest = _cell_at(place, streaks), place - streaks + 1
        known = n[cell] > 0.0
        if not known and (rest <= _CURIOUS or after == 0):
            values[cell] = 1.0  # longer streaks than were ever seen tell nothing
            continue
        alone = _ALONE * min(1.0, even / max(rest, 1)) ** 2
        later = profit / max(1.0, (rest + 1) / arms) / (1.0 + _TAUGHT * n[cell])
        low, high, shares = after, after, around
        if known:
            high, shares = after + 1, together
        else:
            _around(weights, stays, seen, place, after, around)
        mean = 0.0
        for i in range(low + 1):
            for j in range(high, states + 1):
                mean += shares[i, j] * pay[i, j]
        shares[low, high] += alone
        kept = _keep_parts(
            shares, pay, deviation, count, total, likely, low, high, later, mean, parts
        )
        shares[low, high] -= alone
        start = values[cell] if mean < values[cell] < 1.0 else mean
        means[cell] = mean
        values[cell] = _solve(mean, start, parts[0], parts[1], parts[2], parts[3], kept)
        if known:
            around[after] = together[after]
            after = high


@jit
def stays_of(cells: int, streaks: int, arms: int) -> FloatArray:
    """Return by hazard how likely an arm's states pay alike, up to so many cells."""
    return staying(np.array(HAZARDS), cells, streaks, max(_EVEN_RESTS, arms - _TURNS))


@jit
def believe_arms(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    depths: NDArray[np.int64],
    profit: float,
    again: NDArray[np.bool_],
    hazards: FloatArray,
    values: FloatArray,
) -> None:
    """Fill in the rows of the arms ``again``: the index of each cell, 1 where it is to be seen.

    Also how likely each hazard is for each of them, nothing for an arm never seen; what is there of
    the others is what is known beforehand.
    """
    arms = n.shape[0]
    means, stays = np.empty(n.shape[1]), stays_of(n.shape[1], streaks, arms)
    for arm in range(arms):
        if again[arm]:
            cells, own = streaks + depths[arm], hazards[arm]
            own[:] = 0.0
            own += (hazards.sum(axis=0) + _ALIKE / own.size) / (hazards.sum() + _ALIKE)
            seen = n[arm, :cells], s[arm, :cells]
            believe(*seen, streaks, profit, arms, stays, own, values[arm], means)
            if not n[arm, :cells].any():
                own[:] = 0.0


def believe_reference(
    n: FloatArray,
    s: FloatArray,
    streaks: int,
    profit: float,
    arms: int,
    hazards: Sequence[float],
) -> tuple[FloatArray, FloatArray]:
    """Say what :func:`believe` means, by enumeration, exact distributions and bisection.

    Returns the index and the mean of each cell, 1 and NaN where it is to be seen first.
    """
    from scipy.stats import beta

    values, means = np.ones(n.size), np.full(n.size, np.nan)
    if not n.any():
        return values, means
    axis = [*range(streaks - 1, -1, -1), *range(streaks, n.size)]
    even = max(_EVEN_RESTS, arms - _TURNS)
    weights, _ = segment_weights_reference(n[axis], s[axis], HAZARDS, hazards, streaks, 0, even)
    for p, cell in enumerate(axis):
        rest = p - streaks + 1
        if n[cell] == 0 and rest <= _CURIOUS:
            continue
        parts = [
            (weights[i, j], n[axis[i : j + 1]].sum(), s[axis[i : j + 1]].sum())
            for i, j in product(range(p + 1), range(p, n.size))
        ]
        mean = sum(weight * (1 + hits) / (2 + seen) for weight, seen, hits in parts)
        parts.append((_ALONE * min(1.0, even / max(rest, 1)) ** 2, n[cell], s[cell]))
        weight, seen, hits = np.array(parts).T
        a, b = 1 + hits, 1 + seen - hits
        scale = profit / max(1.0, (rest + 1) / arms) * weight / (1 + _TAUGHT * n[cell])
        low, high = mean, 1.0
        for _ in range(40):
            u = 0.5 * (low + high)
            more = a / (a + b) * beta.sf(u, a + 1, b) - u * beta.sf(u, a, b)
            low, high = (u, high) if scale @ more > u - mean else (low, u)
        values[cell], means[cell] = low, mean
    return values, means
