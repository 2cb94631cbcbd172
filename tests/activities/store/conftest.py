"""Every store test runs on both databases: a SQLite file of its own, and a PostgreSQL database emptied for it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from activities.store.database import Database, open_database
from activities.store.snapshots import SnapshotStore
from activities.store.tables import metadata
from activities.store.turn_store import TurnStore
from tests.postgres import PostgresServer, missing_postgres, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of the session."""
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_postgres(postgres: PostgresServer) -> str:
    """The name of a migrated database, which the tests use one after the other."""
    name = postgres.new_database()
    open_database(postgres.url(name)).close()
    return name


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def sqlite_file(migrated_sqlite: Path, tmp_path: Path) -> Path:
    """A migrated SQLite file of this test's own."""
    return Path(shutil.copy(migrated_sqlite, tmp_path / "store.db"))


@pytest.fixture
def postgres_name(postgres: PostgresServer, migrated_postgres: str) -> str:
    """The name of the migrated PostgreSQL database, emptied."""
    tables = ", ".join(table.name for table in metadata.sorted_tables)
    with psycopg.connect(postgres.url(migrated_postgres), options="-c lock_timeout=10s") as connection:
        connection.execute(f"TRUNCATE {tables}".encode())
    return migrated_postgres


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(server.new_database())


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    """The address of a migrated database without a row."""
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('sqlite_file')}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(request.getfixturevalue("postgres_name"))


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """An open database."""
    opened = open_database(address)
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> TurnStore:
    """The ledger of turns."""
    return TurnStore(database)


@pytest.fixture
def snapshots(database: Database) -> SnapshotStore:
    """The snapshots of memory."""
    return SnapshotStore(database)
