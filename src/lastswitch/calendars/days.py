"""How days are cut into rounds, by the wall clock of a zone.

Moments are whole seconds of UTC since 1970 (``instant``), or of the wall clock (``wall``); days
are counted from 1970-01-01. Where the clocks change:

* a wall time that is left out stands for the moment the clocks go forward;
* a wall time that comes twice is the first of the two; but where whole rounds fit into the
  stretch that comes again, they come again too, so that a day of 25 hours has 25 rounds of an
  hour, and one of 23 hours has 23. Longer rounds keep to the wall clock: rounds of 12 hours begin
  at 00:00 and 12:00 on every day of the year, and one of them lasts 11 or 13 hours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.suggest import suggestion
from lastswitch.calendars.when import DAY
from lastswitch.errors import CalendarError

UNITS = {"s": 1, "min": 60, "h": 3600, "d": DAY, "w": 7 * DAY}
EPOCH = datetime(1970, 1, 1)
UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_every(every: object) -> int:
    """Return how many seconds of the wall clock a round lasts.

    Examples
    --------
    >>> parse_every("12h"), parse_every("1w")
    (43200, 604800)
    >>> parse_every("5h")
    Traceback (most recent call last):
    lastswitch.errors.CalendarError: every must divide a day or be whole days, got '5h'; the ...
    """
    match = re.fullmatch(r"\s*(\d+)\s*(s|min|h|d|w)\s*", every) if isinstance(every, str) else None
    if match is None or int(match[1]) == 0:
        raise CalendarError(
            "every must be a whole number and a unit (s, min, h, d or w), such as '1d' or '30min', "
            f"got {every!r}."
        )
    seconds = int(match[1]) * UNITS[match[2]]
    if seconds % DAY and DAY % seconds:
        if seconds > DAY:
            near = f"{round(seconds / DAY)}d"
        else:
            unit = UNITS[match[2]]
            sizes = [n for n in range(1, DAY // unit + 1) if DAY % (n * unit) == 0]
            near = f"{min(sizes, key=lambda n: abs(n - int(match[1])))}{match[2]}"
        raise CalendarError(
            f"every must divide a day or be whole days, got {every!r}; the nearest is {near!r}."
        )
    if seconds > 366 * DAY:
        raise CalendarError(f"every must be at most a year, got {every!r}.")
    return seconds


def find_zone(name: str | None) -> ZoneInfo | None:
    """Return the time zone called ``name``.

    Examples
    --------
    >>> find_zone("Europe/Roma")
    Traceback (most recent call last):
    lastswitch.errors.CalendarError: no time zone is called 'Europe/Roma' (did you mean ...
    """
    if name is None:
        return None
    if isinstance(name, str):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # absent, malformed, or a folder of zones such as "Europe"
    from zoneinfo import available_timezones  # on the way to an error only: it reads many files

    zones = sorted(available_timezones())
    known = {zone.rpartition("/")[2].lower(): zone for zone in zones}  # a city alone is guessed too
    known.update({zone.lower(): zone for zone in zones})
    close = suggestion(name, known)
    for lower, zone in known.items():
        close = close.replace(repr(lower), repr(zone))
    raise CalendarError(
        f"no time zone is called {name!r}{close}; zones have names such as 'Europe/Rome' or 'UTC'."
    )


class Grid(NamedTuple):
    """Rounds in a row: when each begins and ends, its day, and its place by the wall clock."""

    begin: IntArray
    end: IntArray
    day: IntArray
    second: IntArray  # of the wall clock, since the day should have begun; 0 for whole days,
    # and below 0 for what comes again of the time before a day that begins within it


@dataclass(frozen=True)
class Days:
    """The rounds of every day, open or not: ``every`` seconds each, from ``day_starts`` on.

    Rounds of several days are counted from the day ``anchor``.

    Examples
    --------
    >>> rome = Days(ZoneInfo("Europe/Rome"), 0, 3600)
    >>> [len(rome.grid(day, day + 1).begin) for day in (19812, 19813, 20023)]
    [24, 23, 25]
    """

    zone: ZoneInfo | None
    day_starts: int
    every: int
    anchor: int = 0

    def offset(self, instant: int) -> int:
        """Return how far ahead of UTC the wall clock is at ``instant``."""
        if self.zone is None:
            return 0
        return _seconds((UTC_EPOCH + timedelta(seconds=instant)).astimezone(self.zone).utcoffset())

    def offsets(self, wall: int) -> tuple[int, int]:
        """Return what the clock is ahead of UTC at ``wall``, before and after a change there."""
        if self.zone is None:
            return 0, 0
        naive = EPOCH + timedelta(seconds=wall)
        early, late = (naive.replace(tzinfo=self.zone, fold=fold).utcoffset() for fold in (0, 1))
        return _seconds(early), _seconds(late)

    def instant(self, wall: int) -> int:
        """Return the first moment the clock shows ``wall``, or when it jumps over it."""
        early, late = self.offsets(wall)
        if early >= late:
            return wall - early
        before, after = wall - late, wall - early  # the clocks go forward between these two
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if self.offset(middle) == early else (before, middle)
        return after

    def begin(self, day: int) -> int:
        """Return the moment ``day`` begins."""
        return self.instant(day * DAY + self.day_starts)

    def day(self, instant: int) -> int:
        """Return the day that ``instant`` is in."""
        day = (instant + self.offset(instant) - self.day_starts) // DAY
        while instant < self.begin(day):  # a change of clocks around the day's beginning
            day -= 1
        while instant >= self.begin(day + 1):
            day += 1
        return day

    def grid(self, first: int, stop: int) -> Grid:
        """Return the rounds that begin on the days from ``first`` up to ``stop``."""
        whole = max(self.every // DAY, 1)
        first += (self.anchor - first) % whole
        days = range(first, max(stop, first), whole)
        edges = [self.begin(day) for day in (*days, first + whole * len(days))]
        kept = [k for k in range(len(days)) if edges[k] < edges[k + 1]]  # a day may be left out
        if self.every >= DAY:
            begin = np.array([edges[k] for k in kept], dtype=np.int64)
            day = np.array([days[k] for k in kept], dtype=np.int64)
            end = np.append(begin[1:], edges[-1:])[: len(begin)]
            return Grid(begin, end, day, np.zeros(len(day), dtype=np.int64))
        starts = [self._starts(days[k], edges[k], edges[k + 1]) for k in kept]
        walls = [
            self._walls(moments, edges[k], edges[k + 1])
            for k, moments in zip(kept, starts, strict=True)
        ]
        none = np.empty(0, dtype=np.int64)
        begin, wall = (np.concatenate([none, *parts]) for parts in (starts, walls))
        day = np.repeat(np.array([days[k] for k in kept], dtype=np.int64), [*map(len, starts)])
        end = np.append(begin[1:], edges[-1:])[: len(begin)]
        return Grid(begin, end, day, wall - day * DAY - self.day_starts)

    def _starts(self, day: int, begin: int, end: int) -> IntArray:
        """Return when the rounds of ``day`` begin."""
        steps = np.arange(0, DAY, self.every)
        if end - begin == DAY:
            return begin + steps
        moments, zero = set(), day * DAY + self.day_starts
        # What comes twice may come again after a day has begun within it.
        for wall in (zero + np.concatenate([steps - DAY, steps])).tolist():
            if wall >= zero:
                moments.add(self.instant(wall))
            early, late = self.offsets(wall)
            if early - late >= self.every:
                moments.add(wall - late)
        return np.array(sorted(t for t in moments if begin <= t < end))

    def _walls(self, moments: IntArray, begin: int, end: int) -> IntArray:
        """Return what the clock shows at ``moments`` of the day from ``begin`` to ``end``."""
        if end - begin == DAY:
            return moments + self.offset(begin)
        return np.array([moment + self.offset(moment) for moment in moments.tolist()])


def _seconds(offset: timedelta | None) -> int:
    """Return an offset in whole seconds; every zone of the database has one at any time."""
    assert offset is not None
    return offset.days * DAY + offset.seconds
