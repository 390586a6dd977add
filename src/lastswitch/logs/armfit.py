"""One arm's curve from its counts: which states are read together, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_positive, check_whole, is_number
from lastswitch._utils.intervals import Interval
from lastswitch._utils.spelling import spelled
from lastswitch.errors import LogError
from lastswitch.logs.counts import Counts
from lastswitch.logs.estimates import (
    Estimate,
    Evidence,
    Spans,
    falling,
    interval,
    kernel,
    level_from,
    pool_sparse,
    pool_starts,
)
from lastswitch.logs.within import Fitted, Strata, fit_within, strata_of
from lastswitch.model.curves import Curve
from lastswitch.model.states import column

Side = Literal["rest", "streak"]
#: The pool of every column, -1 for a column without events.
Pooling = NDArray[np.int64]

#: A level that held from some depth to twice that depth, and to this one, is taken to hold on.
HOLDS_ON = 6


class FitRules(NamedTuple):
    """How counts become curves.

    A pool of states is known from ``min_events`` events of ``min_subjects`` subjects on. Where the
    order of events is not known, rests up to ``blurred`` rounds are not told apart, nor are
    streaks.
    """

    level: float = 0.95
    min_events: int = 30
    min_subjects: int = 5
    smooth: float | None = None
    blurred: int = 0


def check_rules(rules: FitRules) -> None:
    """Refuse rules under which no counts can be fitted."""
    check_whole("min_events", rules.min_events, 1, LogError)
    check_whole("min_subjects", rules.min_subjects, 1, LogError)
    check_whole("blurred", rules.blurred, 0, LogError)
    if not (is_number(rules.level) and 0 < rules.level < 1):
        raise LogError(
            f"{spelled('level')} must lie strictly between 0 and 1, got {rules.level!r}.",
            parameter="level",
        )
    if rules.smooth is not None:
        check_positive("smooth", rules.smooth, LogError)


@dataclass(frozen=True)
class ArmFit:
    """What the log says about one arm.

    ``first`` is its first play ever, kept apart. ``curve`` is what planning uses: states that are
    not known pay their lower bound there, and so does what lies beyond the deepest known state,
    unless the curve has levelled off well before it. ``unseen`` names the sides without one known
    state.
    """

    name: str
    curve: Curve
    first: Estimate
    rest: tuple[Estimate, ...]
    streak: tuple[Estimate, ...]
    unseen: tuple[Side, ...]
    holds: tuple[Side, ...]

    @property
    def events(self) -> int:
        """Rewards counted, first plays included."""
        return self.first.events + self.repeats

    @property
    def repeats(self) -> int:
        """Rewards counted after the first play: all that can tell of rest and repetition."""
        return sum(e.events for e in (*self.rest, *self.streak))

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every state with its numbers, from the longest streak to the longest rest."""
        return (*reversed(self.streak), *self.rest)

    @property
    def known_rest(self) -> int:
        """The longest rest that is known, 0 for none."""
        return max((state.tau for state in self.rest if state.known and state.tau), default=0)

    def at(self, tau: int) -> Estimate | None:
        """Return the estimate behind the curve at ``tau``; None beyond what was ever seen.

        Where a side holds on, that is its deepest known state.
        """
        side, named = (self.rest, "rest") if tau > 0 else (self.streak, "streak")
        if abs(tau) <= len(side):
            return side[abs(tau) - 1]
        deepest = [state for state in side if state.known]
        return deepest[-1] if named in self.holds and deepest else None


class Pays(NamedTuple):
    """What each state of one side pays, and how each group of subjects pulls at it.

    ``pulls`` has shape (groups, states); a state that is not known pays its lower bound, at which
    nobody pulls.
    """

    values: FloatArray
    pulls: FloatArray
    known: NDArray[np.bool_]


class ArmReading(NamedTuple):
    """A fitted arm with the errors of its values, group by group.

    ``pools`` are the columns read together for lack of events alone, ``shape`` the means of those;
    ``endless`` are the columns of the level in which streaks end, none if it is not known.
    """

    fit: ArmFit
    rest: Pays
    streak: Pays
    shape: Fitted
    pools: Pooling
    endless: NDArray[np.int64]
    depth: int

    def column(self, tau: int) -> int:
        """Return the column that stands for ``tau``: beyond the deepest seen, the deepest."""
        deepest = max(len((self.rest if tau > 0 else self.streak).values), 1)
        return 1 + column(max(min(tau, deepest), -deepest), self.depth, deepest)

    def pulls_at(self, tau: int) -> FloatArray:
        """Return how each group of subjects pulls at what ``tau`` pays; nobody where not known."""
        side = self.rest if tau > 0 else self.streak
        known = np.flatnonzero(side.known)
        if not len(known) or not self.known_at(tau):
            return np.zeros(len(side.pulls))
        return np.asarray(side.pulls[:, min(abs(tau) - 1, known[-1])])

    def known_at(self, tau: int) -> bool:
        """Say whether the log knows the state ``tau``, or a level that holds on to it."""
        side, name = (self.rest, "rest") if tau > 0 else (self.streak, "streak")
        if abs(tau) <= len(side.known):
            return bool(side.known[abs(tau) - 1])
        return name in self.fit.holds


