"""Rows of a turn: idempotent, replaced where a reset run took another way, read back in whole turns."""

import pytest
from sqlalchemy import text

from activities.contracts import MemoryPlan
from activities.conversation import Message
from activities.store.database import Database
from activities.store.errors import TurnNotFound
from activities.store.turn_store import TurnStore
from activities.trimming import trim_history
from tests.activities.store.values import answer, asked, begin, calls, commit, said


def _numbers(store: TurnStore) -> list[int]:
    return [row for row, _ in store.rows("t1")]


@pytest.fixture
def open_turn(store: TurnStore) -> TurnStore:
    """A store in which turn t1 is open and has called two tools."""
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, calls("k1", "k2"))])
    return store


def test_rows_come_back_in_order_whatever_order_they_came_in(open_turn: TurnStore) -> None:
    open_turn.put_rows("t1", [(3, answer("k2"))])
    assert open_turn.row_count("t1") == 3
    open_turn.put_rows("t1", [(4, said("done")), (2, answer("k1"))])
    assert open_turn.row_count("t1") == 5

    assert open_turn.rows("t1") == [
        (0, asked("question of t1")),
        (1, calls("k1", "k2")),
        (2, answer("k1")),
        (3, answer("k2")),
        (4, said("done")),
    ]
    assert open_turn.rows("t1", 2) == [(0, asked("question of t1")), (1, calls("k1", "k2"))]


def test_no_rows_are_no_change(open_turn: TurnStore) -> None:
    open_turn.put_rows("t1", [])
    assert open_turn.row_count("t1") == 2


def test_rows_of_an_unknown_turn_are_refused(store: TurnStore) -> None:
    with pytest.raises(TurnNotFound):
        store.put_rows("t1", [(0, asked("hello"))])
    with pytest.raises(TurnNotFound):
        store.save_plan("t1", "memory", MemoryPlan())


def test_same_rows_again_have_no_effect(open_turn: TurnStore) -> None:
    rows: list[tuple[int, Message]] = [(2, answer("k1")), (3, answer("k2")), (4, said("done"))]
    open_turn.put_rows("t1", rows)

    for row in rows:
        open_turn.put_rows("t1", [row])
        assert open_turn.row_count("t1") == 5


def test_row_written_before_a_field_was_added_is_the_same_row(open_turn: TurnStore, database: Database) -> None:
    open_turn.put_rows("t1", [(2, answer("k1")), (3, answer("k2")), (4, said("done"))])
    older = '{"role":"assistant","content":"done"}'
    with database.write() as connection:
        connection.execute(text("UPDATE messages SET body = :body WHERE row = 4"), {"body": older})
    open_turn.put_rows("t1", [(5, said("more"))])

    open_turn.put_rows("t1", [(4, said("done"))])
    assert open_turn.row_count("t1") == 6


def test_another_reply_deletes_what_followed_the_old_one(open_turn: TurnStore) -> None:
    open_turn.put_rows("t1", [(2, answer("k1")), (3, answer("k2")), (4, said("done"))])

    open_turn.put_rows("t1", [(1, calls("k9"))])
    assert open_turn.row_count("t1") == 2
    assert open_turn.rows("t1")[1:] == [(1, calls("k9"))]


def test_several_rows_can_take_another_way_at_once(open_turn: TurnStore) -> None:
    open_turn.put_rows("t1", [(2, answer("k1")), (3, answer("k2")), (4, said("done")), (5, said("old"))])

    open_turn.put_rows("t1", [(1, calls("k9")), (2, answer("k9")), (3, said("new"))])
    assert open_turn.row_count("t1") == 4
    assert open_turn.rows("t1")[1:] == [(1, calls("k9")), (2, answer("k9")), (3, said("new"))]


def test_another_result_keeps_its_siblings_and_deletes_the_next_round(open_turn: TurnStore) -> None:
    open_turn.put_rows("t1", [(2, answer("k1")), (3, answer("k2")), (4, calls("k3")), (5, answer("k3"))])

    # The siblings of a reset run report in any order: the second must not undo the first.
    open_turn.put_rows("t1", [(3, answer("k2", "other"))])
    assert _numbers(open_turn) == [0, 1, 2, 3]
    open_turn.put_rows("t1", [(2, answer("k1", "other"))])
    assert open_turn.rows("t1")[2:] == [(2, answer("k1", "other")), (3, answer("k2", "other"))]


