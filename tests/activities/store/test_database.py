"""Transactions: whole or not at all, bounded in time, with errors that say what is wrong and whether to try again."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from sqlalchemy import event, text

from activities.store.database import Database, open_database
from activities.store.errors import Collision, StoreBusy, StoreUnavailable
from activities.store.turn_store import TurnStore
from tests.activities.store.values import asked, begin, commit, said
from tests.postgres import PostgresServer, running_postgres

SECRET = "my medical history"


@pytest.fixture
def impatient(sqlite_file: Path) -> Iterator[Database]:
    """A SQLite database that waits a moment for a lock."""
    database = open_database(f"sqlite:///{sqlite_file}", busy_timeout=0.1)
    yield database
    database.close()


def test_sqlite_is_set_up_for_safety_and_speed(impatient: Database) -> None:
    with impatient.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }

    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 100}


def test_failed_transaction_stores_nothing(database: Database) -> None:
    store = TurnStore(database)

    def fail_in_the_middle() -> None:
        with database.write() as connection:
            connection.execute(text("INSERT INTO conversations VALUES ('c1', null, 'u', 'p', null, 1, 1, 5, null)"))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    assert store.claim(begin(), "p").position == 0


def test_row_without_its_parent_is_refused_for_good(database: Database) -> None:
    with pytest.raises(StoreUnavailable) as refused, database.write() as connection:
        connection.execute(text("INSERT INTO messages VALUES ('nobody', 0, 'user', :body)"), {"body": SECRET})

    assert not refused.value.retryable


def test_errors_do_not_repeat_what_people_said(database: Database) -> None:
    for statement in (
        "INSERT INTO messages VALUES ('t', null, 'user', :body)",
        "SELECT * FROM nowhere WHERE a = :body",
    ):
        with pytest.raises(StoreUnavailable) as refused, database.write() as connection:
            connection.execute(text(statement), {"body": SECRET})

        assert SECRET not in str(refused.value)
        assert refused.value.__cause__ is None


def test_lost_race_for_a_key_is_a_collision(database: Database) -> None:
    TurnStore(database).claim(begin(), "p")

    with pytest.raises(Collision), database.write() as connection:
        connection.execute(text("INSERT INTO conversations VALUES ('c1', null, 'u', 'p', null, 1, 1, 5, null)"))


def test_transact_looks_again_after_a_collision(database: Database) -> None:
    attempts: list[int] = []

    def work(_connection: object) -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise Collision("lost")
        return "done"

    assert database.transact(work) == "done"

    def hopeless(_connection: object) -> None:
        raise Collision("lost")

    with pytest.raises(Collision):
        database.transact(hopeless)


def test_locked_sqlite_is_busy_for_writers_and_open_for_readers(impatient: Database, sqlite_file: Path) -> None:
    store = TurnStore(impatient)
    store.claim(begin(), "p")
    other_process = sqlite3.connect(sqlite_file, isolation_level=None)
    other_process.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreBusy, match="locked") as refused:
        store.put_rows("t1", [(1, said("answer"))])
    assert refused.value.retryable
    assert store.rows("t1") == [(0, asked("question of t1"))]

    other_process.execute("ROLLBACK")
    other_process.close()
    store.put_rows("t1", [(1, said("answer"))])
    assert store.row_count("t1") == 2


def test_writers_of_one_process_are_bounded_too(impatient: Database) -> None:
    release, holding = Event(), Event()

    def hold() -> None:
        with impatient.write():
            holding.set()
            release.wait()

    holder = Thread(target=hold)
    holder.start()
    holding.wait()
    try:
        with pytest.raises(StoreBusy, match="this process"), impatient.write():
            pass
    finally:
        release.set()
        holder.join()


def test_read_only_sqlite_can_be_read_and_says_so(sqlite_file: Path) -> None:
    writer = open_database(f"sqlite:///{sqlite_file}")
    TurnStore(writer).claim(begin(), "p")
    writer.close()
    database = open_database(f"sqlite:///file:{sqlite_file}?mode=ro&uri=true")
    store = TurnStore(database)

    assert store.rows("t1") == [(0, asked("question of t1"))]
    with pytest.raises(StoreUnavailable, match="read-only") as refused:
        store.commit(commit())
    assert not refused.value.retryable
    database.close()


def test_full_sqlite_says_so_and_goes_on_when_there_is_room(sqlite_file: Path) -> None:
    database = Database(open_database(f"sqlite:///{sqlite_file}").engine.url, busy_timeout=1, pool_size=1)
    pages = 40
    event.listen(
        database.engine, "checkout", lambda driver, *_: driver.execute(f"PRAGMA max_page_count={pages}").fetchall()
    )
    store = TurnStore(database)
    store.claim(begin(), "p")

    with pytest.raises(StoreUnavailable, match="full") as refused:
        store.put_rows("t1", [(1, said("x" * 500_000))])
    assert refused.value.retryable
    assert store.rows("t1") == [(0, asked("question of t1"))]

    pages = 4_000
    store.put_rows("t1", [(1, said("x" * 500_000))])
    assert store.row_count("t1") == 2
    database.close()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_bytes(b"this is a picture, not a database" * 100), "not a SQLite database"),
        (lambda path: path.mkdir(), "cannot be opened"),
    ],
    ids=["other file", "folder"],
)
def test_what_is_no_sqlite_file_is_named(tmp_path: Path, make: object, says: str) -> None:
    path = tmp_path / "store.db"
    make(path)  # type: ignore[operator]

    with pytest.raises(StoreUnavailable, match=says):
        open_database(f"sqlite:///{path}")


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreUnavailable, match="folder") as refused:
        open_database(f"sqlite:///{tmp_path}/file/store.db")
    assert not refused.value.retryable


def test_postgres_that_is_not_there_cannot_be_reached() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached") as refused:
        open_database("postgresql://ada:hunter2@127.0.0.1:1/store")

    assert refused.value.retryable
    assert "hunter2" not in str(refused.value)


def test_postgres_without_that_database_refuses_for_good(postgres: PostgresServer) -> None:
    with pytest.raises(StoreUnavailable, match="does not exist") as refused:
        open_database(postgres.url("no_such_database"))

    assert not refused.value.retryable


def test_locked_postgres_is_busy_after_a_bounded_wait(postgres: PostgresServer, postgres_name: str) -> None:
    database = open_database(postgres.url(postgres_name), busy_timeout=0.2)
    store = TurnStore(database)
    store.claim(begin(), "p")

    with psycopg.connect(postgres.url(postgres_name)) as other:
        other.execute("SELECT * FROM turns FOR UPDATE")
        started = time.monotonic()
        with pytest.raises(StoreBusy):
            store.put_rows("t1", [(1, said("answer"))])
        assert time.monotonic() - started < 3

    store.put_rows("t1", [(1, said("answer"))])
    assert store.row_count("t1") == 2
    database.close()


def test_read_only_postgres_says_so(postgres: PostgresServer, postgres_name: str) -> None:
    database = open_database(postgres.url(postgres_name) + "?options=-cdefault_transaction_read_only%3Don")

    with pytest.raises(StoreUnavailable, match="read-only") as refused:
        TurnStore(database).claim(begin(), "p")
    assert refused.value.retryable, "a standby is promoted in the end"
    database.close()


def test_pool_without_a_free_connection_is_busy(postgres: PostgresServer, postgres_name: str) -> None:
    database = open_database(postgres.url(postgres_name), busy_timeout=0.2, pool_size=1)

    with database.read(), pytest.raises(StoreBusy, match="free"), database.read():
        pass
    database.close()


def test_cut_connections_are_replaced(postgres: PostgresServer, postgres_name: str) -> None:
    database = open_database(postgres.url(postgres_name))
    store = TurnStore(database)
    store.claim(begin(), "p")
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (postgres_name,))

    assert store.rows("t1") == [(0, asked("question of t1"))]
    database.close()


@pytest.mark.usefixtures("postgres")
def test_postgres_that_stops_is_a_reason_to_try_again() -> None:
    with running_postgres() as server:
        database = open_database(server.url(server.new_database()))
        server.process.kill()
        server.process.wait()

        with pytest.raises(StoreUnavailable) as refused:
            TurnStore(database).rows("t1")
        assert refused.value.retryable
        database.close()
