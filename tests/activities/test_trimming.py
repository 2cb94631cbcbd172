from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from activities.conversation import (
    AssistantMessage,
    ImagePart,
    ImageUrl,
    Message,
    TextPart,
    ToolCall,
    ToolCallResult,
    ToolMessage,
    UserMessage,
)
from activities.pairing import pairing_fault
from activities.trimming import estimate_tokens, fit_turn, trim_history


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def calls(*ids: str) -> AssistantMessage:
    return AssistantMessage(tool_calls=tuple(ToolCall(id=each, name="book") for each in ids))


def result(call_id: str, output: Any = "ok") -> ToolMessage:
    return ToolMessage(result=ToolCallResult(tool_call_id=call_id, tool_name="book", output=output))


def tokens(messages: list[Message]) -> int:
    return sum(map(estimate_tokens, messages))


TURN: list[Message] = [
    user("q1"),
    calls("A", "B"),
    result("A", "r1"),
    result("B", "r2"),
    AssistantMessage(content="done"),
]


def test_what_fits_is_kept_whole() -> None:
    assert trim_history([TURN], 1_000) == TURN


def test_every_budget_keeps_a_call_with_its_results_or_drops_both() -> None:
    for budget in range(tokens(TURN) + 1):
        kept = trim_history([TURN], budget)
        assert pairing_fault(kept) is None
        assert tokens(kept) <= budget
        assert not kept or kept[0] == TURN[0]


def test_a_turn_that_fits_in_part_keeps_its_question_and_its_newest_rounds() -> None:
    long: list[Message] = [
        user("q"),
        calls("A"),
        result("A", "x" * 4_000),
        calls("B"),
        result("B", "short"),
        AssistantMessage(content="end"),
    ]
    kept = trim_history([long], 100)
    assert kept == [long[0], *long[3:]]


def test_the_newest_turns_are_kept_in_order() -> None:
    turns: list[list[Message]] = [[user(f"q{each}"), AssistantMessage(content="a" * 40)] for each in range(10)]
    kept = trim_history(reversed(turns), tokens(turns[0]) * 3)
    assert [message.content for message in kept if isinstance(message, UserMessage)] == ["q7", "q8", "q9"]


def test_one_huge_result_of_an_earlier_turn_does_not_push_the_rest_out() -> None:
    turn: list[Message] = [user("q"), calls("A"), result("A", "x" * 400_000), AssistantMessage(content="the answer")]
    kept = trim_history([turn], 1_000)
    assert [message.role for message in kept] == ["user", "assistant", "tool", "assistant"]
    assert tokens(kept) <= 1_000


def test_what_stands_before_the_first_user_message_is_dropped() -> None:
    assert trim_history([[AssistantMessage(content="hello"), *TURN]], 1_000) == TURN


def test_the_running_turn_is_never_cut_but_its_longest_results_are_shortened() -> None:
    turn: list[Message] = [
        user("q" * 400),
        calls("A", "B", "C"),
        result("A", "x" * 40_000),
        result("B", "small"),
        result("C", {"y": "z" * 90_000}),
    ]
    fitted = fit_turn(turn, 3_000)
    assert [message.role for message in fitted] == [message.role for message in turn]
    assert fitted[:2] == turn[:2]
    assert fitted[3] == turn[3]
    assert pairing_fault(fitted) is None
    assert tokens(fitted) <= 3_000
    assert "characters left out" in fitted[2].result.output  # type: ignore[union-attr]


def test_a_shortened_error_still_reads_as_one() -> None:
    error = ToolCallResult(
        tool_call_id="A", tool_name="pay", is_error=True, error_details={"code": "E", "message": "m" * 9_000}
    )
    [*_, short] = fit_turn([user("q"), calls("A"), ToolMessage(result=error)], 500)
    assert short.result.output.startswith('Tool pay failed: {"code": "E"')  # type: ignore[union-attr]


def test_a_turn_within_its_budget_is_left_alone() -> None:
    assert fit_turn(TURN, 1_000) == TURN


def test_a_turn_whose_own_text_is_over_the_budget_keeps_its_results_readable() -> None:
    fitted = fit_turn([user("q" * 40_000), calls("A"), result("A", "x" * 40_000)], 100)
    assert len(fitted[2].result.output) > 300  # type: ignore[union-attr]


def test_a_picture_counts_as_a_picture_and_not_as_its_bytes() -> None:
    picture = ImagePart(image_url=ImageUrl(url="data:image/png;base64," + "A" * 1_000_000))
    assert estimate_tokens(UserMessage(content=(TextPart(text="look"), picture))) < 2_000


rounds = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400)), max_size=4)


@given(st.lists(rounds, max_size=5), st.integers(0, 800))
def test_no_cut_ever_breaks_the_pairing(shape: list[list[tuple[int, int]]], budget: int) -> None:
    turns: list[list[Message]] = []
    for number, turn in enumerate(shape):
        messages: list[Message] = [user("question")]
        for place, (width, size) in enumerate(turn):
            ids = [f"{number}.{place}.{each}" for each in range(width)]
            messages += [calls(*ids), *(result(each, "x" * size) for each in ids)]
        turns.append([*messages, AssistantMessage(content="answer")])
    kept = trim_history(reversed(turns), budget)
    assert pairing_fault(kept) is None
    assert tokens(kept) <= budget
    assert not kept or isinstance(kept[0], UserMessage)


def test_a_number_of_messages_keeps_the_newest_rounds_whole() -> None:
    turn: list[Message] = [UserMessage(content="q"), AssistantMessage(content="a")]
    assert trim_history([turn, turn, turn], 1_000, 4) == [*turn, *turn]
    assert trim_history([turn, turn], 1_000, 3) == turn
    assert trim_history([turn], 1_000, 1) == []
    assert trim_history([turn], 1_000, 0) == []


def test_turns_behind_the_last_that_fits_are_not_read() -> None:
    turn: list[Message] = [UserMessage(content="q"), AssistantMessage(content="a" * 400)]
    stored = iter([turn] * 10)
    assert trim_history(stored, 3 * tokens(turn)) == turn * 3
    assert len(list(stored)) == 6


def test_a_turn_without_a_question_belongs_to_the_one_before_it() -> None:
    answer = AssistantMessage(content="more")
    assert trim_history([[answer], TURN, [answer]], 1_000) == [*TURN, answer]
    assert trim_history([[answer, *TURN]], 1_000) == TURN
