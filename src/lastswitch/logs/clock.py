"""Cutting the clock into rounds: how long one is, whose midnight counts, and when a day begins."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from lastswitch._utils.checks import is_number
from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch.errors import LogError
from lastswitch.logs.zones import instant_to_wall, offset

if TYPE_CHECKING:
    from ibis.expr.types import IntegerColumn, NumericColumn

    from lastswitch.logs.times import Clock

#: Where the clock is cut, for the pages and notices that speak of rounds.
MIDNIGHT = "midnight UTC, or midnight of the log's own clock where times carry no zone"

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONDAY = 4 * 86400.0  # seconds from 1970 to its first Monday
# 0.3 / 0.1 is a hair below 3: a quotient this close to a whole number is that number.
_HAIR = 1e-12


class Rounds(NamedTuple):
    """How the clock is cut into rounds, in the log's own unit of time."""

    length: float
    origin: float
    zone: ZoneInfo | None = None
    span: tuple[float, float] = (0.0, 0.0)
    exact: bool = True

    def number(self, time: NumericColumn) -> IntegerColumn:
        """Return the round of every time."""
        ibis = load_extra("ibis", "logs")
        local = time if self.zone is None else instant_to_wall(time, self.zone, *self.span)
        quotient = (local - self.origin) / self.length
        if self.exact:
            return quotient.floor().cast("int64")
        near = quotient.round().cast("float64")
        off = (quotient - near).abs()
        close = off <= _HAIR * ibis.greatest(near.abs(), 1.0)
        return ibis.ifelse(close, near, quotient.floor()).cast("int64")

    def of(self, time: float) -> int:
        """Return the round of one time, in plain arithmetic."""
        local = time if self.zone is None else time + offset(self.zone, int(time // 1))
        quotient = (local - self.origin) / self.length
        near = round(quotient)
        if not self.exact and abs(quotient - near) <= _HAIR * max(abs(near), 1.0):
            return near
        return int(quotient // 1)


def clock_rounds(
    every: str | float,
    clock: Clock,
    *,
    zone: ZoneInfo | None = None,
    day_starts: str = "00:00",
    span: tuple[float, float] = (0.0, 0.0),
) -> Rounds:
    """Return the rounds that ``every`` names; those of whole weeks begin on Mondays.

    Examples
    --------
    >>> clock_rounds("12h", "stamps")[:2], clock_rounds(7, "numbers")[:2]
    ((43200.0, 0.0), (7.0, 0.0))
    >>> clock_rounds("1d", "stamps", day_starts="04:00").origin
    14400.0
    """
    begin = day_start(day_starts)
    if clock == "numbers":
        if not (is_number(every) and 0 < every < float("inf")):
            raise LogError(
                f"this log's times are plain numbers, so {spelled('every')} must be a number of "
                f"them larger than 0, got {every!r}; if they are seconds since 1970, say "
                f"{spelled('time_format', 'unix')} (or 'unix_ms').",
                parameter="every",
            )
        return Rounds(float(every), 0.0, exact=float(every).is_integer())
    match = re.fullmatch(r"\s*(\d+)\s*(s|min|h|d|w)\s*", every) if isinstance(every, str) else None
    if match is None or int(match[1]) == 0:
        raise LogError(
            f"{spelled('every')} must be a whole number and a unit (s, min, h, d or w), such as "
            f"'1d' or '12h', got {every!r}.",
            parameter="every",
        )
    length = int(match[1]) * _UNITS[match[2]]
    monday = _MONDAY if length % _UNITS["w"] == 0 else 0.0
    return Rounds(float(length), monday + begin, zone, span)


def day_start(text: str) -> float:
    """Return the seconds after midnight at which a day begins.

    Examples
    --------
    >>> day_start("04:30")
    16200.0
    """
    match = re.fullmatch(r"(\d{1,2}):(\d{2})", text) if isinstance(text, str) else None
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise LogError(
            f"{spelled('day_starts')} must be a time of day such as '04:00', got {text!r}.",
            parameter="day_starts",
        )
    return 3600.0 * int(match[1]) + 60.0 * int(match[2])


def moment(at: object, clock: Clock, zone: ZoneInfo | None) -> float:
    """Return ``at`` on the log's own clock: a number, a date, a datetime or either as text.

    Examples
    --------
    >>> moment("1970-01-02", "stamps", None), moment(5, "numbers", None)
    (86400.0, 5.0)
    """
    if clock == "numbers":
        if is_number(at):
            return float(at)
        raise LogError(f"this log's times are plain numbers, so at must be one, got {at!r}.")
    when = at
    if isinstance(at, str):
        try:
            when = datetime.fromisoformat(at.strip())
        except ValueError:
            when = None
    elif isinstance(at, date) and not isinstance(at, datetime):
        when = datetime(at.year, at.month, at.day)
    if not isinstance(when, datetime):
        raise LogError(
            f"at must be a date or a time such as '2024-06-03' or '2024-06-03 08:00', got {at!r}.",
            parameter="at",
        )
    if when.tzinfo is None:
        when = when.replace(tzinfo=zone if zone is not None else UTC)
    return when.timestamp()
