"""Runs of tools: exactly one caller starts each, the first result stands."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from activities.store.errors import ToolRunNotFound, TurnClosed, TurnNotFound
from activities.store.records import ToolRunRecord
from activities.store.turn_store import TurnStore
from tests.activities.store.racing import race
from tests.activities.store.values import answer, begin, calls, commit, result


@pytest.fixture
def open_turn(store: TurnStore) -> TurnStore:
    """A store in which turn t1 is open and has called a tool."""
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, calls("k1"))])
    return store


def test_first_caller_starts_the_run_and_the_next_sees_it(open_turn: TurnStore) -> None:
    assert open_turn.start_tool_run("t1", "k1", "d" * 64) == ToolRunRecord("t1:k1", "started", None, first=True)
    assert open_turn.start_tool_run("t1", "k1", "d" * 64) == ToolRunRecord("t1:k1", "started", None, first=False)
    assert open_turn.tool_run("t1:k1") == ToolRunRecord("t1:k1", "started", None, first=False)
    assert open_turn.tool_run("t1:k2") is None


def test_other_arguments_are_another_run(open_turn: TurnStore) -> None:
    open_turn.start_tool_run("t1", "k1", "a" * 64)

    other = open_turn.start_tool_run("t1", "k1", "b" * 64)
    near = open_turn.start_tool_run("t1", "k1", "b" * 8 + "c" * 56)

    assert (other.key, other.first) == ("t1:k1:bbbbbbbb", True)
    assert near.first
    assert near.key not in (other.key, "t1:k1")
    assert not open_turn.start_tool_run("t1", "k1", "b" * 64).first
    assert not open_turn.start_tool_run("t1", "k1", "a" * 64).first


def test_finish_keeps_the_result_and_writes_its_row(open_turn: TurnStore) -> None:
    key = open_turn.start_tool_run("t1", "k1", "d").key

    assert open_turn.finish_tool_run(key, result("k1"), 2) == result("k1")
    assert open_turn.tool_run(key) == ToolRunRecord(key, "finished", result("k1"), first=False)
    assert open_turn.rows("t1", None)[2] == (2, answer("k1"))


def test_first_result_stands(open_turn: TurnStore) -> None:
    key = open_turn.start_tool_run("t1", "k1", "d").key
    open_turn.finish_tool_run(key, result("k1", "one"), 2)

    assert open_turn.finish_tool_run(key, result("k1", "two"), 2) == result("k1", "one")
    assert open_turn.rows("t1")[2] == (2, answer("k1", "one"))


def test_late_result_is_known_but_adds_no_row(open_turn: TurnStore) -> None:
    key = open_turn.start_tool_run("t1", "k1", "d").key
    open_turn.commit(commit(state="cancelled"))
    rows = open_turn.rows("t1")

    with pytest.raises(TurnClosed):
        open_turn.finish_tool_run(key, result("k1"), 2)
    run = open_turn.tool_run(key)
    assert run is not None
    assert (run.state, run.result) == ("finished", result("k1"))
    assert open_turn.rows("t1") == rows


def test_run_outlives_a_restart_of_its_turn(open_turn: TurnStore) -> None:
    key = open_turn.start_tool_run("t1", "k1", "d").key
    open_turn.finish_tool_run(key, result("k1"), 2)
    open_turn.commit(commit(state="failed"))
    open_turn.claim(begin(run="r2"), "p")

    again = open_turn.start_tool_run("t1", "k1", "d")
    assert (again.first, again.state, again.result) == (False, "finished", result("k1"))


def test_strangers_are_refused(open_turn: TurnStore) -> None:
    with pytest.raises(ToolRunNotFound):
        open_turn.finish_tool_run("t1:k1", result("k1"), 2)
    with pytest.raises(TurnNotFound):
        open_turn.start_tool_run("t2", "k1", "d")


def test_one_of_many_racing_threads_is_first(open_turn: TurnStore) -> None:
    start = Barrier(8)

    def run(_number: int) -> bool:
        start.wait()
        return open_turn.start_tool_run("t1", "k1", "d").first

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(run, range(8))) == [False] * 7 + [True]


def test_one_of_many_racing_processes_is_first(open_turn: TurnStore, address: str) -> None:
    preparation = """
from activities.store.database import open_database
from activities.store.turn_store import TurnStore
store = TurnStore(open_database(sys.argv[1]))
"""
    action = 'print(store.start_tool_run("t1", "k1", "d").first)'

    assert sorted(race(preparation, action, [[address]] * 3)) == ["False", "False", "True"]
