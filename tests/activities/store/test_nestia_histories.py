"""Nestia-form histories as turns: what was said, and each execution as a call with its result."""

import re
from typing import Any

import pytest

from activities.conversation import AssistantMessage, Message, ToolMessage, UserMessage
from activities.store.nestia_histories import import_histories, import_selection

USER = {"type": "text", "role": "user", "text": "where is my order?"}
ASSISTANT = {"type": "text", "role": "assistant", "text": "let me look"}


def _execute(**fields: Any) -> dict[str, Any]:
    return {
        "type": "execute",
        "protocol": "class",
        "controller": "shop",
        "function": "find",
        "name": "find_order",
        "id": "call_1",
        "arguments": {"id": 7},
        "value": {"state": "sent"},
    } | fields


def _operations(kind: str) -> dict[str, Any]:
    return {"type": kind, "id": "call_0", "operations": [{"protocol": "class", "name": "find_order", "reason": "r"}]}


def _pair(messages: list[Message]) -> tuple[AssistantMessage, ToolMessage]:
    call, result = messages
    assert isinstance(call, AssistantMessage)
    assert isinstance(result, ToolMessage)
    return call, result


def test_texts_become_what_was_said() -> None:
    assert import_histories([USER, ASSISTANT], "c1") == [
        [UserMessage(content="where is my order?"), AssistantMessage(content="let me look")]
    ]


def test_each_text_of_the_user_starts_a_turn() -> None:
    turns = import_histories([USER, ASSISTANT, USER, USER, ASSISTANT], "c1")

    assert [len(turn) for turn in turns] == [2, 1, 2]


def test_no_histories_are_no_turns() -> None:
    assert import_histories([], "c1") == []
    assert import_histories([_operations("select")], "c1") == []


def test_execution_becomes_a_call_with_its_result() -> None:
    (turn,) = import_histories([USER, _operations("select"), _execute(), _operations("cancel")], "c1")
    call, answer = _pair(turn[1:])

    (asked,) = call.tool_calls
    assert re.fullmatch(r"[a-z0-9]{9}", asked.id)
    assert (asked.name, asked.arguments, asked.provider_id) == ("find_order", {"id": 7}, "call_1")
    assert (answer.result.tool_call_id, answer.result.tool_name) == (asked.id, "find_order")
    assert (answer.result.output, answer.result.is_error) == ({"state": "sent"}, False)


def test_orphan_execution_makes_a_turn_of_its_own() -> None:
    turns = import_histories([_execute(), {"type": "describe", "executions": [], "text": "It was sent."}, USER], "c1")

    assert [len(turn) for turn in turns] == [3, 1]
    _pair(turns[0][:2])
    assert turns[0][2] == AssistantMessage(content="It was sent.")


def test_repeated_and_missing_ids_still_pair_up() -> None:
    entries = [USER, _execute(), _execute(), _execute(id=None), _execute(id="")]
    (turn,) = import_histories(entries, "c1")
    pairs = [_pair(turn[at : at + 2]) for at in range(1, 9, 2)]

    ids = [call.tool_calls[0].id for call, _ in pairs]
    assert len(set(ids)) == 4
    assert ids == [answer.result.tool_call_id for _, answer in pairs]


def test_ids_depend_on_the_seed_and_the_place_alone() -> None:
    assert import_histories([USER, _execute()], "c1") == import_histories([USER, _execute()], "c1")
    assert import_histories([USER, _execute()], "c1") != import_histories([USER, _execute()], "c2")


def test_http_result_keeps_status_and_body_and_no_headers() -> None:
    value = {"status": 200, "headers": {"set-cookie": "secret"}, "body": [1]}
    (turn,) = import_histories([_execute(protocol="http", value=value)], "c1")
    _, answer = _pair(turn)

    assert answer.result.output == {"status": 200, "body": [1]}
    assert not answer.result.is_error


def test_failed_http_result_is_an_error() -> None:
    (turn,) = import_histories([_execute(protocol="http", value={"status": 404, "headers": {}, "body": "no"})], "c1")
    _, answer = _pair(turn)

    assert answer.result.is_error
    assert answer.result.error_details == {"code": "TOOL_ERROR", "message": "HTTP status 404"}


