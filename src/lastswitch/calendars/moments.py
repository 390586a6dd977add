"""Moments as people give them and read them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from lastswitch.calendars.days import EPOCH, UTC_EPOCH, Days
from lastswitch.calendars.when import WEEKDAYS, day_number
from lastswitch.errors import CalendarError, InputTypeError

#: The days a calendar knows: Python's, less a year at both ends for long rounds and zones.
FIRST_DAY, LAST_DAY = day_number(date(2, 1, 1)), day_number(date(9998, 12, 31))
YEARS = "years a calendar knows, 2 to 9998"


def read_time(value: str | date, what: str) -> date:
    """Return a date, or a date and time, from what a caller gives.

    Examples
    --------
    >>> read_time("2024-06-03", "start"), read_time("2024-06-03 06:00", "start")
    (datetime.date(2024, 6, 3), datetime.datetime(2024, 6, 3, 6, 0))
    """
    found = value
    if isinstance(value, str):
        found = _from_text(value, what)
    if not isinstance(found, date):
        raise InputTypeError(f"{what} must be a date, a time or text that is one, got {value!r}.")
    if not FIRST_DAY <= day_number(found) <= LAST_DAY:
        raise CalendarError(f"{what} must be in the {YEARS}, got {value!r}.")
    return found


def _from_text(text: str, what: str) -> date:
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text.strip())
        except ValueError:
            continue
    raise CalendarError(
        f"{what} must be a date such as '2024-06-03' or a time such as '2024-06-03 06:00', "
        f"got {text!r}."
    )


def instant_of(given: datetime, days: Days) -> int:
    """Return the moment ``given`` is, by the clock of ``days`` if it has no zone of its own."""
    if given.tzinfo is not None:
        if days.zone is None:
            raise CalendarError(
                f"{given.isoformat()} carries a time zone and the calendar has none; give the "
                "calendar zone='Europe/Rome' or whichever it is."
            )
        return (given.astimezone(UTC) - UTC_EPOCH) // timedelta(seconds=1)
    wall = (given - EPOCH) // timedelta(seconds=1)
    early, late = days.offsets(wall)
    if early < late:
        raise CalendarError(
            f"{say(given)} does not exist in {days.zone}: the clocks go forward over it, to "
            f"{_clock(days.instant(wall) + late)}; give that, or a time before."
        )
    return wall - (late if given.fold else early)


def begin_of(given: date, days: Days) -> int:
    """Return the moment ``given`` is, or, for a date, the one at which its day begins."""
    if isinstance(given, datetime):
        return instant_of(given, days)
    return days.begin(day_number(given))


def say(given: date) -> str:
    """Return a moment in words.

    Examples
    --------
    >>> say(date(2024, 6, 3)), say(datetime(2024, 6, 3, 6))
    ('Monday 2024-06-03', 'Monday 2024-06-03 06:00')
    """
    day = f"{WEEKDAYS[given.weekday()].capitalize()} {given.strftime('%Y-%m-%d')}"
    if not isinstance(given, datetime):
        return day
    return f"{day} {given.strftime('%H:%M')}" + (f":{given.second:02d}" if given.second else "")


def _clock(wall: int) -> str:
    return f"{(EPOCH + timedelta(seconds=wall)):%H:%M}"
