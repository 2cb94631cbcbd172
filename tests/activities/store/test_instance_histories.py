"""Conversations of instances: pages of them, and new histories in their place."""

import pytest

from activities.conversation import Message
from activities.store.database import Database
from activities.store.errors import ConversationBusy, NotOwner, TurnAlreadyRan
from activities.store.instance_histories import InstanceHistories, Owner
from activities.store.turn_store import TurnStore
from tests.activities.store.values import asked, begin, commit, said

OWNER = Owner(None, "local", "default")


@pytest.fixture
def histories(database: Database) -> InstanceHistories:
    return InstanceHistories(database)


def words(histories: InstanceHistories, conversation: str = "c1") -> list[str]:
    """What is said in the conversation, in order."""
    return [
        str(row.message.content) for row in reversed(histories.page(conversation, OWNER)) if row.message.role != "tool"
    ]


def talk(*turns: str) -> list[list[Message]]:
    return [[asked(text), said(f"re {text}")] for text in turns]


def run_turn(store: TurnStore, turn: str) -> None:
    store.claim(begin(turn), "default")
    store.put_rows(turn, [(1, said(f"answer to {turn}"))])
    store.commit(commit(turn))


def test_a_page_begins_where_the_one_before_ended(store: TurnStore, histories: InstanceHistories) -> None:
    run_turn(store, "t1")
    run_turn(store, "t2")
    newest = histories.page("c1", OWNER)
    older = histories.page("c1", OWNER, (newest[1].position, newest[1].row))

    assert words(histories) == ["question of t1", "answer to t1", "question of t2", "answer to t2"]
    assert [(row.position, row.row) for row in older] == [(0, 1), (0, 0)]
    assert [row.turn_id for row in histories.page("c1", OWNER, turn_id="t1")] == ["t1", "t1"]


def test_a_conversation_nobody_began_is_empty_and_can_be_begun(histories: InstanceHistories) -> None:
    assert histories.page("c1", OWNER) == []
    histories.replace("c1", OWNER, talk("a"), "k1", 5, append=False)
    assert words(histories) == ["a", "re a"]


def test_a_new_history_takes_the_place_of_the_old_and_turns_go_on_behind_it(
    store: TurnStore, histories: InstanceHistories
) -> None:
    run_turn(store, "t1")
    histories.replace("c1", OWNER, talk("a", "b"), "k1", 5, append=False)
    claimed = store.claim(begin("t2"), "default")

    assert words(histories) == ["a", "re a", "b", "re b", "question of t2"]
    assert [[message.role for message in turn] for turn in store.history("c1", claimed.position, 100, 10_000)] == [
        ["user", "assistant"],
        ["user", "assistant"],
    ]


def test_what_was_replaced_is_kept_aside_with_its_turns(store: TurnStore, histories: InstanceHistories) -> None:
    run_turn(store, "t1")
    histories.replace("c1", OWNER, [], "k1", 5, append=False)

    assert words(histories) == []
    assert words(histories, "c1~k1") == ["question of t1", "answer to t1"]
    assert len(store.rows("t1")) == 2
    with pytest.raises(TurnAlreadyRan):
        store.claim(begin("t1", "r2"), "default")


def test_a_request_that_comes_twice_is_done_once(store: TurnStore, histories: InstanceHistories) -> None:
    run_turn(store, "t1")
    for _ in range(2):
        histories.replace("c1", OWNER, talk("a"), "k1", 5, append=False)
        histories.replace("c1", OWNER, talk("b"), "k2", 5, append=True)

    assert words(histories) == ["a", "re a", "b", "re b"]


def test_nothing_is_replaced_under_an_open_turn(store: TurnStore, histories: InstanceHistories) -> None:
    store.claim(begin("t1"), "default")
    with pytest.raises(ConversationBusy):
        histories.replace("c1", OWNER, [], "k1", 5, append=False)

    assert words(histories) == ["question of t1"]


def test_somebody_elses_conversation_is_neither_shown_nor_changed(
    store: TurnStore, histories: InstanceHistories
) -> None:
    run_turn(store, "t1")
    for eve in (Owner(None, "eve", "default"), Owner("org", "local", "default")):
        with pytest.raises(NotOwner):
            histories.page("c1", eve)
        with pytest.raises(NotOwner):
            histories.replace("c1", eve, [], "k1", 5, append=False)

    assert len(words(histories)) == 2
