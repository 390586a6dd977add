"""One arm's curve from its counts: which states are read together, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from lastswitch.curves import Curve
from lastswitch.intervals import Interval
from lastswitch.logs.counts import Counts, Floats, Tally
from lastswitch.logs.estimates import (
    Estimate,
    Spans,
    falling,
    interval,
    level_tail,
    pool_sparse,
    pool_starts,
    pooled_sums,
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

    rest: Spans
    streak: Spans
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
    rested = _seen_side(groups, slice(1, 1 + counts.rest), rules, binary)
    repeated = _seen_side(groups, slice(1 + counts.rest, counts.width), rules, binary)
    overall = np.full(counts.width, total.sum() / events.sum())
    shape = Shape(rested.levelled, repeated.levelled, events, counts.rest, rules.smooth, overall)
    rest, streak = shape.rest_values(events, total), shape.streak_values(events, total)
    kept = overall.copy()
    for begin, side, values in ((1, rested, rest), (1 + counts.rest, repeated, streak)):
        kept[begin : begin + len(side.spans)] = values[: len(side.spans)]
    first = interval(_picked(groups, 0, 1), rules.level, binary)
    sides: tuple[Side, Side] = ("rest", "streak")
    return ArmFit(
        counts.names[arm],
        _trimmed(rest, streak),
        Estimate(None, int(events[0]), first.mean, first.low, first.high, first.mean),
        _estimates(1, rested, rest),
        _estimates(-1, repeated, streak),
        tuple(name for name, side in zip(sides, (rested, repeated), strict=True) if not side.seen),
        replace(shape, fallback=kept),
    )


class _Seen(NamedTuple):
    """One side of an arm: events by state, pools, what is seen in each, pools once levelled."""

    events: Floats
    spans: Spans
    seen: list[Interval]
    levelled: Spans


def _seen_side(groups: Tally, columns: slice, rules: FitRules, binary: bool) -> _Seen:
    """Pool the sparse states of one side, down to the deepest that has events."""
    side = Tally(*(table[:, columns] for table in groups))
    events = side.events.sum(axis=0)
    depth = int(np.flatnonzero(events)[-1]) + 1 if events.any() else 0
    spans = pool_sparse(events[:depth], rules.min_events)
    if not depth:
        return _Seen(events[:0], spans, [], spans)
    starts = pool_starts(spans)
    pools = [interval(_picked(side, *spans[at]), rules.level, binary) for at in starts]
    means, errors = np.array([(pool.mean, pool.error) for pool in pools]).T
    lengths = np.diff([*starts, depth])
    seen = [pool for pool, many in zip(pools, lengths, strict=True) for _ in range(many)]
    return _Seen(events[:depth], spans, seen, level_tail(spans, means, errors))


def _picked(groups: Tally, begin: int, end: int) -> Tally:
    return Tally(*(table[:, begin:end].sum(axis=1) for table in groups))


def _pooled(spans: Spans, events: Floats, total: Floats, fallback: Floats) -> Floats:
    many = pooled_sums(spans, events)
    return np.where(many > 0, pooled_sums(spans, total) / np.maximum(many, 1.0), fallback)


def _trimmed(rest: Floats, streak: Floats) -> Curve:
    """Return the curve without the flat ends of its tables, to six digits."""
    curve = Curve(rest.round(6), streak.round(6))
    support = curve.support()
    return Curve(curve.rest[: support.rest], curve.streak[: support.streak])


def _estimates(sign: int, side: _Seen, values: Floats) -> tuple[Estimate, ...]:
    return tuple(
        Estimate(
            sign * state,
            int(events),
            found.mean,
            found.low,
            found.high,
            float(value),
            (sign * (int(begin) + 1), sign * int(end)) if end - begin > 1 else None,
        )
        for state, (events, found, value, (begin, end)) in enumerate(
            zip(side.events, side.seen, values, side.spans, strict=False), start=1
        )
    )
