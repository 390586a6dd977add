"""Schedules as iCalendar feeds (RFC 5545).

Times of a zone are written in UTC, which every reader has, and times of no zone as floating ones;
so no feed needs a description of a zone, of which readers disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from lastswitch.errors import CalendarError, InputTypeError

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.calendars.schedule import Play, Schedule

#: Octets a line may have before it must be folded.
_LINE = 75
#: What no text of a feed may hold: control characters, and halves of characters.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def feed(schedule: Schedule, name: str, stamp: datetime | None = None, note: str = "") -> str:
    """Return ``schedule`` as a feed called ``name``, made at ``stamp`` (now, if not given).

    A ``note`` becomes the description of the whole feed.

    Examples
    --------
    >>> import lastswitch as ls
    >>> plan = ls.plan_block(ls.instances.two_arms(), 1)
    >>> text = feed(plan.calendar(ls.Calendar("2024-06-03")), "radio")
    >>> text.splitlines()[0], text.splitlines()[-1]
    ('BEGIN:VCALENDAR', 'END:VCALENDAR')
    """
    if not (isinstance(name, str) and name.strip()):
        raise InputTypeError(f"name must be what to call the feed, got {name!r}.")
    return feed_of(schedule.calendar, schedule.plays, name, stamp, note)


def feed_of(
    calendar: Calendar,
    plays: Iterable[Play],
    name: str,
    stamp: datetime | None = None,
    note: str = "",
) -> str:
    """Return plays on a calendar, round by round, as a feed; see :func:`feed`."""
    made = datetime.now(UTC) if stamp is None else stamp
    if made.tzinfo is None:
        raise CalendarError(f"stamp must have a zone, got {made.isoformat()}; datetime.now(UTC).")
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//lastswitch//schedule 1//EN",
        "CALSCALE:GREGORIAN",
        f"NAME:{escaped(name)}",
        f"X-WR-CALNAME:{escaped(name)}",
    ]
    if note:  # the standard's property, and the one most readers know
        lines += [f"DESCRIPTION:{escaped(note)}", f"X-WR-CALDESC:{escaped(note)}"]
    if calendar.zone is not None:
        lines.append(f"X-WR-TIMEZONE:{calendar.zone}")
    place, before = 0, None
    for play in plays:
        place = place + 1 if play.round == before else 0
        before = play.round
        lines += _event(calendar, play, place, name, made)
    return "".join(fold(line) + "\r\n" for line in [*lines, "END:VCALENDAR"])


def _event(calendar: Calendar, play: Play, place: int, name: str, made: datetime) -> list[str]:
    """Return the lines of one play, the ``place``-th of its round."""
    if calendar.daily:
        last = play.day + timedelta(days=max(1, (play.end.date() - play.begin.date()).days))
        times = [f"DTSTART;VALUE=DATE:{play.day:%Y%m%d}", f"DTEND;VALUE=DATE:{last:%Y%m%d}"]
    else:
        times = [f"DTSTART:{_time(play.begin)}", f"DTEND:{_time(play.end)}"]
    # What is played is no part of the identity: another arm there is the same event, changed.
    begin = play.day.isoformat() if calendar.daily else _time(play.begin)
    identity = sha256(f"{name}\n{begin}\n{place}".encode("utf-8", "replace")).hexdigest()[:32]
    return [
        "BEGIN:VEVENT",
        f"UID:{identity}@lastswitch",
        f"DTSTAMP:{_time(made)}",
        f"LAST-MODIFIED:{_time(made)}",
        *times,
        f"SUMMARY:{escaped(play.name)}",
        f"DESCRIPTION:{escaped(f'round {play.round}')}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def escaped(text: str) -> str:
    r"""Return ``text`` as the value of a property.

    Examples
    --------
    >>> print(escaped("fish; chips, peas\nand \\ salt"))
    fish\; chips\, peas\nand \\ salt
    """
    clean = _FORBIDDEN.sub(" ", text.replace("\r\n", "\n"))
    for mark in ("\\", ";", ","):
        clean = clean.replace(mark, "\\" + mark)
    return clean.replace("\n", "\\n")


def fold(line: str) -> str:
    r"""Return ``line`` in pieces of at most 75 octets, never within a character.

    Examples
    --------
    >>> len(fold("SUMMARY:" + "é" * 60).split("\r\n "))
    2
    """
    pieces, size = [""], 0
    for character in line:
        octets = len(character.encode())
        if size + octets > _LINE:
            pieces.append("")
            size = 1  # the space that begins a continued line
        pieces[-1] += character
        size += octets
    return "\r\n ".join(pieces)


def _time(moment: datetime) -> str:
    """Return a moment as iCalendar writes it: in UTC, or floating if it has no zone."""
    if moment.tzinfo is None:
        return f"{moment:%Y%m%dT%H%M%S}"
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"
