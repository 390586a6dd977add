"""Which round it is: a calendar asked often."""

from __future__ import annotations

from datetime import UTC, datetime

from lastswitch.calendar import Calendar
from lastswitch.errors import CalendarError


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

    def round(self, seconds: float) -> int:
        """Return the round that holds a moment."""
        if self._begin <= seconds < self._end:
            return self._now
        calendar = self._needed()
        moment = datetime.fromtimestamp(seconds, UTC)
        number = calendar.round(moment.replace(tzinfo=None) if calendar.zone is None else moment)
        begin, end = (_seconds(time) for time in calendar.span(number))
        self._now, self._begin, self._end = number, begin, end
        return number

    def begin(self, number: int) -> float:
        """Return when a round begins."""
        return _seconds(self._needed().span(number)[0])

    def end(self, number: int) -> float:
        """Return when a round is over."""
        if number == self._now and self._begin < self._end:
            return self._end
        return _seconds(self._needed().span(number)[1])

    def _needed(self) -> Calendar:
        if self.calendar is None:
            raise CalendarError("this rotation has no calendar; number its rounds.")
        return self.calendar


def _seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()
