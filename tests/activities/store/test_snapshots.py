"""Snapshots: compare-and-swap, checksums, the last eight kept, a damaged one never in the way of a good one."""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import text

from activities.store.database import Database
from activities.store.errors import SnapshotConflict, SnapshotDamaged
from activities.store.records import LoadedSnapshot, Scope
from activities.store.snapshots import SnapshotStore

SCOPE = Scope("acme", "ada", "support")


def _save(snapshots: SnapshotStore, versions: int) -> None:
    for version in range(versions):
        assert snapshots.save(SCOPE, version, f"blob {version + 1}".encode(), 1, 1_000 + version) == version + 1


def _damage(database: Database, first_version: int) -> None:
    with database.write() as connection:
        connection.execute(
            text("UPDATE memory_snapshot_versions SET blob = :blob WHERE version >= :first"),
            {"blob": b"half a bl", "first": first_version},
        )


def _kept(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.execute(text("SELECT version FROM memory_snapshot_versions ORDER BY version")).scalars())


def test_nothing_saved_is_version_zero(snapshots: SnapshotStore) -> None:
    assert snapshots.load(SCOPE) == (0, None)
    assert snapshots.version(SCOPE) == 0


def test_saved_blob_comes_back(snapshots: SnapshotStore) -> None:
    blob = bytes(range(256)) * 400

    assert snapshots.save(SCOPE, 0, blob, 1, 1_000) == 1
    assert snapshots.load(SCOPE) == (1, blob)
    assert snapshots.version(SCOPE) == 1


@pytest.mark.parametrize(
    "other", [Scope("x", "ada", "support"), Scope("acme", "x", "support"), Scope("acme", "ada", "x")]
)
def test_scopes_do_not_see_each_other(snapshots: SnapshotStore, other: Scope) -> None:
    _save(snapshots, 1)

    assert snapshots.load(other) == (0, None)
    assert snapshots.save(other, 0, b"other", 1, 1_000) == 1
    assert snapshots.load(SCOPE) == (1, b"blob 1")


def test_scope_of_text_no_database_likes_works(snapshots: SnapshotStore) -> None:
    strange = Scope("a\0", "b\ud83d", "ü")

    snapshots.save(strange, 0, b"blob", 1, 1_000)
    assert snapshots.load(strange) == (1, b"blob")


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_save_over_another_version_is_a_conflict(snapshots: SnapshotStore, expected: int) -> None:
    _save(snapshots, 2)

    with pytest.raises(SnapshotConflict) as refused:
        snapshots.save(SCOPE, expected, b"stale", 1, 9_000)

    assert (refused.value.found, refused.value.newer_schema) == (2, False)
    assert snapshots.load(SCOPE) == (2, b"blob 2")


def test_save_that_expects_what_never_was_is_a_conflict(snapshots: SnapshotStore) -> None:
    with pytest.raises(SnapshotConflict) as refused:
        snapshots.save(SCOPE, 4, b"stale", 1, 9_000)
    assert refused.value.found == 0


def test_older_code_does_not_replace_what_newer_code_wrote(snapshots: SnapshotStore) -> None:
    snapshots.save(SCOPE, 0, b"new form", 2, 1_000)

    with pytest.raises(SnapshotConflict) as refused:
        snapshots.save(SCOPE, 1, b"old form", 1, 2_000)

    assert refused.value.newer_schema
    assert snapshots.load(SCOPE) == (1, b"new form")


def test_empty_blob_is_refused(snapshots: SnapshotStore) -> None:
    _save(snapshots, 1)

    with pytest.raises(ValueError, match="empty"):
        snapshots.save(SCOPE, 1, b"", 1, 9_000)
    assert snapshots.version(SCOPE) == 1


def test_last_eight_versions_are_kept(snapshots: SnapshotStore, database: Database) -> None:
    _save(snapshots, 11)

    assert _kept(database) == [4, 5, 6, 7, 8, 9, 10, 11]


def test_damaged_newest_falls_back_to_the_newest_good_one(
    snapshots: SnapshotStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    _save(snapshots, 5)
    _damage(database, first_version=4)

    with caplog.at_level(logging.WARNING):
        assert snapshots.read(SCOPE) == LoadedSnapshot(5, b"blob 3", restored_from=3)
    assert snapshots.load(SCOPE) == (5, b"blob 3")
    assert "damaged" in caplog.text


def test_restored_memory_is_saved_as_the_next_version(snapshots: SnapshotStore, database: Database) -> None:
    _save(snapshots, 3)
    _damage(database, first_version=3)
    version, blob = snapshots.load(SCOPE)
    assert blob == b"blob 2"

    assert snapshots.save(SCOPE, version, blob + b", and more", 1, 9_000) == 4
    assert snapshots.read(SCOPE) == LoadedSnapshot(4, b"blob 2, and more")


def test_missing_newest_blob_counts_as_damaged(snapshots: SnapshotStore, database: Database) -> None:
    _save(snapshots, 2)
    with database.write() as connection:
        connection.execute(text("DELETE FROM memory_snapshot_versions WHERE version = 2"))

    assert snapshots.read(SCOPE) == LoadedSnapshot(2, b"blob 1", restored_from=1)


def test_memory_does_not_start_empty_when_all_is_damaged(snapshots: SnapshotStore, database: Database) -> None:
    _save(snapshots, 3)
    _damage(database, first_version=1)

    with pytest.raises(SnapshotDamaged, match="version 3"):
        snapshots.load(SCOPE)
    assert snapshots.version(SCOPE) == 3


@pytest.mark.parametrize("expected", [0, 1], ids=["first save", "later save"])
def test_one_of_many_racing_saves_wins(snapshots: SnapshotStore, expected: int) -> None:
    _save(snapshots, expected)
    start = Barrier(6)

    def save(number: int) -> str:
        start.wait()
        try:
            snapshots.save(SCOPE, expected, f"racer {number}".encode(), 1, 2_000)
        except SnapshotConflict:
            return "lost"
        return f"racer {number}"

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(save, range(6)))

    (winner,) = [outcome for outcome in outcomes if outcome != "lost"]
    assert snapshots.load(SCOPE) == (expected + 1, winner.encode())
