from datetime import UTC, datetime
from typing import Any

import pytest

from activities.conversation import ToolCallResult
from activities.tool_text import EMPTY_OUTPUT, NO_OUTPUT, tool_text


def text_of(output: Any) -> str:
    return tool_text(ToolCallResult(tool_call_id="a", tool_name="lookup", output=output))


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("as it is\x00 é", "as it is\x00 é"),
        ({"id": 1, "name": "Žofie"}, '{"id": 1, "name": "Žofie"}'),
        (None, NO_OUTPUT),
        ("", EMPTY_OUTPUT),
        (" \n", EMPTY_OUTPUT),
        ([], "[]"),
        ([{"id": 1}, {"id": 2}], '[{"id": 1}, {"id": 2}]'),
        (True, "true"),
        (3.5, "3.5"),
        (float("nan"), "null"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), '"2026-01-02T03:04:05+00:00"'),
        ("bad \ud83d end", "bad \ufffd end"),
        ({"x": "\ud83d"}, '{"x": "\ufffd"}'),
    ],
)
def test_every_output_becomes_text_the_model_can_read(output: Any, text: str) -> None:
    assert text_of(output) == text


def test_bytes_are_told_with_their_number() -> None:
    assert '"bytes": 2' in text_of(b"\xff\x00")


def failed(**fields: Any) -> str:
    return tool_text(ToolCallResult(tool_call_id="a", tool_name="pay", is_error=True, **fields))


def test_an_error_names_the_tool_then_code_and_message() -> None:
    error = {"code": "EXTERNAL_TOOL_NOT_RUN", "message": "left out"}
    assert failed(error_details=error) == 'Tool pay failed: {"code": "EXTERNAL_TOOL_NOT_RUN", "message": "left out"}'


def test_an_error_without_details_shows_its_output() -> None:
    assert failed(output="no funds") == "Tool pay failed: no funds"
    assert failed() == f"Tool pay failed: {NO_OUTPUT}"
