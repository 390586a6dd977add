"""Replay: what a rotation or a policy would have earned, from a log that knows its own chances.

An event stands for the rounds in which its arm was in the same state but might not have been
played: it counts ``1 / propensity`` times. A target visits arms in states; each visit is valued by
the log's events with the same arm and state, and by nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_whole
from lastswitch._utils.extras import load_extra
from lastswitch._utils.intervals import Interval
from lastswitch._utils.random import stream
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs.armfit import FitRules, check_rules
from lastswitch.logs.counts import GROUPS, arm_order, check_tables, column_of
from lastswitch.logs.cycles import cycle_cells, rounds_of
from lastswitch.logs.reading import EventLog, LogOptions
from lastswitch.logs.source import LogLike
from lastswitch.model.states import column

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

    from lastswitch.planning.plan import Plan

#: An arm (by name) and a column of :class:`~lastswitch.logs.counts.Counts`.
Cell = tuple[str, int]

# The sum of 1 / propensity must come near the number of rounds it stands for.
_OFF, _SURE = 0.25, 4.0
_CHUNK = 100


class Depth(NamedTuple):
    """How deep states are told apart; beyond, they are one."""

    rest: int
    streak: int


@dataclass(frozen=True)
class Replay:
    """What a target would have earned per round, by two estimators.

    ``ips`` (inverse propensity) divides by the rounds a state was stood in: unbiased, more noisy.
    ``snips`` (self-normalised) divides by the weights themselves: a little biased, steadier.
    ``effective`` is what the matched events are worth as equally weighted ones.
    """

    ips: Interval
    snips: Interval
    log: Interval
    matched: int
    effective: float
    cells: int
    level: float

    def __str__(self) -> str:
        return (
            f"inverse propensity {self.ips:.4f}, self-normalised {self.snips:.4f}, "
            f"the log itself {self.log:.4f} ({self.level:.0%} intervals); "
            f"{self.matched:,} matched events, worth {self.effective:,.0f}, in {self.cells} states"
        )


def replay(
    log: LogLike | EventLog,
    target: Plan | Sequence[int] | Sequence[str] | Any,
    *,
    max_rest: int = 60,
    max_streak: int = 20,
    min_events: int = 20,
    rounds: int = 1000,
    level: float = 0.95,
    draws: int = 500,
    seed: int = 0,
    **how: Unpack[LogOptions],
) -> Replay:
    """Value a rotation, repeated for ever, or ``rounds`` rounds of a policy, on a log.

    Parameters
    ----------
    log
        The log, or an :class:`lastswitch.logs.EventLog`, which also says how it is read.
    target
        A plan, arms to repeat (by name, or by number in the order of the log's arms), or a fresh
        policy with ``ask`` and ``tell``. A policy is told rewards drawn from the log's own
        weighted means to learn which states it visits; those visits are then valued.
    min_events
        A state the target visits must have at least this many events; otherwise the log cannot
        support the answer, and says so.
    **how
        Parameters of :class:`lastswitch.logs.EventLog`. ``propensity`` is needed: the column with
        the chance the arm of each event had of being played.

    Examples
    --------
    >>> import lastswitch as ls
    >>> truth = ls.Bandit([([0.9], [0.0]), ([0.3], [0.3])], names=["jazz", "talk"])
    >>> log = ls.logs.simulate(truth, subjects=200, rounds=50, seed=1)
    >>> found = replay(log, ["jazz", "talk"], propensity="propensity")
    >>> found.snips.low < 0.6 < found.snips.high
    True
    """
    check_rules(FitRules(level, min_events))
    check_tables(0, max_rest, max_streak)
    check_whole("rounds", rounds, 1, LogError)
    request, depth = EventLog.of(log, how), Depth(max_rest, max_streak)
    if not isinstance(request.propensity, str):
        raise InputTypeError(
            f"propensity must be the name of a column, got {request.propensity!r}."
        )
    with request.open("reward", "propensity") as reading:
        states, source = reading.states(reading.rules.seed or 0), reading.source
        if request.every is not None:
            _refuse_crowded_rounds(states, source.connection)
        sums = _weighted_sums(states, source.connection, depth)
        visits = _visits(target, sums, min_events, rounds, seed)
        sums.require(visits, min_events)
        stood = _rounds_stood(states, source.connection, depth, list(visits))
    return _valued(visits, sums, stood, level, draws, seed)


@dataclass(frozen=True)
class _Sums:
    """By group of subjects and cell: events, weights, weighted rewards, squared weights."""

    names: list[str]
    index: dict[Cell, int]
    table: FloatArray  # (4, groups, cells)
    log: tuple[FloatArray, FloatArray]  # events and rewards of the whole log, by group
    binary: bool
    depth: Depth

    def mean(self, cell: Cell) -> float:
        _, weight, paid, _ = self.table[:, :, self.index[cell]].sum(axis=1)
        return float(paid / weight)

    def events(self, cell: Cell) -> int:
        return int(self.table[0, :, self.index[cell]].sum()) if cell in self.index else 0

    def require(self, visits: Counter[Cell], least: int) -> None:
        thin = [cell for cell in visits if self.events(cell) < least]
        if thin:
            listed = "; ".join(
                f"{_name(cell, self.depth)} ({self.events(cell)} events)" for cell in thin[:5]
            )
            raise LogError(
                f"the log cannot support this: fewer than {least} events in {len(thin)} of "
                f"{len(visits)} visited states: {listed}. Choose a target closer to what was "
                "played, or collect more."
            )


def _name(cell: Cell, depth: Depth) -> str:
    arm, place = cell
    if place == 0:
        return f"{arm!r} on its first play"
    if place <= depth.rest:
        more = " or more" if place == depth.rest else ""
        return f"{arm!r} after {place}{more} rounds of rest"
    more = " or more" if place == depth.rest + depth.streak else ""
    return f"{arm!r} after {place - depth.rest}{more} plays in a row"


def subject_group(subject: Column) -> Column:
    """Return the group each subject is dealt into, from 0 to ``GROUPS - 1``."""
    # Engines hash to signed numbers; the second remainder makes every group non-negative.
    return ((subject.hash() % GROUPS + GROUPS) % GROUPS).cast("int64")


def resamples(groups: int, draws: int, seed: int) -> FloatArray:
    """Return how often each group is drawn: once in the first row, which is the log itself."""
    check_whole("draws", draws, 1, LogError)
    check_whole("seed", seed, 0, LogError)
    rng = stream(seed, "logs", "gain")
    drawn = rng.multinomial(groups, np.full(groups, 1 / groups), size=draws)
    return np.vstack([np.ones(groups), drawn])


def interval_of(values: FloatArray, level: float) -> Interval:
    """Return the first value, the log's own, with the interval of the resampled others."""
    tail = (1 - level) / 2
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return Interval(float(values[0]), float(low), float(high))


def _weighted_sums(states: Table, connection: Any, depth: Depth) -> _Sums:
    ibis = load_extra("ibis", "logs")
    known = states.filter(states.reward.notnull())
    weight = 1.0 / known.propensity
    cells = (
        known.mutate(
            group=subject_group(known.subject),
            column=column_of(known, *depth),
            weight=weight,
            paid=weight * known.reward,
        )
        .group_by(["group", "arm", "column"])
        .aggregate(
            events=ibis._.count(),
            weight=ibis._.weight.sum(),
            paid=ibis._.paid.sum(),
            squared=(ibis._.weight * ibis._.weight).sum(),
            total=ibis._.reward.sum(),
            squares=(ibis._.reward * ibis._.reward).sum(),
        )
    )
    found = connection.to_pyarrow(cells).to_pydict()
    names = arm_order(sorted(set(found["arm"])))
    keys = list(zip(found["arm"], found["column"], strict=True))
    index = {cell: place for place, cell in enumerate(dict.fromkeys(keys))}
    table = np.zeros((4, GROUPS, len(index)))
    place = [index[cell] for cell in keys]
    for row, name in enumerate(("events", "weight", "paid", "squared")):
        table[row, found["group"], place] = found[name]
    group = np.array(found["group"])
    log = tuple(
        np.bincount(group, np.array(found[name], dtype=float), minlength=GROUPS)
        for name in ("events", "total")
    )
    binary = bool(np.allclose(found["total"], found["squares"]))
    return _Sums(names, index, table, log, binary, depth)  # type: ignore[arg-type]


def _visits(target: Any, sums: _Sums, least: int, rounds: int, seed: int) -> Counter[Cell]:
    """Count the visits of the target to every arm and state."""
    if hasattr(target, "ask"):
        return _policy_visits(target, sums, least, rounds, seed)
    cells = cycle_cells(rounds_of(target, sums.names))
    return Counter((sums.names[arm], 1 + column(tau, *sums.depth)) for arm, tau in cells)


def _policy_visits(policy: Any, sums: _Sums, least: int, rounds: int, seed: int) -> Counter[Cell]:
    rng = stream(seed, "logs", "replay")
    visits: Counter[Cell] = Counter()
    last: dict[int, int] = {}
    run = 0
    for now in range(rounds):
        pull = policy.ask()
        arm = int(pull.arm)
        if not 0 <= arm < len(sums.names):
            raise LogError(f"the policy asked for arm {arm}; the log has {len(sums.names)} arms.")
        gap = now - last[arm] if arm in last else None
        run = run + 1 if gap == 1 else 0
        tau = 0 if gap is None else (-run if run else gap - 1)
        cell = (sums.names[arm], 1 + column(tau, *sums.depth) if tau else 0)
        sums.require(Counter([cell]), least)
        visits[cell] += 1
        last[arm] = now
        mean = sums.mean(cell)
        policy.tell(pull.id, float(rng.random() < mean) if sums.binary else mean)
    return visits


def _rounds_stood(
    states: Table, connection: Any, depth: Depth, cells: list[Cell]
) -> dict[Cell, FloatArray]:
    """Count, by group, the rounds in which each arm stood in each state, played or not."""
    stood: dict[Cell, FloatArray] = {}
    for begin in range(0, len(cells), _CHUNK):
        chosen = cells[begin : begin + _CHUNK]
        counted = connection.to_pyarrow(_standing(states, depth, chosen)).to_pydict()
        for place, cell in enumerate(chosen):
            stood[cell] = np.zeros(GROUPS)
            stood[cell][counted["group"]] = counted[f"cell{place}"]
    return stood


def _standing(states: Table, depth: Depth, cells: list[Cell]) -> Table:
    """Look at every round from each arm's side: when last played, and since when in a row."""
    ibis = load_extra("ibis", "logs")
    rounds = states
    before = ibis.window(group_by=rounds.subject, order_by=rounds["round"], rows=(None, -1))
    arms = list(dict.fromkeys(arm for arm, _ in cells))
    empty = ibis.null("int64")
    marks = {}
    for number, arm in enumerate(arms):
        mine = rounds.arm == arm
        marks[f"last{number}"] = ibis.ifelse(mine, rounds["round"], empty).max().over(before)
        starts = mine & rounds.fresh
        marks[f"begin{number}"] = ibis.ifelse(starts, rounds["round"], empty).max().over(before)
    seen = rounds.mutate(group=subject_group(rounds.subject), **marks)
    sums = {}
    for place, (arm, wanted) in enumerate(cells):
        last, begin = (seen[f"{mark}{arms.index(arm)}"] for mark in ("last", "begin"))
        gap = seen["round"] - last
        at = ibis.cases(
            (last.isnull(), 0),
            (gap > 1, ibis.least(gap - 1, depth.rest)),
            else_=depth.rest + ibis.least(last - begin + 1, depth.streak),
        )
        sums[f"cell{place}"] = (at == wanted).cast("int64").sum()
    return seen.group_by("group").aggregate(**sums)


def _refuse_crowded_rounds(states: Table, connection: Any) -> None:
    """Refuse two plays of a subject in one round: a chance is that of a single choice."""
    crowd = states.group_by(["subject", "round"]).aggregate(plays=states.events.sum())
    most = connection.to_pyarrow(crowd.aggregate(most=crowd.plays.max())).to_pylist()[0]["most"]
    if most > 1:
        raise LogError(
            f"a subject has {most} events in one round, so their propensities are of no single "
            "choice; use shorter rounds, or every=None to make each event a round."
        )


def _valued(
    visits: Counter[Cell],
    sums: _Sums,
    stood: dict[Cell, FloatArray],
    level: float,
    draws: int,
    seed: int,
) -> Replay:
    place = [sums.index[cell] for cell in visits]
    share = np.array([visits[cell] for cell in visits], dtype=float)
    share /= share.sum()
    events, weight, paid, squared = sums.table[:, :, place]
    rounds = np.stack([stood[cell] for cell in visits], axis=1)
    _check_propensities(weight, rounds)
    draw = resamples(GROUPS, draws, seed)
    ips = _ratio(draw @ paid, draw @ rounds) @ share
    snips = _ratio(draw @ paid, draw @ weight) @ share
    log = draw @ sums.log[1] / np.maximum(draw @ sums.log[0], 1.0)
    return Replay(
        interval_of(ips, level),
        interval_of(snips, level),
        interval_of(log, level),
        int(events.sum()),
        float(weight.sum() ** 2 / squared.sum()),
        len(visits),
        level,
    )


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, taking the log's own ratio where a resample left a state empty."""
    whole = above[0] / below[0]
    return np.where(below > 0, above / np.maximum(below, 1e-300), whole)


def _check_propensities(weight: FloatArray, rounds: FloatArray) -> None:
    """Refuse propensities that contradict how often arms were played where they stood."""
    by_group = weight.sum(axis=1) - rounds.sum(axis=1)
    ratio = float(weight.sum() / rounds.sum())
    error = float(np.sqrt(np.sum((by_group - by_group.mean()) ** 2)) / rounds.sum())
    if abs(ratio - 1) > max(_OFF, _SURE * error):
        raise LogError(
            f"the propensities cannot be right: in the states visited, 1 / propensity adds up to "
            f"{weight.sum():,.0f}, but the arms stood there in {rounds.sum():,.0f} rounds; a "
            "propensity is the chance, at that moment, of the arm that was played."
        )
