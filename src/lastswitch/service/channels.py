"""A worker's own line to the database: few statements, made once, and few round trips.

What every request needs is said to the driver itself; whatever happens seldom goes through
SQLAlchemy (:mod:`lastswitch.service.database`). SQLite is asked table by table, which costs it
nothing; PostgreSQL is asked once for everything, and told everything at once, since every word
with it takes a round trip.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Table

from lastswitch.service import tables
from lastswitch.service.checkpoints import FALLBACK
from lastswitch.service.database import TURN, Database
from lastswitch.service.operations import OFFERED

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


class Channel(ABC):
    """A connection of the worker's own, opened when it is needed and again when it broke."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: Any = None

    @property
    def _raw(self) -> Any:
        """The driver's connection."""
        if self._held is None:
            self._held = self._database.engine.raw_connection()
            self._opened(self._held.driver_connection)
        return self._held.driver_connection

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        held, self._held = self._held, None
        if held is not None:
            with suppress(Exception):
                held.invalidate()

    def fetch(self, wanted: Wanted) -> Found:
        """Return the rows, all as of one moment."""
        with self._whole():
            return self._fetch(wanted)

    @abstractmethod
    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""

    @abstractmethod
    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn: what is fetched within (by ``fetch_held``) stays until it is written."""

    @abstractmethod
    def fetch_held(self, wanted: Wanted) -> Found:
        """Return the rows while the turn is held."""

    @abstractmethod
    def write_held(self, changes: Changes) -> None:
        """Write while the turn is held; it is committed at the end of the turn."""

    @abstractmethod
    def _fetch(self, wanted: Wanted) -> Found:
        """Return the rows."""

    @abstractmethod
    def _opened(self, raw: Any) -> None:
        """Prepare a new connection."""

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Drop the connection on any error: what it had begun is undone by the database."""
        try:
            yield
        except BaseException:
            self.close()
            raise


def open_channel(database: Database) -> Channel:
    """Return a channel to a database."""
    return SqliteChannel(database) if database.sqlite else PostgresChannel(database)


# SQLite.


class SqliteChannel(Channel):
    """A channel to SQLite."""

    def _opened(self, raw: Any) -> None:
        raw.execute(f"PRAGMA wal_autocheckpoint = {FALLBACK}")

    def _fetch(self, wanted: Wanted) -> Found:
        raw = self._raw
        raw.execute("BEGIN")
        found = self.fetch_held(wanted)
        raw.execute("COMMIT")
        return found

    def fetch_held(self, wanted: Wanted) -> Found:
        """Return the rows while the turn is held."""
        ask = self._raw.execute
        decisions = ask(_BY_ID, (_text(wanted.ids),)).fetchall() if wanted.ids else []
        aliases = ask(_BY_KEY, (_text(wanted.keys),)).fetchall() if wanted.keys else []
        who = set(wanted.subjects)
        who |= {(row[_ROTATION], row[_SUBJECT]) for row in decisions if row[_STATUS] == OFFERED}
        subjects: list[Row] = []
        for rotation in {rotation for rotation, _ in who}:
            names = [name for other, name in who if other == rotation]
            subjects += ask(_BY_NAME, (rotation, _text(names))).fetchall()
        more = {row[_OPEN] for row in subjects} | {row[1] for row in aliases}
        more -= {None, *(row[0] for row in decisions)}
        if more:
            decisions += ask(_BY_ID, (_text(list(more)),)).fetchall()
        return Found(decisions, aliases, subjects)

    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""
        with self.turn():
            self.write_held(changes)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn: what is fetched within stays until it is written."""
        with self._whole(), self._database.taking_turns():
            self._raw.execute("BEGIN IMMEDIATE")
            yield
            self._raw.execute("COMMIT")

    def write_held(self, changes: Changes) -> None:
        """Write while the turn is held; it is committed at the end of the turn."""
        for rows, statement in zip(changes, _SQLITE, strict=True):
            if rows:
                given = [tuple(row.values()) for row in rows]
                if self._raw.executemany(statement, given).rowcount != len(rows):
                    raise ConflictError


# PostgreSQL.


class PostgresChannel(Channel):
    """A channel to PostgreSQL."""

    def _opened(self, raw: Any) -> None:
        raw.autocommit = True
        # Everything is looked up by key, however small the tables were when it was first planned.
        for way in ("seqscan", "hashjoin", "mergejoin"):
            raw.execute(f"SET enable_{way} = off")

    def _fetch(self, wanted: Wanted) -> Found:
        found = Found([], [], [])
        rotations = [rotation for rotation, _ in wanted.subjects]
        names = [name for _, name in wanted.subjects]
        given = (wanted.ids, wanted.keys, rotations, names)
        for kind, row in self._raw.execute(_EVERYTHING, given, prepare=True):
            found[kind].append(_read(row))
        return found

    def fetch_held(self, wanted: Wanted) -> Found:
        """Return the rows while the turn is held."""
        return self._fetch(wanted)

    def write(self, changes: Changes) -> None:
        """Write and commit when it is our turn; raise where a row is not as it was."""
        with self._whole(), self._raw.pipeline():  # one round trip: an error leaves all undone
            self._say("BEGIN")
            self._say(_TAKE_TURN)
            self._write(changes)
            self._say("COMMIT")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn: what is fetched within stays until it is written."""
        with self._whole():
            self._say("BEGIN")
            self._say(_TAKE_TURN)
            yield
            self._say("COMMIT")

    def write_held(self, changes: Changes) -> None:
        """Write while the turn is held; it is committed at the end of the turn."""
        with self._raw.pipeline():
            self._write(changes)

    def _write(self, changes: Changes) -> None:
        for rows, statement in zip(changes, _POSTGRES, strict=True):
            if rows:
                self._say(statement, {"rows": _text(rows), "count": len(rows)})

    def _say(self, statement: str, given: Mapping[str, Any] | None = None) -> None:
        self._raw.execute(statement, given, prepare=True)


