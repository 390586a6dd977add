"""Rows in and out of the database: what operations work on, and what became of it.

What a worker needs is read, and what became of it is written, by statements of SQLAlchemy that are
the same for every kind of database. SQLite hears them from the driver itself, since a transaction
of the library costs more than what is said in it. PostgreSQL, where every word takes a round trip,
is asked once for everything and told everything at once, unless others came first, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import JSON, Connection, Table, Text, bindparam, cast, func, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg

from lastswitch.service import tables
from lastswitch.service.contract import Work
from lastswitch.service.database import TAKE_TURN, Database
from lastswitch.service.operations import OFFERED, Ask, Decision, Operation, Standing, Subject
from lastswitch.service.rotation import is_text
from lastswitch.service.tables import PLAYING, alias, decision, journal, subject

#: A row, in the order of its table's columns.
Row = Sequence[Any]
_read, _write = msgspec.json.decode, msgspec.json.encode


class ConflictError(Exception):
    """Another worker changed a row first."""


class Wanted(NamedTuple):
    """What operations need: decisions by id, keys of requests, subjects by rotation and name."""

    ids: Sequence[str]
    keys: Sequence[str]
    subjects: Sequence[tuple[str, str]]


class Found(NamedTuple):
    """Rows: decisions, also those that stand offered or that keys stand for; keys; subjects."""

    decisions: list[Row]
    aliases: list[Row]
    subjects: list[Row]


class Changes(NamedTuple):
    """Rows to write, by column; those that change say what they were (``was``)."""

    new_subjects: list[dict[str, Any]]
    moved: list[dict[str, Any]]
    new_decisions: list[dict[str, Any]]
    settled: list[dict[str, Any]]
    aliases: list[dict[str, Any]]
    lines: list[dict[str, Any]]


class Channel:
    """What a worker reads and writes while it decides, on any database.

    Parameters
    ----------
    database
        The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._say = _STATEMENTS[database.engine.dialect.name]
        self._turn: Connection | None = None

    def close(self) -> None:
        """Give back what is held."""

    def fetch(self, wanted: Wanted) -> Found:
        """Return the rows, all as of one moment."""
        with self._database.reading() as connection:
            return _fetch(connection.exec_driver_sql, self._say, wanted)

    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""
        with self._database.writing() as connection:
            _write_all(connection.exec_driver_sql, self._say, changes)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn: what is fetched within (by ``fetch_held``) stays until it is written."""
        with self._database.writing() as self._turn:
            yield

    def fetch_held(self, wanted: Wanted) -> Found:
        """Return the rows while the turn is held."""
        assert self._turn is not None
        return _fetch(self._turn.exec_driver_sql, self._say, wanted)

    def write_held(self, changes: Changes) -> None:
        """Write while the turn is held; it is committed at the end of the turn."""
        assert self._turn is not None
        _write_all(self._turn.exec_driver_sql, self._say, changes)


def open_channel(database: Database) -> Channel:
    """Return a channel to a database."""
    return SqliteChannel(database) if database.sqlite else PostgresChannel(database)


#: What changes of a row that is there: a subject's when it moves, a decision's when it settles.
MOVES = ("guard", "next", "state", "recent", "open_id")
SETTLES = ("status", "until", "due", "reward", "told")
_COLUMNS = {table.name: [column.name for column in table.columns] for table in PLAYING}
_LINE = [name for name in _COLUMNS["journal"] if name != "seq"]


class _Statements:
    """What is said to a kind of database, compiled once: to do so takes longer than to say it."""

    def __init__(self, dialect: Any) -> None:
        self._dialect = dialect
        self.decisions = self._text(select(decision).where(decision.c.id.in_(self._given("ids"))))
        self.aliases = self._text(select(alias).where(alias.c.id.in_(self._given("ids"))))
        among = subject.c.name.in_(self._given("names"))
        where = subject.c.rotation == bindparam("rotation")
        self.subjects = self._text(select(subject).where(where, among))
        #: In the order of :class:`Changes`.
        self.writes = (
            self._text(insert(subject), _COLUMNS["subject"]),
            self._changing(subject, MOVES, ("rotation", "name"), "guard"),
            self._text(insert(decision), _COLUMNS["decision"]),
            self._changing(decision, SETTLES, ("id",), "status"),
            self._text(insert(alias), _COLUMNS["alias"]),
            self._text(insert(journal), _LINE),
        )

    def _text(self, statement: Any, columns: Sequence[str] | None = None) -> str:
        return str(statement.compile(dialect=self._dialect, column_keys=columns))

    def _given(self, name: str) -> Any:
        """Return what selects the texts in a JSON array."""
        given = bindparam(name, type_=Text)
        if self._dialect.name == "sqlite":
            return select(func.json_each(given).table_valued("value").c.value)
        return select(func.json_array_elements_text(cast(given, JSON)).column_valued())

    def _changing(self, table: Table, columns: Sequence[str], key: Sequence[str], was: str) -> str:
        """Return what changes rows that are as they were."""
        where = [table.c[name] == bindparam(f"its_{name}") for name in key]
        changing = update(table).where(*where, table.c[was] == bindparam("was"))
        return self._text(changing, columns)


_POSTGRES = psycopg.dialect()  # type: ignore[no-untyped-call]
_STATEMENTS = {
    dialect.name: _Statements(dialect)
    for dialect in (sqlite.dialect(paramstyle="named"), _POSTGRES)
}


#: Where a row says whom it belongs to, how it stands, and which offer is open.
_ROTATION, _SUBJECT, _STATUS = (
    _COLUMNS["decision"].index(name) for name in ("rotation", "subject", "status")
)
_OPEN = _COLUMNS["subject"].index("open_id")


def _fetch(ask: Callable[..., Iterable[Row]], say: _Statements, wanted: Wanted) -> Found:
    decisions: list[Row] = []
    aliases: list[Row] = []
    if wanted.ids:
        decisions += ask(say.decisions, {"ids": _text(wanted.ids)})
    if wanted.keys:
        aliases += ask(say.aliases, {"ids": _text(wanted.keys)})
    who = set(wanted.subjects)
    who |= {(row[_ROTATION], row[_SUBJECT]) for row in decisions if row[_STATUS] == OFFERED}
    subjects: list[Row] = []
    for rotation in {rotation for rotation, _ in who}:
        names = _text([name for other, name in who if other == rotation])
        subjects += ask(say.subjects, {"rotation": rotation, "names": names})
    more = {row[_OPEN] for row in subjects} | {decision for _, decision, _ in aliases}
    more -= {None, *(row[0] for row in decisions)}
    if more:
        decisions += ask(say.decisions, {"ids": _text(list(more))})
    return Found(decisions, aliases, subjects)


def _write_all(tell: Callable[..., Any], say: _Statements, changes: Changes) -> None:
    for rows, statement in zip(changes, say.writes, strict=True):
        if rows and tell(statement, rows).rowcount != len(rows):
            raise ConflictError


# SQLite: a connection of its own, and no more than the driver.


class SqliteChannel(Channel):
    """A channel to SQLite, with a connection of its own."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held: Any = None

    def close(self) -> None:
        """Close the connection."""
        held, self._held = self._held, None
        if held is not None:
            held.invalidate()

    def fetch(self, wanted: Wanted) -> Found:
        """Return the rows, all as of one moment."""
        with self._transaction("BEGIN"):
            return self.fetch_held(wanted)

    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""
        with self.turn():
            self.write_held(changes)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn: what is fetched within (by ``fetch_held``) stays until it is written."""
        with self._database.taking_turns(), self._transaction("BEGIN IMMEDIATE"):
            yield

    def fetch_held(self, wanted: Wanted) -> Found:
        """Return the rows while the turn is held."""
        return _fetch(self._raw.execute, self._say, wanted)

    def write_held(self, changes: Changes) -> None:
        """Write while the turn is held; it is committed at the end of the turn."""
        _write_all(self._raw.executemany, self._say, changes)

    @property
    def _raw(self) -> Any:
        """The driver's connection."""
        if self._held is None:
            self._held = self._database.engine.raw_connection()
        return self._held.driver_connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """Commit at the end; any error, that of the commit included, undoes all."""
        raw = self._raw
        try:
            raw.execute(begin)
            yield
            raw.execute("COMMIT")
        except BaseException:
            raw.rollback()
            raise


