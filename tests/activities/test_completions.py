"""Completions as providers really send them."""

from typing import Any

import pytest

from activities.completions import RawCall, add_usage, empty_response, filtered_request, read_completion
from activities.conversation import ModelUsage
from activities.errors import CONTENT_FILTERED, EMPTY_MODEL_RESPONSE, MODEL_REFUSAL
from activities.provider_errors import ProviderFault


def body(message: Any, finish: Any = "stop", **fields: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"index": 0, "finish_reason": finish, "message": message}], **fields}


def call(name: str = "lookup", arguments: Any = "{}", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def test_text_finish_model_and_usage_are_read() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    read = read_completion(body({"content": "hi"}, usage=usage))
    assert (read.text, read.finish_reason, read.model) == ("hi", "stop", "m-1")
    assert read.usage == ModelUsage(prompt_tokens=12, completion_tokens=5, total_tokens=17)


@pytest.mark.parametrize("finish", ["stop", "other", "tool_calls", None, 7])
def test_calls_count_whatever_the_finish_reason_says(finish: Any) -> None:
    calls = [call(arguments='{"q":1}'), call(arguments='{"q":2}')]
    read = read_completion(body({"content": "Let me look.", "tool_calls": calls}, finish))
    assert [each.arguments for each in read.calls] == ['{"q":1}', '{"q":2}']
    assert read.text == "Let me look."


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": []},
        {"content": ""},
        {"content": " \n"},
        {"content": []},
        {"content": 5, "tool_calls": "x"},
        {"tool_calls": [None, "x"]},
        {},
        None,
        "text",
    ],
)
def test_a_message_that_says_nothing_is_empty(message: Any) -> None:
    read = read_completion(body(message, "tool_calls"))
    assert read.is_empty
    assert empty_response(read).code == EMPTY_MODEL_RESPONSE


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        (
            [{"type": "thinking", "thinking": "hm", "text": "hm"}, {"type": "output_text", "text": "b"}, "c", None, 3],
            "bc",
        ),
        ({"type": "text", "text": "one"}, "one"),
        ("bad \ud83d end", "bad \ufffd end"),
        ("👩‍👩‍👧 日本語 שלום é NUL: \x00\n ", "👩‍👩‍👧 日本語 שלום é NUL: \x00\n "),
    ],
)
def test_text_is_joined_from_its_parts_and_otherwise_kept_byte_for_byte(content: Any, text: str) -> None:
    assert read_completion(body({"content": content})).text == text


def test_thinking_is_not_mixed_into_the_text() -> None:
    message = {
        "content": "Yes.",
        "reasoning_content": "secretly",
        "reasoning": "hm",
        "thinking_blocks": [{"thinking": "x"}],
    }
    assert read_completion(body(message)).text == "Yes."


def test_calls_are_read_from_every_form_in_use() -> None:
    entries = [
        call("a", "{}", id=""),
        call("b", id=None),
        {"id": "x", "name": "c", "arguments": {"k": 1}},
        {"function": None},
    ]
    assert read_completion(body({"tool_calls": entries})).calls == (
        RawCall("a", "{}"),
        RawCall("b", "{}"),
        RawCall("c", {"k": 1}, "x"),
        RawCall(""),
    )
    assert read_completion(body({"function_call": {"name": "old", "arguments": "{}"}})).calls == (RawCall("old", "{}"),)
    assert read_completion(body({"tool_calls": call("only")})).calls == (RawCall("only", "{}"),)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "17",
        [],
        {"prompt_tokens": None},
        {"prompt_tokens": "many"},
        {"prompt_tokens": -1},
        {"prompt_tokens": True},
    ],
)
def test_usage_that_is_missing_or_odd_is_unknown_and_not_zero(usage: Any) -> None:
    assert read_completion(body({"content": "x"}, usage=usage)).usage is None


def test_usage_is_completed_from_what_is_there() -> None:
    read = read_completion(body({"content": "x"}, usage={"prompt_tokens": 12, "total_tokens": 17}))
    assert read.usage == ModelUsage(prompt_tokens=12, completion_tokens=5, total_tokens=17)


def choice(index: Any, message: Any, finish: str) -> dict[str, Any]:
    return {"index": index, "message": message, "finish_reason": finish}


def test_of_two_choices_the_first_counts_wherever_it_stands() -> None:
    first, other = (
        choice(0, {"content": "a"}, "stop"),
        choice(1, {"content": "b", "tool_calls": [call()]}, "tool_calls"),
    )
    for choices in ([first, other], [other, first]):
        read = read_completion({"choices": choices})
        assert (read.text, read.calls) == ("a", ())


