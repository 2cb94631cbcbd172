"""Conversations as those read them who show them."""

from typing import Any

from activities.selection import Selection
from activities.store.conversations import ConversationStore
from activities.store.database import Database
from activities.store.records import ToolAttempt
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin, calls, commit, result

OPERATION = {"protocol": "class", "controller": "shop", "function": "look", "name": "look"}
HISTORIES: list[dict[str, Any]] = [
    {"type": "text", "role": "user", "text": "hi"},
    {"type": "select", "id": "s", "operations": [{**OPERATION, "reason": "asked for"}]},
    {"type": "text", "role": "user", "text": "and?"},
]


def test_turns_are_given_in_order_and_say_where_they_come_from(database: Database, store: TurnStore) -> None:
    store.claim(begin("t1", histories=HISTORIES), "p")
    store.commit(commit("t1"))
    store.claim(begin("t2", "r2"), "p")
    conversations = ConversationStore(database)
    turns = conversations.turns("c1")

    assert [(each.position, each.is_imported, each.state) for each in turns] == [
        (0, True, "completed"),
        (1, True, "completed"),
        (2, False, "completed"),
        (3, False, "open"),
    ]
    assert [each.id for each in turns[2:]] == ["t1", "t2"]
    assert turns[3].workflow_id == "turn-t2"
    assert [each.id for each in conversations.turns("c1", after=2)] == ["t2"]
    assert conversations.turns("nobody") == []


def test_what_a_history_left_pending_is_chosen_from_the_first_turn_on(database: Database, store: TurnStore) -> None:
    claimed = store.claim(begin("t1", histories=HISTORIES, userId="ren"), "p")
    facts = ConversationStore(database).facts("c1")

    assert facts is not None
    assert (facts.organization_id, facts.user_id) == (None, "ren")
    (entry,) = facts.selection.stack
    assert (entry.name, entry.controller, entry.reason, len(entry.id)) == ("look", "shop", "asked for", 9)
    assert claimed.selection is not None
    assert Selection.model_validate_json(claimed.selection) == facts.selection
    # The same when the claim is made again.
    again = store.claim(begin("t1", histories=HISTORIES, userId="ren"), "p").selection
    assert again is not None
    assert Selection.model_validate_json(again) == facts.selection
    assert ConversationStore(database).facts("c2") is None


def test_runs_of_tools_are_found_by_their_calls(database: Database, store: TurnStore) -> None:
    store.claim(begin(), "p")
    store.put_rows("t1", [(1, calls("a", "b"))])
    key = store.start_tool_run("t1", "a", "digest").key
    attempt = ToolAttempt(attempt=1, started_ms=5, took_ms=7)
    store.finish_tool_run(key, result("a"), 2, attempt)
    store.start_tool_run("t1", "b", "digest")
    runs = ConversationStore(database).tool_runs("t1")

    assert [(call_id, run.state, run.attempts) for call_id, run in sorted(runs.items())] == [
        ("a", "finished", (attempt,)),
        ("b", "started", ()),
    ]