# PostgreSQL: one round trip each way.


class PostgresChannel(Channel):
    """A channel to PostgreSQL, with a connection of its own, made anew when it broke."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held: Any = None

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        held, self._held = self._held, None
        if held is not None:
            with suppress(Exception):
                held.invalidate()

    def fetch(self, wanted: Wanted) -> Found:
        """Return the rows, all as of one moment."""
        found = Found([], [], [])
        rotations = [rotation for rotation, _ in wanted.subjects]
        names = [name for _, name in wanted.subjects]
        given = (wanted.ids, wanted.keys, rotations, names)
        with self._talking() as raw:
            for kind, row in raw.execute(_EVERYTHING, given, prepare=True):
                found[kind].append(_read(row))
        return found

    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""
        with self._talking() as raw, raw.pipeline():  # an error leaves all undone
            raw.execute("BEGIN", prepare=True)
            raw.execute(TAKE_TURN, prepare=True)
            for rows, statement in zip(changes, _PG_WRITES, strict=True):
                if rows:
                    given = {"rows": _text(rows), "count": len(rows)}
                    raw.execute(statement, given, prepare=True)
            raw.execute("COMMIT", prepare=True)

    @contextmanager
    def _talking(self) -> Iterator[Any]:
        """Give the driver's connection; any error drops it, and undoes what it had begun."""
        try:
            if self._held is None:
                self._held = self._database.engine.raw_connection()
                raw: Any = self._held.driver_connection
                raw.autocommit = True
                # All is looked up by key, however small the tables were when it was first planned.
                for way in ("seqscan", "hashjoin", "mergejoin"):
                    raw.execute(f"SET enable_{way} = off")
            yield self._held.driver_connection
        except BaseException:
            self.close()
            raise