def fit_arm(counts: Counts, arm: int, rules: FitRules, binary: bool) -> ArmFit:
    """Fit one arm's curve to its counts."""
    return read_arm(counts, arm, rules, binary).fit


def read_arm(counts: Counts, arm: int, rules: FitRules, binary: bool) -> ArmReading:
    """Fit one arm's curve to its counts, and keep how sure every value is."""
    strata = strata_of(counts, arm)
    events = counts.pooled.events[arm]
    rest_spans, streak_spans = (
        _pools(events[begin : begin + size], rules.min_events)
        for begin, size in ((1, counts.rest), (1 + counts.rest, counts.streak))
    )
    alone = _pooling(counts, rest_spans, streak_spans)
    seen = fit_within(strata, alone, int(alone.max()) + 1)
    pools = [
        _seen(strata, counts, arm, alone, number, seen, rules, binary)
        for number in range(int(alone.max()) + 1)
    ]
    split = 1 + len(_starts(rest_spans))
    rest_level = _levelled(rest_spans, pools[1:split], seen, 1)
    streak_level = _levelled(streak_spans, pools[split:], seen, split)
    joined = _pooling(counts, rest_level, streak_level)
    used = fit_within(strata, joined, int(joined.max()) + 1)
    rested = _side(counts, arm, 1, rest_spans, rest_level, pools[1:split], used, joined)
    repeated = _side(
        counts, arm, 1 + counts.rest, streak_spans, streak_level, pools[split:], used, joined
    )
    rest = _smooth(rested, events[1:], rules.smooth)
    streak = _fall(repeated, events[1 + counts.rest :])
    sides: tuple[tuple[Side, Pays, Spans, int], ...] = (
        ("rest", rest, rest_level, counts.rest),
        ("streak", streak, streak_level, counts.streak),
    )
    holds = tuple(name for name, pays, level, deep in sides if _holds_on(pays, level, deep))
    unseen = tuple(name for name, pays, _, _ in sides if not pays.known.any())
    first = pools[0]
    fitted = ArmFit(
        counts.names[arm],
        _curve(rest, streak, holds),
        Estimate(
            None,
            int(events[0]),
            *first.interval[:3],
            first.interval.mean,
            None,
            first.known,
            int(events[0]),
            first.evidence.subjects,
        ),
        _estimates(1, events[1:], rest_spans, pools[1:split], rest),
        _estimates(-1, events[1 + counts.rest :], streak_spans, pools[split:], streak),
        unseen,
        holds,
    )
    last = np.flatnonzero(streak.known)[-1:]  # the deepest known streak, if there is one
    endless = np.concatenate([np.arange(*streak_level[at]) for at in last] or [last])
    return ArmReading(fitted, rest, streak, seen, alone, 1 + counts.rest + endless, counts.rest)


class _Pool(NamedTuple):
    """One pool: what it rests on, its mean and interval, and whether that is enough."""

    evidence: Evidence
    interval: Interval
    known: bool


def _pools(events: FloatArray, least: int) -> Spans:
    """Pool the sparse states of one side, down to the deepest that has events."""
    depth = int(np.flatnonzero(events)[-1]) + 1 if events.any() else 0
    return pool_sparse(events[:depth], least)


def _starts(spans: Spans) -> list[int]:
    return pool_starts(spans) if len(spans) else []


def _pooling(counts: Counts, rest: Spans, streak: Spans) -> Pooling:
    """Return the pool of every column: 0 for first plays, then the rests', then the streaks'."""
    pool = np.full(counts.width, -1, dtype=np.int64)
    pool[0], number = 0, 0
    for begin, spans in ((1, rest), (1 + counts.rest, streak)):
        starts = set(_starts(spans))
        for state in range(len(spans)):
            number += state in starts
            pool[begin + state] = number
    return pool


def _seen(
    strata: Strata,
    counts: Counts,
    arm: int,
    pool: Pooling,
    number: int,
    fitted: Fitted,
    rules: FitRules,
    binary: bool,
) -> _Pool:
    """Say what one pool rests on, and whether it is enough."""
    columns = np.flatnonzero(pool == number)
    events, total, squares = (float(table[arm, columns].sum()) for table in counts.pooled)
    mine = np.isin(strata.column, columns)
    people = np.unique(strata.who[mine])
    mean = total / events if events else 0.0
    evidence = Evidence(
        events,
        max(squares / events - mean**2, 0.0) if events else 0.0,
        len(people),
        int(np.unique(strata.group[people]).size),
    )
    known = events >= rules.min_events and len(people) >= rules.min_subjects
    if rules.blurred and number and (columns.min() <= rules.blurred or columns.min() > counts.rest):
        known = False
    found = interval(
        float(fitted.means[number]),
        float(fitted.errors[number]),
        evidence,
        rules.level,
        binary,
        known,
    )
    return _Pool(evidence, found, known)


