"""One arm's curve from its counts: which states are read together, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from lastswitch.curves import Curve
from lastswitch.logs.counts import Counts, Floats, Tally
from lastswitch.logs.estimates import (
    Bools,
    Estimate,
    Interval,
    falling,
    interval,
    level_tail,
    pool_sparse,
    smoothed,
)

Side = Literal["rest", "streak"]


class FitRules(NamedTuple):
    """How counts become curves."""

    level: float = 0.95
    min_events: int = 30
    smooth: float | None = None


@dataclass(frozen=True)
class Shape:
    """The fixed part of one arm's fit: from these states comes the value of that one.

    Resampling the log changes the sums that go in, not the shape, so every resample is read the
    way the log itself was.
    """

    rest: Bools
    streak: Bools
    weights: Floats
    depth: int
    smooth: float | None
    fallback: Floats

    def rest_values(self, events: Floats, total: Floats) -> Floats:
        """Return the rest table for sums over the arm's columns, or one per row of sums.

        A pool that a resample left empty keeps the value it has in the log (``fallback``).
        """
        size = len(self.rest)
        if not size:  # never seen rested: all there is, is the arm's mean
            many = events.sum(axis=-1, keepdims=True)
            mean = total.sum(axis=-1, keepdims=True) / np.maximum(many, 1.0)
            return np.asarray(np.where(many > 0, mean, self.fallback[0]))
        mine = slice(1, 1 + size)
        values = _pooled(self.rest, events[..., mine], total[..., mine], self.fallback[mine])
        if self.smooth is not None:
            values = smoothed(values, self.weights[mine], self.smooth)
        return np.asarray(np.clip(values, 0.0, 1.0))

    def streak_values(self, events: Floats, total: Floats) -> Floats:
        """Return the streak table, nonincreasing, for sums as in :meth:`rest_values`."""
        size = len(self.streak)
        if not size:  # never seen in a row: count on no more than the arm's worst rest
            return np.asarray(self.rest_values(events, total).min(axis=-1, keepdims=True))
        mine = slice(1 + self.depth, 1 + self.depth + size)
        values = _pooled(self.streak, events[..., mine], total[..., mine], self.fallback[mine])
        return np.clip(falling(values, self.weights[mine]), 0.0, 1.0)


@dataclass(frozen=True)
class ArmFit:
    """What the log says about one arm.

    ``first`` is its first play ever, kept apart. ``assumed`` names the sides no event was seen on:
    a rest side then takes the arm's mean, a streak side its worst rest.
    """

    name: str
    curve: Curve
    first: Estimate
    rest: tuple[Estimate, ...]
    streak: tuple[Estimate, ...]
    assumed: tuple[Side, ...]
    shape: Shape

    @property
    def events(self) -> int:
        """Rewards counted, first plays included."""
        return self.first.events + sum(e.events for e in (*self.rest, *self.streak))

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every state with its numbers, from the longest streak to the longest rest."""
        return (*reversed(self.streak), *self.rest)


def fit_arm(counts: Counts, arm: int, rules: FitRules, binary: bool) -> ArmFit:
    """Fit one arm's curve to its counts."""
    groups = counts.by_group(arm)
    events, total = counts.pooled.events[arm], counts.pooled.total[arm]
    rest_pools, rest_seen = _side(groups, _columns(counts, events, "rest"), rules, binary)
    streak_pools, streak_seen = _side(groups, _columns(counts, events, "streak"), rules, binary)
    overall = total.sum() / events.sum()
    shape = Shape(
        rest_pools,
        streak_pools,
        events,
        counts.rest,
        rules.smooth,
        np.full(counts.width, overall),
    )
    rest, streak = shape.rest_values(events, total), shape.streak_values(events, total)
    kept = shape.fallback.copy()
    kept[1 : 1 + len(rest_pools)] = rest[: len(rest_pools)]
    kept[1 + counts.rest : 1 + counts.rest + len(streak_pools)] = streak[: len(streak_pools)]
    shape = replace(shape, fallback=kept)
    first = interval(_picked(groups, [0]), rules.level, binary)
    return ArmFit(
        counts.names[arm],
        _trimmed(rest, streak),
        Estimate(None, int(events[0]), first.mean, first.low, first.high, first.mean, ()),
        _estimates(1, events[1:], rest, rest_seen, rules, "rest"),
        _estimates(-1, events[1 + counts.rest :], streak, streak_seen, rules, "streak"),
        (*(("rest",) if not rest_seen else ()), *(("streak",) if not streak_seen else ())),
        shape,
    )


def _columns(counts: Counts, events: Floats, side: Side) -> list[int]:
    """Return the columns of one side, down to the deepest that has events."""
    begin, size = (1, counts.rest) if side == "rest" else (1 + counts.rest, counts.streak)
    seen = np.flatnonzero(events[begin : begin + size])
    return list(range(begin, begin + int(seen[-1]) + 1)) if len(seen) else []


def _side(
    groups: Tally, columns: list[int], rules: FitRules, binary: bool
) -> tuple[Bools, list[Interval]]:
    """Return which states are read together, and what is seen in each."""
    if not columns:
        return np.zeros((0, 0), dtype=bool), []
    matrix = pool_sparse(groups.events[:, columns].sum(axis=0), rules.min_events)
    seen: list[Interval] = []
    for state, pool in enumerate(matrix):
        alike = state > 0 and np.array_equal(pool, matrix[state - 1])
        chosen = [columns[place] for place in np.flatnonzero(pool)]
        seen.append(seen[-1] if alike else interval(_picked(groups, chosen), rules.level, binary))
    means, errors = (np.array([getattr(s, field) for s in seen]) for field in ("mean", "error"))
    return level_tail(matrix, means, errors), seen


def _picked(groups: Tally, columns: list[int]) -> Tally:
    return Tally(*(table[:, columns].sum(axis=1) for table in groups))


def _pooled(pools: Bools, events: Floats, total: Floats, fallback: Floats) -> Floats:
    many = events @ pools.T
    return np.where(many > 0, total @ pools.T / np.maximum(many, 1.0), fallback)


def _trimmed(rest: Floats, streak: Floats) -> Curve:
    """Return the curve without the flat ends of its tables, to six digits."""
    curve = Curve(rest.round(6), streak.round(6))
    support = curve.support()
    return Curve(curve.rest[: support.rest], curve.streak[: support.streak])


def _estimates(
    sign: int, events: Floats, values: Floats, seen: list[Interval], rules: FitRules, side: Side
) -> tuple[Estimate, ...]:
    sizes = events[: len(seen)]
    pools = pool_sparse(sizes, rules.min_events)
    return tuple(
        Estimate(
            sign * (place + 1),
            int(sizes[place]),
            found.mean,
            found.low,
            found.high,
            float(values[place]),
            tuple(sign * (int(state) + 1) for state in np.flatnonzero(pools[place])),
        )
        for place, found in enumerate(seen)
    )
