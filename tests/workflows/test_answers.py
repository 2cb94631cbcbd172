"""An answer is read from whatever JSON arrived: whole, or refused with words that say what to send."""

import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.conversation import ErrorDetails, ToolCallResult
from activities.json_values import Undecodable, encoded_size
from tests.workflows.strategies import hostile_arguments, json_values, many, nested, one, reasons
from workflows.answers import (
    MAX_ANSWER_BYTES,
    MAX_REASON_CHARS,
    MAX_REASONS,
    Answer,
    Approve,
    Edit,
    Failure,
    Output,
    Refusal,
    Reject,
    Resolution,
    read_answer,
    refused,
)
from workflows.contracts import ItemReason

DEFAULT = "The host's tool failed."


def failure(code: str, message: str, details: Any = None, output: Any = None) -> Failure:
    return Failure(ErrorDetails(code=code, message=message, details=details), output)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"output": {"ref": 77}}, Output({"ref": 77})),
        ({"output": "text"}, Output("text")),
        ({"output": None}, Output(None)),
        ({"output": ""}, Output("")),
        ({"output": False}, Output(False)),
        ({"output": [], "isError": False}, Output([])),
        ({"output": 1, "error_details": None}, Output(1)),
        ({"output": 1, "decision": None, "note": "extra fields are ignored"}, Output(1)),
        ({"type": "success", "result": {"a": 1}}, Output({"a": 1})),
        ({"type": "success", "result": None}, Output(None)),
        ({"errorDetails": {"code": "E_FULL", "message": "sold out"}}, failure("E_FULL", "sold out")),
        ({"errorDetails": {"code": "E", "message": "m", "seat": 4}}, failure("E", "m", {"seat": 4})),
        ({"errorDetails": {"code": 500, "error": "m"}}, failure("EXTERNAL_TOOL_ERROR", "m")),
        ({"errorDetails": "it broke"}, failure("EXTERNAL_TOOL_ERROR", "it broke")),
        ({"errorDetails": {}}, failure("EXTERNAL_TOOL_ERROR", DEFAULT)),
        ({"errorDetails": ["?"]}, failure("EXTERNAL_TOOL_ERROR", DEFAULT)),
        ({"error_details": "m", "output": {"left": 2}}, failure("EXTERNAL_TOOL_ERROR", "m", None, {"left": 2})),
        ({"output": "no seats", "isError": True}, failure("EXTERNAL_TOOL_ERROR", "no seats", None, "no seats")),
        ({"output": None, "is_error": True}, failure("EXTERNAL_TOOL_ERROR", DEFAULT)),
        ({"type": "error", "error": {"code": "E", "message": "m", "details": 3}}, failure("E", "m", 3)),
        ({"type": "error"}, failure("EXTERNAL_TOOL_ERROR", DEFAULT)),
        ({"decision": "approve"}, Approve()),
        ({"decision": "approve", "reason": "fine"}, Approve()),
        ({"decision": "reject"}, Reject(None)),
        ({"decision": "reject", "reason": "keep the backup"}, Reject("keep the backup")),
        ({"decision": "edit", "arguments": {"amount": 5}}, Edit({"amount": 5})),
        ({"decision": "edit", "arguments": {}}, Edit({})),
    ],
)
def test_a_result_is_an_output_an_error_or_a_decision(said: dict[str, Any], meant: Resolution) -> None:
    assert [item.resolution for item in many({"toolCallId": "c1", **said}).items] == [meant]
    assert [item.resolution for item in one(toolCallId="c1", **said).items] == [meant]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "none of `output`"),
        ({"errorDetails": None}, "none of `output`"),
        ({"isError": True}, "none of `output`"),
        ({"type": "success"}, "none of `output`"),
        ({"output": 1, "isError": "yes"}, "`isError`"),
        ({"output": 1, "isError": None}, "`isError`"),
        ({"decision": "deny"}, "one of approve, reject, edit"),
        ({"decision": ["approve"]}, "one of approve, reject, edit"),
        ({"decision": True}, "one of approve, reject, edit"),
        ({"decision": "edit"}, "an object"),
        ({"decision": "edit", "arguments": "{}"}, "an object"),
        ({"decision": "reject", "reason": 7}, "`reason`"),
        ({"output": 1, "toolName": 7}, "`toolName`"),
        ({"output": 1, "toolName": "n" * 201}, "`toolName`"),
    ],
)
def test_a_result_that_says_nothing_clear_is_refused_by_its_call(said: dict[str, Any], words: str) -> None:
    assert words in reasons(read_answer([{"results": [{"toolCallId": "c1", **said}]}], "many"))["c1"]
    assert words in reasons(read_answer([{"toolCallId": "c1", **said}], "one"))["c1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "exactly one argument, 0 came"),
        ([{}, {}], "exactly one argument, 2 came"),
        ([Undecodable("not JSON that can be read")], "not JSON that can be read; send {"),
        (["c1"], "is a text, not an object"),
        ([None], "is a null, not an object"),
        ([True], "is a true/false value, not an object"),
        ([7], "is a number, not an object"),
        ([[{"toolCallId": "c1", "output": 1}]], "is a list, not an object"),
        ([b"{}"], "is a bytes, not an object"),
        ([{"output": 1, "toolCallId": "c1"}], "`results` is missing"),
        ([{"results": "c1"}], "`results` is missing"),
        ([{"results": []}], "signal `settle`"),
        ([{"results": [{"toolCallId": "c1", "output": 1}] * 1_001}], "1001 entries"),
        ([{"results": ["c1"]}], "results[0] is a text"),
        ([{"results": [{"output": 1}]}], "results[0].toolCallId"),
        ([{"results": [{"toolCallId": "", "output": 1}]}], "results[0].toolCallId"),
        ([{"results": [{"toolCallId": 5, "output": 1}]}], "results[0].toolCallId"),
        ([{"results": [{"toolCallId": "c" * 201, "output": 1}]}], "results[0].toolCallId"),
        ([{"results": [{"toolCallId": "c1", "output": 1}], "partial": "later"}], '"fill" or "wait"'),
        ([{"results": [{"toolCallId": "c1", "output": 1}], "partial": {}}], '"fill" or "wait"'),
        ([{"results": [{"toolCallId": "c1", "output": 1}], "userId": 5}], "`userId`"),
        ([{"results": [{"toolCallId": "c1", "output": 1}], "options": {"modell": "x"}}], "options.modell"),
        ([{"results": [{"toolCallId": "c1", "output": 1}], "options": {"temperature": 9}}], "options.temperature"),
        ([{"results": [{"toolCallId": "c1", "output": float("nan")}]}], "answer.results[0].output is nan"),
        ([{"results": [{"toolCallId": "c1", "output": {"a": ["x\ud83d"]}}]}], "answer.results[0].output.a[0]"),
        ([{"results": [{"toolCallId": "c1", "output": 10**1_000}]}], "more than 1000 digits"),
        ([{"results": [{"toolCallId": "c1", "output": nested(101)}]}], "100 levels deep"),
        ([{"results": [{"toolCallId": "c1", "output": "x" * MAX_ANSWER_BYTES}]}], "more than 1,000,000"),
    ],
)
def test_a_message_that_is_no_answer_is_told_what_to_send(arguments: list[Any], words: str) -> None:
    verdict = read_answer(arguments, "many")
    assert isinstance(verdict, Refusal)
    assert words in verdict.text


