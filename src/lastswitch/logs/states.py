"""The state of every arm at every play, in window functions.

The same Ibis expression runs on DuckDB, on Spark and on any engine with window functions. Only a
subject's plays of one arm matter to that arm's state, so each is computed on its own:

* the play before it was ``g >= 2`` rounds ago: rested, ``tau = g - 1``;
* it continues a run of ``r`` plays in consecutive rounds: ``tau = -r``;
* there was no play before it: never played, ``tau`` is null, kept apart and never guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lastswitch._utils.extras import load_extra
from lastswitch.logs.clock import Rounds

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from lastswitch.logs.open_clock import OpenClock

#: What several events of one subject, arm and round pay together.
Together = Literal["mean", "max"]


def plays_in_order(events: Table, shuffle: int | None = None) -> Table:
    """Make each event a round of its own, in the order of each subject's clock.

    Events of one subject at one time have no order unless the column ``order`` gives one; what is
    still tied comes in the order of the engine's choosing, or, with a seed to ``shuffle`` by, in a
    random one. ``tied`` marks an event that has no order against the one before it.
    """
    ibis = load_extra("ibis", "logs")
    named = [name for name in ("order", "order_text") if name in events.columns]
    if shuffle is not None:
        events = events.mutate(shuffle=_random_key(events, shuffle))
    keys = [events.time, *(events[name] for name in named)]
    drawn = [events.shuffle] if shuffle is not None else []
    line = ibis.window(group_by=events.subject, order_by=[*keys, *drawn])
    tied = ibis.literal(True)
    for key in keys:
        tied = tied & (key.lag().over(line) == key)
    known = events.reward.notnull()
    ranked = events.mutate(
        round=ibis.row_number().over(line),
        fresh=(events.arm.lag().over(line) != events.arm).fill_null(True),
        tied=tied.fill_null(False),
        rewarded=known.cast("int64"),
    )
    return ranked.drop("time", *named, *(["shuffle"] if shuffle is not None else []))


def _random_key(events: Table, seed: int) -> Any:
    """Return a number that is random in everything a row holds: rows equal in all are numbered.

    The reward enters the key only to tell rows apart; the engine's hash leaves nothing of it.
    """
    ibis = load_extra("ibis", "logs")
    words = [events.subject, events.time.cast("string"), events.arm]
    words.append(events.reward.cast("string").fill_null("?"))
    same = ibis.window(
        group_by=[events.subject, events.time, events.arm, events.reward], order_by=events.arm
    )
    words.append(ibis.row_number().over(same).cast("string"))
    text = ibis.literal(f"lastswitch {seed}")
    for word in words:
        text = text + "\x1f" + word
    return text.hash()


def plays_by_clock(events: Table, rounds: Rounds | OpenClock, together: Together = "mean") -> Table:
    """Cut the clock into ``rounds``; a round without events is one of rest for all.

    Events of one subject and arm in one round are a single play, which pays their mean (or their
    largest) reward. Plays of other arms in the same round do not disturb it.
    """
    ibis = load_extra("ibis", "logs")
    placed = events  # whose rounds are known already where some do not exist
    if isinstance(rounds, Rounds):
        placed = events.mutate(round=rounds.number(events.time))
    pay = placed.reward.max() if together == "max" else placed.reward.mean()
    more = {"propensity": placed.propensity.min()} if "propensity" in events.columns else {}
    merged = placed.group_by(["subject", "arm", "round"]).aggregate(
        reward=pay, rewarded=placed.reward.count(), events=placed.count(), **more
    )
    order = ibis.window(group_by=[merged.subject, merged.arm], order_by=merged["round"])
    before = merged["round"].lag().over(order)
    return merged.mutate(
        fresh=(before != merged["round"] - 1).fill_null(True), tied=ibis.literal(False)
    )


def with_states(plays: Table) -> Table:
    """Add ``tau`` to every play: gaps between an arm's plays, and islands of plays in a row.

    ``fresh`` marks where an island begins, so a play's place in its island is its distance from
    the last mark.
    """
    ibis = load_extra("ibis", "logs")
    order = {"group_by": [plays.subject, plays.arm], "order_by": plays["round"]}
    line, upto = ibis.window(**order), ibis.window(**order, preceding=None, following=0)
    begins = ibis.ifelse(plays.fresh, plays["round"], ibis.null("int64"))
    placed = plays.mutate(
        before=plays["round"].lag().over(line),
        begin=begins.max().over(upto),
    )
    rested = placed["round"] - placed.before - 1
    tau = ibis.cases(
        (placed.before.isnull(), ibis.null("int64")),
        (placed["round"] > placed.begin, placed.begin - placed["round"]),
        else_=rested,
    )
    return placed.mutate(tau=tau.cast("int64"), first=placed.before.isnull()).drop("before")
