"""From raw rows to events: what each row means, and what is wrong with those that mean nothing.

Every event has a subject, a time (a number: seconds, or the log's own count), an arm and a reward.
A row whose reward is no number is still a play: it moves the state of its arm, and only its
reward is left out. Any other bad row is left out altogether.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lastswitch._extras import load_extra
from lastswitch.errors import LogError

if TYPE_CHECKING:
    from ibis.expr.types import BooleanColumn, Column, NumericColumn, StringColumn, Table

    from lastswitch.logs.source import Source

#: What can be wrong with a row, in the order in which a row with several faults is filed.
KINDS = {
    "line": "cannot be read as a row",
    "subject": "no subject",
    "time": "time missing or unreadable",
    "zone": "time zone given in some rows only",
    "arm": "no arm",
    "propensity": "propensity not in (0, 1]",
    "reward": "reward not a number (the play counts, its reward does not)",
    "copy": "copy of another row",
}
EXAMPLES = 3

Clock = Literal["numbers", "stamps"]
_RAW = "raw_"
_OFFSET = r"(Z|z|[+-]\d{2}:?\d{2})$"
_ZONED = r":\d{2}.*" + _OFFSET


@dataclass(frozen=True)
class BadRows:
    """The rows of one kind that could not be used: how many, and what a few look like."""

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        shown = "; ".join(self.examples)
        return f"{self.count:,} × {KINDS[self.kind]}" + (f" (such as {shown})" if shown else "")


@dataclass(frozen=True)
class Events:
    """The log as clean events, before any play is told apart from another.

    ``table`` has the columns ``subject``, ``time``, ``arm``, ``reward`` (null where it is no
    number) and ``propensity`` where the log has one.
    """

    table: Table
    clock: Clock
    rows: int
    subjects: int
    bad: tuple[BadRows, ...]
    lowest: float
    highest: float


def read_events(source: Source, raw: Table) -> Events:
    """Parse every column of ``raw``, count what cannot be used, and return the clean events."""
    ibis = load_extra("ibis", "logs")
    clock, zoned = _clock(source, raw)
    parsed = _parsed(raw, clock, source.connection.name)
    fault = _fault(parsed, zoned)
    judged = parsed.mutate(fault=fault)
    usable = (judged.fault == "") | (judged.fault == "reward")
    census = source.connection.to_pyarrow(
        judged.group_by("fault").aggregate(
            rows=ibis._.count(),
            subjects=ibis.ifelse(judged.fault == "", judged.subject, None).nunique(),
            lowest=ibis.ifelse(judged.fault == "", judged.reward, None).min(),
            highest=ibis.ifelse(judged.fault == "", judged.reward, None).max(),
        )
    ).to_pylist()
    bad = _lost(source) + [
        BadRows(entry["fault"], entry["rows"], _examples(source, judged, entry["fault"]))
        for entry in sorted(census, key=lambda entry: list(KINDS).index(entry["fault"] or "copy"))
        if entry["fault"]
    ]
    good = next((entry for entry in census if entry["fault"] == ""), None)
    rows = sum(entry["rows"] for entry in census) + sum(b.count for b in bad if b.kind == "line")
    if good is None:
        found = "; ".join(map(str, bad)) or "the log is empty"
        raise LogError(f"no usable event among {rows:,} rows: {found}.")
    kept = ["subject", "time", "arm", "reward", *(["propensity"] if "propensity" in raw else [])]
    reward = ibis.ifelse(judged.fault == "", judged.reward, ibis.null("float64"))
    table = judged.mutate(reward=reward).filter(usable).select(*kept)
    return Events(table, clock, rows, good["subjects"], tuple(bad), good["lowest"], good["highest"])


def refuse_bad_rows(bad: tuple[BadRows, ...]) -> None:
    """Raise what ``strict=True`` promises, if anything is bad."""
    if bad:
        listing = "\n".join(f"  {entry}" for entry in bad)
        raise LogError(
            f"the log has {sum(entry.count for entry in bad):,} bad rows:\n{listing}\n"
            "mend them, or fit with strict=False to leave them out."
        )


def _parsed(raw: Table, clock: Clock, engine: str) -> Table:
    """Return the rows with every column in its final type, null where it cannot be read."""
    ibis = load_extra("ibis", "logs")
    columns: dict[str, Any] = {
        "subject": _text(raw.subject),
        "time": _number(raw.time) if clock == "numbers" else _seconds(raw.time, engine),
        "arm": _text(raw.arm),
        "reward": _number(raw.reward),
        "zoned": _is_zoned(raw.time),
        **{_RAW + name: raw[name].cast("string") for name in raw.columns},
    }
    if "propensity" in raw.columns:
        share = _number(raw.propensity)
        columns["propensity"] = ibis.ifelse((share > 0) & (share <= 1), share, None)
    return raw.select(**columns)


def _fault(parsed: Table, zoned: bool | None) -> StringColumn:
    """Return the kind of what is wrong with each row, ``""`` for nothing."""
    ibis = load_extra("ibis", "logs")
    cases: list[tuple[Any, str]] = [
        (parsed.subject.isnull(), "subject"),
        (parsed.time.isnull(), "time"),
        (parsed.arm.isnull(), "arm"),
    ]
    if zoned is not None:
        cases.insert(2, (parsed.zoned != ibis.literal(zoned), "zone"))
    if "propensity" in parsed.columns:
        cases.append((parsed.propensity.isnull(), "propensity"))
    cases.append((parsed.reward.isnull(), "reward"))
    return ibis.cases(*cases, else_="")


def _clock(source: Source, raw: Table) -> tuple[Clock, bool | None]:
    """Say how the log tells time, and, if both zoned and zoneless times occur, which to keep.

    Text is read as what most of it is. Times with and without a zone cannot be put in one
    order, so the form most rows have is kept and the other filed as bad.
    """
    kind = raw.time.type()
    if kind.is_numeric() and not kind.is_boolean():
        return "numbers", None
    if not kind.is_string():
        return "stamps", None
    zoned = _is_zoned(raw.time)
    stamp = _stamp(raw.time).notnull()
    forms = raw.aggregate(
        numbers=_number(raw.time).count(),
        zoned=(stamp & zoned).sum(),
        bare=(stamp & ~zoned).sum(),
    )
    found = source.connection.to_pyarrow(forms).to_pylist()[0]
    number, aware, bare = (found[form] or 0 for form in ("numbers", "zoned", "bare"))
    if number > aware + bare:
        return "numbers", None
    return "stamps", (aware >= bare if aware and bare else None)


def _text(column: Column) -> StringColumn:
    text = column.cast("string").strip()
    return text.nullif("")


def _number(column: Column) -> NumericColumn:
    """Return the column as finite numbers; ``true`` and ``false`` are 1 and 0."""
    ibis = load_extra("ibis", "logs")
    kind = column.type()
    if kind.is_string():
        word = column.strip().lower()
        value = ibis.cases(
            (word == "true", 1.0), (word == "false", 0.0), else_=word.try_cast("float64")
        )
    elif kind.is_boolean() or kind.is_numeric():
        value = column.cast("int8" if kind.is_boolean() else "float64").cast("float64")
    else:
        value = ibis.null("float64")
    return ibis.ifelse(value.isnan() | value.isinf(), ibis.null("float64"), value)


def _is_zoned(time: Column) -> BooleanColumn:
    ibis = load_extra("ibis", "logs")
    return time.strip().re_search(_ZONED) if time.type().is_string() else ibis.literal(False)


def _stamp(time: Column) -> Column:
    """Return the time as a timestamp; the offset of a zoned text is dropped, not applied."""
    ibis = load_extra("ibis", "logs")
    if not time.type().is_string():
        return time.cast("timestamp") if time.type().is_date() else time
    text = time.strip()
    return ibis.ifelse(_is_zoned(time), text.re_replace(_OFFSET, ""), text).try_cast("timestamp")


def _seconds(time: Column, engine: str) -> NumericColumn:
    """Return seconds since 1970 in UTC, fractions kept; zoneless times are read as UTC."""
    ibis = load_extra("ibis", "logs")
    stamp = _stamp(time)
    whole = stamp.epoch_seconds().cast("float64").floor()
    if engine == "pyspark":  # knows no microseconds of its own
        digits = stamp.cast("string").re_extract(r"\.(\d+)", 1)
        part = ("0." + digits).try_cast("float64").fill_null(0.0)
    else:
        part = stamp.microsecond().cast("float64") / 1e6
    if not time.type().is_string():
        return whole + part
    offset = time.strip().re_extract(_OFFSET, 1)
    figures = offset.re_replace("[^0-9]", "")
    minutes = figures.substr(0, 2).try_cast("float64") * 60 + figures.substr(2, 2).try_cast(
        "float64"
    )
    east = ibis.ifelse(offset.startswith("-"), -60.0, 60.0) * minutes.fill_null(0.0)
    return whole + part - ibis.ifelse(_is_zoned(time), east, 0.0)


def _lost(source: Source) -> list[BadRows]:
    lines = source.lost_lines()
    return [BadRows("line", len(lines), tuple(lines[:EXAMPLES]))] if lines else []


def _examples(source: Source, judged: Table, kind: str) -> tuple[str, ...]:
    """Return a few rows of one kind, as they are in the log."""
    raw = {name: name.removeprefix(_RAW) for name in judged.columns if name.startswith(_RAW)}
    rows = judged.filter(judged.fault == kind).select(*raw).limit(EXAMPLES)
    return tuple(
        describe_row({raw[name]: value for name, value in row.items()})
        for row in source.connection.to_pyarrow(rows).to_pylist()
    )


def describe_row(row: dict[str, Any]) -> str:
    """Return a row as ``subject='ann', time=None, ...``.

    Examples
    --------
    >>> describe_row({"subject": "ann", "time": None})
    "subject='ann', time=None"
    """
    return ", ".join(f"{name}={value!r}" for name, value in row.items())