def test_many_results_in_one_flat_message_are_pointed_to_the_other_name() -> None:
    verdict = read_answer([{"results": [{"toolCallId": "c1", "output": 1}]}], "one")
    assert isinstance(verdict, Refusal)
    assert "handle_tool_results" in verdict.text


def test_a_single_result_may_stand_without_its_list() -> None:
    answer = read_answer([{"results": {"toolCallId": "c1", "output": 1}}], "many")
    assert isinstance(answer, Answer)
    assert [item.call_id for item in answer.items] == ["c1"]


def test_a_whole_answer_fills_the_rest_and_a_single_result_waits_unless_told() -> None:
    result = {"toolCallId": "c1", "output": 1}
    assert (many(result).partial, one(**result).partial) == ("fill", "wait")
    assert (many(result, partial="wait").partial, one(**result, partial="fill").partial) == ("wait", "fill")


def test_names_are_read_in_both_spellings() -> None:
    camel = many({"toolCallId": "c1", "toolName": "book", "output": 1}, userId="ada", options={"maxTokens": 5})
    snake = many({"tool_call_id": "c1", "tool_name": "book", "output": 1}, user_id="ada", options={"max_tokens": 5})
    assert camel == snake
    assert (camel.user_id, camel.items[0].tool_name) == ("ada", "book")
    assert camel.options is not None
    assert camel.options.max_tokens == 5


