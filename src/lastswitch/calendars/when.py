"""The little language of times: ``"mon-fri 06:00-10:00, sun, 2024-12-24"``.

A ``when`` is one or more parts joined by commas, and holds where any of them does. A part is

* days: a weekday (``mon``, ``monday``), a range of weekdays (``fri-mon`` goes round the week),
  ``weekdays`` or ``weekends``, a date (``2024-12-24``) or a range of dates
  (``2024-12-24..2025-01-06``, both included);
* or a time of day from (included) to (excluded): ``06:00-10:00``; ``22:00-02:00`` goes on past
  the end of its day;
* or both, days first: ``fri 22:00-02:00`` ends early on Saturday.

Each part stands by itself: ``"mon, wed 06:00-10:00"`` is all of Monday, and Wednesday morning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TypeAlias

import numpy as np

from lastswitch._utils.arrays import BoolArray, IntArray
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import CalendarError, InputTypeError

#: A ``when`` in words, a date, or several of either.
WhenLike: TypeAlias = "str | date | Iterable[str | date]"

DAY = 86400
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: The first day that counts from 1970-01-01 begin at: a Thursday.
_EPOCH = date(1970, 1, 1)
_SPANS = {"weekday": range(5), "weekdays": range(5), "weekend": (5, 6), "weekends": (5, 6)}
_SHORT = {name[:3]: index for index, name in enumerate(WEEKDAYS)}
_WORDS = {
    **_SHORT,
    **{name: index for index, name in enumerate(WEEKDAYS)},
    **{name + "s": index for index, name in enumerate(WEEKDAYS)},
}
_TIME = r"(\d{1,2}):(\d{2})"
_EXAMPLES = "such as 'mon-fri 06:00-10:00', 'sun' or '2024-12-24'"


@dataclass(frozen=True)
class Part:
    """One part of a ``when``: on which days, and from which second of the day for how long."""

    weekdays: frozenset[int] = frozenset(range(7))
    first: int | None = None  # days since 1970-01-01, both ends included
    last: int | None = None
    begin: int | None = None  # seconds after midnight; None: the whole day
    length: int = DAY

    def on(self, days: IntArray) -> BoolArray:
        """Tell for each of ``days`` (counted from 1970-01-01) whether the part is about it."""
        table = np.array([weekday in self.weekdays for weekday in range(7)])
        chosen = table[(days + _EPOCH.weekday()) % 7]
        if self.first is not None and self.last is not None:
            chosen &= (days >= self.first) & (days <= self.last)
        return chosen


@dataclass(frozen=True)
class When:
    """Times in words: where any of its parts holds, it does.

    Examples
    --------
    >>> parse_when("mon-fri 06:00-10:00, sun")
    When('mon-fri 06:00-10:00, sun')
    """

    text: str
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return f"When({self.text!r})"

    def __str__(self) -> str:
        return self.text

    @property
    def timed(self) -> bool:
        """Whether some part speaks of a time of day."""
        return any(part.begin is not None for part in self.parts)

    @property
    def dated(self) -> bool:
        """Whether some part speaks of dates, which may be long past or far ahead."""
        return any(part.first is not None for part in self.parts)

    def holds(self, days: IntArray, seconds: IntArray, day_starts: int) -> BoolArray:
        """Tell whether it holds at moments that the wall clock puts ``seconds`` into their days.

        Days begin ``day_starts`` seconds after midnight, and a time of day belongs to the day it
        falls into so: where the day ends at 04:00, ``sun 02:00-03:00`` is Sunday's last hours.
        """
        inside = np.zeros(len(days), dtype=bool)
        for part in self.parts:
            if part.begin is None:
                inside |= part.on(days)
                continue
            begin = (part.begin - day_starts) % DAY
            end = begin + part.length
            inside |= part.on(days) & (begin <= seconds) & (seconds < end)
            later = seconds + DAY  # as the day before counts
            inside |= part.on(days - 1) & (begin <= later) & (later < end)
        return inside


def parse_when(value: WhenLike | When) -> When:
    """Return what ``value`` says.

    Examples
    --------
    >>> parse_when("mnday")
    Traceback (most recent call last):
    lastswitch.errors.CalendarError: 'mnday' is no day and no time (did you mean 'monday'?); ...
    >>> parse_when(["sat-sun", date(2024, 12, 25)])
    When('sat-sun, 2024-12-25')
    """
    if isinstance(value, When):
        return value
    texts = [_text(item) for item in ([value] if isinstance(value, str | date) else _items(value))]
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    if not parts:
        raise CalendarError(f"times are missing, got {value!r}; say when, {_EXAMPLES}.")
    return When(", ".join(" ".join(part.split()) for part in parts), tuple(map(_part, parts)))


def parse_time(text: object, what: str) -> int:
    """Return a time of day as seconds after midnight.

    Examples
    --------
    >>> parse_time("04:00", "day_starts")
    14400
    """
    if isinstance(text, time) and not text.second:  # as TOML has it: day_starts = 04:00:00
        text = text.strftime("%H:%M")
    match = re.fullmatch(rf"\s*{_TIME}\s*", text) if isinstance(text, str) else None
    if match is None or not (int(match[1]) < 24 and int(match[2]) < 60):
        raise CalendarError(f"{what} must be a time of day such as '04:00', got {text!r}.")
    return 3600 * int(match[1]) + 60 * int(match[2])


def day_number(day: date) -> int:
    """Return how many days after 1970-01-01 ``day`` is.

    Examples
    --------
    >>> day_number(date(1970, 1, 8))
    7
    """
    return day.toordinal() - _EPOCH.toordinal()


def day_of(number: int) -> date:
    """Return the date ``number`` days after 1970-01-01.

    Examples
    --------
    >>> day_of(7)
    datetime.date(1970, 1, 8)
    """
    return date.fromordinal(int(number) + _EPOCH.toordinal())


def _items(value: object) -> list[object]:
    if not isinstance(value, Iterable):
        raise InputTypeError(f"times are words or dates, {_EXAMPLES}; got {value!r}.")
    return list(value)


def _text(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, date) and not isinstance(item, datetime):
        return item.isoformat()
    raise InputTypeError(f"times are words or dates, {_EXAMPLES}; got {item!r}.")


def _part(text: str) -> Part:
    """Return the part that ``text`` says: days, a time of day, or both."""
    words = re.sub(r"\s*(-|\.\.|–)\s*", r"\1", text.strip().lower()).replace("–", "-").split()
    if len(words) > 2:
        raise CalendarError(
            f"{text.strip()!r} has too many words: a part is days, then a time of day, "
            f"{_EXAMPLES}; join several with commas."
        )
    part = Part()
    for place, word in enumerate(words):
        if ":" in word:
            begin, length = _times(word)
            part = Part(part.weekdays, part.first, part.last, begin, length)
            if place + 1 < len(words):
                raise CalendarError(f"{text.strip()!r} must name its days before its time of day.")
        elif place == 0:
            part = _days(word)
        else:
            raise CalendarError(_unknown(word, "a time of day goes here, such as 06:00-10:00"))
    return part


def _days(word: str) -> Part:
    """Return the days that one word names."""
    if word in _SPANS:
        return Part(weekdays=frozenset(_SPANS[word]))
    if word[0].isdigit():
        ends = [_date(end, word) for end in word.split("..")]
        if len(ends) > 2 or ends[-1] < ends[0]:
            raise CalendarError(
                f"{word!r} is no range of dates: give the first and the last, in this order, "
                "such as 2024-12-24..2025-01-06."
            )
        return Part(first=day_number(ends[0]), last=day_number(ends[-1]))
    names = word.split("-")
    for name in names:
        if name not in _WORDS:
            raise CalendarError(_unknown(name, f"write times {_EXAMPLES}"))
    if len(names) > 2:
        raise CalendarError(f"{word!r} is no range of days: give the first and the last: mon-fri.")
    first, last = _WORDS[names[0]], _WORDS[names[-1]]
    return Part(weekdays=frozenset((first + step) % 7 for step in range((last - first) % 7 + 1)))


def _date(text: str, word: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CalendarError(
            f"{word!r} is no date and no time of day; write dates as 2024-12-24, ranges of dates "
            "as 2024-12-24..2025-01-06 and times as 06:00-10:00."
        ) from None


def _times(word: str) -> tuple[int, int]:
    """Return when a time of day begins, and how long it lasts."""
    match = re.fullmatch(rf"{_TIME}-{_TIME}", word)
    if match is None:
        raise CalendarError(f"{word!r} is no time from and to; write it as 06:00-10:00.")
    hours, minutes = (int(match[1]), int(match[3])), (int(match[2]), int(match[4]))
    begin, end = (3600 * hour + 60 * minute for hour, minute in zip(hours, minutes, strict=True))
    if max(minutes) > 59 or begin >= DAY or end > DAY:
        raise CalendarError(f"{word!r} is no time of day: hours go from 00:00 to 24:00.")
    if begin == end:
        raise CalendarError(f"{word!r} ends when it begins; leave it out to mean the whole day.")
    return begin, (end - begin) % DAY or DAY


def _unknown(word: str, advice: str) -> str:
    known = [*_WORDS, *_SPANS]
    return f"{word!r} is no day and no time{suggestion(word, known)}; {advice}."