# The statements.


def _text(value: Any) -> str:
    return _write(value).decode()


def _names(columns: Iterable[str], before: str = "", sep: str = ", ") -> str:
    return sep.join(f'{before}"{name}"' for name in columns)


_COLUMNS = {table.name: [column.name for column in table.columns] for table in tables.PLAYING}
_LINE = [name for name in _COLUMNS["journal"] if name != "seq"]
_STATUS, _ROTATION, _SUBJECT = (
    _COLUMNS["decision"].index(name) for name in ("status", "rotation", "subject")
)
_OPEN = _COLUMNS["subject"].index("open_id")
#: What changes of a row that is there: a subject's when it moves, a decision's when it settles.
MOVES = ("guard", "next", "state", "recent", "open_id")
SETTLES = ("status", "until", "due", "reward", "told")


def _select(table: Table, where: str) -> str:
    return f'SELECT {_names(_COLUMNS[table.name])} FROM "{table.name}" WHERE {where}'


_IN = "IN (SELECT value FROM json_each(?))"
_BY_ID = _select(tables.decision, f"id {_IN}")
_BY_KEY = _select(tables.alias, f"id {_IN}")
_BY_NAME = _select(tables.subject, f"rotation = ? AND name {_IN}")


def _insert(table: Table, columns: Sequence[str]) -> str:
    places = ", ".join("?" * len(columns))
    return f'INSERT INTO "{table.name}" ({_names(columns)}) VALUES ({places})'


def _update(table: Table, columns: Sequence[str], key: Sequence[str], was: str) -> str:
    sets = _names(columns, sep=" = ?, ")
    where = _names((*key, was), sep=" = ? AND ")
    return f'UPDATE "{table.name}" SET {sets} = ? WHERE {where} = ?'


def _statements(
    insert: Callable[[Table, Sequence[str]], str],
    update: Callable[[Table, Sequence[str], Sequence[str], str], str],
) -> tuple[str, ...]:
    """Return what writes the rows, in the order of :class:`Changes`."""
    return (
        insert(tables.subject, _COLUMNS["subject"]),
        update(tables.subject, MOVES, ("rotation", "name"), "guard"),
        insert(tables.decision, _COLUMNS["decision"]),
        update(tables.decision, SETTLES, ("id",), "status"),
        insert(tables.alias, _COLUMNS["alias"]),
        insert(tables.journal, _LINE),
    )


_SQLITE = _statements(_insert, _update)


def _array(table: str, of: str) -> str:
    """Return a row as a JSON array."""
    return f"json_build_array({_names(_COLUMNS[table], before=f'{of}.')})::text"


_TAKE_TURN = f"SELECT pg_advisory_xact_lock({TURN})"
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
    rows = f'json_populate_recordset(NULL::"{table.name}", %(rows)s) WITH ORDINALITY'
    return (
        f'INSERT INTO "{table.name}" ({_names(columns)}) SELECT {_names(columns)} FROM {rows} '
        "ORDER BY ordinality"
    )


def _pg_update(table: Table, columns: Sequence[str], key: Sequence[str], was: str) -> str:
    """Return an update that fails where a row is not as it was."""
    kinds = {column.name: column.type.compile(_dialect()) for column in table.columns}
    shape = ", ".join(f'"{name}" {kinds[name]}' for name in (*columns, *key))
    sets = ", ".join(f'"{name}" = new."{name}"' for name in columns)
    where = " AND ".join(f'old."{name}" = new."{name}"' for name in key)
    return (
        f'WITH changed AS (UPDATE "{table.name}" old SET {sets} '
        f"FROM json_to_recordset(%(rows)s) AS new ({shape}, was {kinds[was]}) "
        f'WHERE {where} AND old."{was}" = new.was RETURNING 1) '
        "SELECT rows_were(count(*), %(count)s) FROM changed"
    )


def _dialect() -> Any:
    from sqlalchemy.dialects import postgresql

    return postgresql.dialect()  # type: ignore[no-untyped-call]


_POSTGRES = _statements(_pg_insert, _pg_update)
