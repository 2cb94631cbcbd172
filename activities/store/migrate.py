"""Bring an empty or old database to the newest schema, whoever else is starting at the same moment.

The whole migration is one transaction under one lock: BEGIN IMMEDIATE on SQLite, an advisory lock on PostgreSQL. A process
that finds the schema up to date takes no lock and writes nothing, so a read-only database opens too.
"""

import sqlite3
import threading
import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from activities.store.errors import SchemaUnknown, StoreBusy

# Not Alembic's own name for it: the database may also hold an app that keeps its revisions there.
VERSION_TABLE = "turnhold_schema"

_LOCK_SECONDS = 60
ADVISORY_LOCK = 0x7475726E  # any number, the same in every process: "turn"
# Alembic keeps the migration under way in module globals.
_one_at_a_time = threading.Lock()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Upgrade to `revision`.

    Raises:
        SchemaUnknown: the database is at a revision this code does not have.
        StoreBusy: another process held the lock for a minute.
    """
    scripts = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    target = scripts.get_current_head() if revision == "head" else revision
    known = {script.revision for script in scripts.walk_revisions()}
    with engine.begin() as connection:
        if _revision(connection, known) == target:
            return
    if engine.dialect.name == "sqlite":
        _switch_to_wal(engine)
    with _one_at_a_time, engine.connect() as connection:
        _upgrade_alone(connection, known, target, revision)


def _upgrade_alone(connection: Connection, known: set[str], target: str | None, revision: str) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:
        _set_sqlite_patience(connection, _LOCK_SECONDS)
    with connection.begin():
        if is_sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})"))
        if _revision(connection, known) != target:
            command.upgrade(_config(connection), revision)
    # The next user of this connection must not wait for a minute.
    connection.invalidate()


def _revision(connection: Connection, known: set[str]) -> str | None:
    found = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()
    if found is not None and found not in known:
        raise SchemaUnknown(found)
    return found


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _set_sqlite_patience(connection: Connection, seconds: int) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute(f"PRAGMA busy_timeout={seconds * 1000}")


def _switch_to_wal(engine: Engine) -> None:
    # The switch needs the file alone and does not wait for it, so two processes starting together collide here.
    give_up = time.monotonic() + _LOCK_SECONDS
    while True:
        driver = engine.raw_connection()
        try:
            driver.cursor().execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise OperationalError("PRAGMA journal_mode=WAL", None, error) from error
            if time.monotonic() > give_up:
                raise StoreBusy("the database is locked by another writer") from None
            time.sleep(0.02)
        else:
            return
        finally:
            driver.close()
