"""Schedules in words: weeks in rows, weekdays over columns, times beside rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from textwrap import wrap
from typing import TYPE_CHECKING

from lastswitch.calendars.sheet import HEADS, MONTHS, Sheet, Slot, say_day, sheet
from lastswitch.planning.reading import LINE, headline

if TYPE_CHECKING:
    from lastswitch.calendars.schedule import Schedule

#: What stands for a round that is skipped, and for one in which nothing is played.
CLOSED, SILENT = "·", "–"
#: Lines of a cell, after which a name is cut.
_LINES = 3


def text(schedule: Schedule) -> str:
    """Return what is played when.

    Examples
    --------
    >>> from lastswitch.calendars.calendar import Calendar
    >>> from lastswitch.planning.plan import Plan
    >>> plan = Plan((0, 1, 1, 0, 1, 1), 2.0, 2.0, names=("jazz", "talk"))
    >>> print(text(plan.calendar(Calendar("2024-06-06", zone="Europe/Rome", skip="sun"))))
    6 rounds, worth 2 (0.333 per round), proven optimal
    Thu 6 Jun 2024 to Wed 12 Jun 2024, Europe/Rome
            Mon   Tue   Wed   Thu   Fri   Sat   Sun
     3 Jun                    jazz  talk  talk  ·
    10 Jun  jazz  talk  talk
    <BLANKLINE>
    · closed
    """
    lines = [headline(schedule.plan), _span(schedule)]
    if schedule.calendar.every_days > 1:
        return "\n".join([*lines, *_spans(schedule), *_notes(schedule, closed=False)])
    laid = sheet(schedule)
    if schedule.calendar.daily:
        lines += _days(schedule, laid)
    else:
        for week in laid.weeks:
            lines += ["", *_hours(schedule, laid, week)]
    return "\n".join([*lines, *_notes(schedule, closed=None in laid.cells.values())])


def _span(schedule: Schedule) -> str:
    """Return from when to when it goes, and where."""
    calendar = schedule.calendar
    first, last = (calendar.day(k) for k in (0, schedule.length - 1))
    if calendar.every_days > 1:
        last += timedelta(calendar.every_days - 1)
    zone = "" if calendar.zone is None else f", {calendar.zone}"
    until = "" if first == last else f" to {say_day(last, True)}"
    return f"{say_day(first, True)}{until}{zone}"


def _notes(schedule: Schedule, closed: bool) -> list[str]:
    """Return what the signs in the table mean, where there are any."""
    silent = not all(schedule.arms(number) for number in range(schedule.length))
    signs = [(CLOSED, "closed", closed), (SILENT, "silence", silent)]
    notes = [f"{sign} {what}" for sign, what, there in signs if there]
    return ["", ", ".join(notes)] if notes else []


def _days(schedule: Schedule, laid: Sheet) -> list[str]:
    """Return a row per week."""
    head = ["", *HEADS]
    rows = []
    for week in laid.weeks:
        label = f"{week[0].day} {MONTHS[week[0].month - 1]}"
        cells = [_cell(schedule, laid, day, laid.slots[0]) for day in week]
        rows.append([label, *cells])
    return _table([head, *rows])


def _hours(schedule: Schedule, laid: Sheet, week: Sequence[date]) -> list[str]:
    """Return the table of one week: a column per day, a row per time of day."""
    days = [day for day in week if any((day, slot) in laid.cells for slot in laid.slots)]
    head = ["", *(say_day(day) for day in days)]
    rows = []
    for slot in laid.slots:
        numbers = [laid.cells.get((day, slot)) for day in days]
        if any(number is not None for number in numbers):
            rows.append([slot.clock, *(_cell(schedule, laid, day, slot) for day in days)])
    return _table([head, *rows])


def _spans(schedule: Schedule) -> list[str]:
    """Return a row per round, for rounds of several days."""
    calendar, rows = schedule.calendar, []
    for number in range(schedule.length):
        first = calendar.day(number)
        last = first + timedelta(calendar.every_days - 1)
        rows.append(f"{say_day(first):>10} – {say_day(last):<10}  {_names(schedule, number)}")
    return [row.rstrip() for row in rows]


def _cell(schedule: Schedule, laid: Sheet, day: date, slot: Slot) -> str:
    if (day, slot) not in laid.cells:
        return ""
    number = laid.cells[day, slot]
    return CLOSED if number is None else _names(schedule, number)


def _names(schedule: Schedule, number: int) -> str:
    names = [schedule.plan.names[arm] for arm in schedule.arms(number)]
    return " + ".join(" ".join(name.split()) or "?" for name in names) or SILENT


def _table(rows: list[list[str]]) -> list[str]:
    """Return rows of cells as lines no longer than a terminal; long cells are wrapped."""
    label = max(len(row[0]) for row in rows)
    room = max((LINE - label) // max(len(rows[0]) - 1, 1) - 2, 6)
    width = min(max(len(cell) for row in rows for cell in row[1:]), room)
    lines = []
    for row in rows:
        cells = [_wrapped(cell, width) for cell in row[1:]]
        for k in range(max(map(len, cells))):
            parts = [cell[k] if k < len(cell) else "" for cell in cells]
            begin = f"{row[0] if k == 0 else '':>{label}}"
            lines.append("  ".join([begin, *(f"{part:{width}}" for part in parts)]).rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    """Return a cell in lines of ``width``, three at most."""
    lines = wrap(cell, width) or [""]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], lines[_LINES - 1][: width - 1] + "…"]
    return lines
