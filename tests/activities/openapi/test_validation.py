"""Arguments that do not fit are told place by place, so that a model can mend them."""

import json
from typing import Any

import pytest

from activities.openapi.faults import MISSING, ArgumentFault, ArgumentFaultsError, path_of
from activities.openapi.validation import HIDDEN, ArgumentCheck

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "query": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": ["integer", "null"]}}},
        "body": {"$ref": "#/$defs/Pet"},
    },
    "required": ["id"],
    "additionalProperties": False,
    "$defs": {
        "Pet": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 3},
                "secret": {"type": "string", "pattern": "^s"},
                "tags": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"const": "x"}]}},
                "child": {"$ref": "#/$defs/Pet"},
            },
        }
    },
}


def told(arguments: Any, hidden: dict[str, Any] | None = None) -> list[tuple[str, str, Any]]:
    return [(each.path, each.expected, each.value) for each in ArgumentCheck(SCHEMA, hidden).faults(arguments)]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, ("$input.id", "a value: it is required", MISSING)),
        ({"id": 0}, ("$input.id", "minimum 1", 0)),
        ({"id": "7"}, ("$input.id", "integer", "7")),
        ({"id": 1, "query": {"kind": "c"}}, ("$input.query.kind", 'one of "a", "b"', "c")),
        ({"id": 1, "query": {"n": "x"}}, ("$input.query.n", "integer or null", "x")),
        ({"id": 1, "a b": 2}, ('$input["a b"]', "nothing: there is no such argument", 2)),
        ({"id": 1, "body": {"name": "long"}}, ("$input.body.name", "maxLength 3", "long")),
        ({"id": 1, "body": {"tags": [1, "y"]}}, ("$input.body.tags[1]", 'integer or "x"', "y")),
        ({"id": 1, "body": {"child": {"child": {"name": 3}}}}, ("$input.body.child.child.name", "string", 3)),
    ],
)
def test_fault_says_where_and_what(arguments: Any, fault: tuple[str, str, Any]) -> None:
    assert told(arguments) == [fault]


def test_arguments_that_fit_have_no_fault() -> None:
    assert told({"id": 7.0, "query": {"n": None}, "body": {"tags": [1, "x"]}}) == []


def test_persons_part_is_never_repeated() -> None:
    hidden = {
        "type": "object",
        "properties": {"body": {"type": "object", "properties": {"secret": {}, "child": {"$ref": "#/$defs/Human"}}}},
        "$defs": {"Human": {"type": "object", "properties": {"secret": {}}}},
    }
    assert told({"id": 1, "body": {"secret": "S3CRET"}}, hidden) == [("$input.body.secret", 'pattern "^s"', HIDDEN)]
    assert told({"id": 1, "body": {"child": {"secret": "S3CRET"}}}, hidden)[0][2] == HIDDEN
    assert told({"id": 1, "body": "S3CRET"}, hidden)[0][2] == HIDDEN
    assert told({"id": 1, "body": {"name": "long"}}, hidden)[0][2] == "long"
    assert told({"id": "x"}, hidden)[0][2] == "x"
    whole = {"type": "object", "properties": {"body": {"type": "string"}}}
    assert told({"id": 1, "body": {"secret": {"a": "S3CRET"}}}, whole)[0][2] == HIDDEN


@pytest.mark.parametrize("value", ["\ud800", float("nan"), float("inf"), 10**2000, {"\udc00": 1}, object()])
def test_what_is_no_json_is_told_and_not_taken(value: Any) -> None:
    faults = ArgumentCheck(SCHEMA).faults({"id": 1, "body": {"name": [value]}})
    assert [each.path for each in faults] == ["$input"]
    assert "$input.body.name[0]" in str(ArgumentFaultsError(faults))


@pytest.mark.parametrize(
    "schema",
    [{"type": "no such type"}, {"$ref": "https://127.0.0.1:1/x"}, {"$ref": "#/$defs/Gone"}, {"pattern": "("}],
)
def test_schema_that_cannot_be_used_leaves_the_judgement_to_the_server(schema: dict[str, Any]) -> None:
    assert ArgumentCheck(schema).faults({"a": 1}) == []


def test_pattern_that_backtracks_for_ever_does_not_hold_a_worker_up() -> None:
    schema = {"properties": {"a": {"pattern": "^(a|a?)+(?!x)$"}}}
    assert len(ArgumentCheck(schema).faults({"a": "a" * 60 + "!"})) == 1


def test_error_is_a_bounded_list_for_the_model() -> None:
    many = [ArgumentFault(path_of(("query", f"k{n}", n)), "x" * 1000, "v" * 10_000) for n in range(200)]
    message = str(ArgumentFaultsError(many))
    assert len(message) < 6_000
    assert json.loads(message)[-1] == "and 190 more"
    odd = ArgumentFaultsError([ArgumentFault("$input.\ud800", "text", {"a": "\ud800" * 10})])
    assert json.loads(str(odd))[0]["expected"] == "text"
    str(odd).encode()
