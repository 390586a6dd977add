"""One database, SQLite or PostgreSQL: connections, transactions, and whose turn it is to write.

Writers take turns: on SQLite by an ``flock`` on a file beside the database, since SQLite's own
busy handler sleeps and wakes too late; on PostgreSQL by an advisory lock of the transaction. So the
journal's numbers are in the order of its commits, and reading on from the last number seen misses
nothing. Whoever dies gives its turn back.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from lastswitch.errors import ServiceError
from lastswitch.service import migrations

try:
    import fcntl
except ImportError:  # Windows: SQLite's own busy handler has to do
    fcntl = None  # type: ignore[assignment]

#: Waits for the turn on PostgreSQL; the lock's number is "last" in ASCII.
TAKE_TURN = f"SELECT pg_advisory_xact_lock({0x6C617374})"
#: Milliseconds that SQLite waits where no flock is to be had.
_PATIENCE = 20_000


class Database:
    """The database behind a URL, or in a file.

    Parameters
    ----------
    where
        A path, for SQLite, or a URL such as ``postgresql://localhost/station``.
    synchronous
        SQLite's setting: ``"FULL"`` loses nothing that was answered, even if the power fails;
        ``"NORMAL"`` only survives the end of the process.
    """

    def __init__(self, where: str | os.PathLike[str], synchronous: str = "FULL") -> None:
        self.url = _url(where)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        if synchronous not in ("FULL", "NORMAL"):
            raise ServiceError(f"synchronous is FULL or NORMAL, got {synchronous!r}.")
        options: dict[str, Any] = {"pool_size": 8, "max_overflow": 16}
        if self.sqlite:
            options["connect_args"] = {"isolation_level": None, "check_same_thread": False}
        else:
            options["connect_args"] = {"connect_timeout": 5}
        self.engine: Engine = create_engine(self.url, **options)
        if self.sqlite:
            event.listen(self.engine, "connect", _pragmas(synchronous))
            event.listen(self.engine, "begin", _begin)
        self._writing = self.engine.execution_options(begin="BEGIN IMMEDIATE")
        self._turn = Path(f"{self.url.database}.turn") if self.sqlite else None
        self._mine = threading.Lock()
        self._handle: tuple[int, int] | None = None

    def create(self, migrate: bool = False) -> Path | None:
        """Make the tables where there are none; refuse those of another release, or migrate them.

        Returns
        -------
        Path or None
            The copy of a SQLite file as it was before it was migrated.
        """
        with self.writing() as connection:
            found = migrations.revision_of(connection)
            if found is None:
                migrations.create(connection)
            elif not migrations.is_known(found):
                raise ServiceError(
                    f"the database is of schema {found}, which a later release made; this one "
                    f"works with {migrations.newest()}: use the later release."
                )
            elif found != migrations.newest():
                if not migrate:
                    raise ServiceError(
                        f"the database is of schema {found}, which an earlier release made; make "
                        "a copy of it, and bring it up to date: lastswitch serve --migrate."
                    )
                kept = self._copied(found)
                migrations.upgrade(connection, found)
                return kept
        return None

    def _copied(self, revision: str) -> Path | None:
        """Return a copy of a SQLite file as it is, beside it."""
        if not self.sqlite:
            return None
        file = Path(str(self.url.database))
        kept = file.with_name(f"{file.stem}.schema-{revision}{file.suffix}")
        kept.touch(mode=0o600)
        with (
            closing(sqlite3.connect(file)) as source,
            closing(sqlite3.connect(kept)) as target,
        ):
            source.backup(target)
        return kept

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection whose reads agree with each other."""
        with self.engine.connect() as connection:
            if not self.sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection to write on, when it is our turn; commit at the end."""
        with self.taking_turns(), self._writing.begin() as connection:
            if not self.sqlite:
                connection.exec_driver_sql(TAKE_TURN)
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        with self._mine:
            if self._handle is not None and self._handle[0] == os.getpid():
                os.close(self._handle[1])
            self._handle = None

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What SQLAlchemy, and the driver itself, raise."""
        return SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error

    @contextmanager
    def taking_turns(self) -> Iterator[None]:
        """Wait until it is our turn to write to SQLite, and give it back at the end."""
        if self._turn is None or fcntl is None:
            yield
            return
        with self._mine:  # the file's lock is of the process, not of the thread
            handle = self._turn_handle(self._turn)
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)

    def _turn_handle(self, path: Path) -> int:
        """Return the open file of turns: one that was inherited would let two have the turn."""
        if self._handle is None or self._handle[0] != os.getpid():
            self._handle = os.getpid(), os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._handle[1]


def is_conflict(error: Exception) -> bool:
    """Tell whether another worker came first, so that trying again helps."""
    cause = getattr(error, "orig", error)
    return _is(cause, "IntegrityError") or getattr(cause, "sqlstate", None) in ("40001", "40P01")


def is_away(error: Exception) -> bool:
    """Tell whether the database is away, so that waiting helps."""
    if is_conflict(error):
        return False
    cause = getattr(error, "orig", error)
    return _is(cause, "OperationalError") or getattr(error, "connection_invalidated", False)


def _is(error: Exception | None, name: str) -> bool:
    """Tell whether an error is of a kind that PEP 249 names alike for every driver."""
    return any(kind.__name__ == name for kind in type(error).__mro__)


def _url(where: str | os.PathLike[str]) -> URL:
    text = os.fspath(where)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise ServiceError(f"{text!r:.100} is no path and no URL of a database.") from error
    name = url.get_backend_name()
    if name == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if name != "sqlite" or not url.database:
        raise ServiceError(
            f"the database must be a file or a URL of PostgreSQL, got {name!r}; for SQLite give "
            "its path."
        )
    return url


def _pragmas(synchronous: str) -> Any:
    def connected(connection: Any, record: Any) -> None:
        for pragma in (
            f"busy_timeout = {_PATIENCE}",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return connected


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
