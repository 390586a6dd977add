"""Rounds and dates: which moment each round begins, and which round a moment is in.

Times in words (``when``) are read by :mod:`lastswitch.calendars.when`; what happens where the
clocks change is in :mod:`lastswitch.calendars.days`. A calendar is about rounds and times alone: it
knows of no plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import check_choice, check_whole
from lastswitch._utils.suggest import suggestion
from lastswitch.calendars.days import EPOCH, UTC_EPOCH, Days, find_zone, parse_every
from lastswitch.calendars.moments import begin_of, instant_of, read_time, say
from lastswitch.calendars.open_rounds import OpenRounds
from lastswitch.calendars.when import (
    DAY,
    When,
    WhenLike,
    day_number,
    day_of,
    parse_time,
    parse_when,
)
from lastswitch.errors import CalendarError, InputTypeError

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.rules import Rule

Per = Literal["day", "week", "month"]
_KEYS = ("start", "every", "zone", "skip", "day_starts")


class Open(NamedTuple):
    """Open rounds in a row as arrays: their numbers, and from when to when each lasts.

    ``begin`` and ``end`` are seconds of UTC since 1970, of the wall clock for a calendar without
    a zone: a table to join the events of a log on.
    """

    round: IntArray
    begin: IntArray
    end: IntArray


@dataclass(frozen=True, init=False, repr=False)
class Calendar:
    """Rounds on the clock of a place: when each begins, and which do not exist.

    Round 0 begins at ``start``, and the next open one is round 1; rounds before the start are
    negative. Rounds of days and weeks begin when a day does, at ``day_starts`` by the wall clock,
    so that a day on which the clocks change has its 23 or 25 hours. Shorter rounds divide each
    day; an hour that the clocks leave out has no rounds, one that comes twice has them twice.

    Parameters
    ----------
    start
        Where round 0 begins: a date (for its first open round), or the date and time at which an
        open round begins. Python's values, or text as ``"2024-06-03"``, ``"2024-06-03 06:00"``.
    every
        How long a round is: a whole number and a unit (s, min, h, d, w) such as ``"1d"`` or
        ``"30min"``; whole days, or a time that divides a day.
    zone
        A time zone such as ``"Europe/Rome"``; without one the clocks never change.
    skip
        Rounds that do not exist: times in words such as ``"sat-sun"``, ``"22:00-06:00"`` or
        ``"2024-12-25"``, dates, or a list of them. A round is skipped if its beginning is inside.
    day_starts
        The time of day at which a day begins. With ``"04:00"`` the small hours belong to the day
        before, here and wherever days are named.

    Examples
    --------
    >>> office = Calendar("2024-06-03", zone="Europe/Rome", skip="sat-sun")
    >>> office.time(5).isoformat()
    '2024-06-10T00:00:00+02:00'
    >>> office.round("2024-06-10 17:30")
    5
    >>> office.rounds("mon, fri", 10)
    (0, 4, 5, 9)
    """

    # Two times of a repeated hour are equal in Python; the seconds below tell them apart.
    start: datetime = field(compare=False)
    every: str
    zone: str | None
    skip: When | None
    day_starts: str
    _first: int
    _days: Days = field(compare=False)
    _open: OpenRounds = field(compare=False)

    def __init__(
        self,
        start: str | date,
        every: str = "1d",
        zone: str | None = None,
        skip: WhenLike | When | None = None,
        day_starts: str | time = "00:00",
    ) -> None:
        seconds, place = parse_every(every), find_zone(zone)
        begins = parse_time(day_starts, "day_starts")
        words = None if isinstance(skip, str | list) and not skip else skip
        closed = None if words is None else parse_when(words)
        given = read_time(start, "start")
        days = Days(place, begins, seconds)
        if isinstance(given, datetime):
            anchor = days.day(instant_of(given, days))
        else:
            anchor = day_number(given)
        days = Days(place, begins, seconds, anchor)
        values = {
            "every": every.strip(),
            "zone": zone,
            "skip": closed,
            "day_starts": f"{begins // 3600:02d}:{begins // 60 % 60:02d}",
            "_days": days,
            "_open": OpenRounds(days, closed),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._open.number_from(self._find(given, "start"))
        object.__setattr__(self, "start", self.time(0))
        object.__setattr__(self, "_first", self._seconds(0))
        if isinstance(given, datetime) and instant_of(given, days) != self._first:
            raise CalendarError(
                f"start {say(given)} is inside a round, which begins {say(self.start)}; start "
                f"there, or let days begin then (day_starts='{given:%H:%M}')."
            )

    def __repr__(self) -> str:
        return f"Calendar({', '.join(f'{key}={value!r}' for key, value in self.to_dict().items())})"

    @property
    def daily(self) -> bool:
        """Whether a round is a day or longer, so that dates say all about it."""
        return self._days.every >= DAY

    @property
    def every_days(self) -> int:
        """How many days a round has; 0 for rounds shorter than a day."""
        return self._days.every // DAY

    def time(self, number: int) -> datetime:
        """Return when a round begins.

        Examples
        --------
        >>> hours = Calendar("2024-03-31", every="1h", zone="Europe/Rome")
        >>> [f"{hours.time(k):%H:%M}" for k in range(4)]  # 02:00 is left out that night
        ['00:00', '01:00', '03:00', '04:00']
        """
        return self._moment(self._seconds(number))

    def span(self, number: int) -> tuple[datetime, datetime]:
        """Return when a round begins and when it ends: the first moment that is not in it.

        Examples
        --------
        >>> [moment.isoformat() for moment in Calendar("2024-06-03", every="1w").span(0)]
        ['2024-06-03T00:00:00', '2024-06-10T00:00:00']
        """
        grid, zero = self._open.numbered(_whole(number), number + 1)
        place = zero + number
        return self._moment(int(grid.begin[place])), self._moment(int(grid.end[place]))

    def day(self, number: int) -> date:
        """Return the day a round belongs to.

        Examples
        --------
        >>> night = Calendar("2024-06-03", every="3h", day_starts="04:00")
        >>> night.time(7).isoformat(), night.day(7).isoformat()
        ('2024-06-04T01:00:00', '2024-06-03')
        """
        grid, zero = self._open.numbered(_whole(number), number + 1)
        return day_of(int(grid.day[zero + number]))

    def round(self, time: str | date) -> int:
        """Return the round that holds a moment; of a date, the first open one.

        Examples
        --------
        >>> Calendar("2024-06-03", skip="sat-sun").round("2024-06-08")
        Traceback (most recent call last):
        lastswitch.errors.CalendarError: time Saturday 2024-06-08 is in no open round; the nearest
        is round 4, Friday 2024-06-07.
        """
        return self._find(read_time(time, "time"), "time")

    def say(self, number: int) -> str:
        """Return when a round begins, in words.

        Examples
        --------
        >>> Calendar("2024-06-03").say(5), Calendar("2024-06-03", every="1h").say(5)
        ('Saturday 2024-06-08', 'Monday 2024-06-03 05:00')
        """
        return say(self.day(number)) if self.daily else say(self.time(number))

    def rounds(
        self, when: WhenLike | When, length: int, *, none_ok: bool = False
    ) -> tuple[int, ...]:
        """Return which of the first ``length`` rounds are meant by times in words.

        A round is meant if its beginning is inside. Words that mean none of these rounds are an
        error; with ``none_ok`` only if no other round of the calendar can be meant either.

        Examples
        --------
        >>> Calendar("2024-06-03", every="1h").rounds("mon-fri 06:00-08:00", 48)
        (6, 7, 30, 31)
        """
        times, size = parse_when(when), check_whole("length", length, 1, CalendarError)
        found = self._open.inside(times, size)
        if not found and not (none_ok and self._can_mean(times)):
            hint = ""
            if self.daily and times.timed:
                hint = f"; a round begins at {self.day_starts} here, so leave out the time of day"
            elif self.skip is not None:
                hint = f"; the calendar skips {str(self.skip)!r}"
            raise CalendarError(
                f"no round is meant by {str(times)!r}: the {size} rounds go from "
                f"{self.say(0)} to {self.say(size - 1)}{hint}."
            )
        return found

    def periods(self, per: str, length: int) -> tuple[tuple[int, int], ...]:
        """Return every day, week or month that the first ``length`` rounds meet.

        Each is its first round and the round after its last, by all rounds it has: the first may
        begin before round 0 and the last end after the rounds asked about. Weeks begin on Mondays.

        Examples
        --------
        >>> Calendar("2024-06-06").periods("week", 14)  # from a Thursday on
        ((-3, 4), (4, 11), (11, 18))
        """
        check_choice("per", per, get_args(Per), CalendarError)
        return self._open.periods(per, check_whole("length", length, 1, CalendarError))

    def resolve(
        self, rules: Iterable[Rule], length: int, bandit: Bandit | None = None
    ) -> tuple[Rule, ...]:
        """Return rules whose words of time have become the first ``length`` rounds they mean.

        Each keeps its words as its name. With a ``bandit``, rules that leave a round without any
        arm are refused, by its date.

        Examples
        --------
        >>> from lastswitch import rules as r
        >>> print(*Calendar("2024-06-03").resolve([r.never("talk", when="sun")], 14))
        talk: never on sun (talk: never in rounds 6, 13)
        """
        from lastswitch.rules.eligible import resolved_rules

        size = check_whole("length", length, 1, CalendarError)
        return resolved_rules(rules, self, size, bandit)

    def length(self, until: str | date) -> int:
        """Return how many rounds, from round 0 on, begin before ``until``; a date is left out.

        Examples
        --------
        >>> Calendar("2024-06-03", skip="sat-sun").length(until="2024-07-01")
        20
        """
        given = read_time(until, "until")
        limit = begin_of(given, self._days)
        if limit <= self._first:
            raise CalendarError(f"until must be after the start {self.say(0)}, got {say(given)}.")
        grid, zero = self._open.around(self._first, limit)
        return int(np.searchsorted(grid.begin, limit)) - zero

    def open(self, since: str | date, until: str | date) -> Open:
        """Return the open rounds that touch the time from ``since`` to ``until``, as arrays.

        Examples
        --------
        >>> Calendar("2024-06-03", skip="sat-sun").open("2024-06-06", "2024-06-11").round.tolist()
        [3, 4, 5]
        """
        begin = begin_of(read_time(since, "since"), self._days)
        end = begin_of(read_time(until, "until"), self._days)
        if end < begin:
            raise CalendarError(f"until must not be before since, got {until!r} before {since!r}.")
        grid, zero = self._open.around(begin, end)
        first = int(np.searchsorted(grid.end, begin, side="right"))
        stop = int(np.searchsorted(grid.begin, end))
        return Open(np.arange(first, stop) - zero, grid.begin[first:stop], grid.end[first:stop])

    def rounds_of_day(self, day: date) -> tuple[tuple[datetime, int | None], ...]:
        """Return when each round of a day begins, and its number; None for one that is skipped.

        Examples
        --------
        >>> shop = Calendar("2024-06-03", every="8h", skip="00:00-08:00")
        >>> [number for _, number in shop.rounds_of_day(date(2024, 6, 4))]
        [None, 2, 3]
        """
        number = day_number(read_time(day, "day"))
        every = self._days.grid(number, number + 1).begin
        if not len(every):
            return ()
        grid, zero = self._open.around(int(every[0]), int(every[-1]))
        places = np.searchsorted(grid.begin, every)
        found = zip(every.tolist(), places.tolist(), strict=True)
        return tuple(
            (
                self._moment(begin),
                place - zero if place < len(grid.begin) and grid.begin[place] == begin else None,
            )
            for begin, place in found
        )

    def starting(self, start: str | date) -> Calendar:
        """Return this calendar with another start.

        Examples
        --------
        >>> Calendar("2024-06-03", skip="sat-sun").starting("2024-06-07").time(1).isoformat()
        '2024-06-10T00:00:00'
        """
        return Calendar(start, self.every, self.zone, self.skip, self.day_starts)

    def to_dict(self) -> dict[str, str]:
        """Return the calendar as the table a file holds; what is not given is left out.

        Examples
        --------
        >>> Calendar("2024-06-03", every="1h", skip="sun").to_dict()
        {'start': '2024-06-03T00:00:00', 'every': '1h', 'skip': 'sun'}
        """
        start = self.day(0).isoformat() if self.daily else self.start.isoformat()
        table = {"start": start, "every": self.every}
        if self.zone is not None:
            table["zone"] = self.zone
        if self.skip is not None:
            table["skip"] = str(self.skip)
        if self._days.day_starts:
            table["day_starts"] = self.day_starts
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Calendar:
        """Return the calendar of a file's table.

        Examples
        --------
        >>> Calendar.from_dict({"start": "2024-06-03", "evry": "1h"})
        Traceback (most recent call last):
        lastswitch.errors.CalendarError: a calendar has no 'evry' (did you mean 'every'?); it has...
        """
        if not isinstance(table, Mapping):
            raise InputTypeError(f"a calendar is a table of settings, got {table!r}.")
        for key in table:
            if key not in _KEYS:
                raise CalendarError(
                    f"a calendar has no {key!r}{suggestion(key, _KEYS)}; it has {', '.join(_KEYS)}."
                )
        if "start" not in table:
            raise CalendarError("the calendar has no start; give one, such as start = 2024-06-03.")
        return cls(**table)

    def _can_mean(self, times: When) -> bool:
        """Tell whether ``times`` is about dates, or means a round of the coming weeks."""
        weeks = day_of(day_number(self.day(0)) + 7 * 8 * max(self.every_days, 1))
        return times.dated or bool(self._open.inside(times, self.length(until=weeks)))

    def _seconds(self, number: int) -> int:
        """Return the moment a round begins, in seconds."""
        grid, zero = self._open.numbered(_whole(number), number + 1)
        return int(grid.begin[zero + number])

    def _moment(self, seconds: int) -> datetime:
        """Return a moment as people write it."""
        if self._days.zone is None:
            return EPOCH + timedelta(seconds=seconds)
        return (UTC_EPOCH + timedelta(seconds=seconds)).astimezone(self._days.zone)

    def _find(self, given: date, what: str) -> int:
        """Return the open round that holds ``given``, or say which is nearest."""
        begin = begin_of(given, self._days)
        end = begin + 1
        if not isinstance(given, datetime):
            end = self._days.begin(day_number(given) + 1)
        grid, zero = self._open.around(begin, end)
        place = int(np.searchsorted(grid.end, begin, side="right"))
        if place < len(grid.begin) and grid.begin[place] < end:
            return place - zero
        grid, zero = self._open.numbered(place - zero - 1, place - zero + 1)
        place = int(np.searchsorted(grid.end, begin, side="right"))
        ahead, behind = grid.begin[place] - end, begin - grid.end[place - 1]
        near = place if ahead <= behind or what == "start" else place - 1
        name = "" if what == "start" else f" round {near - zero},"
        raise CalendarError(
            f"{what} {say(given)} is in no open round; the nearest is{name} "
            f"{self.say(near - zero)}."
        )


def _whole(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise InputTypeError(f"a round is a whole number, got {number!r}.")
    return int(number)
