"""The life of a turn without tools costs little, and threads may share the store."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from activities.contracts import MemoryPlan
from activities.store.database import open_database
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin, commit, said

SCOPE = Scope("o", "u", "p")
BUDGET_SECONDS = 0.006


def _whole_turn(store: TurnStore, snapshots: SnapshotStore, number: int, blob: bytes) -> None:
    turn = f"t{number}"
    position = store.claim(begin(turn, f"r{number}"), "p").position
    version, _ = snapshots.load(SCOPE)
    store.save_plan(turn, "memory " * 100, MemoryPlan(entries=3))
    store.history("c1", position, 100, 100_000)
    store.rows(turn, 1)
    store.put_rows(turn, [(1, said("an answer " * 20))])
    store.commit(commit(turn, text="an answer " * 20))
    store.rows(turn)
    snapshots.save(SCOPE, version, blob, 1, 3_000)


def test_everything_a_turn_stores_on_sqlite_fits_its_budget(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    store, snapshots, blob = TurnStore(database), SnapshotStore(database), os.urandom(50_000)
    costs = []
    for number in range(40):
        started = time.perf_counter()
        _whole_turn(store, snapshots, number, blob)
        costs.append(time.perf_counter() - started)
    database.close()

    # The best of many: what else runs on the machine is not the store's cost.
    assert min(costs) < BUDGET_SECONDS


def test_threads_share_a_store(store: TurnStore) -> None:
    def conversation(number: int) -> int:
        for turn in range(5):
            turn_id = f"c{number}-t{turn}"
            store.claim(begin(turn_id, f"r{turn}", at=f"c{number}"), "p")
            store.put_rows(turn_id, [(1, said("answer"))])
            store.commit(commit(turn_id, at=f"c{number}"))
        return len(store.history(f"c{number}", 99, 100, 100_000))

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(conversation, range(12))) == [5] * 12
