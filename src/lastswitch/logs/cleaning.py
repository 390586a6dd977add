"""From raw rows to events: what each row means, and what is wrong with those that mean nothing.

Every event has a subject, a time (a number: seconds, or the log's own count), an arm and a reward.
A row whose reward is no number is still a play: it moves the state of its arm, and only its
reward is left out. Any other bad row is left out altogether.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch.errors import LogError
from lastswitch.logs.times import Clock, TimeRules, Times, read_times
from lastswitch.logs.values import NumberRules, read_number, read_text

if TYPE_CHECKING:
    from ibis.expr.types import StringColumn, Table

    from lastswitch.logs.source import Source

#: What can be wrong with a row, in the order in which a row with several faults is filed.
KINDS = {
    "line": "cannot be read as a row",
    "subject": "no subject",
    "time": "time missing or unreadable",
    "zone": "time zone given in some rows only",
    "arm": "no arm",
    "propensity": "propensity not in (0, 1]",
    "reward": "reward not a number (the play moves the state, its reward does not count)",
    "closed": "in no round, by skip",
    "copy": "copy of another row, equal in every column",
}
#: What to say so that rows of a kind can be read, where something can be said.
HINTS: Mapping[str, Callable[[], str]] = {
    "time": lambda: (
        f"{spelled('time_format', '%d/%m/%Y')} reads day first, '%m/%d/%Y' month first, "
        "'unix' seconds"
    ),
    "zone": lambda: f"{spelled('zone', 'Europe/Rome')} says on whose clock the others are",
    "reward": lambda: (
        f"{spelled('reward_words', {'yes': 1, 'no': 0})} reads words, "
        f"{spelled('decimal', ',')} decimal commas"
    ),
}
EXAMPLES = 3

_RAW = "raw_"


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
    number), and ``propensity`` and ``order`` where the log has them. ``instants`` says whether
    times are of UTC; ``span`` are the first and the last of them.
    """

    table: Table
    clock: Clock
    instants: bool
    rows: int
    subjects: int
    bad: tuple[BadRows, ...]
    lowest: float
    highest: float
    span: tuple[float, float]


def read_events(source: Source, raw: Table, times: TimeRules, numbers: NumberRules) -> Events:
    """Parse every column of ``raw``, count what cannot be used, and return the clean events."""
    ibis = load_extra("ibis", "logs")
    when = read_times(source, raw, times)
    judged = _judged(raw, when, numbers)
    usable = (judged.fault == "") | (judged.fault == "reward")
    census = source.connection.to_pyarrow(
        judged.group_by("fault").aggregate(
            rows=ibis._.count(),
            subjects=ibis.ifelse(judged.fault == "", judged.subject, None).nunique(),
            lowest=ibis.ifelse(judged.fault == "", judged.reward, None).min(),
            highest=ibis.ifelse(judged.fault == "", judged.reward, None).max(),
            begin=ibis._.time.min(),
            end=ibis._.time.max(),
        )
    ).to_pylist()
    bad = _lost(source) + [
        BadRows(entry["fault"], entry["rows"], _examples(source, judged, entry["fault"]))
        for entry in sorted(census, key=lambda entry: list(KINDS).index(entry["fault"] or "copy"))
        if entry["fault"]
    ]
    kept_rows = [entry for entry in census if entry["fault"] in ("", "reward")]
    good = next((entry for entry in kept_rows if entry["fault"] == ""), None)
    rows = sum(entry["rows"] for entry in census) + sum(b.count for b in bad if b.kind == "line")
    if good is None:
        raise LogError(f"no usable event among {rows:,} rows: {_found(bad)}.")
    more = [name for name in ("propensity", "order", "order_text") if name in judged.columns]
    reward = ibis.ifelse(judged.fault == "", judged.reward, ibis.null("float64"))
    table = judged.mutate(reward=reward).filter(usable)
    return Events(
        table.select("subject", "time", "arm", "reward", *more),
        when.clock,
        when.instants,
        rows,
        good["subjects"],
        tuple(bad),
        good["lowest"],
        good["highest"],
        (min(e["begin"] for e in kept_rows), max(e["end"] for e in kept_rows)),
    )


def refuse_bad_rows(bad: tuple[BadRows, ...]) -> None:
    """Raise what ``strict=True`` promises, if anything is bad."""
    if bad:
        listing = "\n".join(f"  {entry}" for entry in bad)
        hints = "".join(f"; {hint}" for hint in bad_row_hints(bad))
        raise LogError(
            f"the log has {sum(entry.count for entry in bad):,} bad rows:\n{listing}\n"
            f"mend them, or fit with {spelled('strict', False)} to leave them out{hints}."
        )


def bad_row_hints(bad: tuple[BadRows, ...] | list[BadRows]) -> list[str]:
    """Return what could be said so that more rows are read.

    Examples
    --------
    >>> bad_row_hints([BadRows("arm", 2, ())])
    []
    """
    return [HINTS[entry.kind]() for entry in bad if entry.kind in HINTS]


def _found(bad: list[BadRows]) -> str:
    listed = "; ".join(map(str, bad)) or "the log is empty"
    hints = "; ".join(bad_row_hints(bad))
    return f"{listed}; {hints}" if hints else listed


def _judged(raw: Table, when: Times, numbers: NumberRules) -> Table:
    """Return the rows with every column in its final type, null where unreadable, and the fault."""
    ibis = load_extra("ibis", "logs")
    columns: dict[str, Any] = {
        "subject": read_text(raw.subject),
        "time": when.seconds,
        "arm": read_text(raw.arm),
        "reward": read_number(raw.reward, numbers),
        "mixed": ibis.literal(False) if when.mixed is None else when.mixed,
        **{_RAW + name: raw[name].cast("string") for name in raw.columns},
    }
    if "propensity" in raw.columns:
        share = read_number(raw.propensity)
        columns["propensity"] = ibis.ifelse((share > 0) & (share <= 1), share, None)
    if "order" in raw.columns:
        # By size where it is a number, by letter where it is not; the same on every engine.
        columns["order"] = read_number(raw.order).fill_null(1e300)
        columns["order_text"] = raw.order.cast("string").fill_null("")
    parsed = raw.select(**columns)
    return parsed.mutate(fault=_fault(parsed))


def _fault(parsed: Table) -> StringColumn:
    """Return the kind of what is wrong with each row, ``""`` for nothing."""
    ibis = load_extra("ibis", "logs")
    cases: list[tuple[Any, str]] = [
        (parsed.subject.isnull(), "subject"),
        (parsed.time.isnull(), "time"),
        (parsed.mixed, "zone"),
        (parsed.arm.isnull(), "arm"),
    ]
    if "propensity" in parsed.columns:
        cases.append((parsed.propensity.isnull(), "propensity"))
    cases.append((parsed.reward.isnull(), "reward"))
    return ibis.cases(*cases, else_="")


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
    """Return a row as ``subject='ann', time=None, ...``, long values cut.

    Examples
    --------
    >>> describe_row({"subject": "ann", "time": None})
    "subject='ann', time=None"
    """
    return ", ".join(f"{name}={_short(value)!r}" for name, value in row.items())


def _short(value: Any) -> Any:
    return value[:57] + "..." if isinstance(value, str) and len(value) > 60 else value
