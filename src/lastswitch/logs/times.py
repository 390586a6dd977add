"""Reading times: stamps, dates, text in any format, seconds since 1970, and zones of all spellings.

A time becomes a number of seconds since 1970, or stays the log's own number. Seconds are of UTC
(an *instant*) where the log or ``zone`` says which clock it is, and of the log's own clock
otherwise. Only one meaning is ever read: ``03/04/2024`` needs a ``time_format``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs.values import read_number
from lastswitch.logs.zones import find_zone, wall_to_instant

if TYPE_CHECKING:
    from ibis.expr.types import BooleanColumn, Column, NumericColumn, StringColumn, Table

    from lastswitch.logs.source import Source

Clock = Literal["numbers", "stamps"]

#: Seconds, or thousandths of one, since 1970.
UNIX = {"unix": 1.0, "unix_ms": 1e-3}

_ISO = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)?"
_ZONE = r"Z|z|[+-][0-9]{2}(?::?[0-9]{2})?|UTC|GMT|[A-Z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+"
_STAMP = rf"^({_ISO})\s*({_ZONE})?(?:\[[^\]]*\])?$"
_NAMED = r"^[A-Z][A-Za-z_]+/"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIELDS = {
    "Y": r"([0-9]{4})",
    "y": r"([0-9]{2})",
    **dict.fromkeys("mdHIMS", r"([0-9]{1,2})"),
    "f": r"([0-9]{1,6})",
    "p": r"([AaPp][Mm])",
    **dict.fromkeys("bB", r"([A-Za-z]{3})[A-Za-z]*"),
    "z": rf"({_ZONE})",
}


class TimeRules(NamedTuple):
    """How times are written, and on whose clock."""

    format: str | None = None
    zone: ZoneInfo | None = None


class Parts(NamedTuple):
    """A time in text: the stamp itself, and the zone behind it (``""`` for none)."""

    stamp: StringColumn
    zone: StringColumn


class Times(NamedTuple):
    """The log's times as one column of numbers, null where unreadable."""

    seconds: NumericColumn
    clock: Clock
    instants: bool
    mixed: BooleanColumn | None  # true where a row's zone is not like that of most rows


def time_rules(time_format: str | None, zone: str | None) -> TimeRules:
    """Return how times are written, checked.

    Examples
    --------
    >>> time_rules("%d.%m.", None)
    Traceback (most recent call last):
    lastswitch.errors.LogError: time_format must have a day, a month and a year, such as ...
    """
    if time_format is not None and time_format not in UNIX:
        if not isinstance(time_format, str):
            raise InputTypeError(
                f"{spelled('time_format')} must be text, got {time_format!r}.",
                parameter="time_format",
            )
        _format_regex(time_format)
    return TimeRules(time_format, find_zone(zone))


def read_times(source: Source, raw: Table, rules: TimeRules) -> Times:
    """Return the column ``time`` of ``raw`` as numbers, asking the engine what form they have."""
    column, kind = raw.time, raw.time.type()
    if rules.format in UNIX:
        return Times(read_number(column) * UNIX[rules.format], "stamps", True, None)
    if rules.format is not None:
        text = column.cast("int64").cast("string") if kind.is_numeric() else column.cast("string")
        return _read_parts(source, raw, _formatted(text.strip(), rules.format), rules)
    if kind.is_numeric() and not kind.is_boolean():
        return Times(read_number(column), "numbers", False, None)
    if kind.is_string():
        parts = _split(column)
        forms = raw.aggregate(
            numbers=read_number(column).count(), stamps=_moment(parts.stamp).count()
        )
        found = source.connection.to_pyarrow(forms).to_pylist()[0]
        if (found["numbers"] or 0) > (found["stamps"] or 0):
            return Times(read_number(column), "numbers", False, None)
        return _read_parts(source, raw, parts, rules)
    if not (kind.is_timestamp() or kind.is_date()):
        raise LogError(
            f"the column for the time holds {kind}, which is no time; name another column."
        )
    aware = kind.is_timestamp() and kind.timezone is not None
    seconds = _seconds(column.cast("timestamp") if kind.is_date() else column, source)
    if rules.zone is None or aware:
        return Times(seconds, "stamps", aware, None)
    return Times(_placed(source, raw, seconds, rules.zone), "stamps", True, None)


def _read_parts(source: Source, raw: Table, parts: Parts, rules: TimeRules) -> Times:
    """Read stamps with and without zones; where only some have one and no zone is given, say so."""
    ibis = load_extra("ibis", "logs")
    wall = _seconds(_moment(parts.stamp), source)
    zoned = parts.zone != ""
    forms = raw.aggregate(
        zoned=(wall.notnull() & zoned).sum(),
        bare=(wall.notnull() & ~zoned).sum(),
        low=wall.min(),
        high=wall.max(),
    )
    found = source.connection.to_pyarrow(forms).to_pylist()[0]
    aware, bare = found["zoned"] or 0, found["bare"] or 0
    if not aware and rules.zone is None:
        return Times(wall, "stamps", False, None)
    span = (found["low"] or 0.0, found["high"] or 0.0)
    local = wall if rules.zone is None else wall_to_instant(wall, rules.zone, *span)
    instants = _applied(source, raw, wall, parts.zone, span)
    seconds = ibis.ifelse(zoned, instants, local)
    mixed = (zoned != (aware >= bare)) if rules.zone is None and aware and bare else None
    return Times(seconds, "stamps", aware >= bare or rules.zone is not None, mixed)


