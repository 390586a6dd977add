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
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from lastswitch.errors import ServiceError
from lastswitch.service import migrations
from lastswitch.service.problems import Problem

try:
    import fcntl
except ImportError:  # Windows: SQLite's own busy handler has to do
    fcntl = None  # type: ignore[assignment]

#: Names the advisory lock of PostgreSQL, "last" as a number; and what waits for the turn there.
TURN = 0x6C617374
TAKE_TURN = f"SELECT pg_advisory_xact_lock({TURN})"
#: Seconds to wait for a turn, or for a lock of the database, and once the process is ending.
PATIENCE, ENDING = 5.0, 1.0
#: Seconds between two tries to get a turn that another process has.
_AGAIN = 0.001
#: Pages of SQLite's log after which a commit copies it into the file; by default it is so often
#: that half the time goes there.
_LOG_PAGES = 8_000
#: Seconds that PostgreSQL may take for one statement.
_STATEMENT = 60.0


class BusyError(Exception):
    """Another process has had the turn to write for too long."""


class Trouble(NamedTuple):
    """A kind of trouble with a database: its name, and what to say of it."""

    kind: str
    words: str


_FULL = Trouble("database-full", "the database's disk is full; nothing can be written.")
_READ_ONLY = Trouble("database-read-only", "the database is read-only; nothing can be written.")
_BUSY = Trouble("database-busy", "another process has kept the turn to write; try again later.")
_AWAY = Trouble("database-away", "the database does not answer; try again later.")
#: By SQLite's primary error codes (full, read-only, cannot open, busy), and PostgreSQL's states.
_SQLITE = {13: _FULL, 8: _READ_ONLY, 5: _BUSY, 6: _BUSY}
_POSTGRES = {"53100": _FULL, "25006": _READ_ONLY, "55P03": _BUSY}


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
            limits = f"-c lock_timeout={PATIENCE}s -c statement_timeout={_STATEMENT}s"
            options["connect_args"] = {"connect_timeout": 5, "options": limits}
        self.engine: Engine = create_engine(self.url, **options)
        if self.sqlite:
            event.listen(self.engine, "connect", _pragmas(synchronous))
            event.listen(self.engine, "begin", _begin)
        self._writing = self.engine.execution_options(begin="BEGIN IMMEDIATE")
        self._turn = Path(f"{self.url.database}.turn") if self.sqlite else None
        self._mine = threading.Lock()
        #: Whether the process is ending, so that there is no time to wait for turns.
        self.ending = False
        self._handle: tuple[int, int] | None = None
        #: The file as it was, if it was of an earlier release and is migrated.
        self.copy: Path | None = None

    def create(self, migrate: bool = False) -> None:
        """Make the tables where there are none; refuse those of another release, or migrate them.

        A SQLite file that is migrated is copied first (:attr:`copy`).
        """
        self._create_file()
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
                self.copy = self._copied(found)
                migrations.upgrade(connection, found)

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

    def _create_file(self) -> None:
        """Make SQLite's file for its owner alone: it holds names, and hashes of keys."""
        if self.sqlite:
            try:
                file = os.open(str(self.url.database), os.O_CREAT | os.O_RDWR, 0o600)
            except OSError as error:
                raise ServiceError(
                    f"the database {self.url.database} cannot be written: {error.strerror}."
                ) from error
            os.close(file)

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
        return BusyError, SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error

    @contextmanager
    def taking_turns(self) -> Iterator[None]:
        """Wait until it is our turn to write to SQLite, and give it back at the end."""
        if self._turn is None or fcntl is None:
            yield
            return
        if not self._mine.acquire(timeout=self._patience()):
            raise BusyError  # the file's lock is of the process, not of the thread
        try:
            handle = self._turn_handle(self._turn)
            self._lock(handle)
            try:
                yield
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        finally:
            self._mine.release()

    def _patience(self) -> float:
        return ENDING if self.ending else PATIENCE

    def _lock(self, handle: int) -> None:
        """Lock the file of turns; ``flock`` itself would wait for ever, and not end when told."""
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() - began > self._patience():
                    raise BusyError from None
                time.sleep(_AGAIN)

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
    if isinstance(error, BusyError):
        return True
    cause = getattr(error, "orig", error)
    gone = _is(cause, "OperationalError") or getattr(error, "connection_invalidated", False)
    return gone or _known_trouble(error) is not None


def trouble_with(error: Exception) -> Problem:
    """Return the problem that a database's error is to who asked."""
    if _is(getattr(error, "orig", error), "DataError"):
        return Problem(422, "request", "no database can keep what was asked for.")
    trouble = _known_trouble(error) or _AWAY
    return Problem(503, trouble.kind, trouble.words, retry_after=1)


def _known_trouble(error: Exception) -> Trouble | None:
    if isinstance(error, BusyError):
        return _BUSY
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF)
    return _POSTGRES.get(getattr(cause, "sqlstate", None) or "")


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
            f"busy_timeout = {PATIENCE * 1000:.0f}",
            "journal_mode = WAL",
            f"wal_autocheckpoint = {_LOG_PAGES}",
            f"synchronous = {synchronous}",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return connected


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