def _names(columns: Iterable[str], before: str = "", sep: str = ", ") -> str:
    return sep.join(f'{before}"{name}"' for name in columns)


def _array(table: str, of: str) -> str:
    """Return a row as a JSON array."""
    return f"json_build_array({_names(_COLUMNS[table], before=f'{of}.')})::text"


#: One statement sees one moment. Kinds of rows are numbered as in :class:`Found`.
_EVERYTHING = f"""
WITH asked AS MATERIALIZED (SELECT * FROM decision WHERE id = ANY(%s)),
named AS MATERIALIZED (SELECT * FROM alias WHERE id = ANY(%s)),
who AS MATERIALIZED (
  SELECT s.* FROM subject s JOIN (
    SELECT * FROM unnest(%s::text[], %s::text[]) AS given (rotation, name)
    UNION SELECT rotation, subject FROM asked WHERE status = '{OFFERED}'
  ) given ON s.rotation = given.rotation AND s.name = given.name),
more AS (
  SELECT d.* FROM decision d JOIN (
    SELECT open_id AS id FROM who WHERE open_id IS NOT NULL UNION SELECT decision FROM named
    EXCEPT SELECT id FROM asked
  ) wanted ON d.id = wanted.id)
SELECT 0, {_array("decision", "asked")} FROM asked
UNION ALL SELECT 0, {_array("decision", "more")} FROM more
UNION ALL SELECT 1, {_array("alias", "named")} FROM named
UNION ALL SELECT 2, {_array("subject", "who")} FROM who
"""


def _pg_insert(table: Table, columns: Sequence[str]) -> str:
    names = _names(columns)
    rows = f'json_populate_recordset(NULL::"{table.name}", %(rows)s) WITH ORDINALITY'
    return f'INSERT INTO "{table.name}" ({names}) SELECT {names} FROM {rows} ORDER BY ordinality'


def _pg_update(table: Table, columns: Sequence[str], key: Sequence[str], was: str) -> str:
    """Return an update that fails where a row is not as it was."""
    kinds = {column.name: column.type.compile(_POSTGRES) for column in table.columns}
    shape = [f'"{name}" {kinds[name]}' for name in columns]
    shape += [f'"its_{name}" {kinds[name]}' for name in key]
    sets = ", ".join(f'"{name}" = new."{name}"' for name in columns)
    where = " AND ".join(f'old."{name}" = new."its_{name}"' for name in key)
    return (
        f'WITH changed AS (UPDATE "{table.name}" old SET {sets} '
        f"FROM json_to_recordset(%(rows)s) AS new ({', '.join(shape)}, was {kinds[was]}) "
        f'WHERE {where} AND old."{was}" = new.was RETURNING 1) '
        "SELECT rows_were(count(*), %(count)s) FROM changed"
    )


_PG_WRITES = (
    _pg_insert(subject, _COLUMNS["subject"]),
    _pg_update(subject, MOVES, ("rotation", "name"), "guard"),
    _pg_insert(decision, _COLUMNS["decision"]),
    _pg_update(decision, SETTLES, ("id",), "status"),
    _pg_insert(alias, _COLUMNS["alias"]),
    _pg_insert(journal, _LINE),
)


_read, _write = msgspec.json.decode, msgspec.json.encode


def load(
    fetch: Callable[[Wanted], Found],
    work: Work,
    operations: Sequence[Operation],
    *,
    again: bool = False,
) -> None:
    """Read every row that the operations need.

    An ask without a key has an id that nobody else has: only ``again``, after a commit that may
    have gone through, can it be there.
    """
    asks = [op for op in operations if isinstance(op, Ask)]
    fresh = () if again else {op.id for op in asks if not op.keyed}
    found = fetch(
        Wanted(
            # Names that nothing can have, some databases cannot even be asked for.
            ids=[name for name in {op.id for op in operations}.difference(fresh) if is_text(name)],
            keys=list({op.id for op in asks if op.keyed}),
            subjects=list({(op.rotation, op.subject) for op in asks if is_text(op.rotation)}),
        )
    )
    work.decisions |= {row[0]: decision_of(row) for row in found.decisions}
    work.aliases |= {name: (decision, digest) for name, decision, digest in found.aliases}
    work.subjects |= {(row[0], row[1]): subject_of(row) for row in found.subjects}


