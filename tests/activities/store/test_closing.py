"""Ends of turns: committed once, or taken over; either way each call has its result and the conversation is free."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from activities.contracts import PlacedResult, TurnCommitted
from activities.conversation import ToolCallResult, ToolMessage
from activities.store.errors import ConversationBusy, TurnClosed, TurnNotFound
from activities.store.turn_store import TurnStore
from tests.activities.store.values import answer, asked, begin, calls, commit, result, said


def _filled(store: TurnStore, row: int, turn: str = "t1") -> ToolCallResult:
    message = dict(store.rows(turn))[row]
    assert isinstance(message, ToolMessage)
    return message.result


def test_commit_stores_how_the_turn_ended(store: TurnStore) -> None:
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, said("answer"))])

    committed = store.commit(commit(text="answer"))
    turn = store.turn("t1")

    assert committed == TurnCommitted(position=0, rows=2)
    assert turn is not None
    assert (turn.state, turn.ended_ms) == ("completed", 2_000)
    assert (turn.output, turn.usage) == (commit(text="answer").output, commit().usage)


def test_commit_frees_the_conversation(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))

    assert store.claim(begin("t2", "r2"), "p").position == 1


def test_repeated_commit_gives_the_same_answer_and_changes_nothing(store: TurnStore) -> None:
    store.claim(begin(), "p")
    first = store.commit(commit(text="one"))
    turn = store.turn("t1")

    assert store.commit(commit(text="two", state="failed")) == first
    assert store.turn("t1") == turn


def test_commit_puts_its_results_and_fills_what_is_open(store: TurnStore) -> None:
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, calls("k1", "k2", "k3")), (3, answer("k2"))])

    committed = store.commit(commit(state="cancelled", results=(PlacedResult(row=2, result=result("k1", "late")),)))

    assert committed.rows == 5
    assert store.rows("t1")[2:4] == [(2, answer("k1", "late")), (3, answer("k2"))]
    filled = _filled(store, 4)
    assert (filled.tool_call_id, filled.tool_name, filled.is_error) == ("k3", "look", True)
    assert filled.output == filled.error_details
    assert filled.output["code"] == "EXTERNAL_TOOL_NOT_RUN"
    assert "cancelled" in filled.output["message"]


def test_commit_leaves_a_result_that_an_activity_stored_first(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.put_rows("t1", [(1, calls("k1")), (2, ToolMessage(result=result("k1", "real")))])
    store.commit(commit(state="cancelled", results=(PlacedResult(row=2, result=result("k1", "cancelled")),)))

    assert store.rows("t1")[2] == (2, ToolMessage(result=result("k1", "real")))


def test_commit_drops_a_reply_that_the_workflow_never_saw(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.put_rows("t1", [(1, said("stored while the turn was cancelled"))])
    store.commit(commit(state="cancelled", rows=1))

    assert store.rows("t1") == [(0, asked("question of t1"))]


def test_commit_of_an_unknown_turn_is_refused(store: TurnStore) -> None:
    store.claim(begin("t1", at="c1"), "p")

    with pytest.raises(TurnNotFound):
        store.commit(commit("t2"))
    with pytest.raises(TurnNotFound):
        store.commit(commit("t1", at="c2"))


@pytest.mark.parametrize(
    "late",
    [
        lambda store: store.put_rows("t1", [(1, said("late"))]),
        lambda store: store.save_plan("t1", "late", None),
        lambda store: store.start_tool_run("t1", "k1", "d"),
    ],
    ids=["rows", "plan", "tool run"],
)
def test_closed_turn_takes_nothing_more(store: TurnStore, late: Any) -> None:
    store.claim(begin(), "p")
    store.commit(commit(state="cancelled"))

    with pytest.raises(TurnClosed, match="cancelled"):
        late(store)
    assert store.rows("t1") == [(0, asked("question of t1"))]


def test_takeover_abandons_the_holder_and_fills_its_calls(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.put_rows("t1", [(1, calls("k1", "k2")), (2, answer("k1"))])

    assert store.take_over("c1", "t1", "r1", 3_000, "The process that ran it is gone.")
    turn = store.turn("t1")

    assert turn is not None
    assert (turn.state, turn.ended_ms, turn.output) == ("abandoned", 3_000, None)
    assert _filled(store, 3).output["message"] == "The process that ran it is gone."
    assert store.claim(begin("t2", "r2"), "p").position == 1


@pytest.mark.parametrize(("conversation", "turn", "run"), [("c1", "t1", "r9"), ("c1", "t9", "r1"), ("c2", "t1", "r1")])
def test_takeover_of_another_holder_has_no_effect(store: TurnStore, conversation: str, turn: str, run: str) -> None:
    store.claim(begin("t1", "r1"), "p")

    assert not store.take_over(conversation, turn, run, 3_000, "gone")
    with pytest.raises(ConversationBusy):
        store.claim(begin("t2", "r2"), "p")


def test_takeover_of_a_closed_turn_has_no_effect(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))

    assert not store.take_over("c1", "t1", "r1", 3_000, "gone")
    turn = store.turn("t1")
    assert turn is not None
    assert turn.state == "completed"


def test_takeover_spares_a_holder_that_was_reset(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.claim(begin("t1", "r2", first="r1"), "p")

    assert not store.take_over("c1", "t1", "r1", 3_000, "gone")


def test_commit_after_a_takeover_leaves_the_turn_as_it_is(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.take_over("c1", "t1", "r1", 3_000, "gone")
    store.claim(begin("t2", "r2"), "p")

    assert store.commit(commit("t1")) == TurnCommitted(position=0, rows=1)
    turn = store.turn("t1")
    assert turn is not None
    assert turn.state == "abandoned"
    with pytest.raises(ConversationBusy):
        store.claim(begin("t3", "r3"), "p")


def test_commit_and_takeover_racing_close_the_turn_once(store: TurnStore) -> None:
    for number in range(10):
        turn_id = f"t{number}"
        store.claim(begin(turn_id, "r1"), "p")
        store.put_rows(turn_id, [(1, calls("k1"))])
        start = Barrier(2)

        def close(turn_id: str = turn_id, start: Barrier = start) -> None:
            start.wait()
            store.commit(commit(turn_id))

        def take(turn_id: str = turn_id, start: Barrier = start) -> bool:
            start.wait()
            return store.take_over("c1", turn_id, "r1", 3_000, "gone")

        with ThreadPoolExecutor(2) as pool:
            closing, taking = pool.submit(close), pool.submit(take)
            closing.result()
            taken = taking.result()

        turn = store.turn(turn_id)
        assert turn is not None
        assert turn.state == ("abandoned" if taken else "completed")
        assert len(store.rows(turn_id)) == 3


def test_reply_that_races_the_commit_is_refused_or_gets_its_results(store: TurnStore) -> None:
    for number in range(20):
        turn_id = f"t{number}"
        store.claim(begin(turn_id, "r1"), "p")
        start = Barrier(2)

        def reply(turn_id: str = turn_id, start: Barrier = start) -> int:
            start.wait()
            try:
                store.put_rows(turn_id, [(1, calls("k1", "k2"))])
            except TurnClosed:
                return 1
            return 4

        def close(turn_id: str = turn_id, start: Barrier = start) -> int:
            start.wait()
            return store.commit(commit(turn_id, "cancelled")).rows

        with ThreadPoolExecutor(2) as pool:
            replying, closing = pool.submit(reply), pool.submit(close)
            assert replying.result() == closing.result() == len(store.rows(turn_id))


def test_committing_and_resetting_racers_do_not_deadlock(store: TurnStore) -> None:
    store.claim(begin("t1", "r0", first="r0"), "p")
    start = Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for step in range(15):
            if number % 2:
                store.commit(commit("t1"))
            else:
                store.claim(begin("t1", f"r{number}-{step}", first="r0"), "p")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    store.commit(commit("t1"))

    assert store.rows("t1") == [(0, asked("question of t1"))]
