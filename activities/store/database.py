"""One database for all stores: how it is opened, and what one transaction on it is.

SQLite has one writer at a time. A transaction that starts by reading and then writes can be refused in the middle, without
waiting, when another one wrote in between; so a transaction that will write says so at its start (BEGIN IMMEDIATE), and the
threads of one process queue on a lock instead of polling the file.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, select
from sqlalchemy.exc import SQLAlchemyError

from activities.store.driver_errors import store_error
from activities.store.errors import Collision, StoreBusy, StoreUnavailable
from activities.store.migrate import migrate
from activities.store.tables import database_identity
from activities.store.urls import driver_url

T = TypeVar("T")

# A loser of a race for a new key sees the winner's row when it looks again; more rounds mean something else is wrong.
_COLLISION_ATTEMPTS = 3


class Database:
    """Connections to one database, for any number of threads. Made by `open_database`."""

    def __init__(self, url: URL, *, busy_timeout: float, pool_size: int) -> None:
        self.engine = _engine(url, busy_timeout, pool_size)
        self._busy_timeout = busy_timeout
        self._writer = threading.Lock() if self.engine.dialect.name == "sqlite" else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that only reads.

        Raises:
            StoreUnavailable: the database cannot serve; StoreBusy when it may be able to shortly.
        """
        with _translated(), self.engine.begin() as connection:
            _say_begin(connection, "BEGIN")
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that writes: all of it is stored when the block ends, none of it when it raises.

        Raises:
            StoreUnavailable: as for `read`.
            Collision: another transaction inserted one of the keys first.
        """
        with self._writer_lock(), _translated(), self.engine.begin() as connection:
            _say_begin(connection, "BEGIN IMMEDIATE")
            yield connection

    def transact(self, work: Callable[[Connection], T]) -> T:
        """`work` in one writing transaction, done again from its start when it lost a race for a new key."""
        for _ in range(_COLLISION_ATTEMPTS - 1):
            try:
                with self.write() as connection:
                    return work(connection)
            except Collision:
                continue
        with self.write() as connection:
            return work(connection)

    def identity(self) -> str:
        """What tells this database from any other, the same for all who open it.

        Raises:
            StoreUnavailable.
        """
        with self.read() as connection:
            return str(connection.execute(select(database_identity.c.id)).scalar_one())

    def close(self) -> None:
        """Close every connection that no thread is using."""
        self.engine.dispose()

    @contextmanager
    def _writer_lock(self) -> Iterator[None]:
        if self._writer is None:
            yield
            return
        if not self._writer.acquire(timeout=self._busy_timeout):
            raise StoreBusy("the database is locked by another writer of this process")
        try:
            yield
        finally:
            self._writer.release()


def open_database(address: str, *, busy_timeout: float = 5.0, pool_size: int = 10) -> Database:
    """Open the database at a plain address and bring its schema to the newest revision.

    `busy_timeout` (seconds) bounds each wait for a lock or a free connection; `pool_size` bounds the connections.

    Raises:
        ValueError: an address we do not support.
        StoreUnavailable: the database cannot be reached, opened or migrated.
        SchemaUnknown: a newer version of this code has migrated it.
    """
    url = driver_url(address)
    _make_folder(url)
    database = Database(url, busy_timeout=busy_timeout, pool_size=pool_size)
    try:
        with _translated():
            migrate(database.engine)
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        translated = store_error(error)
        if translated is None:
            raise
        # Not chained: the driver's own text can quote whole rows, and causes are written into workflow histories.
        raise translated from None


def _engine(url: URL, busy_timeout: float, pool_size: int) -> Engine:
    common: dict[str, Any] = {
        "hide_parameters": True,
        "pool_size": pool_size,
        "max_overflow": 0,
        "pool_timeout": busy_timeout,
    }
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": busy_timeout}, **common)
        event.listen(engine, "connect", _prepare_sqlite)
        return engine
    engine = create_engine(url, pool_pre_ping=True, **common)
    event.listen(engine, "connect", _prepare_postgres(busy_timeout))
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The driver would begin transactions at moments of its own; `Database` says when instead.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")
    # In WAL mode a power cut can lose the last commits but never break the file; a killed process loses nothing.
    connection.execute("PRAGMA synchronous=NORMAL")


def _say_begin(connection: Connection, statement: str) -> None:
    # Not by a listener for "begin": an engine that has one runs every statement through all its events, for a tenth of what
    # a turn costs here.
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(statement)


def _prepare_postgres(busy_timeout: float) -> Callable[[Any, object], None]:
    milliseconds = int(busy_timeout * 1000)

    def prepare(connection: Any, _record: object) -> None:
        # Outside a transaction, or the first rollback would undo the settings.
        connection.autocommit = True
        connection.execute(
            f"SET lock_timeout = {milliseconds}; SET statement_timeout = {4 * milliseconds}; "
            f"SET idle_in_transaction_session_timeout = {12 * milliseconds}"
        )
        connection.autocommit = False

    return prepare


def _make_folder(url: URL) -> None:
    if url.get_backend_name() != "sqlite" or not url.database or url.database.startswith("file:"):
        return
    try:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"the folder of the database cannot be made: {error.strerror}", retryable=False
        ) from error
