"""Time zones as plain expressions: where the clocks change, as a list of cases any engine knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from lastswitch._utils.extras import load_extra
from lastswitch.calendars.days import find_zone as zone_called
from lastswitch.errors import CalendarError, LogError

if TYPE_CHECKING:
    from ibis.expr.types import NumericColumn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Zones before 1900 are local customs, and after 2100 nobody's: the clock is taken as steady there.
_FIRST, _LAST = -70 * 365 * 86400, 130 * 365 * 86400
_STEP = 7 * 86400  # no zone changes its clock twice within a week


class Change(NamedTuple):
    """From ``instant`` (UTC seconds) on the wall clock is ``after`` seconds ahead of UTC."""

    instant: int
    before: int
    after: int


def find_zone(name: str | None) -> ZoneInfo | None:
    """Return the time zone called ``name``.

    Examples
    --------
    >>> find_zone("Lima")
    Traceback (most recent call last):
    lastswitch.errors.LogError: no time zone is called 'Lima' (did you mean 'America/Lima'?); ...
    """
    try:
        return zone_called(name)
    except CalendarError as error:
        raise LogError(str(error)) from error


def offset(zone: ZoneInfo, instant: int) -> int:
    """Return how many seconds the wall clock is ahead of UTC.

    Examples
    --------
    >>> offset(ZoneInfo("America/Lima"), 0)
    -18000
    """
    ahead = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    return int(ahead.total_seconds()) if ahead is not None else 0


def changes(zone: ZoneInfo, low: float, high: float) -> list[Change]:
    """Return when the clocks change between two moments.

    Examples
    --------
    >>> [change.after for change in changes(ZoneInfo("Europe/Rome"), 1.70e9, 1.73e9)]
    [7200, 3600]
    """
    begin, end = (int(min(max(t, _FIRST), _LAST)) for t in (low - 2 * 86400, high + 2 * 86400))
    found, known = [], offset(zone, begin)
    for now in range(begin + _STEP, end + 2 * _STEP, _STEP):
        ahead = offset(zone, now)
        if ahead == known:
            continue
        before, after = now - _STEP, now
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(zone, middle) == known else (before, middle)
        found.append(Change(after, known, ahead))
        known = ahead
    return found


def wall_to_instant(wall: NumericColumn, zone: ZoneInfo, low: float, high: float) -> NumericColumn:
    """Return the moment at which the clock of ``zone`` first shows ``wall``."""
    edges = [(c.instant + max(c.before, c.after), c.after) for c in changes(zone, low, high)]
    return wall - _stepped(wall, offset(zone, _start(low)), edges)


def instant_to_wall(
    instant: NumericColumn, zone: ZoneInfo, low: float, high: float
) -> NumericColumn:
    """Return what the clock of ``zone`` shows at ``instant``."""
    edges = [(c.instant, c.after) for c in changes(zone, low, high)]
    return instant + _stepped(instant, offset(zone, _start(low)), edges)


def _start(low: float) -> int:
    return int(min(max(low - 2 * 86400, _FIRST), _LAST))


def _stepped(seconds: NumericColumn, first: int, edges: list[tuple[int, int]]) -> NumericColumn:
    ibis = load_extra("ibis", "logs")
    if not edges:
        return ibis.literal(float(first))
    offsets = [first, *(after for _, after in edges)]
    cases = [
        (seconds < edge, float(ahead)) for (edge, _), ahead in zip(edges, offsets, strict=False)
    ]
    return ibis.cases(*cases, else_=float(offsets[-1]))
