"""A database of an earlier release is brought up to date, and nothing in it is lost."""

import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from service_cases import Server, ask, running
from sqlalchemy import select, text

from lastswitch.cli import main
from lastswitch.errors import ServiceError
from lastswitch.service import migrations, tables
from lastswitch.service.database import Database
from lastswitch.service.replaying import replay_database
from lastswitch.service.running import prepare

DATA = Path(__file__).parent / "data"
RELEASES = ["0.2"]
#: What the databases of a kind refuse by themselves, beyond their tables.
GUARDS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
    "postgresql": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger "
    "WHERE NOT tgisinternal ORDER BY tgname",
}
KINDS = [pytest.param("SQLite"), pytest.param("PostgreSQL", marks=pytest.mark.service)]


@pytest.fixture(params=RELEASES)
def release(request):
    """Give an earlier release."""
    return request.param


@pytest.fixture(params=KINDS)
def empty(request, tmp_path):
    """Return what gives a place for a new database."""
    if request.param == "PostgreSQL":
        return request.getfixturevalue("postgres").url
    return lambda: str(tmp_path / "new.sqlite")


@pytest.fixture(params=KINDS)
def written(request, release, tmp_path):
    """Give a database that an earlier release wrote."""
    if request.param == "SQLite":
        return str(shutil.copy(DATA / release / "station.sqlite", tmp_path))
    url = request.getfixturevalue("postgres").url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((DATA / release / "station.sql").read_text(encoding="utf-8"))
    return url


def rows_of(database):
    """Return all rows of a database but those about its schema."""
    kept = [table for table in tables.metadata.sorted_tables if table is not tables.meta]
    with database.reading() as connection:
        return {table.name: sorted(map(repr, connection.execute(select(table)))) for table in kept}


def guards_of(database):
    """Return what the database refuses by itself."""
    with database.reading() as connection:
        return connection.execute(text(GUARDS[connection.dialect.name])).all()


def test_what_was_written_is_all_there(written, empty):
    """Same rows, the schema of a new database, and a journal that replays."""
    old = Database(written)
    before = rows_of(old)
    assert len(before["journal"]) > 200
    old.create(migrate=True)
    assert rows_of(old) == before
    new = Database(empty())
    new.create()
    for found in (old, new):
        with found.reading() as connection:
            assert migrations.revision_of(connection) == migrations.newest()
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, tables.metadata) == []
            which = tables.meta.c.name == "schema"
            schema = connection.execute(select(tables.meta.c.value).where(which)).scalar_one()
            assert schema == tables.SCHEMA
    if old.sqlite == new.sqlite:
        assert guards_of(old) == guards_of(new)
    old.close()
    new.close()
    replayed = replay_database(written)
    assert replayed.agrees, replayed
    assert replayed.lines == len(before["journal"])


def test_it_is_served_on(written):
    """Subjects go on where they stood, and rewards still come for what was decided."""
    database = Database(written)
    database.create(migrate=True)
    with database.reading() as connection:
        table = tables.decision
        query = select(table.c.id).where(table.c.status == "played", table.c.rotation == "station")
        waiting = connection.execute(query).scalars().all()
    with running(database, {}) as client:
        assert client.get("/v1/rotations/station").json()["version"] == 2
        before = client.get("/v1/rotations/station/subjects/ann").json()
        told = client.post(f"/v1/decisions/{waiting[0]}/reward", json={"reward": 0.5})
        assert told.status_code == 201
        asked = ask(client, "ann", rotation="station")
        assert (asked.status_code, asked.json()["round"]) == (201, before["next"])
    assert replay_database(written).agrees


def test_again_changes_nothing(written):
    """What is up to date is left alone, and no second copy is made."""
    for _ in range(2):
        database = Database(written)
        database.create(migrate=True)
        copy = database.copy
        rows, guards = rows_of(database), guards_of(database)
        database.close()
    assert copy is None
    database = Database(written)
    database.create()
    assert (rows_of(database), guards_of(database)) == (rows, guards)
    database.close()


