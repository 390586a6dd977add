"""The state of every play, from each subject's own order of events: window functions, once.

The same Ibis expression runs on DuckDB, on Spark and on any engine with window functions. Only a
subject's plays of one arm matter to that arm's state, so each is computed on its own:

* the play before it was ``g >= 2`` rounds ago: rested, ``tau = g - 1``;
* it continues a run of ``r`` plays in consecutive rounds: ``tau = -r``;
* there was no play before it: never played, ``tau`` is null, kept apart and never guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from lastswitch._checks import is_number
from lastswitch._extras import load_extra
from lastswitch.errors import LogError

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from lastswitch.logs.cleaning import Clock

#: What several events of one subject, arm and round pay together.
Together = Literal["mean", "max"]

#: Where the clock is cut, for the pages and notices that speak of rounds.
MIDNIGHT = "midnight UTC, or midnight of the log's own clock where times carry no zone"

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONDAY = 4 * 86400.0  # seconds from 1970 to its first Monday
# A missing reward must sort the same way on every engine, whatever each does with nulls.
_LAST = 1e300


class Rounds(NamedTuple):
    """How the clock is cut into rounds, in the log's own unit of time."""

    length: float
    origin: float


def clock_rounds(every: str | float, clock: Clock) -> Rounds:
    """Return the rounds that ``every`` names; those of whole weeks begin on Mondays.

    Examples
    --------
    >>> clock_rounds("12h", "stamps"), clock_rounds(7, "numbers")
    (Rounds(length=43200.0, origin=0.0), Rounds(length=7.0, origin=0.0))
    """
    if clock == "numbers":
        if not (is_number(every) and every > 0):
            raise LogError(
                f"this log's times are plain numbers, so every must be a number of them "
                f"larger than 0, got {every!r}."
            )
        return Rounds(float(every), 0.0)
    match = re.fullmatch(r"\s*(\d+)\s*(s|min|h|d|w)\s*", every) if isinstance(every, str) else None
    if match is None or int(match[1]) == 0:
        raise LogError(
            f"every must be a whole number and a unit (s, min, h, d or w), such as '1d' or "
            f"'12h', got {every!r}."
        )
    length = int(match[1]) * _UNITS[match[2]]
    return Rounds(float(length), _MONDAY if length % _UNITS["w"] == 0 else 0.0)


def plays_in_order(events: Table) -> Table:
    """Make each event a round of its own, in the order of each subject's clock.

    Events of one subject at one time are taken in the order of their arms' names, then of their
    rewards. Rows equal in everything are copies of one event: they share its round and are marked.
    """
    ibis = load_extra("ibis", "logs")
    known = events.mutate(order=events.reward.fill_null(_LAST))
    line = ibis.window(group_by=known.subject, order_by=[known.time, known.arm, known.order])
    same_arm = known.arm.lag().over(line) == known.arm
    ranked = known.mutate(
        round=known.order.dense_rank().over(line),
        copy=(
            same_arm
            & (known.time.lag().over(line) == known.time)
            & (known.order.lag().over(line) == known.order)
        ).fill_null(False),
        fresh=~same_arm.fill_null(False),
    )
    return ranked.mutate(
        events=(~ranked.copy).cast("int64"), copies=ranked.copy.cast("int64")
    ).drop("order", "time")


def plays_by_clock(events: Table, rounds: Rounds, together: Together = "mean") -> Table:
    """Cut the clock into ``rounds``; a round without events is one of rest for all.

    Events of one subject and arm in one round are a single play, which pays their mean (or their
    largest) reward. Plays of other arms in the same round do not disturb it.
    """
    ibis = load_extra("ibis", "logs")
    known = events.mutate(
        order=events.reward.fill_null(_LAST),
        round=((events.time - rounds.origin) / rounds.length).floor().cast("int64"),
    )
    line = ibis.window(group_by=[known.subject, known.arm], order_by=[known.time, known.order])
    marked = known.mutate(
        copy=(
            (known.time.lag().over(line) == known.time)
            & (known.order.lag().over(line) == known.order)
        ).fill_null(False)
    )
    reward = ibis.ifelse(marked.copy, ibis.null("float64"), marked.reward)
    pay = reward.max() if together == "max" else reward.mean()
    more = {"propensity": marked.propensity.min()} if "propensity" in events.columns else {}
    merged = marked.group_by(["subject", "arm", "round"]).aggregate(
        reward=pay,
        events=(~marked.copy).cast("int64").sum(),
        copies=marked.copy.cast("int64").sum(),
        **more,
    )
    order = ibis.window(group_by=[merged.subject, merged.arm], order_by=merged["round"])
    before = merged["round"].lag().over(order)
    return merged.mutate(
        fresh=(before != merged["round"] - 1).fill_null(True), copy=ibis.literal(False)
    )


def with_states(plays: Table) -> Table:
    """Add ``tau`` to every play: gaps between an arm's plays, and islands of plays in a row.

    ``fresh`` marks where an island begins, so a play's place in its island is its distance from
    the last mark. A copy is at distance zero from its original and has no state.
    """
    ibis = load_extra("ibis", "logs")
    # An original comes before its copies, so that what lies before it is truly another play.
    order = {
        "group_by": [plays.subject, plays.arm],
        "order_by": [plays["round"], plays.copies],
    }
    line, upto = ibis.window(**order), ibis.window(**order, preceding=None, following=0)
    begins = ibis.ifelse(plays.fresh, plays["round"], ibis.null("int64"))
    placed = plays.mutate(
        before=plays["round"].lag().over(line),
        begin=begins.max().over(upto),
    )
    rested = placed["round"] - placed.before - 1
    tau = ibis.cases(
        (placed.copy | placed.before.isnull(), ibis.null("int64")),
        (placed["round"] > placed.begin, placed.begin - placed["round"]),
        else_=rested,
    )
    return placed.mutate(tau=tau.cast("int64"), first=placed.before.isnull() & ~placed.copy).drop(
        "begin", "before"
    )