def test_calls_that_a_gateway_put_into_a_choice_of_their_own_belong_to_the_words_before_them() -> None:
    words, calls = (
        choice(0, {"content": "Let me look."}, "tool_calls"),
        choice(0, {"tool_calls": [call()]}, "tool_calls"),
    )
    read = read_completion({"choices": [words, calls]})
    assert (read.text, [each.name for each in read.calls]) == ("Let me look.", ["lookup"])


def test_a_request_that_a_filter_stopped_says_so_as_a_filtered_reply_does() -> None:
    filtered = filtered_request(ProviderFault("The prompt was flagged: violence", 400, "content_filter"))
    assert filtered is not None
    assert filtered.error is not None
    assert (filtered.error.code, filtered.is_empty, filtered.calls) == (CONTENT_FILTERED, False, ())
    assert "The prompt was flagged: violence" in filtered.error.message
    assert filtered_request(ProviderFault("content is null", 400, "invalid_request_error")) is None


def test_a_refusal_is_an_error_whose_words_are_kept() -> None:
    for message in (
        {"content": None, "refusal": "I cannot."},
        {"content": [{"type": "refusal", "refusal": "I cannot."}]},
    ):
        read = read_completion(body(message))
        assert read.error is not None
        assert (read.error.code, read.text) == (MODEL_REFUSAL, "I cannot.")


@pytest.mark.parametrize("finish", ["content_filter", "content_filter: SAFETY", "SAFETY"])
def test_a_filter_is_an_error_that_keeps_the_text_and_runs_no_call(finish: str) -> None:
    read = read_completion(body({"content": "So far", "tool_calls": [call()]}, finish))
    assert read.error is not None
    assert (read.error.code, read.text, read.calls) == (CONTENT_FILTERED, "So far", ())
    assert not read_completion(body({"content": None}, finish)).is_empty


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name":"delete_row","arguments":{"id":7}}\n</tool_call>',
        '{"name": "delete_row", "arguments": {"id": 7}}',
        '```json\n[{"name": "delete_row", "parameters": {}}]\n```',
        '[TOOL_CALLS][{"name":"delete_row"}]',
        "<|python_tag|>delete_row(7)",
        "<function=delete_row>",
    ],
)
def test_a_call_written_as_text_is_text_with_a_hint(text: str) -> None:
    read = read_completion(body({"content": text, "tool_calls": []}))
    assert (read.text, read.calls) == (text, ())
    assert "tool call" in (read.hint or "")


def test_ordinary_text_has_no_hint() -> None:
    assert read_completion(body({"content": 'The JSON {"name": "Ada"} has one key.'})).hint is None


def test_calls_nobody_allowed_are_left_out() -> None:
    read = read_completion(body({"content": "words", "tool_calls": [call()]}), calls_allowed=False)
    assert (read.text, read.calls) == ("words", ())
    assert read.hint


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_that_reached_its_limit_is_cut(finish: str) -> None:
    assert read_completion(body({"content": "half"}, finish)).cut


@pytest.mark.parametrize(
    ("answer", "words", "status"),
    [
        ({"id": "x", "choices": []}, "no choices", None),
        ({"choices": None}, "no choices", None),
        ({"choices": [None]}, "no choices", None),
        ({"choices": "x"}, "no choices", None),
        ([], "no choices", None),
        (None, "no choices", None),
        ("text", "no choices", None),
        ({"error": {"message": "Provider returned error", "code": 429}}, "Provider returned error", 429),
        (
            {"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "upstream"}, "message": {}}]},
            "upstream",
            502,
        ),
        ({"choices": [{"finish_reason": "error", "message": {"content": "x"}}]}, "broke off", None),
        (
            {"choices": [{"finish_reason": "stop", "error": {"code": 502}, "message": {"content": "x"}}]},
            "no reason",
            502,
        ),
        ({"choices": None, "base_resp": {"status_msg": "rate limit"}}, '"status_msg": "rate limit"', None),
    ],
)
def test_an_answer_without_a_choice_is_a_fault_with_its_reason(answer: Any, words: str, status: int | None) -> None:
    with pytest.raises(ProviderFault) as caught:
        read_completion(answer)
    assert words in str(caught.value)
    assert caught.value.status == status


def test_usage_adds_up_what_is_known() -> None:
    known = ModelUsage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    assert add_usage([None, known, known]) == ModelUsage(prompt_tokens=2, completion_tokens=4, total_tokens=6)
    assert add_usage([None, None]) is None


def test_kinds_of_tokens_are_kept_where_a_provider_tells_them_apart() -> None:
    usage = {
        "prompt_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 80, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 4, "odd_tokens": 9},
    }
    assert read_completion(body({"content": "hi"}, usage=usage)).usage_details == {"cached": 80, "reasoning": 4}
    odds: list[Any] = [None, [], {"prompt_tokens_details": "none"}, {"prompt_tokens_details": {"cached_tokens": -1}}]
    for odd in odds:
        assert read_completion(body({"content": "hi"}, usage=odd)).usage_details is None
