"""What the model is told of a run: whether it failed, whether it can mend it, and nothing that a person gave."""

from typing import Any

import pytest

from activities.controllers.policy import FunctionFacts, ProtocolName, policy_for
from activities.conversation import ToolCallResult
from activities.credentials import REDACTED
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_TIMED_OUT
from activities.outputs import failed_result
from activities.tool import Tool
from activities.tool_results import answered, is_correctable, without_human_part


def tool(protocol: ProtocolName) -> Tool:
    policy = policy_for(FunctionFacts("shop", "buy", protocol), (), {}, "run")
    schema = {"type": "object"}
    return Tool("buy", "Buys.", schema, bind=lambda arguments: lambda context: None, is_async=False, policy=policy)


def http(status: Any) -> ToolCallResult:
    return answered("a", tool("http"), {"status": status, "headers": {}, "body": {"x": 1}})


@pytest.mark.parametrize(
    ("status", "is_error", "can_be_mended"),
    [
        (200, False, False),
        (204, False, False),
        (302, True, False),
        (422, True, True),
        (404, True, True),
        (500, True, False),
    ],
)
def test_an_http_answer_outside_2xx_is_a_failure_that_keeps_the_answer(
    status: int, is_error: bool, can_be_mended: bool
) -> None:
    result = http(status)
    assert (result.is_error, is_correctable(result)) == (is_error, can_be_mended)
    assert result.output["body"] == {"x": 1}


def test_a_status_that_only_looks_like_one_is_none() -> None:
    assert not http("422").is_error
    assert not answered("a", tool("class"), {"status": 422}).is_error
    assert not answered("a", tool("http"), [422]).is_error


def test_arguments_that_do_not_fit_can_be_mended_and_other_failures_cannot() -> None:
    assert is_correctable(failed_result("a", "buy", TOOL_ARGUMENTS_INVALID, "no"))
    assert not is_correctable(failed_result("a", "buy", TOOL_TIMED_OUT, "late"))


def echo(output: Any, human: Any) -> Any:
    return without_human_part(ToolCallResult(tool_call_id="a", tool_name="buy", output=output), human).output


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("pin S3CRET!", f"pin {REDACTED}!"),
        ({"S3CRET": ["S3CRET", 904_417, 904_417.0]}, {REDACTED: [REDACTED, REDACTED, REDACTED]}),
        ("the code 904417 is right", f"the code {REDACTED} is right"),
        ({"cvc": 321, "said": "321", "of": "54321"}, {"cvc": REDACTED, "said": REDACTED, "of": "54321"}),
        ({"status": 200, "count": 7, "ok": True}, {"status": 200, "count": 7, "ok": True}),
        (None, None),
    ],
)
def test_what_a_person_gave_is_blackened_wherever_it_is_repeated(output: Any, left: Any) -> None:
    assert echo(output, {"a": ["S3CRET", {"b": 904_417}], "c": 7, "d": True, "e": None, "f": 321.0}) == left


@pytest.mark.parametrize(
    "form",
    [
        'p"w&d <ž>',
        "p%22w%26d%20%3C%C5%BE%3E",
        "p%22w%26d+%3C%C5%BE%3E",
        "p&quot;w&amp;d &lt;ž&gt;",
        'p\\"w&d <\\u017e>',
        'p\\"w&d <ž>',
    ],
)
def test_it_is_found_as_urls_pages_and_json_write_it(form: str) -> None:
    assert echo(f"you sent {form}.", ['p"w&d <ž>']) == f"you sent {REDACTED}."


def test_without_a_persons_part_nothing_changes() -> None:
    result = http(200)
    assert without_human_part(result, None) is result
    assert without_human_part("S3CRET", None) == "S3CRET"
    assert without_human_part("a S3CRET", ["S3CRET"]) == f"a {REDACTED}"


def test_a_file_of_a_megabyte_is_found_too() -> None:
    file = "QUJD" * 250_000
    assert echo({"got": file, "rest": "x" * 100_000}, {"base64": file}) == {"got": REDACTED, "rest": "x" * 100_000}
