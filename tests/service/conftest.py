"""What tests of the service share."""

import pytest
from service_cases import Database, Postgres, need_postgres


@pytest.fixture
def database(tmp_path):
    """Give an empty SQLite database."""
    found = Database(tmp_path / "service.sqlite", synchronous="NORMAL")
    yield found
    found.close()


@pytest.fixture(scope="session")
def postgres():
    """Give a PostgreSQL server."""
    need_postgres()
    server = Postgres().start()
    yield server
    server.close()
