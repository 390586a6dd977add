"""What a part of a cohort leaves: a long table of plays, and a tally that adds up over parts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.extras import load_extra
from lastswitch.model.packed import PackedCurves, pack
from lastswitch.model.states import column, moved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lastswitch.calendars.calendar import Calendar
    from lastswitch.cohorts.problem import CohortProblem
    from lastswitch.cohorts.roster import Roster
    from lastswitch.cohorts.solving import Batch


@dataclass(frozen=True, eq=False)
class Tally:
    """What is counted over subjects: plays of every arm by round, values, and other ways to play.

    ``plays`` is (length, n_arms); ``silent`` (length,) counts rounds without any play. All values
    are weighted, and so is ``played``, the number of plays. ``in_turn`` is what playing the arms
    in turn would pay, and ``alone`` (n_arms,) what playing nothing but one arm would, rules and
    budgets aside.
    """

    subjects: int
    weight: float
    value: float
    bound: float
    plays: IntArray
    silent: IntArray
    played: float
    in_turn: float
    alone: FloatArray

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            *(getattr(self, part.name) + getattr(other, part.name) for part in fields(self))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain values."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in found.items()
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Tally:
        """Return the tally that :meth:`to_dict` wrote."""
        whole, real = ("plays", "silent"), ("alone",)
        arrays = {name: np.array(found[name], np.int64) for name in whole}
        arrays |= {name: np.array(found[name], np.float64) for name in real}
        return cls(**found | arrays)

    @classmethod
    def none(cls, length: int, n_arms: int) -> Tally:
        """Return the tally of nobody."""
        whole = (np.zeros((length, n_arms), np.int64), np.zeros(length, np.int64))
        return cls(0, 0.0, 0.0, 0.0, *whole, 0.0, 0.0, np.zeros(n_arms))


def pays_of(curves: PackedCurves, tau: IntArray, arms: NDArray[np.integer[Any]]) -> FloatArray:
    """Return what plays pay, in the order they are made: (n, length, places), 0 for no play.

    Parameters
    ----------
    curves
        What the arms pay.
    tau
        (n, arms): the states before the first round.
    arms
        (n, length, places): the arms played; -1 for an empty place.

    Examples
    --------
    >>> from lastswitch import Curve
    >>> curves = pack((Curve([0.2, 0.9], [0.1]), Curve([0.4], [0.3])))
    >>> pays_of(curves, np.array([[1, -1]]), np.array([[[0, -1], [1, 0], [1, -1]]])).tolist()
    [[[0.2, 0.0], [0.4, 0.1], [0.3, 0.0]]]
    """
    n, length, places = arms.shape
    state, who = tau.copy(), np.arange(n)[:, None]
    pays = np.zeros(arms.shape)
    for t in range(length):
        played = arms[:, t].astype(np.int64)
        there = played >= 0
        chosen = np.where(there, played, 0)
        sizes = curves.rest_size[chosen], curves.streak_size[chosen]
        at = column(state[who, chosen], *sizes, curves.repeats[chosen])
        pays[:, t] = np.where(there, curves.values[curves.rest_from[chosen] + at], 0.0)
        hit = np.zeros(state.shape, np.bool_)
        for place in range(places):
            rows = np.flatnonzero(there[:, place])
            hit[rows, played[rows, place]] = True
        state = moved(state, hit)
    return pays


def tally_of(problem: CohortProblem, roster: Roster, batch: Batch) -> Tally:
    """Return what a part counts."""
    arms, weight, K = batch.arms, roster.weight, problem.n_arms
    curves, (n, length, places) = pack(problem.bandit.curves), arms.shape
    played = arms >= 0
    slots = np.broadcast_to(np.arange(length)[None, :, None], arms.shape)[played]
    plays = np.bincount(slots * K + arms[played], minlength=length * K).reshape(length, K)
    turn = (np.arange(length * places) % K).reshape(1, length, places)
    in_turn = pays_of(curves, roster.tau, np.broadcast_to(turn, arms.shape)).sum(axis=(1, 2))
    alone = np.zeros(K)
    for arm in range(K):
        single = pack((problem.bandit.curves[arm],))
        states, where = np.unique(roster.tau[:, arm], return_inverse=True)
        ever = np.zeros((len(states), length, 1), np.int64)
        pay = pays_of(single, states[:, None], ever).sum(axis=(1, 2))
        alone[arm] = float(weight @ pay[where])
    return Tally(
        n,
        float(weight.sum()),
        float(weight @ batch.value),
        float(weight @ batch.bound),
        plays,
        (~played.any(axis=2)).sum(axis=0),
        float(weight @ played.sum(axis=(1, 2))),
        float(weight @ in_turn),
        alone,
    )


def table_of(
    problem: CohortProblem, roster: Roster, batch: Batch, calendar: Calendar | None
) -> Any:
    """Return the plays of a part as a long Arrow table, by subject and round.

    A round without any play has one row, whose arm is null; so has what empty places pay, where
    silence pays something. So the pays of a subject add up to its value, but for soft rules.
    """
    arrow = load_extra("pyarrow", "logs")
    arms = batch.arms
    n, length, places = arms.shape
    pays = pays_of(pack(problem.bandit.curves), roster.tau, arms)
    empty = (arms < 0).sum(axis=2)
    quiet = (empty == places) | ((empty > 0) & (problem.silence != 0))
    there = np.concatenate([arms >= 0, quiet[..., None]], axis=2)
    all_arms = np.concatenate([arms, np.full((n, length, 1), -1, arms.dtype)], axis=2)
    all_pays = np.concatenate([pays, (problem.silence * empty)[..., None]], axis=2)
    who, rounds, _ = np.nonzero(there)
    arm = all_arms[there]
    names = arrow.array(problem.bandit.names)
    columns = {
        "subject": roster.subject.take(arrow.array(who)),
        "round": arrow.array(rounds.astype(np.int32)),
        **_dates(calendar, length, rounds),
        "arm": names.take(arrow.array(arm.astype(np.int32), mask=arm < 0)),
        "pay": arrow.array(all_pays[there]),
        "value": arrow.array(batch.value[who]),
        "bound": arrow.array(batch.bound[who]),
    }
    return arrow.table(columns)


def _dates(calendar: Calendar | None, length: int, rounds: IntArray) -> dict[str, Any]:
    """Return when rounds are: their date, and when they begin if shorter than a day."""
    if calendar is None:
        return {}
    arrow = load_extra("pyarrow", "logs")
    places = arrow.array(rounds)
    days = arrow.array([calendar.day(t) for t in range(length)], arrow.date32())
    found = {"date": days.take(places)}
    if not calendar.daily:
        kind = arrow.timestamp("us", tz=calendar.zone)
        begins = arrow.array([calendar.time(t) for t in range(length)], kind)
        found["begin"] = begins.take(places)
    return found
