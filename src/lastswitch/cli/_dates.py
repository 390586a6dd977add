"""Dates on the command line: where a plan begins, how long it is, and what is written of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastswitch.calendars import Schedule
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.bandit import Bandit

FORMATS = ("table", "csv", "json", "ics", "playlist")
#: Formats that can carry what a log says of a plan.
NOTED = ("table", "json", "ics")
_SUFFIXES = {".txt": "table", ".csv": "csv", ".json": "json", ".ics": "ics"}


def find_calendar(bandit: str, begin: str | None) -> Calendar | None:
    """Return the calendar of a bandit's file, from ``begin`` on; a plain one if it has none.

    None where neither the file nor ``--from`` says anything of dates.
    """
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.files import calendar_table, load_calendar

    table = calendar_table(bandit) if Path(bandit).suffix in (".toml", ".json") else None
    if begin is None:
        return None if table is None or "start" not in table else load_calendar(bandit)
    start = day_of_words(begin, None if table is None else table.get("zone"))
    return Calendar(start) if table is None else load_calendar(bandit, start)


def day_of_words(text: str, zone: str | None) -> str | date:
    """Return the day that ``--from`` means: today, tomorrow, a weekday to come, or a date."""
    from lastswitch._utils.suggest import suggestion
    from lastswitch.calendars.days import find_zone
    from lastswitch.calendars.when import WEEKDAYS
    from lastswitch.errors import CalendarError

    word = text.strip().lower()
    today = datetime.now(find_zone(zone)).date()
    if word in ("today", "tomorrow"):
        return today + timedelta(word == "tomorrow")
    days = [name for name in WEEKDAYS if word in (name, name[:3])]
    if days:
        return today + timedelta((WEEKDAYS.index(days[0]) - today.weekday()) % 7)
    if word[:1].isalpha():
        hint = suggestion(word, ["today", "tomorrow", *WEEKDAYS])
        raise CalendarError(
            f"--from must be a date such as 2024-06-03, today, tomorrow or a weekday, got {text!r}"
            f"{hint}."
        )
    return text


def rounds_to_plan(
    calendar: Calendar | None,
    *,
    cycle: bool,
    length: int | None,
    weeks: int | None,
    days: int | None,
) -> tuple[int, int]:
    """Return how many rounds to plan, and how many to lay out.

    They differ only for a cycle whose ``--length`` is repeated over ``--weeks`` or ``--days``.
    """
    from lastswitch._utils.checks import check_whole
    from lastswitch.errors import PlanError

    options = {"--length": length, "--weeks": weeks, "--days": days}
    given = {
        option: check_whole(option, value, 1, PlanError)
        for option, value in options.items()
        if value is not None
    }
    turn = given.pop("--length", None)
    if not given and turn is not None:
        return turn, turn
    if len(given) != 1 or (turn is not None and not cycle):
        got = " and ".join(option for option, value in options.items() if value is not None)
        raise PlanError(
            f"say how long to plan with one of {', '.join(options)}{f', got {got}' if got else ''}."
        )
    ((option, number),) = given.items()
    if calendar is None:
        raise PlanError(f"{option} needs dates: say --from monday, or give the file a [calendar].")
    laid = calendar.length(calendar.day(0) + timedelta(number * (7 if option == "--weeks" else 1)))
    return turn or laid, laid


def with_dated_rules(bandit: Bandit, calendar: Calendar, length: int) -> Bandit:
    """Return the bandit with rules in words of time turned into rounds."""
    return replace(bandit, rules=calendar.resolve(bandit.rules, length, bandit))


def check_output(dated: bool, form: str | None, out: Path | None) -> str:
    """Return the format to write, before anything is planned."""
    from lastswitch._utils.checks import check_choice
    from lastswitch.errors import FileError, PlanError

    option = "--out" if form is None else f"--format {form}"
    if form is None and out is not None:
        if out.suffix not in _SUFFIXES:
            raise FileError(
                f"cannot tell the format of {str(out)!r}: end it in {', '.join(_SUFFIXES)}, or say "
                f"--format ({', '.join(FORMATS)})."
            )
        form = _SUFFIXES[out.suffix]
    check_choice("--format", form or "table", FORMATS, PlanError)
    if not dated and (out is not None or (form or "table") != "table"):
        raise PlanError(f"{option} needs dates: say --from monday, or give the file a [calendar].")
    if out is not None and not out.parent.is_dir():
        raise FileError(f"cannot write {out}: the folder {out.parent} does not exist.")
    return form or "table"


def written(schedule: Schedule, form: str, name: str, note: str) -> str:
    """Return a schedule in one of the formats; ``name`` is what to call a feed.

    The ``note`` is in it, in whatever way the format has; tables of plays only have none.
    """
    if form == "ics":
        return schedule.to_ics(name=name, note=note)
    if form == "json":
        return schedule.to_json(note=note)
    if form == "table":
        return f"{schedule}\n\n{note}\n" if note else f"{schedule}\n"
    text: str = getattr(schedule, f"to_{form}")()
    return text