def _applied(
    source: Source, raw: Table, wall: NumericColumn, zone: StringColumn, span: tuple[float, float]
) -> NumericColumn:
    """Return the moments of stamps that carry an offset or the name of a zone."""
    ibis = load_extra("ibis", "logs")
    figures = zone.re_replace("[^0-9]", "")
    hours, minutes = (figures.substr(at, 2).try_cast("float64").fill_null(0.0) for at in (0, 2))
    east = ibis.ifelse(zone.startswith("-"), -60.0, 60.0) * (60 * hours + minutes)
    names = raw.select(zone=zone).filter(zone.re_search(_NAMED)).distinct().limit(1000)
    cases: list[tuple[Any, Any]] = []
    for entry in source.connection.to_pyarrow(names).to_pylist():
        try:
            place = find_zone(entry["zone"])
        except LogError:  # no zone of that name: its times are unreadable, and counted so
            continue
        if place is not None:
            cases.append((zone == entry["zone"], wall_to_instant(wall, place, *span)))
    cases.append((zone.re_search(_NAMED), ibis.null("float64")))
    return ibis.cases(*cases, else_=wall - east)


def _placed(source: Source, raw: Table, wall: NumericColumn, zone: ZoneInfo) -> NumericColumn:
    span = source.connection.to_pyarrow(raw.aggregate(low=wall.min(), high=wall.max()))
    low, high = (span[name][0].as_py() or 0.0 for name in ("low", "high"))
    return wall_to_instant(wall, zone, low, high)


def _split(time: Column) -> Parts:
    text = time.strip()
    stamp = text.re_extract(_STAMP, 1).replace(",", ".")
    return Parts(stamp, text.re_extract(_STAMP, 2).fill_null(""))


def _moment(stamp: StringColumn) -> Column:
    return stamp.nullif("").try_cast("timestamp")


def _seconds(stamp: Column, source: Source) -> NumericColumn:
    """Return seconds since 1970 as the stamp shows them, fractions kept."""
    whole = stamp.epoch_seconds().cast("float64").floor()
    if source.connection.name == "pyspark":  # knows no microseconds of its own
        digits = stamp.cast("string").re_extract(r"\.([0-9]+)", 1)
        return whole + ("0." + digits).try_cast("float64").fill_null(0.0)
    return whole + stamp.microsecond().cast("float64") / 1e6


def _format_regex(pattern: str) -> tuple[str, list[str]]:
    """Return a pattern such as ``%d/%m/%Y`` as a regular expression, and its fields in order."""
    regex, fields, rest = "", [], pattern
    while rest:
        mark, rest = (rest[:2], rest[2:]) if rest[0] == "%" else (rest[:1], rest[1:])
        if len(mark) == 1:
            regex += re.escape(mark)
        elif mark == "%%":
            regex += "%"
        elif mark[1] in _FIELDS and mark[1] not in fields:
            regex += _FIELDS[mark[1]]
            fields.append(mark[1])
        else:
            known = ", ".join(f"%{field}" for field in _FIELDS)
            raise LogError(
                f"{spelled('time_format')} {pattern!r}: {mark!r} is not understood here, or given "
                f"twice; known are {known}, and 'unix' or 'unix_ms' for seconds or milliseconds "
                "since 1970.",
                parameter="time_format",
            )
    if not ({"Y", "y"} & set(fields) and {"m", "b", "B"} & set(fields) and "d" in fields):
        raise LogError(
            f"{spelled('time_format')} must have a day, a month and a year, such as '%d/%m/%Y' or "
            f"'%m/%d/%Y %H:%M', or be 'unix' or 'unix_ms'; got {pattern!r}.",
            parameter="time_format",
        )
    return f"^{regex}$", fields


def _formatted(text: StringColumn, pattern: str) -> Parts:
    """Write times of any format the one way engines agree on; what does not match is empty."""
    ibis = load_extra("ibis", "logs")
    regex, fields = _format_regex(pattern)
    got = {name: text.re_extract(regex, place) for place, name in enumerate(fields, start=1)}
    two = {name: part.lpad(2, "0") for name, part in got.items()}
    year = got.get("Y")
    if year is None:
        year = ibis.ifelse(got["y"] < "69", "20", "19") + got["y"]
    month = two.get("m")
    if month is None:
        word = got.get("b", got.get("B")).lower()  # type: ignore[union-attr]
        month = ibis.cases(
            *((word == name, f"{at:02d}") for at, name in enumerate(_MONTHS, 1)), else_="??"
        )
    hour = two.get("H")
    if hour is None and "I" in got:
        half = got["I"].try_cast("int64") % 12 + ibis.ifelse(got["p"].lower() == "pm", 12, 0)
        hour = half.cast("string").lpad(2, "0")
    clock = [hour if hour is not None else "00", two.get("M", "00"), two.get("S", "00")]
    stamp = year + "-" + month + "-" + two["d"] + " " + clock[0] + ":" + clock[1] + ":" + clock[2]
    if "f" in got:
        stamp = stamp + "." + got["f"]
    matched = text.re_search(regex)
    zone = ibis.ifelse(matched, got["z"], "") if "z" in got else ibis.literal("")
    return Parts(ibis.ifelse(matched, stamp, ""), zone)
