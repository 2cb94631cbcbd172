"""What chunks say, how large they can be, and how a reader's text comes from them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from activities.contracts import ToolFacts
from activities.conversation import AssistantMessage, ErrorDetails, ModelUsage, ToolCall, ToolCallResult
from activities.streaming_chunks import (
    VALUE_BYTES,
    GMIOutputChunk,
    TextView,
    ended_drafts,
    interaction_of,
    reply_drafts,
    request_drafts,
    result_draft,
    text_drafts,
    text_of_chunks,
)


def chunk(sequence: int, content: Any = "", **fields: Any) -> GMIOutputChunk:
    about = {
        "type": "text_delta",
        "chunk_id": "x",
        "interaction_id": "t",
        "timestamp": datetime(2030, 1, 1, tzinfo=UTC),
    }
    return GMIOutputChunk.model_validate({**about, "sequence": sequence, "content": content, **fields})


def text(sequence: int, content: str, row: int = 1) -> GMIOutputChunk:
    return chunk(sequence, content, metadata={"row": row})


def test_its_wire_form_is_that_of_the_seed_with_a_number() -> None:
    wire = json.loads(
        chunk(3, "hi", usage=ModelUsage(), error_details=ErrorDetails(code="E", message="m")).model_dump_json(
            by_alias=True
        )
    )
    assert wire == {
        "content": "hi",
        "finishReason": None,
        "usage": {"promptTokens": 0, "completionTokens": 0, "totalTokens": 0, "costUSD": None},
        "errorDetails": {"code": "E", "message": "m", "details": None},
        "metadata": {},
        "sequence": 3,
        "type": "text_delta",
        "chunkId": "x",
        "interactionId": "t",
        "timestamp": "2030-01-01T00:00:00Z",
        "isFinal": False,
    }


def test_replies_follow_each_other_on_lines_of_their_own() -> None:
    assert (
        text_of_chunks([text(1, "a "), text(2, "b"), chunk(3, [], type="tool_result"), text(4, "c", row=3)]) == "a b\nc"
    )


def test_a_reply_of_spaces_is_no_line() -> None:
    assert text_of_chunks([text(1, "a"), text(2, " \n", row=2), text(3, "b", row=3)]) == "a\nb"


def test_what_is_withdrawn_is_gone_and_nothing_else() -> None:
    withdrawal = chunk(4, "", metadata={"replaces": [2, 3]})
    assert text_of_chunks([text(1, "kept"), text(2, "a", 2), text(3, "b", 2), withdrawal, text(5, "c", 2)]) == "kept\nc"


@pytest.mark.parametrize("replaces", [None, 5, [], [1], ["x", "y"], [1, None], {"from": 1}])
def test_a_withdrawal_nobody_understands_withdraws_nothing(replaces: Any) -> None:
    view = TextView()
    for each in (text(1, "a"), chunk(2, "", metadata={"replaces": replaces})):
        view.add(each)
    assert view.text == "a"


def test_long_text_comes_in_pieces_and_values_as_their_beginning() -> None:
    pieces = text_drafts("x" * 10_001, 1)
    assert "".join(piece.body.content for piece in pieces) == "x" * 10_001
    long = "y" * 1_000_000
    result = result_draft(ToolCallResult(tool_call_id="c", tool_name="w", output=long, error_details=long), 2)
    reply = reply_drafts(AssistantMessage(content=long), 1, 0, request_drafts([(call("w", x=long), None)], 1, long))
    ended = ended_drafts("failed", ErrorDetails(code="E", message=long, details=long))
    for draft in (result, *reply, *ended):
        assert len(draft.body.model_dump_json()) < 4 * VALUE_BYTES


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=f"id-{name}", name=name, arguments=arguments)


def test_calls_are_told_by_who_runs_them() -> None:
    own, unknown = ToolFacts(kind="worker"), None
    waiting = [
        ToolFacts(kind="external"),
        ToolFacts(kind="worker", external=True),
        ToolFacts(kind="worker", needs_approval=True),
        ToolFacts(kind="worker", human_schema={}),
    ]
    calls = [
        (call("a"), own),
        *((call(f"w{place}"), facts) for place, facts in enumerate(waiting)),
        (call("b"), unknown),
    ]
    internal, external = request_drafts(calls, 1, "because")
    assert [each["name"] for each in internal.body.content] == ["a", "b"]
    assert [each["name"] for each in external.body.content] == ["w0", "w1", "w2", "w3"]
    assert external.body.metadata["rationale"] == "because"


def test_the_end_is_the_last_and_the_error_stands_before_it() -> None:
    drafts = ended_drafts("failed", ErrorDetails(code="E", message="m"))
    assert [draft.type for draft in drafts] == ["error", "final_response_marker"]
    assert [draft.type for draft in ended_drafts("completed", None)] == ["final_response_marker"]


@pytest.mark.parametrize(
    ("key", "name"),
    [("c/t", "t"), ("c%2Fd/t/u", "t/u"), ("turn-x", "turn-x"), ("a%2Fb%25", "a/b%"), ("a%252F", "a%2F")],
)
def test_a_turn_is_called_as_its_caller_does(key: str, name: str) -> None:
    assert interaction_of(key) == name
