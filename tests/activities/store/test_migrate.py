"""The schema comes to head from nothing and from an old revision, also when several processes start at once."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import IntegrityError

from activities.store import migrate as migrations
from activities.store.database import Database, open_database
from activities.store.errors import SchemaUnknown, StoreUnavailable
from activities.store.migrate import VERSION_TABLE, migrate
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from activities.store.tables import metadata
from activities.store.turn_store import TurnStore
from activities.store.urls import driver_url
from tests.activities.store.racing import race
from tests.activities.store.values import asked, begin, commit
from tests.postgres import PostgresServer

SCRIPTS = ScriptDirectory(str(Path(migrations.__file__).parent / "migrations"))


def _at_revision(address: str, revision: str) -> Database:
    """The database migrated no further than a revision."""
    database = Database(driver_url(address), busy_timeout=5, pool_size=5)
    migrate(database.engine, revision)
    return database


def test_empty_database_comes_to_the_tables_of_the_code(empty_address: str) -> None:
    database = open_database(empty_address)

    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": metadata}
        )
        assert context.get_current_revision() == SCRIPTS.get_current_head()
        assert compare_metadata(context, metadata) == []
    database.close()


def test_second_opening_finds_everything_as_it_was(empty_address: str) -> None:
    first = open_database(empty_address)
    TurnStore(first).claim(begin(), "p")
    first.close()

    second = open_database(empty_address)
    assert TurnStore(second).rows("t1") == [(0, asked("question of t1"))]
    second.close()


def test_a_database_is_the_same_for_all_who_open_it_and_no_other_is(empty_address: str, tmp_path: Path) -> None:
    first, again = open_database(empty_address), open_database(empty_address)
    other = open_database(f"sqlite:///{tmp_path}/other.db")
    assert first.identity() == again.identity() != other.identity()
    for each in (first, again, other):
        each.close()


_TURN_OF_0001 = (
    """INSERT INTO conversations (id, user_id, persona_id, created_ms, updated_ms, next_position)
       VALUES ('c1', 'local', 'p', 1, 1, 1)""",
    """INSERT INTO turns (id, conversation_id, position, workflow_id, run_id, first_run_id, user_id, persona_id, state, input,
       created_ms, ended_ms) VALUES ('t1', 'c1', 0, 'w', 'r', 'r', 'local', 'p', 'completed',
       '{"content": "question of t1"}', 1, 2)""",
    """INSERT INTO messages (turn_id, "row", role, body)
       VALUES ('t1', 0, 'user', '{"role": "user", "content": "question of t1"}')""",
)


def test_turns_of_the_first_revision_live_on_at_head(empty_address: str) -> None:
    old = _at_revision(empty_address, "0001")
    # Written as that revision did it: today's code knows columns that were not there.
    with old.write() as connection:
        for statement in _TURN_OF_0001:
            connection.exec_driver_sql(statement)
    assert "memory_snapshots" not in inspect(old.engine).get_table_names()
    old.close()

    new = open_database(empty_address)
    assert TurnStore(new).history("c1", 9, 100, 10_000) == [[asked("question of t1")]]
    assert SnapshotStore(new).save(Scope("o", "u", "p"), 0, b"blob", 1, 1) == 1
    new.close()


def test_revisions_are_one_line(empty_address: str) -> None:
    assert len(SCRIPTS.get_heads()) == 1
    database = _at_revision(empty_address, "0001")
    for script in reversed(list(SCRIPTS.walk_revisions())):
        migrate(database.engine, script.revision)
    database.close()


@pytest.mark.parametrize("start", ["empty", "0001"])
def test_processes_that_start_at_once_all_end_well(empty_address: str, start: str) -> None:
    if start != "empty":
        _at_revision(empty_address, start).close()
    preparation = "from activities.store.database import open_database\nimport alembic.command"
    action = "open_database(sys.argv[1]).close()\nprint('opened')"

    assert race(preparation, action, [[empty_address]] * 4) == ["opened"] * 4
    open_database(empty_address).close()


def test_sqlite_waits_for_another_migration_longer_than_for_a_turn(tmp_path: Path) -> None:
    _at_revision(f"sqlite:///{tmp_path}/store.db", "0001").close()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(lambda: open_database(f"sqlite:///{tmp_path}/store.db", busy_timeout=0.1).close())
        with pytest.raises(TimeoutError):
            opening.result(0.5)
        other.execute("ROLLBACK")
        opening.result(20)
    other.close()


def test_sqlite_waits_for_whoever_keeps_it_from_write_ahead_logging(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("CREATE TABLE anything (id)")
    other.execute("BEGIN")
    other.execute("SELECT * FROM anything").fetchall()

    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(lambda: open_database(f"sqlite:///{tmp_path}/store.db", busy_timeout=0.1).close())
        with pytest.raises(TimeoutError):
            opening.result(0.5)
        other.execute("COMMIT")
        opening.result(20)
    other.close()


def test_postgres_waits_for_another_migration(postgres: PostgresServer) -> None:
    address = postgres.url(postgres.new_database())
    with psycopg.connect(address) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (migrations.ADVISORY_LOCK,))
        opening = pool.submit(lambda: open_database(address, busy_timeout=0.1).close())
        with pytest.raises(TimeoutError):
            opening.result(0.5)
        assert inspect(create_engine(driver_url(address))).get_table_names() == []
        other.rollback()
        opening.result(20)


def test_database_of_a_newer_version_is_left_alone(empty_address: str) -> None:
    database = open_database(empty_address)
    with database.write() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    database.close()

    with pytest.raises(SchemaUnknown, match="9999"):
        open_database(empty_address)


def test_failed_migration_leaves_nothing_behind(empty_address: str) -> None:
    engine = create_engine(driver_url(empty_address))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tool_runs (somebody_elses integer)"))

    with pytest.raises(StoreUnavailable):
        open_database(empty_address)

    assert inspect(engine).get_table_names() == ["tool_runs"]
    engine.dispose()


def test_second_open_turn_is_refused_by_the_database_itself(store: TurnStore, database: Database) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))
    store.claim(begin("t2", "r2"), "p")

    with pytest.raises(IntegrityError), database.engine.begin() as connection:
        connection.execute(text("UPDATE turns SET state = 'open' WHERE id = 't1'"))