def changes(work: Work) -> Changes:
    """Return what became of the rows."""
    changed = sorted(
        (s for s in work.subjects.values() if s.changed), key=lambda s: (s.rotation, s.name)
    )
    touched = {line.decision.id: line.decision for line in work.lines}
    return Changes(
        new_subjects=[_subject_row(s) for s in changed if s.guard is None],
        moved=[_moved(s) for s in changed if s.guard is not None],
        new_decisions=[_decision_row(d) for d in touched.values() if d.was is None],
        settled=[_settled(d) for d in touched.values() if d.was is not None],
        aliases=[
            {"id": name, "decision": decision, "digest": digest}
            for name, (decision, digest) in work.new_aliases.items()
        ],
        lines=[_line(line) for line in work.lines],
    )


def count_subjects(connection: Connection, rotation: str) -> int:
    """Return how many subjects a rotation has."""
    where = tables.subject.c.rotation == rotation
    return int(connection.execute(select(func.count()).where(where)).scalar_one())


def subject_of(row: Row) -> Subject:
    """Return a subject from its row."""
    rotation, name, guard, following, state, recent, open_id = row
    rounds = [(number, tuple(arms)) for number, arms in _read(recent)]
    return Subject(rotation, name, Standing(following, _read(state), rounds), open_id, guard)


def decision_of(row: Row) -> Decision:
    """Return a decision from its row."""
    name, rotation, version, subject, round_, arms, taus, propensity, by, reason = row[:10]
    status, asked, until, due, reward, told, would, digest = row[10:]
    return Decision(
        id=name,
        rotation=rotation,
        version=version,
        subject=subject,
        round=round_,
        arms=tuple(_read(arms)),
        taus=tuple(_read(taus)),
        propensity=propensity,
        by=by,
        reason=reason,
        status=status,
        asked=asked,
        until=until,
        due=due,
        reward=None if reward is None else tuple(_read(reward)),
        told=bool(told),
        would=None if would is None else tuple(_read(would)),
        digest=digest,
        was=status,
    )


def _subject_row(subject: Subject) -> dict[str, Any]:
    standing = subject.standing
    return {
        "rotation": subject.rotation,
        "name": subject.name,
        "guard": 0,
        "next": standing.next,
        "state": _text(standing.state),
        "recent": _text(standing.recent),
        "open_id": subject.open_id,
    }


def _moved(subject: Subject) -> dict[str, Any]:
    standing, was = subject.standing, subject.guard or 0
    return {
        "guard": was + 1,
        "next": standing.next,
        "state": _text(standing.state),
        "recent": _text(standing.recent),
        "open_id": subject.open_id,
        "its_rotation": subject.rotation,
        "its_name": subject.name,
        "was": was,
    }


def _decision_row(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "rotation": decision.rotation,
        "version": decision.version,
        "subject": decision.subject,
        "round": decision.round,
        "arms": _text(decision.arms),
        "taus": _text(decision.taus),
        "propensity": decision.propensity,
        "by": decision.by,
        "reason": decision.reason,
        "status": decision.status,
        "asked": decision.asked,
        "until": decision.until,
        "due": decision.due,
        "reward": None if decision.reward is None else _text(decision.reward),
        "told": decision.told,
        "would": None if decision.would is None else _text(decision.would),
        "digest": decision.digest,
    }


def _settled(decision: Decision) -> dict[str, Any]:
    return {
        "status": decision.status,
        "until": decision.until,
        "due": decision.due,
        "reward": None if decision.reward is None else _text(decision.reward),
        "told": decision.told,
        "its_id": decision.id,
        "was": decision.was,
    }


def _line(line: Any) -> dict[str, Any]:
    decision, pays = line.decision, line.kind == "reward"
    return {
        "at": line.at,
        "rotation": decision.rotation,
        "kind": line.kind,
        "id": decision.id,
        "version": decision.version,
        "subject": decision.subject,
        "round": decision.round,
        "arms": _text(decision.arms),
        "taus": _text(decision.taus),
        "propensity": decision.propensity,
        "by": decision.by,
        "would": None if decision.would is None else _text(decision.would),
        "reward": _text(decision.reward) if pays else None,
        "told": decision.told if pays else None,
    }


def _text(value: Any) -> str:
    return _write(value).decode()
