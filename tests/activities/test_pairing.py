import pytest

from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.pairing import join_groups, pairing_fault, split_groups


def calls(*ids: str) -> AssistantMessage:
    return AssistantMessage(tool_calls=tuple(ToolCall(id=each, name="book") for each in ids))


def result(call_id: str) -> ToolMessage:
    return ToolMessage(result=ToolCallResult(tool_call_id=call_id, tool_name="book", output="ok"))


ASK, SAY = UserMessage(content="q"), AssistantMessage(content="a")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [ASK],
        [ASK, SAY, ASK],
        [ASK, calls("A", "B"), result("A"), result("B"), SAY],
        [ASK, calls("A"), result("A")],
        [ASK, calls("A"), result("A"), ASK, calls("A"), result("A")],
    ],
)
def test_a_paired_history_has_no_fault(messages: list[Message]) -> None:
    assert pairing_fault(messages) is None


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([ASK, calls("A", "B"), result("A"), ASK], "before the results of B"),
        ([ASK, calls("A", "B"), result("A")], "ends before the results of B"),
        ([ASK, result("A")], "without its call"),
        ([ASK, calls("A"), result("A"), result("A")], "second result"),
        ([ASK, calls("A"), result("A"), SAY, result("A")], "second result"),
        ([ASK, calls("A"), ASK, result("A")], "before the results of A"),
        ([ASK, calls("A", "A"), result("A"), result("A")], "uses the call id A twice"),
    ],
)
def test_each_breach_is_named(messages: list[Message], words: str) -> None:
    assert words in (pairing_fault(messages) or "")


def test_a_call_and_its_results_are_one_piece_in_call_order() -> None:
    messages: list[Message] = [ASK, calls("A", "B", "C"), result("C"), result("A"), result("B"), SAY]
    groups = split_groups(messages)
    assert groups == [[ASK], [calls("A", "B", "C"), result("A"), result("B"), result("C")], [SAY]]
    assert pairing_fault(join_groups(groups)) is None


def test_splitting_hides_no_breach() -> None:
    messages: list[Message] = [ASK, result("X"), calls("A"), result("A"), result("Y")]
    assert pairing_fault(join_groups(split_groups(messages))) is not None
