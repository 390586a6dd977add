"""Events of one subject at one time have no order: how many there are, and what then is not known.

Nothing in a row makes an order but the columns the caller names for it: not the reward, not the
arm, not the place in the file.
"""

from __future__ import annotations

from typing import NamedTuple

from lastswitch.logs.counts import Census, Counts, count_states
from lastswitch.logs.reading import Reading
from lastswitch.logs.summary import ORDERS

#: Share of consecutive events without an order from which on it must be chosen.
MOST_TIED = 0.05
#: Below this share of them, other orders are not tried: they cannot change an answer.
_FEW_TIED = 0.001


class Ordered(NamedTuple):
    """Counts, what is not known for lack of an order, and the counts of other random orders."""

    census: Census
    tied: int
    pairs: int
    blurred: int
    others: tuple[Counts, ...]


def count_in_order(reading: Reading, rest: int, streak: int) -> Ordered:
    """Count every play of a log, drawing the order of tied events at random."""

    def count(shuffle: int | None = None) -> Census:
        one = reading.rules.columns.subject is None
        connection, rows = reading.source.connection, reading.events.rows
        states = reading.states(shuffle)
        return count_states(states, connection, rest, streak, one=one, rows=rows)

    plain = count()
    tied, pairs = plain.tied, max(plain.pairs - reading.events.subjects, 1)
    if not tied:
        return Ordered(plain, 0, pairs, 0, ())
    seed = reading.rules.seed
    drawn = count(0 if seed is None else seed)
    if seed is None and tied > MOST_TIED * pairs:
        return Ordered(drawn, tied, pairs, min(_largest_batch(reading), rest), ())
    if tied < _FEW_TIED * pairs:
        return Ordered(drawn, tied, pairs, 0, ())
    others = tuple(count((seed or 0) + more).counts for more in range(1, ORDERS))
    return Ordered(drawn, tied, pairs, 0, others)


def unordered_words(tied: int, pairs: int, blurred: int) -> str:
    """Return why nothing is said of streaks and short rests, and what to do.

    Examples
    --------
    >>> unordered_words(30, 40, 4)[:66]
    '30 of 40 consecutive events (75%) have the time of the one before '
    """
    return (
        f"{tied:,} of {pairs:,} consecutive events ({tied / pairs:.0%}) have the time of the one "
        f"before them, and which came first is not in the log: streaks, and rests up to {blurred} "
        "rounds, cannot be told. Say what orders them, a column or a seed to draw an order by "
        "(order), or let the clock make the rounds (every)."
    )


def _largest_batch(reading: Reading) -> int:
    """Return the most events that share a subject and a time."""
    table = reading.table
    batches = table.group_by(["subject", "time"]).aggregate(many=table.count())
    found = reading.source.connection.to_pyarrow(batches.aggregate(most=batches.many.max()))
    return int(found["most"][0].as_py())