def test_nothing_is_migrated_unasked(written):
    """Whoever only opens it, such as a second worker, is told what to do."""
    database = Database(written)
    before = rows_of(database), guards_of(database)
    with pytest.raises(ServiceError, match=r"earlier release made; .* serve --migrate"):
        database.create()
    assert (rows_of(database), guards_of(database)) == before
    database.close()


def test_a_failure_leaves_it_as_it_was(written, monkeypatch):
    """A script that breaks halfway: no row, no guard, no revision is changed."""
    from lastswitch.service.migrations.versions import v0001_release_0_2

    database = Database(written)
    before = rows_of(database), guards_of(database)

    def broken(connection, revision):
        connection.execute(text("UPDATE meta SET value = '3'"))
        connection.execute(text("CREATE TABLE half (a integer)"))
        raise RuntimeError(v0001_release_0_2.revision)

    monkeypatch.setattr(migrations, "upgrade", broken)
    with pytest.raises(RuntimeError):
        database.create(migrate=True)
    monkeypatch.undo()
    assert (rows_of(database), guards_of(database)) == before
    database.create(migrate=True)
    assert replay_database(written).agrees
    database.close()


def test_a_copy_of_the_file_is_kept(release, tmp_path):
    """It is what it was before, for its owner's eyes alone."""
    file = Path(shutil.copy(DATA / release / "station.sqlite", tmp_path))
    prepared = prepare([], str(file))
    assert prepared.database.copy == tmp_path / "station.schema-0001.sqlite"
    assert stat.S_IMODE(prepared.database.copy.stat().st_mode) == 0o600
    original = sqlite3.connect(DATA / release / "station.sqlite")
    copy = sqlite3.connect(prepared.database.copy)
    assert list(copy.iterdump()) == list(original.iterdump())
    prepared.database.close()
    assert prepare([], str(file)).database.copy is None


def test_serve_brings_it_up_to_date_and_says_so(release, tmp_path, capsys):
    """The command itself, on the way to a new key."""
    file = Path(shutil.copy(DATA / release / "station.sqlite", tmp_path))
    assert main(["serve", "--database", str(file), "--new-key", "read"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("ls_")
    assert f"the database as it was: {tmp_path / 'station.schema-0001.sqlite'}" in said.err
    Server(str(file)).start().stop()
    assert replay_database(str(file)).agrees


@pytest.mark.service
def test_postgresql_is_migrated_when_told_to(postgres, release, capsys):
    """We can make no copy of it: its owner says that there is one."""
    url = postgres.url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((DATA / release / "station.sql").read_text(encoding="utf-8"))
    asked = ["serve", "--database", url, "--new-key", "read"]
    assert main(asked) == 2
    assert "make a copy of it" in capsys.readouterr().err
    assert main([*asked, "--migrate"]) == 0
    with psycopg.connect(url) as connection, pytest.raises(psycopg.Error, match="append-only"):
        connection.execute("TRUNCATE journal")
    assert main(asked) == 0


def test_what_is_of_no_known_release_is_refused(empty):
    """A later schema, and tables that are somebody else's: nothing is made or changed."""
    place = empty()
    database = Database(place)
    database.create()
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ServiceError, match="schema 9999, which a later release made"):
        database.create(migrate=True)
    with database.writing() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
        connection.execute(text("DELETE FROM meta"))
    with pytest.raises(ServiceError, match=r"called .* that no release of lastswitch made"):
        database.create(migrate=True)
    database.close()


def test_release_0_2_refuses_what_is_newer(tmp_path):
    """It looks for schema 1 where we leave another."""
    database = Database(tmp_path / "a.sqlite")
    database.create()
    with database.reading() as connection:
        rows = connection.execute(text("SELECT value FROM meta WHERE name = 'schema'"))
        assert rows.scalars().all() == ["2"]
    database.close()


def test_the_scripts_ship_with_the_package():
    """They lie in the package, and looking at them does nothing."""
    code = (
        "from lastswitch.service.migrations import env, newest; "
        "from lastswitch.service.migrations.versions import v0001_release_0_2 as first; "
        "print(first.revision, newest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == migrations.FIRST