def _levelled(spans: Spans, pools: list[_Pool], fitted: Fitted, first: int) -> Spans:
    """Join the deepest known states that cannot be told apart into one."""
    known = [place for place, pool in enumerate(pools) if pool.known]
    if not known:
        return spans
    numbers = np.array(known) + first
    level = known[level_from(fitted.means[numbers], fitted.shape_errors[numbers])]
    starts = [*_starts(spans), len(spans)]
    begin, end = starts[level], starts[known[-1] + 1]
    if _long_level(begin, end):  # what little lies beyond a long level belongs to it
        end = len(spans)
    joined = spans.copy()
    joined[begin:end] = begin, end
    return joined


def _long_level(begin: int, end: int) -> bool:
    return end >= max(2 * (begin + 1), HOLDS_ON)


def _side(
    counts: Counts,
    arm: int,
    begin: int,
    spans: Spans,
    levelled: Spans,
    pools: list[_Pool],
    used: Fitted,
    joined: Pooling,
) -> Pays:
    """Return what every state of one side pays: its (levelled) mean, or its lower bound."""
    size = len(spans)
    starts = _starts(spans)
    place = np.searchsorted(starts, np.arange(size), side="right") - 1 if size else np.empty(0, int)
    alone = np.array([pools[at].known for at in place], dtype=bool)
    # A state too thin alone is known where it lies within a levelled stretch of known ones.
    known = alone | (levelled != spans).any(axis=1)
    low = np.array([pools[at].interval.low for at in place])
    number = joined[begin : begin + size]
    values = np.where(known, np.clip(used.means[number], 0.0, 1.0), low)
    return Pays(values, np.where(known, used.pulls[:, number], 0.0), known)


def _smooth(side: Pays, events: FloatArray, width: float | None) -> Pays:
    """Average known neighbours, if asked to."""
    if width is None or not side.known.any():
        return side
    mix = kernel(np.where(side.known, events[: len(side.values)], 0.0), width)
    values = np.where(side.known, mix @ side.values, side.values)
    return Pays(values, np.where(side.known, side.pulls @ mix.T, 0.0), side.known)


def _fall(side: Pays, events: FloatArray) -> Pays:
    """Make a streak fall: levels of the known states that rise are averaged."""
    if not len(side.values):
        return side
    values, pulls = side.values.copy(), side.pulls.copy()
    at = np.flatnonzero(side.known)
    if len(at):
        weights = np.maximum(events[at], 1e-9)
        values[at] = falling(side.values[at], weights)
        same = np.cumsum(np.append(False, values[at][1:] != values[at][:-1]))
        share = (same[:, None] == same) * weights
        pulls[:, at] = side.pulls[:, at] @ (share / share.sum(axis=1, keepdims=True)).T
    return Pays(np.minimum.accumulate(values), pulls, side.known)


def _holds_on(side: Pays, levelled: Spans, deepest: int) -> bool:
    """Say whether a side may be taken to go on as it was last known."""
    if not len(side.known) or not side.known[-1]:
        return False
    begin, end = levelled[-1]
    return bool(end == deepest or _long_level(begin, end))


def _curve(rest: Pays, streak: Pays, holds: tuple[str, ...]) -> Curve:
    """Return the curve for planning, to six digits, without the flat ends of its tables."""
    values = {
        # Beyond what was ever seen nothing is promised.
        name: np.append(side.values, [] if name in holds else [0.0]).round(6)
        for name, side in (("rest", rest), ("streak", streak))
    }
    curve = Curve(values["rest"], values["streak"])
    support = curve.support()
    return Curve(curve.rest[: support.rest], curve.streak[: support.streak])


def _estimates(
    sign: int, events: FloatArray, spans: Spans, pools: list[_Pool], pays: Pays
) -> tuple[Estimate, ...]:
    starts = _starts(spans)
    found = []
    for state, (begin, end) in enumerate(spans.tolist()):
        pool = pools[int(np.searchsorted(starts, state, side="right")) - 1]
        found.append(
            Estimate(
                sign * (state + 1),
                int(events[state]),
                *pool.interval[:3],
                float(pays.values[state]),
                (sign * (begin + 1), sign * end) if end - begin > 1 else None,
                bool(pays.known[state]),
                int(pool.evidence.events),
                pool.evidence.subjects,
            )
        )
    return tuple(found)
