"""Histories of hosts, as the store keeps them and back."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.history_messages import read_messages, shown, split_turns

CALL: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "name": "ask", "arguments": {"q": 1}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "42"}


def test_what_is_shown_is_read_back_as_it_was() -> None:
    said: list[Message] = [
        UserMessage(content="Žofie"),
        AssistantMessage(tool_calls=(ToolCall(id="c1", name="ask", arguments={"q": [1]}),)),
        ToolMessage(result=ToolCallResult(tool_call_id="c1", tool_name="ask", output={"a": None})),
        AssistantMessage(content="ok", tool_calls=(ToolCall(id="c2", name="ask"), ToolCall(id="c3", name="ask"))),
        ToolMessage(result=ToolCallResult(tool_call_id="c2", tool_name="ask", output="text")),
        ToolMessage(
            result=ToolCallResult(
                tool_call_id="c3", tool_name="ask", output=None, is_error=True, error_details={"code": "X"}
            )
        ),
        AssistantMessage(content="Done."),
    ]
    sent = [shown(message, f"t/{row}", 5).model_dump(mode="json", by_alias=True) for row, message in enumerate(said)]

    assert read_messages(sent) == said


def test_roles_the_store_has_not_become_words_or_nothing() -> None:
    read = read_messages(
        [
            {"role": "summary", "content": "They met."},
            {"role": "system", "content": "Be brief."},
            {"role": "error", "content": "boom"},
            {"role": "thought", "content": "hm"},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}]},
        ]
    )

    assert [message.role for message in read] == ["user", "user", "user"]
    assert isinstance(read[0], UserMessage)
    assert str(read[0].content).endswith("They met.")
    assert read[-1] == UserMessage(content="Hi")


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([RESULT], "without its call"),
        ([CALL], "before the results"),
        ([CALL, RESULT, RESULT], "a second result"),
        ([CALL, {"role": "user", "content": "x"}, RESULT], "stands before the results"),
        ([{**CALL, "tool_calls": CALL["tool_calls"] * 2}, RESULT, RESULT], "twice"),
        ([{"role": "tool", "content": "x"}], "names its call"),
        ([{"role": "user", "content": "x", "tool_calls": CALL["tool_calls"]}], "only an assistant"),
        ([{"role": "judge", "content": "x"}], "messages[0].role"),
        (["x"], "messages[0]"),
        ({"role": "user"}, "is not a list"),
        ([{"role": "user", "content": "x"}] * 501, "more than 500"),
    ],
)
def test_a_history_that_does_not_pair_is_refused_with_its_place(messages: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        read_messages(messages)


def test_an_id_may_come_again_as_some_providers_number_calls_anew_in_each_reply() -> None:
    roles = [message.role for message in read_messages([CALL, RESULT, CALL, RESULT])]
    assert roles == ["assistant", "tool", "assistant", "tool"]


def test_a_turn_begins_with_what_the_user_says() -> None:
    read = read_messages([{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Hi"}, CALL, RESULT])

    assert [[message.role for message in turn] for turn in split_turns(read)] == [
        ["assistant"],
        ["user", "assistant", "tool"],
    ]


def test_a_message_too_long_for_a_page_is_cut_and_says_so() -> None:
    told = shown(UserMessage(content="x" * 200_000), "t/0", 5)

    assert told.metadata == {"cut": True}
    assert len(str(told.content)) == 4_000


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "metadata", "name"]),
            st.sampled_from(
                ["user", "assistant", "tool", "system", None, 5, "c1", [], {}, [{"id": "c1", "name": "a"}]]
            ),
        ),
        max_size=5,
    )
)
def test_whatever_comes_is_a_history_or_a_value_error(messages: list[dict[str, Any]]) -> None:
    try:
        read = read_messages(messages)
    except ValueError:
        return
    assert all(message.role in ("user", "assistant", "tool") for message in read)
