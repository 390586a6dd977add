"""Rounds that do not exist: a clock that counts open rounds only.

Closed hours, weekends and holidays are no rests. The open rounds become a table of equal stretches
of time, each with its round, that every engine can join events on: an event falls into a stretch
by plain arithmetic, and into no round if its stretch is closed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch.calendars.days import Days, parse_every
from lastswitch.calendars.open_rounds import OpenRounds
from lastswitch.calendars.when import DAY, When, parse_time
from lastswitch.errors import LogError
from lastswitch.logs.cleaning import BadRows, Events

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from lastswitch.logs.source import Source

_MONDAY = 4  # the first one of 1970, in days
#: Stretches of a log's time that a table may have.
_MOST = 20_000_000


class OpenClock:
    """The open rounds between two moments.

    Parameters
    ----------
    every, zone, day_starts, skip
        As a :class:`lastswitch.Calendar` has them; rounds of whole weeks begin on Mondays.
    span
        The first and the last moment, in seconds of UTC since 1970, or of the log's own clock if
        there is no zone.

    Examples
    --------
    >>> from lastswitch.calendars.when import parse_when
    >>> clock = OpenClock("1d", None, "00:00", parse_when("sat-sun"), (4 * DAY, 12 * DAY))
    >>> clock.of(11 * DAY) - clock.of(8 * DAY)  # from Friday to Monday
    1
    """

    def __init__(
        self,
        every: str,
        zone: ZoneInfo | None,
        day_starts: str,
        skip: When,
        span: tuple[float, float],
    ) -> None:
        seconds = parse_every(every)
        anchor = _MONDAY if seconds % (7 * DAY) == 0 else 0
        begins = parse_time(day_starts, "day_starts")
        self._open = OpenRounds(Days(zone, begins, seconds, anchor), skip)
        self._span = span

    def of(self, time: float) -> int:
        """Return the round a moment is in; of a closed one, the next that is open."""
        moment = int(time // 1)
        grid, zero = self._open.around(moment, moment)
        number = int(np.searchsorted(grid.end, moment, side="right")) - zero
        self._open.numbered(number, number)  # says so if none is open any more
        return number

    def stretches(self) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Return the table: its origin, how long a stretch is, and the stretches with their rounds.

        A moment is in stretch ``(moment - origin) // length``.
        """
        begin, end = (int(moment // 1) for moment in self._span)
        grid, zero = self._open.around(begin, end)
        first = int(np.searchsorted(grid.end, begin, side="right"))
        stop = int(np.searchsorted(grid.begin, end, side="right"))
        starts, ends = grid.begin[first:stop], grid.end[first:stop]
        if not len(starts):
            return 0, DAY, starts, starts
        origin = int(starts[0])
        length = int(np.gcd.reduce(np.concatenate([starts, ends]) - origin))
        sizes = (ends - starts) // length
        if sizes.sum() > _MOST:
            raise LogError(
                f"the log goes from {begin} to {end} seconds, too long for rounds so short; give "
                f"a longer {spelled('every')}, or a part of the log.",
                parameter="every",
            )
        places = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return (
            origin,
            length,
            np.repeat((starts - origin) // length, sizes) + places,
            np.repeat(np.arange(first, stop) - zero, sizes),
        )

    def place(self, events: Table) -> Table:
        """Return the events of open rounds, with their ``round``."""
        ibis, arrow = load_extra("ibis", "logs"), load_extra("pyarrow", "logs")
        origin, length, stretch, numbers = self.stretches()
        table = ibis.memtable(arrow.table({"stretch": stretch, "round": numbers}))
        placed = events.mutate(stretch=((events.time - origin) / length).floor().cast("int64"))
        return placed.inner_join(table, "stretch").drop("stretch")


def open_events(source: Source, events: Events, clock: OpenClock) -> Events:
    """Return the events of open rounds; those of closed ones are booked as left out."""
    ibis = load_extra("ibis", "logs")
    table = clock.place(events.table)
    known = table.reward.notnull()
    row = source.connection.to_pyarrow(
        table.aggregate(
            rewarded=known.sum(),
            subjects=ibis.ifelse(known, table.subject, None).nunique(),
            lowest=table.reward.min(),
            highest=table.reward.max(),
            begin=table.time.min(),
            end=table.time.max(),
        )
    ).to_pylist()[0]
    before = source.connection.to_pyarrow(events.table.reward.count()).as_py()
    closed = before - (row["rewarded"] or 0)
    if row["begin"] is None:
        raise LogError(
            f"{spelled('skip')} leaves out all {events.rows:,} events: none is in an open round; "
            "skip less.",
            parameter="skip",
        )
    bad = (*events.bad, BadRows("closed", closed, ())) if closed else events.bad
    found = {key: row[key] for key in ("subjects", "lowest", "highest")}
    return replace(events, table=table, bad=bad, span=(row["begin"], row["end"]), **found)
