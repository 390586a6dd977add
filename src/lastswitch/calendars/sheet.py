"""Schedules laid out in weeks: which rounds each day has, and what happens in them.

What is printed and what is drawn are both made from this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from lastswitch.calendars.when import DAY, WEEKDAYS

if TYPE_CHECKING:
    from lastswitch.calendars.schedule import Schedule

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HEADS = tuple(name[:3].capitalize() for name in WEEKDAYS)


class Slot(NamedTuple):
    """A time of day at which rounds begin: what the clock shows, and for which time that day.

    Slots sort as a day that begins at ``day_starts`` goes.
    """

    order: int
    clock: str
    again: int


@dataclass(frozen=True)
class Sheet:
    """The days of a schedule, from a Monday to a Sunday, and their rounds.

    ``cells`` has, for a day and a slot, the number of the round; None where it is skipped. Rounds
    before the first and after the last are left out.
    """

    days: tuple[date, ...]
    slots: tuple[Slot, ...]
    cells: dict[tuple[date, Slot], int | None]

    @property
    def weeks(self) -> list[tuple[date, ...]]:
        """The days, seven at a time."""
        return [self.days[k : k + 7] for k in range(0, len(self.days), 7)]


def sheet(schedule: Schedule) -> Sheet:
    """Return the weeks that ``schedule`` goes through.

    Examples
    --------
    >>> import lastswitch as ls
    >>> plan = ls.plan_block(ls.instances.two_arms(), 9)
    >>> laid = sheet(plan.calendar(ls.Calendar("2024-06-05", skip="sun")))
    >>> len(laid.weeks), [slot.clock for slot in laid.slots]
    (2, ['00:00'])
    """
    calendar = schedule.calendar
    whole = max(calendar.every_days, 1)
    first, last = calendar.day(0), calendar.day(schedule.length - 1) + timedelta(whole - 1)
    monday, sunday = first - timedelta(first.weekday()), last + timedelta(6 - last.weekday())
    days = tuple(monday + timedelta(k) for k in range((sunday - monday).days + 1))
    cells: dict[tuple[date, Slot], int | None] = {}
    for day in days:
        begun = first + timedelta((day - first).days // whole * whole)  # a round may last days
        for slot, number in _rounds(schedule, begun):
            after = bool(cells) or number == 0  # skipped rounds before the first are not in it
            if after and (number is None or number < schedule.length) and day <= last:
                cells[day, slot] = number
    while cells and next(reversed(cells.values())) is None:  # nor are those after the last
        cells.popitem()
    used = {slot for (_, slot), number in cells.items() if number is not None}
    kept = {key: number for key, number in cells.items() if key[1] in used}
    return Sheet(days, tuple(sorted(used)), kept)


def _rounds(schedule: Schedule, day: date) -> Iterator[tuple[Slot, int | None]]:
    """Yield the slots of a day's rounds, and the rounds' numbers."""
    hour, minute = map(int, schedule.calendar.day_starts.split(":"))
    seen: Counter[str] = Counter()
    for moment, number in schedule.calendar.rounds_of_day(day):
        clock = f"{moment:%H:%M}" + (f":{moment.second:02d}" if moment.second else "")
        seconds = 3600 * (moment.hour - hour) + 60 * (moment.minute - minute) + moment.second
        yield Slot(seconds % DAY, clock, seen[clock]), number
        seen[clock] += 1


def say_day(day: date, year: bool = False) -> str:
    """Return a date as people write it.

    Examples
    --------
    >>> say_day(date(2024, 6, 3)), say_day(date(2024, 6, 3), year=True)
    ('Mon 3 Jun', 'Mon 3 Jun 2024')
    """
    text = f"{HEADS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"
    return f"{text} {day.year}" if year else text
