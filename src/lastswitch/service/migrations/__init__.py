"""Which schema a database has, and how it gets the present one.

A new database is made as :mod:`lastswitch.service.tables` says. One of an earlier release goes
through the scripts in ``versions``, in order, in one transaction; Alembic notes in the database how
far it is. Scripts are never changed once they are released.
"""

from __future__ import annotations

from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select

from lastswitch.errors import ServiceError
from lastswitch.service import tables

#: The revision of the schema that release 0.2 left, before there were migrations.
FIRST = "0001"


def newest() -> str:
    """Return the revision that this release works with.

    Examples
    --------
    >>> newest() >= FIRST
    True
    """
    found = _scripts().get_current_head()
    assert found is not None
    return found


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database's schema; None where nothing of it is there yet."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None:
        return found
    there = sorted(set(inspect(connection).get_table_names()) & set(tables.metadata.tables))
    if not there:
        return None
    if tables.meta.name in there:
        where = tables.meta.c.name == "schema"
        if connection.execute(select(tables.meta.c.value).where(where)).scalar() == "1":
            return FIRST
    raise ServiceError(
        f"the database holds tables called {', '.join(there)} that no release of lastswitch made; "
        "give the service a database of its own."
    )


def create(connection: Connection) -> None:
    """Make the present schema where there is none."""
    tables.metadata.create_all(connection)
    for statement in tables.GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    connection.execute(tables.meta.insert(), [{"name": "schema", "value": tables.SCHEMA}])
    MigrationContext.configure(connection).stamp(_scripts(), newest())


def upgrade(connection: Connection, revision: str) -> None:
    """Bring the schema of a database, of this revision, up to date."""
    MigrationContext.configure(connection).stamp(_scripts(), revision)
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def is_known(revision: str) -> bool:
    """Tell whether this release, or one before it, made a revision."""
    return revision in {script.revision for script in _scripts().walk_revisions()}


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files(__name__)).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
