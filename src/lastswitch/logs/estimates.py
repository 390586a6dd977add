"""From means to values: intervals, sparse states pooled, long rests levelled, streaks made to fall.

What is *seen* in a state (its mean and interval) and what the curve *uses* there (its value) are
kept apart: a pooled or levelled value never hides the state's own mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.intervals import Interval

#: Rows ``begin, end`` (end excluded): the states that one state is estimated from.
Spans = NDArray[np.int64]

# States deeper than some rest are taken as one when nothing tells them apart at this level.
_ALIKE = 0.003


@dataclass(frozen=True)
class Estimate:
    """What the log says about one arm in one state.

    ``mean``, ``low`` and ``high`` are of the state itself, or, where it has too few events, of all
    states from ``pooled[0]`` to ``pooled[1]``; they are those of the average subject, from
    comparisons within subjects. A state seen too seldom, or by too few, is not ``known``; its
    ``value``, which is what the curve uses, is then the lower end. ``tau`` is None for "never
    played before". ``seen`` are the events of the pool, ``subjects`` the people behind them.
    """

    tau: int | None
    events: int
    mean: float
    low: float
    high: float
    value: float
    pooled: tuple[int, int] | None = None
    known: bool = True
    seen: int = 0
    subjects: int = 0


class Evidence(NamedTuple):
    """What one pool of states rests on: its events, their spread, its subjects and groups."""

    events: float
    spread: float
    subjects: int
    groups: int


def interval(
    mean: float, error: float, evidence: Evidence, level: float, binary: bool, known: bool = True
) -> Interval:
    """Return the interval of a mean with a standard error, kept inside [0, 1].

    Wilson's interval for rewards of 0 and 1, Student's for others. The error says what the events
    are worth as independent ones. Where too little was seen, each subject is worth one event.

    Examples
    --------
    >>> found = interval(0.5, 0.035, Evidence(200, 0.25, 50, 50), 0.95, binary=True)
    >>> round(found.mean, 3), round(found.low, 2), round(found.high, 2)
    (0.5, 0.43, 0.57)
    """
    from scipy.special import stdtrit

    if evidence.events == 0:
        return Interval(float("nan"), 0.0, 1.0)
    mean = min(max(mean, 0.0), 1.0)
    spread = mean * (1 - mean) if binary else evidence.spread
    effect = max(error**2 * evidence.events / spread, 1.0) if spread > 1e-12 else 1.0
    worth = evidence.events / effect
    if not known:
        worth = max(min(worth, float(evidence.subjects)), 1.0)
    freedom = evidence.groups - 1 if evidence.groups > 1 else max(evidence.events, 2)
    quantile = float(stdtrit(freedom, (1 + level) / 2))
    if binary or spread == 0.0 or not known:  # few or identical rewards hide their spread
        centre = (mean + quantile**2 / (2 * worth)) / (1 + quantile**2 / worth)
        half = (quantile / (1 + quantile**2 / worth)) * np.sqrt(
            mean * (1 - mean) / worth + quantile**2 / (4 * worth**2)
        )
    else:
        centre, half = mean, quantile * np.sqrt(spread / max(worth - 1, 1.0))
    # Rounding must not put the mean outside its own interval.
    low, high = min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)
    return Interval(mean, float(low), float(high), error)


def pool_sparse(events: FloatArray, least: int) -> Spans:
    """Say which states each state is estimated from, as rows ``begin, end`` (end excluded).

    A state with at least ``least`` events stands alone. Sparser neighbours are joined, in order,
    until they have enough together; what is still too little stays so, and borrows from nobody.

    Examples
    --------
    >>> pool_sparse(np.array([50.0, 3, 4, 50]), least=5).tolist()
    [[0, 1], [1, 3], [1, 3], [3, 4]]
    >>> pool_sparse(np.array([50.0, 3]), least=5).tolist()
    [[0, 1], [1, 2]]
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
        if len(cuts) == 1:  # not enough, even together
            cuts.append(end)
        cuts[-1] = end  # what is left over joins the last pool
        for low, high in pairwise(cuts):
            spans[low:high] = low, high
    return spans


def _sparse_runs(events: FloatArray, least: int) -> Iterator[tuple[int, int]]:
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


def level_from(means: FloatArray, errors: FloatArray) -> int:
    """Return the first of a row of means from which on all may be the same: it has levelled off.

    They may be if all together, each one against all, and the first against those after it do not
    differ by more than their errors explain.

    Examples
    --------
    >>> level_from(np.array([0.1, 0.5, 0.52]), np.full(3, 0.02))
    1
    """
    weight = 1 / np.maximum(errors, 1e-9) ** 2
    return next(place for place in range(len(means)) if _alike(means[place:], weight[place:]))


def _alike(means: FloatArray, weight: FloatArray) -> bool:
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


def falling(values: FloatArray, weights: FloatArray) -> FloatArray:
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


def kernel(weights: FloatArray, width: float) -> FloatArray:
    """Return the matrix that averages each value with its neighbours.

    By events (``weights``) and by a Gaussian ``width`` rounds wide.

    Examples
    --------
    >>> (kernel(np.ones(3), 0.5) @ np.array([0.0, 1.0, 0.0])).round(2).tolist()
    [0.12, 0.79, 0.12]
    """
    place = np.arange(len(weights))
    near = np.exp(-0.5 * ((place[:, None] - place) / width) ** 2) * np.maximum(weights, 1e-9)
    return np.asarray(near / near.sum(axis=1, keepdims=True))
