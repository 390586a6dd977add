"""Who is planned and where they stand: every table that says so, read as one roster.

A roster has one row per subject: its name, its weight, and its states as codes ``tau * n_arms +
arm`` in a list, in any order; an arm without a code stands in the bandit's ``initial``. Where
rules look back, the plays of the last rounds are codes ``ago * n_arms + arm`` in another list.
Everything is checked by the engine that reads it, before anything is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias

from lastswitch._utils.extras import load_extra
from lastswitch._utils.listing import first_dozen
from lastswitch._utils.spelling import spelled
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import CohortError, LogError, StateError
from lastswitch.logs.cleaning import describe_row
from lastswitch.logs.current import recent_plays, rounds_known, standing
from lastswitch.logs.reading import EventLog
from lastswitch.logs.source import BackendLike, Source, open_log
from lastswitch.logs.values import read_number, read_text

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from lastswitch.calendars.calendar import Calendar
    from lastswitch.model.bandit import Bandit

#: A table of states or of recent plays (path, data frame, Ibis table), or a log of events.
StatesLike: TypeAlias = Any
#: Subjects by name, or a table of them (path, data frame, Ibis table).
SubjectsLike: TypeAlias = Any

#: States further from 0 are no count of rounds.
FURTHEST = 1 << 40
#: What a table of states may be, for messages.
_FORMS = (
    "one column per arm, the columns arm and tau, or the columns arm and round (or time) of "
    "recent plays"
)


@dataclass(frozen=True)
class Question:
    """What is asked of the tables: whose states, of which arms, and how many rounds back.

    ``lookback`` is how many rounds before the plan its rules look at; ``subject`` and ``weight``
    are the names of columns.
    """

    bandit: Bandit
    lookback: int = 0
    calendar: Calendar | None = None
    subjects: SubjectsLike | None = None
    subject: str = "subject"
    weight: str | None = None
    drop_unknown: bool = False
    backend: BackendLike = None


@dataclass(frozen=True)
class OpenRoster:
    """A roster that can be read: its expression, its connection, and what was left out of it.

    ``known`` is how many of the rounds before the plan the plays are known of; None where each
    subject has rounds of its own, known as far back as it played.
    """

    table: Table
    connection: Any
    notices: tuple[str, ...] = ()
    known: int | None = 0


@contextmanager
def open_roster(states: StatesLike, question: Question) -> Iterator[OpenRoster]:
    """Open ``states`` for reading as a roster, checked; what was opened is closed at the end."""
    log = states
    if not isinstance(states, EventLog):
        with open_log(states, question.backend) as source:
            timed = _time_of_plays(source.table.columns, question)
            if timed is None:
                wide = set(question.bandit.names) <= set(source.table.columns)
                table = _wide(source, question) if wide else _long(source, question)
                table = _with_subjects(source, table, question, weighed=wide)
                yield OpenRoster(table, source.connection, _blind(question))
                return
        numbered: dict[str, Any] = {"every": 1, "at": 0} if timed == "round" else {}
        log = EventLog(states, subject=question.subject, time=timed, **numbered)
    log = _dated(log, question)
    with log.open() as reading:
        yield _from_log(reading, log, question)


def _blind(question: Question) -> tuple[str, ...]:
    """Return what to say where rules look back and a table of states says nothing of that."""
    if not question.lookback:
        return ()
    return (
        f"rules look back {question.lookback} rounds, and a table of states does not say what was "
        "played in which: they see an empty past; give a log, or recent plays",
    )


def _time_of_plays(columns: Sequence[str], question: Question) -> str | None:
    """Return the column that says when, of a table of recent plays; None if it is one of states."""
    states = set(question.bandit.names) <= set(columns) or "tau" in columns
    timed = [name for name in ("round", "time") if name in columns]
    if states or "arm" not in columns or not timed:
        return None
    _refuse_columns(columns, ["arm", timed[0], question.subject], "plays")
    return timed[0]


def _dated(log: EventLog, question: Question) -> EventLog:
    """Return the log as the calendar cuts it: the plan begins with the coming round."""
    calendar = question.calendar
    backend = question.backend if log.backend is None else log.backend
    log = replace(log, backend=backend)
    if calendar is None or log.every == 1:  # rounds are numbered already
        return log
    if log.every is None:
        clock = {name: getattr(calendar, name) for name in ("every", "zone", "skip", "day_starts")}
        log = replace(log, **clock)
    elif str(log.every).strip() != calendar.every:
        raise LogError(
            f"the log is cut into rounds of {log.every!r} and the calendar into rounds of "
            f"{calendar.every!r}; states are counted in the calendar's rounds, so use one."
        )
    return log if log.at is not None else replace(log, at=calendar.start)


def _from_log(reading: Any, log: EventLog, question: Question) -> OpenRoster:
    ibis = load_extra("ibis", "logs")
    source, names = reading.source, question.bandit.names
    if log.time == "round" and log.every == 1 and reading.events.span[1] >= 0:
        raise CohortError(
            f"recent plays are numbered from the past, -1 for the last round, got round "
            f"{reading.events.span[1]:g}: the coming rounds are what is planned."
        )
    notices = [f"left out: {entry}" for entry in reading.events.bad]
    at = log.at
    long = _kept(source, standing(reading, at))
    unknown = _unknown_arms(source, long, names)
    if unknown:
        words = f"arms of the log that the bandit does not have: {first_dozen(unknown)}"
        if not question.drop_unknown:
            raise CohortError(
                f"{words}{suggestion(unknown[0], names)}; give the bandit those arms, or say "
                f"{spelled('drop_unknown', True)} to plan without them.",
                parameter="drop_unknown",
            )
        notices.append(f"left out: {words}")
    table = _folded(_numbered(long, names, long.tau), "taus")
    if question.lookback:
        recent = _kept(source, recent_plays(reading, at, question.lookback))
        plays = _folded(_numbered(recent, names, -recent["round"]), "recent")
        table = table.left_join(plays, "subject").drop("subject_right")
        nothing = ibis.literal([], type="array<int64>")  # not null: that it did not play is known
        table = table.mutate(recent=table.recent.fill_null(nothing))
    table = _with_subjects(source, table.mutate(weight=ibis.literal(1.0)), question)
    return OpenRoster(table, source.connection, tuple(notices), rounds_known(reading, at))


def _kept(source: Source, table: Table) -> Table:
    """Return what an expression gives, worked out once where the engine is ours to fill."""
    if source.connection.name != "duckdb":
        return table
    return source.connection.create_table(f"kept_{token_hex(8)}", table, temp=True)


def _unknown_arms(source: Source, long: Table, names: Sequence[str]) -> list[str]:
    found = long.filter(long.arm.notin(list(names))).select("arm").distinct().order_by("arm")
    return [row["arm"] for row in source.connection.to_pyarrow(found.limit(100)).to_pylist()]


def _numbered(long: Table, names: Sequence[str], count: Any) -> Table:
    """Return ``subject`` and ``code``: the ``count`` and the number of the arm in one integer."""
    ibis, arrow = load_extra("ibis", "logs"), load_extra("pyarrow", "logs")
    numbers = ibis.memtable(
        arrow.table({"arm": list(names), "number": arrow.array(range(len(names)), arrow.int64())})
    )
    counted = long.select("subject", "arm", count=count.cast("int64"))
    joined = counted.inner_join(numbers, "arm")
    return joined.select("subject", code=joined["count"] * len(names) + joined.number)


def _folded(coded: Table, name: str) -> Table:
    """Return one row per subject, with its codes in a list."""
    return coded.group_by("subject").aggregate(**{name: coded.code.collect()})


def _wide(source: Source, question: Question) -> Table:
    """Return the roster of a table with one column per arm."""
    ibis = load_extra("ibis", "logs")
    table, names = source.table, question.bandit.names
    if question.subject in names:
        raise CohortError(
            f"an arm is called {question.subject!r}, like the column that says who: give the "
            "states in the columns subject, arm and tau."
        )
    weight = _weight_column(table.columns, question)
    known = [question.subject, *names, *([weight] if weight else [])]
    _refuse_columns(table.columns, known)
    taus = {f"t{number}": read_number(table[name]) for number, name in enumerate(names)}
    read = table.select(
        subject=read_text(_column(table, question.subject, "subject")),
        weight=read_number(table[weight]) if weight else ibis.literal(1.0),
        **taus,
    )
    bad = read.subject.isnull() | _bad_weight(read.weight)
    for name in taus:
        bad = bad | _bad_tau(read[name])
    found = _first(source, read.filter(bad))
    if found is not None:
        _refuse_row(found, names)
    _refuse_twice(source, read)
    codes = [read[f"t{k}"].cast("int64") * len(names) + k for k in range(len(names))]
    return read.select("subject", "weight", taus=ibis.array(codes))


def _long(source: Source, question: Question) -> Table:
    """Return the roster of a table with the columns subject, arm and tau."""
    ibis = load_extra("ibis", "logs")
    table, names = source.table, question.bandit.names
    if not {"arm", "tau"} <= set(table.columns):
        missing = [name for name in names if name not in table.columns]
        raise CohortError(
            f"a table of states has {_FORMS}; this one lacks the arms {first_dozen(missing)}"
            f"{suggestion(missing[0], table.columns)} and has the columns "
            f"{first_dozen(list(table.columns))}."
        )
    _refuse_columns(table.columns, [question.subject, "arm", "tau"], "states")
    read = table.select(
        subject=read_text(_column(table, question.subject, "subject")),
        arm=read_text(table.arm),
        tau=read_number(table.tau),
    )
    found = _first(
        source, read.filter(read.subject.isnull() | read.arm.isnull() | _bad_tau(read.tau))
    )
    if found is not None:
        _refuse_row({**found, "weight": 1.0}, names)
    unknown = _unknown_arms(source, read, names)
    if unknown:
        raise CohortError(
            f"the states name arms the bandit does not have: {first_dozen(unknown)}"
            f"{suggestion(unknown[0], names)}; its arms are {first_dozen(list(names))}."
        )
    _refuse_twice(source, read, ("subject", "arm"))
    return _folded(_numbered(read, names, read.tau), "taus").mutate(weight=ibis.literal(1.0))


def _with_subjects(
    source: Source, table: Table, question: Question, *, weighed: bool = False
) -> Table:
    """Return the roster of exactly the subjects asked for, or of all that have states.

    ``weighed`` tells whether the states may have had weights of their own.
    """
    columns = ["subject", "weight", "taus", *(["recent"] if question.lookback else [])]
    ibis = load_extra("ibis", "logs")
    if question.lookback and "recent" not in table.columns:
        table = table.mutate(recent=ibis.null("array<int64>"))
    own = list(source.table.columns) if weighed else []
    if question.subjects is None:
        if question.weight is not None:
            _named_column(own, question.weight, "weight (weights go into a table of subjects)")
        return table.select(*columns)
    with open_log(_as_subjects(question), source.connection) as given:
        asked = given.table
    if question.weight is not None:
        _named_column([*asked.columns, *own], question.weight, "weight")
    weight = _weight_column(asked.columns, question)
    who = asked.select(
        subject=read_text(_column(asked, question.subject, "subject")),
        weight=read_number(asked[weight]) if weight else ibis.literal(1.0),
    )
    found = _first(source, who.filter(who.subject.isnull() | _bad_weight(who.weight)))
    if found is not None:
        _refuse_row(found, ())
    _refuse_twice(source, who)
    held = table.drop("weight") if weight else table.rename(own="weight")
    joined = who.left_join(held, "subject").drop("subject_right")
    if not weight:
        joined = joined.mutate(weight=joined.own.fill_null(1.0))
    return joined.select(*columns)


def _as_subjects(question: Question) -> Any:
    """Return what was given as subjects as something that opens as a table."""
    given = question.subjects
    if isinstance(given, Sequence) and not isinstance(given, str):
        arrow = load_extra("pyarrow", "logs")
        return arrow.table({question.subject: arrow.array([str(one) for one in given])})
    return given


def _weight_column(columns: Sequence[str], question: Question) -> str | None:
    """Return the column of weights, if there is one."""
    if question.weight is None:
        return "weight" if "weight" in columns else None
    return question.weight if question.weight in columns else None


def _column(table: Table, name: str, role: str) -> Any:
    _named_column(table.columns, name, role)
    return table[name]


def _named_column(columns: Sequence[str], name: str, role: str) -> None:
    if name not in columns:
        raise CohortError(
            f"there is no column {name!r} for the {role}{suggestion(name, columns)}; the columns "
            f"are {first_dozen(list(columns)) or 'none'}."
        )


def _refuse_columns(columns: Sequence[str], known: Sequence[str], what: str = "states") -> None:
    others = [name for name in columns if name not in known]
    if others:
        hint = suggestion(others[0], known)
        weights = "; weights go into the table of subjects" if others[0] == "weight" else ""
        raise CohortError(
            f"the table of {what} has columns that mean nothing here: {first_dozen(others)}{hint}; "
            f"it may have {first_dozen(list(known))}{weights}."
        )


def _bad_tau(tau: Any) -> Any:
    return tau.isnull() | (tau == 0) | (tau != tau.floor()) | (tau.abs() > FURTHEST)


def _bad_weight(weight: Any) -> Any:
    return weight.isnull() | (weight < 0)


def _first(source: Source, bad: Table) -> dict[str, Any] | None:
    """Return the first bad row, None if there is none."""
    rows: list[dict[str, Any]] = source.connection.to_pyarrow(bad.limit(1)).to_pylist()
    return rows[0] if rows else None


def _refuse_row(row: dict[str, Any], names: Sequence[str]) -> None:
    """Say what is wrong with a row."""
    subject = row["subject"]
    if subject is None:
        raise CohortError(f"a row has no subject ({describe_row(row)}); every row needs one.")
    weight = row["weight"]
    if weight is None or not weight >= 0:
        raise CohortError(
            f"subject {subject!r} has the weight {weight!r}: a weight is a number of at least 0, "
            "what one unit of its value counts."
        )
    if "tau" in row:
        taus = {row["arm"]: row["tau"]}
        if row["arm"] is None:
            raise CohortError(f"a row of subject {subject!r} names no arm; every row needs one.")
    else:
        taus = {name: row[f"t{number}"] for number, name in enumerate(names)}
    for arm, tau in taus.items():
        if tau is None:
            raise StateError(
                f"subject {subject!r} has no state for arm {arm!r}, or none that is a whole "
                "number: give the rounds it rested, or -1, -2, ... for plays in a row."
            )
        if tau == 0:
            raise StateError(
                f"subject {subject!r} has state 0 for arm {arm!r}, which no arm is in: rest counts "
                "1, 2, ... and a streak -1, -2, ...; for an arm played last round use -1."
            )
        if tau != int(tau) or abs(tau) > FURTHEST:
            raise StateError(
                f"subject {subject!r} has state {tau:g} for arm {arm!r}: a state is a whole number "
                "of rounds."
            )


def _refuse_twice(source: Source, table: Table, keys: tuple[str, ...] = ("subject",)) -> None:
    counted = table.group_by(list(keys)).aggregate(rows=table.count())
    again = counted.filter(counted.rows > 1).order_by(list(keys)).limit(1)
    found = source.connection.to_pyarrow(again).to_pylist()
    if found:
        named = " and ".join(f"{key} {found[0][key]!r}" for key in keys)
        raise CohortError(
            f"{named} is there {found[0]['rows']} times: a subject is planned once; give one row "
            f"for each{'' if len(keys) == 1 else ' arm'}."
        )