def test_function_that_returned_nothing_has_a_null_result() -> None:
    entry = _execute()
    del entry["value"]
    (turn,) = import_histories([entry], "c1")

    assert _pair(turn)[1].result.output is None


def test_name_is_made_legal() -> None:
    (turn,) = import_histories([_execute(name="shop.find/" + "x" * 80)], "c1")
    call, answer = _pair(turn)

    assert call.tool_calls[0].name == ("shop_find_" + "x" * 80)[:64]
    assert answer.result.tool_name == call.tool_calls[0].name


def test_silent_assistant_is_left_out() -> None:
    silent: list[dict[str, Any]] = [
        {"type": "text", "role": "assistant", "text": ""},
        {"type": "describe", "executions": [], "text": ""},
    ]

    assert import_histories([USER, *silent], "c1") == [[UserMessage(content="where is my order?")]]


def test_text_that_cannot_be_sent_is_cleaned() -> None:
    (turn,) = import_histories([_execute(value={"half": "\ud83d", "number": float("nan")})], "c1")

    assert _pair(turn)[1].result.output == {"half": "\ufffd", "number": None}


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"type": "dance"}, "histories[1]"),
        ({}, "histories[1]"),
        ("text", "histories[1]"),
        ({"type": "text", "role": "system", "text": "x"}, "histories[1].role"),
        ({"type": "text", "role": "user"}, "histories[1].text"),
        ({"type": "describe", "executions": []}, "histories[1].text"),
        (_execute(arguments="{}"), "histories[1].arguments"),
        (_execute(name=""), "histories[1].name"),
        (_execute(protocol="grpc"), "histories[1]"),
        (_execute(protocol="http", value={"body": 1}), "histories[1].value.status"),
    ],
)
def test_malformed_entry_is_named(entry: Any, named: str) -> None:
    with pytest.raises(ValueError) as refused:
        import_histories([USER, entry], "c1")

    assert str(refused.value).startswith(f"{named}: ")


def test_refusal_does_not_repeat_the_input() -> None:
    with pytest.raises(ValueError) as refused:
        import_histories([_execute(arguments="my password")], "c1")

    assert "my password" not in str(refused.value)


def _chosen(kind: str, *names: str, reason: str = "r") -> dict[str, Any]:
    base = {"protocol": "class", "controller": "shop", "reason": reason}
    return {"type": kind, "id": "s", "operations": [{**base, "function": each, "name": each} for each in names]}


@pytest.mark.parametrize(
    ("histories", "waiting"),
    [
        ([USER, _chosen("select", "a", "b", "a")], ["a", "b", "a"]),
        ([_chosen("select", "a", "b", "a"), _chosen("cancel", "a")], ["b", "a"]),
        ([_chosen("select", "find", "find"), _execute()], ["find"]),
        # The entry that says it is complete repeats the execution.
        ([_chosen("select", "find", "find"), _execute(), _chosen("cancel", "find", reason="complete")], ["find"]),
        ([_execute(), _chosen("select", "find")], ["find"]),
        ([_chosen("cancel", "a")], []),
        # Known by its controller and its name there, whatever the model called it.
        ([_chosen("select", "find"), _execute(name="_0_find")], []),
        ([{"type": "select", "id": "s"}], []),
    ],
)
def test_what_was_selected_and_not_run_or_cancelled_waits(histories: list[dict[str, Any]], waiting: list[str]) -> None:
    selection = import_selection(histories, "c1")

    assert selection is not None
    assert selection.ready
    assert [entry.name for entry in selection.stack] == waiting
    assert len({entry.id for entry in selection.stack}) == len(waiting)
    assert selection == import_selection(histories, "c1")


def test_where_nothing_was_ever_selected_nothing_is_known_of_it() -> None:
    assert import_selection([USER, ASSISTANT], "c1") is None
    assert import_selection([], "c1") is None


def test_more_than_can_wait_is_cut_to_the_newest() -> None:
    selection = import_selection([_chosen("select", *(f"f{n}" for n in range(300)))], "c1")

    assert selection is not None
    assert (len(selection.stack), selection.stack[-1].name) == (200, "f299")
