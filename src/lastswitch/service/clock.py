"""What time it is, and which round: a clock that does not jump, and a calendar asked often."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from lastswitch.calendars.calendar import Calendar
from lastswitch.calendars.days import parse_every
from lastswitch.calendars.moments import read_time, say
from lastswitch.errors import CalendarError, ServiceError

log = logging.getLogger("lastswitch.service")

#: Seconds by which a clock may be set at once, and seconds after which any setting is believed.
JUMP, BELIEVED = 60.0, 600.0
#: Rounds that a calendar may have to look up one by one.
MOST_WALKED = 5_000_000
_DAY = 86_400.0


class SteadyClock:
    """Seconds since 1970, by a clock of which a jump is believed only when it stays.

    Windows that close cannot be opened again. So where the machine's clock suddenly says that days
    went by (or that it is yesterday), time goes on as it went, by the clock that cannot be set,
    until the new time has been the time for ten minutes.

    Examples
    --------
    >>> wall, passed = [1000.0], [0.0]
    >>> clock = SteadyClock(lambda: wall[0], lambda: passed[0])
    >>> wall[0], passed[0] = 900_000.0, 1.0  # set ahead by ten days
    >>> clock()
    1001.0
    >>> wall[0], passed[0] = 900_600.0, 601.0
    >>> clock()
    900600.0
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._passed = wall, passed
        #: What the machine's clock is ahead of the one that cannot be set, as believed; as it says
        #: otherwise, and since when.
        self._offset = self._other = wall() - passed()
        self._since: float | None = None

    def __call__(self) -> float:
        """Return the time."""
        passed = self._passed()
        offset = self._wall() - passed
        if abs(offset - self._offset) <= JUMP:
            self._offset, self._since = offset, None
        elif self._since is None or abs(offset - self._other) > JUMP:
            self._other, self._since = offset, passed
            log.warning(
                "the machine's clock jumped by %+.0f s; it is believed if that stays for %.0f s",
                *(offset - self._offset, BELIEVED),
            )
        elif passed - self._since >= BELIEVED:
            log.warning("the machine's clock is believed again")
            self._offset, self._since = offset, None
        return passed + self._offset


class Clock:
    """The rounds of a calendar by seconds since 1970; a calendar without a zone is in UTC.

    Examples
    --------
    >>> clock = Clock(Calendar("1970-01-01"))
    >>> clock.round(86_399.0), clock.round(86_400.0), clock.end(0)
    (0, 1, 86400.0)
    """

    def __init__(self, calendar: Calendar | None) -> None:
        self.calendar = calendar
        self._now, self._begin, self._end = 0, 1.0, 0.0
        #: When round 0 begins, and how long a round lasts, at least.
        self._first = self._every = 0.0
        #: Whether every round lasts as long, so that none has to be looked up.
        self._even = False
        if calendar is not None:
            self._first, self._every = _seconds(calendar.start), float(parse_every(calendar.every))
            self._even = calendar.zone is None and calendar.skip is None

    def check_fine(self, dated: bool) -> None:
        """Refuse a calendar whose present round is too many rounds away to look it up."""
        if self.calendar is None or (self._even and not dated):
            return
        count = (time.time() - self._first) / self._every
        if abs(count) > MOST_WALKED:
            raise ServiceError(
                f"[calendar]: {abs(count):,.0f} rounds lie between its start and now, and a "
                f"rotation looks up at most {MOST_WALKED:,}; let it start later, or make rounds "
                "longer."
            )

    def round(self, seconds: float) -> int:
        """Return the round that holds a moment."""
        if self._begin <= seconds < self._end:
            return self._now
        calendar = self._needed()
        if self._even:
            number = int((seconds - self._first) // self._every)
            begin, end = self.begin(number), self.end(number)
        else:
            self._check_near(seconds)
            time = datetime.fromtimestamp(seconds, UTC)
            number = calendar.round(time.replace(tzinfo=None) if calendar.zone is None else time)
            begin, end = (_seconds(edge) for edge in calendar.span(number))
        self._now, self._begin, self._end = number, begin, end
        return number

    def round_at(self, at: int | str, now: float, ahead: float) -> int:
        """Return the round of a number or a moment in words, if it is not too far from now.

        Examples
        --------
        >>> clock = Clock(Calendar("1970-01-01"))
        >>> clock.round_at(5, 0.0, 86_400.0 * 7), clock.round_at("1970-01-03", 0.0, 86_400.0 * 7)
        (5, 2)
        """
        calendar = self._needed()
        earliest, latest = min(now, self._first) - ahead, max(now, self._first) + ahead
        words = f"rounds are asked for up to {ahead / _DAY:g} days from now; see `ahead`."
        if isinstance(at, str):
            given = read_time(at, "at")
            if not earliest - _DAY <= _about(given) <= latest + _DAY:
                raise TooFarError(f"at {at!r:.60} is too far away: {words}")
            if self._even and not isinstance(given, datetime):
                hours, minutes = map(int, calendar.day_starts.split(":"))
                return self.round(_about(given) + 3600 * hours + 60 * minutes)
            if self._even and isinstance(given, datetime) and given.tzinfo is None:
                return self.round(_seconds(given))
            self._check_near(_about(given))
            return calendar.round(at)
        # Rounds that are skipped make it later: what is too far without them is too far.
        if not earliest <= self._first + at * self._every <= latest:
            raise TooFarError(f"at {at} is too far away: {words}")
        if not earliest <= self.begin(at) <= latest:
            raise TooFarError(f"at {at} is too far away: {words}")
        return at

    def begin(self, number: int) -> float:
        """Return when a round begins."""
        if self._even:
            return self._first + number * self._every
        self._check_near(self._first + number * self._every)
        return _seconds(self._needed().span(number)[0])

    def end(self, number: int) -> float:
        """Return when a round is over."""
        if self._even:
            return self.begin(number + 1)
        if number == self._now and self._begin < self._end:
            return self._end
        self._check_near(self._first + number * self._every)
        return _seconds(self._needed().span(number)[1])

    def say(self, number: int) -> str:
        """Return when a round begins, in words.

        Examples
        --------
        >>> Clock(Calendar("2024-06-03")).say(5)
        'Saturday 2024-06-08'
        """
        calendar = self._needed()
        if not self._even:
            self._check_near(self._first + number * self._every)
            return calendar.say(number)
        try:
            time = calendar.start + timedelta(seconds=number * self._every)
        except OverflowError:
            raise TooFarError(f"round {number} is too far away.") from None
        return say(time.date() if calendar.daily else time)

    def _check_near(self, seconds: float) -> None:
        """Refuse to look for a round that is too many rounds away."""
        if abs(seconds - self._first) > MOST_WALKED * self._every:
            raise TooFarError(
                f"more than {MOST_WALKED:,} rounds lie between round 0 and what was asked for."
            )

    def _needed(self) -> Calendar:
        if self.calendar is None:
            raise CalendarError("this rotation has no calendar; number its rounds.")
        return self.calendar


class TooFarError(CalendarError):
    """A round is too far away to be asked for."""


def _about(given: date) -> float:
    """Return when a moment is, give or take a day."""
    return _seconds(datetime(given.year, given.month, given.day))


def _seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()
