"""From counts to values: means with intervals, sparse states pooled, streaks made to fall.

What is *seen* in a state (its mean and interval) and what the curve *uses* there (its value) are
kept apart: a pooled or levelled value never hides the state's own mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lastswitch.intervals import Interval
from lastswitch.logs.counts import Floats, Tally

#: Rows ``begin, end`` (end excluded): the states that one state is estimated from.
Spans = NDArray[np.int64]

# States deeper than some rest are taken as one when nothing tells them apart at this level.
_ALIKE = 0.01


@dataclass(frozen=True)
class Estimate:
    """What the log says about one arm in one state.

    ``mean``, ``low`` and ``high`` are of the events of the state itself, or, where it has too few,
    of all states from ``pooled[0]`` to ``pooled[1]``. ``value`` is what the curve uses. ``tau`` is
    None for "never played before".
    """

    tau: int | None
    events: int
    mean: float
    low: float
    high: float
    value: float
    pooled: tuple[int, int] | None = None


def interval(tally: Tally, level: float, binary: bool) -> Interval:
    """Return the mean of the rewards in ``tally`` (one entry per group of subjects).

    Wilson's interval for rewards of 0 and 1, Student's for others. Rewards of one subject may be
    alike, which makes many events worth fewer: the variance between groups of subjects gives a
    design effect, and the number of events is divided by it where it is above one.

    Examples
    --------
    >>> ones = np.ones(50)
    >>> found = interval(Tally(4 * ones, 2 * ones, 2 * ones), 0.95, binary=True)
    >>> round(found.mean, 3), round(found.low, 2), round(found.high, 2)
    (0.5, 0.43, 0.57)
    """
    from scipy.special import stdtrit

    events, total = float(tally.events.sum()), float(tally.total.sum())
    if events == 0:
        return Interval(float("nan"), 0.0, 1.0, float("nan"))
    mean = min(max(total / events, 0.0), 1.0)
    spread = max(float(tally.squares.sum()) / events - mean**2, 0.0)
    groups = int(np.count_nonzero(tally.events))
    effect = _design_effect(tally, mean, spread)
    worth = events / effect
    quantile = float(stdtrit(groups - 1 if groups > 1 else max(events, 2), (1 + level) / 2))
    if binary or spread == 0.0:  # identical rewards say nothing of their spread: Wilson does
        centre = (mean + quantile**2 / (2 * worth)) / (1 + quantile**2 / worth)
        half = (quantile / (1 + quantile**2 / worth)) * np.sqrt(
            mean * (1 - mean) / worth + quantile**2 / (4 * worth**2)
        )
        smoothed = (total + 0.5) / (events + 1)  # keeps the error of an all-zero state above 0
        error = np.sqrt(smoothed * (1 - smoothed) / worth) if binary else 0.0
    else:
        centre = mean
        error = np.sqrt(spread / max(worth - 1, 1.0))
        half = quantile * error
    # Rounding must not put the mean outside its own interval.
    low, high = min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)
    return Interval(mean, float(low), float(high), float(error))


def _design_effect(tally: Tally, mean: float, spread: float) -> float:
    groups = int(np.count_nonzero(tally.events))
    events = float(tally.events.sum())
    if groups < 2 or spread <= 0.0 or events <= groups:
        return 1.0
    residual = tally.total - mean * tally.events
    clustered = groups / (groups - 1) * float(np.sum(residual**2)) / events**2
    return max(clustered / (spread / events), 1.0)


def pool_sparse(events: Floats, least: int) -> Spans:
    """Say which states each state is estimated from, as rows ``begin, end`` (end excluded).

    A state with at least ``least`` events stands alone. Sparser neighbours are joined, in order,
    until they have enough together; what is still too little borrows the next state before it
    (or after), which itself stays as it is.

    Examples
    --------
    >>> pool_sparse(np.array([50.0, 3, 4, 50]), least=5).tolist()
    [[0, 1], [1, 3], [1, 3], [3, 4]]
    >>> pool_sparse(np.array([50.0, 3]), least=5).tolist()
    [[0, 1], [0, 2]]
    """
    size = len(events)
    spans = np.stack([np.arange(size), np.arange(size) + 1], axis=1)
    for begin, end in _sparse_runs(events, least):
        cuts, held = [begin], 0.0
        for state in range(begin, end):
            held += events[state]
            if held >= least:
                cuts.append(state + 1)
                held = 0.0
        if len(cuts) == 1:  # not enough together: borrow a neighbour, if there is one
            spans[begin:end] = (begin - 1, end) if begin else (0, min(end + 1, size))
            continue
        cuts[-1] = end  # what is left over joins the last pool
        for low, high in pairwise(cuts):
            spans[low:high] = low, high
    return spans


def _sparse_runs(events: Floats, least: int) -> Iterator[tuple[int, int]]:
    sparse = np.concatenate([[False], events < least, [False]])
    edges = np.flatnonzero(sparse[1:] != sparse[:-1])
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def pool_starts(spans: Spans) -> list[int]:
    """Return the first state of every pool.

    Examples
    --------
    >>> pool_starts(np.array([[0, 1], [1, 3], [1, 3]]))
    [0, 1]
    """
    changes = (spans[1:] != spans[:-1]).any(axis=1)
    return [0, *(np.flatnonzero(changes) + 1).tolist()]


def pooled_sums(spans: Spans, values: Floats) -> Floats:
    """Return the sum of ``values`` over each span, along the last axis.

    Examples
    --------
    >>> pooled_sums(np.array([[0, 1], [0, 2]]), np.array([5.0, 3.0])).tolist()
    [5.0, 8.0]
    """
    start = np.zeros((*values.shape[:-1], 1))
    upto = np.concatenate([start, np.cumsum(values, axis=-1)], axis=-1)
    return np.asarray(upto[..., spans[:, 1]] - upto[..., spans[:, 0]])


def level_tail(spans: Spans, means: Floats, errors: Floats) -> Spans:
    """Join the deepest states that cannot be told apart into one: the curve has levelled off.

    It levels off at the first state from which on all may have the same mean: all together, each
    one against all, and the first against those after it. ``means`` and ``errors`` are per pool.

    Examples
    --------
    >>> spans = np.array([[0, 1], [1, 2], [2, 3]])
    >>> level_tail(spans, np.array([0.1, 0.5, 0.52]), np.full(3, 0.02)).tolist()
    [[0, 1], [1, 3], [1, 3]]
    """
    weight = 1 / np.maximum(errors, 1e-9) ** 2
    level = next(pool for pool in range(len(means)) if _alike(means[pool:], weight[pool:]))
    begin = pool_starts(spans)[level]
    joined = spans.copy()
    joined[begin:] = begin, len(spans)
    return joined


def _alike(means: Floats, weight: Floats) -> bool:
    """Say whether means of the given weights (inverse variances) may all be the same."""
    from scipy.special import chdtrc

    if len(means) == 1:
        return True
    distance = weight * (means - np.average(means, weights=weight)) ** 2
    after = np.average(means[1:], weights=weight[1:])
    first = (means[0] - after) ** 2 / (1 / weight[0] + 1 / weight[1:].sum())
    return bool(
        chdtrc(len(means) - 1, distance.sum()) >= _ALIKE
        and chdtrc(1, distance.max()) >= _ALIKE / len(means)
        and chdtrc(1, first) >= _ALIKE
    )


def falling(values: Floats, weights: Floats) -> Floats:
    """Return the closest nonincreasing values, weighted by events; along the last axis.

    Examples
    --------
    >>> falling(np.array([0.5, 0.2, 0.4]), np.array([1.0, 1.0, 1.0])).round(3).tolist()
    [0.5, 0.3, 0.3]
    """
    from scipy.optimize import isotonic_regression

    weights = np.maximum(weights, 1e-9)
    rows = np.atleast_2d(values)
    fits = [isotonic_regression(row, weights=weights, increasing=False).x for row in rows]
    return np.asarray(fits, dtype=float).reshape(values.shape)


def smoothed(values: Floats, weights: Floats, width: float) -> Floats:
    """Average each value with its neighbours, by events and by a Gaussian ``width`` rounds wide.

    Examples
    --------
    >>> smoothed(np.array([0.0, 1.0, 0.0]), np.ones(3), 0.5).round(2).tolist()
    [0.12, 0.79, 0.12]
    """
    place = np.arange(len(values))
    kernel = np.exp(-0.5 * ((place[:, None] - place) / width) ** 2) * np.maximum(weights, 1e-9)
    return np.asarray(values @ kernel.T / kernel.sum(axis=1))
