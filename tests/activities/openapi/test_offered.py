"""What the configuration sets is neither shown to the model nor taken from it."""

from dataclasses import replace
from typing import Any

import pytest

from activities.openapi.offered import offered
from activities.openapi.operation import Operation
from tests.activities.openapi.making import body, operation, parameter

NONE: frozenset[str] = frozenset()


def left(made: Operation, headers: frozenset[str] = NONE, cookies: frozenset[str] = NONE) -> Operation:
    return offered(made, headers=headers, cookies=cookies)


def test_configured_headers_and_cookies_are_taken_out() -> None:
    made = operation(
        "GET",
        "/x",
        parameter("header", "X-Tenant", required=True),
        parameter("header", "If-Match"),
        parameter("cookie", "session", key="session_1", required=True),
        parameter("query", "q", required=True),
    )
    kept = left(made, frozenset({"x-tenant"}), frozenset({"session"}))
    assert [each.name for each in kept.parameters] == ["If-Match", "q"]
    for schema in (kept.input_schema, kept.llm_schema):
        assert list(schema["properties"]) == ["headers", "query"]
        assert list(schema["properties"]["headers"]["properties"]) == ["If-Match"]
        assert schema["properties"]["headers"]["required"] == []
        assert schema["required"] == ["query"]
    assert list(made.input_schema["properties"]["headers"]["properties"]) == ["X-Tenant", "If-Match"]


def test_reserved_headers_are_never_arguments() -> None:
    made = operation(
        "POST", "/x", parameter("header", "Authorization", required=True), parameter("header", "Idempotency-Key")
    )
    kept = left(made)
    assert kept.parameters == ()
    assert kept.input_schema["properties"] == {}
    assert kept.input_schema["required"] == []


def test_operation_with_nothing_to_take_out_is_the_same() -> None:
    made = operation("GET", "/x/{id}", parameter("path", "id"))
    assert left(made, frozenset({"x-tenant"})) is made


def test_persons_part_that_is_configured_is_not_asked_for() -> None:
    human: dict[str, Any] = {
        "type": "object",
        "properties": {"headers": {"type": "object", "properties": {"X-Pin": {}}, "required": ["X-Pin"]}},
        "required": ["headers"],
    }
    made = replace(operation("GET", "/x", parameter("header", "X-Pin", required=True)), human_schema=human)
    assert left(made, frozenset({"x-pin"})).human_schema is None
    assert left(made).human_schema == human


def test_operation_that_no_request_can_be_made_for_is_refused() -> None:
    with pytest.raises(ValueError, match="without a parameter: b"):
        left(operation("GET", "/{a}/{b}", parameter("path", "a")))
    with pytest.raises(ValueError, match="cannot be written as application/xml"):
        left(operation("POST", "/x", body=body("application/xml", {"type": "object"})))