def test_our_own_result_is_an_answer_as_it_stands() -> None:
    """A host may send back the very value that the turn shows."""
    done = ToolCallResult(tool_call_id="c1", tool_name="book", output={"ok": True})
    error = ErrorDetails(code="E", message="m")
    failed = ToolCallResult(tool_call_id="c2", tool_name="book", output=1, is_error=True, error_details=error)
    answer = many(done.model_dump(by_alias=True), failed.model_dump(mode="json"))
    assert [item.resolution for item in answer.items] == [Output({"ok": True}), failure("E", "m", None, 1)]


def test_a_call_named_twice_refuses_the_whole_answer() -> None:
    results = [{"toolCallId": "c1", "output": 1}, {"toolCallId": "c2", "output": 2}, {"toolCallId": "c1", "output": 1}]
    assert reasons(read_answer([{"results": results}], "many")) == {"c1": "stands twice in this answer"}


def test_each_bad_result_has_its_reason_and_the_good_ones_are_not_taken() -> None:
    results = [{"toolCallId": "c1", "output": 1}, {"toolCallId": "c2"}, {"toolCallId": "c3", "decision": "maybe"}]
    assert list(reasons(read_answer([{"results": results}], "many"))) == ["c2", "c3"]


def digest(**said: Any) -> str:
    return one(toolCallId="c1", **said).items[0].digest


def test_a_repeat_has_the_same_digest_however_it_is_written() -> None:
    assert digest(output={"a": 1, "b": [2]}) == digest(output={"b": [2], "a": 1}, toolName="book", note="again")
    assert digest(output={"a": 1}) == digest(type="success", result={"a": 1})
    assert digest(decision="approve") == digest(decision="approve", reason="fine")


def test_different_meanings_have_different_digests() -> None:
    said: list[dict[str, Any]] = [
        {"output": None},
        {"output": ""},
        {"output": 0},
        {"output": False},
        {"output": "0"},
        {"output": ["output", 0]},
        {"output": "x", "isError": True},
        {"errorDetails": "x"},
        {"decision": "approve"},
        {"decision": "reject"},
        {"decision": "reject", "reason": ""},
        {"decision": "reject", "reason": "x"},
        {"decision": "edit", "arguments": {}},
        {"output": {}},
    ]
    assert len({digest(**each) for each in said}) == len(said)


def test_a_refusal_stays_small_whatever_it_repeats() -> None:
    """It is kept in the turn, shown by a query and sent as an error: the words of a stranger must not grow it."""
    long = refused("x" * 900_000)
    wide = Refusal(tuple(ItemReason(tool_call_id=f"c{n}", reason="no") for n in range(1_000)))
    assert len(long.text) < MAX_REASON_CHARS + 20
    assert len(wide.reasons) == MAX_REASONS
    assert wide.text.startswith("c0: no; c1: no;")
    assert wide.text.endswith("and 937 more")
    key = "k" * 400_000
    for value in ({key: 1}, {"a": {key: float("nan")}}, {"results": [{"toolCallId": key}]}, {"options": {key: 1}}):
        verdict = read_answer([{"results": [{"toolCallId": "c1", "output": 1}], **value}], "many")
        if isinstance(verdict, Refusal):
            assert encoded_size(verdict.reasons) < 5_000


def test_the_reason_does_not_repeat_a_value_that_may_be_a_secret() -> None:
    verdict = read_answer([{"toolCallId": "c1", "output": 1, "options": {"userApiKeys": "sk-live-secret"}}], "one")
    assert isinstance(verdict, Refusal)
    assert "sk-live-secret" not in verdict.text


def test_the_largest_answer_is_read_in_a_small_part_of_a_workflow_task() -> None:
    results = [{"toolCallId": f"c{n}", "output": {"rows": [{"a": i} for i in range(60)]}} for n in range(1_000)]
    started = time.process_time()
    assert len(many(*results).items) == 1_000
    assert time.process_time() - started < 1


@given(arguments=hostile_arguments, form=st.sampled_from(["many", "one"]))
def test_nothing_a_stranger_sends_raises(arguments: list[Any], form: Literal["many", "one"]) -> None:
    verdict = read_answer(arguments, form)
    assert isinstance(verdict, Answer) or verdict.text


@given(output=json_values)
def test_any_json_is_an_output_and_stays_as_it_was(output: Any) -> None:
    assert one(toolCallId="c1", output=output).items[0].resolution == Output(output)


def test_a_key_in_the_options_of_an_answer_is_refused_and_not_repeated() -> None:
    key = "sk-proj-1234567890"
    sent = {"toolCallId": "a", "output": 1, "options": {"userApiKeys": [key]}}
    refusal = read_answer([sent], "one")
    assert isinstance(refusal, Refusal)
    assert "names of the worker's secrets" in refusal.text
    assert key not in refusal.text
