"""Histories and contexts that a host gives an instance."""

from datetime import UTC, datetime
from typing import Any

import pytest

from activities.instance_contracts import InstanceOpened
from activities.personas import Persona
from activities.sources import RagRetrievedChunk
from workflows.gmi_context import apply_context, read_context, read_cursor, read_history, request_key
from workflows.gmi_contracts import LastTurn, StartInstance
from workflows.gmi_refusal import Refused
from workflows.gmi_state import InstanceState, digest_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def state() -> InstanceState:
    found = InstanceState.of(StartInstance(gmi_id="g1"), NOW)
    found.open_with(InstanceOpened(persona=Persona(id="p")), NOW)
    return found


def test_a_list_alone_is_a_history_too() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]

    assert read_history([messages], "x") == read_history([{"messages": messages}], "x")
    assert read_history([messages], "x").inputs == [digest_of("Hi")]
    assert read_history([{"messages": messages, "append": True}], "x").append


@pytest.mark.parametrize("wrong", [{}, {"messages": None}, {"messages": [], "append": 1}, {"messages": [], "x": 1}, 5])
def test_a_malformed_history_is_refused(wrong: Any) -> None:
    with pytest.raises(Refused):
        read_history([wrong], "x")


def test_what_is_left_out_of_a_context_stays_and_blanks_mean_none() -> None:
    at = state()
    apply_context(at, {"sessionId": "s", "organizationId": "o", "ragSources": [{"id": "r"}]})
    apply_context(at, {"sessionId": " ", "conversationId": ""})
    assert (at.session_id, at.organization_id, at.rag_sources) == ("s", "o", (RagRetrievedChunk(id="r"),))

    apply_context(at, {"organizationId": " ", "ragSources": []})
    assert (at.session_id, at.organization_id, at.rag_sources) == ("s", None, None)


def test_another_conversation_drops_what_was_kept_for_the_last_turn() -> None:
    at = state()
    at.last_turn = LastTurn(turn_id="t", conversation_id=at.conversation_id, key="k", said="d")
    apply_context(at, {"ragSources": [{"id": "r"}]})

    apply_context(at, {"conversationId": at.conversation_id})
    kept = at.model_copy()
    apply_context(at, {"conversationId": "c2"})

    assert kept.last_turn is not None
    assert at.conversation_id == "c2"
    assert at.last_turn is None
    assert at.rag_sources is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ragSources": [{"content": "no id"}]},
        {"ragSources": [{"id": str(at)} for at in range(21)]},
        {"sessionId": 5},
        {"ragSources": [1]},
        {"ragSources": [{"x": "y" * 70_000}]},
        {"mood": "x"},
        [1],
    ],
)
def test_a_malformed_context_is_refused(wrong: Any) -> None:
    with pytest.raises(Refused):
        read_context([wrong], "x")


def test_a_cursor_is_a_text_or_nothing() -> None:
    assert read_cursor([], "x") is None
    assert read_cursor([{"before": "3/1"}], "x") == "3/1"
    with pytest.raises(Refused):
        read_cursor([{"before": 3}], "x")


def test_a_request_has_one_key_and_another_another() -> None:
    assert request_key("r", "u") == request_key("r", "u")
    assert request_key("r", "u") != request_key("r", "v")