def _conversation(store: TurnStore, turns: int) -> list[list[Message]]:
    told: list[list[Message]] = []
    for number in range(turns):
        turn = f"t{number}"
        store.claim(begin(turn, f"r{number}"), "p")
        replies: list[Message] = [calls(f"k{number}"), answer(f"k{number}"), said("x" * 100)]
        store.put_rows(turn, list(enumerate(replies, start=1)))
        store.commit(commit(turn))
        told.append([asked(f"question of {turn}"), *replies])
    return told


def test_history_is_the_closed_turns_oldest_first(store: TurnStore) -> None:
    told = _conversation(store, 3)
    store.claim(begin("open", "r"), "p")

    assert store.history("c1", 99, 100, 100_000) == told
    assert store.history("c1", 2, 100, 100_000) == told[:2]
    assert store.history("c1", 0, 100, 100_000) == []
    assert store.history("c9", 99, 100, 100_000) == []


def test_history_keeps_the_newest_whole_turns(store: TurnStore) -> None:
    told = _conversation(store, 4)

    assert store.history("c1", 99, 16, 100_000) == told
    assert store.history("c1", 99, 15, 100_000) == told[1:]
    assert store.history("c1", 99, 8, 100_000) == told[2:]
    assert store.history("c1", 99, 7, 100_000) == told[3:]
    assert store.history("c1", 99, 3, 100_000) == []
    assert store.history("c1", 99, 0, 100_000) == []


def test_history_is_bounded_in_characters(store: TurnStore) -> None:
    told = _conversation(store, 4)
    one_turn = sum(len(message.model_dump_json(by_alias=True)) for message in told[0])

    assert store.history("c1", 99, 100, 4 * one_turn) == told
    assert store.history("c1", 99, 100, 4 * one_turn - 1) == told[1:]
    assert store.history("c1", 99, 100, 2 * one_turn) == told[2:]
    assert store.history("c1", 99, 100, one_turn - 1) == told[3:], "the newest turn is never left out"


def test_history_has_no_hole_where_a_large_turn_was(store: TurnStore) -> None:
    told = _conversation(store, 1)
    store.claim(begin("large", "r"), "p")
    store.put_rows("large", [(1, said("x" * 10_000))])
    store.commit(commit("large"))
    store.claim(begin("small", "s"), "p")
    store.commit(commit("small"))

    assert store.history("c1", 99, 100, 2_000) == [[asked("question of small")]]
    assert store.history("c1", 99, 100, 20_000)[0] == told[0]


def test_of_enough_messages_the_oldest_ones_turn_is_the_last(store: TurnStore) -> None:
    told = _conversation(store, 4)

    def newest(enough: int | None, most: int = 100, chars: int = 100_000) -> list[list[Message]]:
        return list(store.newest_turns("c1", 99, most, chars, enough))

    assert newest(None) == newest(100) == told[::-1]
    assert newest(13) == newest(16) == told[::-1]
    assert newest(12) == told[:0:-1]
    assert newest(1) == newest(4) == [told[3]]
    assert newest(5, most=4) == [told[3]]
    assert newest(8, chars=1) == [told[3]]
    assert newest(0) == []


@pytest.mark.parametrize("tokens", [0, 60, 300, 10_000])
def test_reading_less_changes_nothing_of_what_a_prompt_gets(store: TurnStore, tokens: int) -> None:
    _conversation(store, 6)
    all_turns = store.history("c1", 99, 2_000, 100_000)[::-1]
    for most in range(26):
        read = store.newest_turns("c1", 99, 2_000, 100_000, most)
        assert trim_history(read, tokens, most) == trim_history(all_turns, tokens, most)


def test_turns_that_did_not_complete_are_history_too(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1", "failed"))
    store.claim(begin("t2", "r2"), "p")
    store.take_over("c1", "t2", "r2", 1, "gone")

    assert store.history("c1", 99, 100, 100_000) == [[asked("question of t1")], [asked("question of t2")]]
