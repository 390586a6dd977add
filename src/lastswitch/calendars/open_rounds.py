"""The rounds that exist: those of every day, less the skipped ones, numbered in order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch.calendars.days import Days, Grid
from lastswitch.calendars.moments import FIRST_DAY, LAST_DAY, YEARS
from lastswitch.calendars.when import DAY, When, day_of
from lastswitch.errors import CalendarError

#: Rounds to look for an open one before saying that there is none: more than two years of days.
_FAR = 800
#: Rounds looked up at once, at least.
_CHUNK = 128

#: What days of one period have in common. 1970 began on a Thursday.
_PERIODS: dict[str, Callable[[IntArray], IntArray]] = {
    "day": lambda days: days,
    "week": lambda days: (days + 3) // 7,
    "month": lambda days: days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64),
}


class _Known(NamedTuple):
    """The open rounds of the days from ``first`` up to ``stop``; ``zero`` is where round 0 is."""

    first: int
    stop: int
    grid: Grid
    zero: int


class OpenRounds:
    """A growing table of open rounds around the day ``days.anchor``.

    What is known is one value, replaced as a whole: readers in several threads always see a
    consistent table, and at worst look a stretch up twice.
    """

    def __init__(self, days: Days, skip: When | None) -> None:
        self.days, self.skip = days, skip
        empty = np.empty(0, dtype=np.int64)
        self._known = _Known(days.anchor, days.anchor, Grid(empty, empty, empty, empty), 0)

    def number_from(self, index: int) -> None:
        """Let the open round at ``index``, counted as now, be round 0."""
        self._known = self._known._replace(zero=self._known.zero + index)

    def numbered(self, first: int, stop: int) -> tuple[Grid, int]:
        """Return a table that holds the rounds from ``first`` up to ``stop``, and round 0's place.

        The rounds before and after, if there are any, are in it too.
        """
        known, looked = self._known, 0
        while known.zero + first < 1 or known.zero + stop >= len(known.grid.begin):
            back = known.zero + first < 1
            before = len(known.grid.begin)
            known, days = self._grown(known, back)
            looked = looked + days if len(known.grid.begin) == before else 0
            if looked > _FAR * max(self.days.every // DAY, 1):
                raise CalendarError(
                    f"skip leaves no round open: {str(self.skip)!r} closes all from "
                    f"{day_of(known.first)} to {day_of(known.stop - 1)}; skip less."
                )
        self._known = known
        return known.grid, known.zero

    def around(self, begin: int, end: int) -> tuple[Grid, int]:
        """Return a table that knows every round between two moments, and round 0's place."""
        whole = max(self.days.every // DAY, 1)
        first, stop = self.days.day(begin) - whole, self.days.day(end) + 2
        known = self._known
        while known.first > first or known.stop < stop:
            known, _ = self._grown(known, known.first > first)
        self._known = known
        return known.grid, known.zero

    def inside(self, times: When, length: int) -> tuple[int, ...]:
        """Return which of the first ``length`` rounds begin at one of ``times``."""
        grid, zero = self.numbered(0, length)
        here = slice(zero, zero + length)
        found = times.holds(grid.day[here], grid.second[here], self.days.day_starts)
        return tuple(np.flatnonzero(found).tolist())

    def periods(self, per: str, length: int) -> tuple[tuple[int, int], ...]:
        """Return the first round of each period the rounds meet, and the one after its last."""
        grid, zero = self.numbered(0, length)
        first, last = (int(grid.day[zero + number]) for number in (0, length - 1))
        far = 32 * max(self.days.every // DAY, 1)  # more than the longest period, and a round
        grid, zero = self.around(self.days.begin(first - far), self.days.begin(last + far))
        keys = _PERIODS[per](grid.day)
        begin = int(np.searchsorted(keys, keys[zero]))
        stop = int(np.searchsorted(keys, keys[zero + length - 1], side="right"))
        cuts = begin + 1 + np.flatnonzero(np.diff(keys[begin:stop]))
        return tuple(pairwise([begin - zero, *(cuts - zero).tolist(), stop - zero]))

    def _grown(self, known: _Known, back: bool) -> tuple[_Known, int]:
        """Return the table with some more days in front or behind, and how many."""
        days = max(known.stop - known.first, _CHUNK * self.days.every // DAY, 1)
        if back:
            first, stop = max(known.first - days, FIRST_DAY), known.first
        else:
            first, stop = known.stop, min(known.stop + days, LAST_DAY)
        if first >= stop:
            raise CalendarError(f"a round was asked for outside the {YEARS}.")
        more = self.days.grid(first, stop)
        if self.skip is not None:
            open_ = ~self.skip.holds(more.day, more.second, self.days.day_starts)
            more = Grid(*(column[open_] for column in more))
        parts = (more, known.grid) if back else (known.grid, more)
        grid = Grid(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        zero = known.zero + (len(more.begin) if back else 0)
        return _Known(min(first, known.first), max(stop, known.stop), grid, zero), stop - first
