from typing import Any

import pytest

from activities.openapi.merging import merged


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ({}, {"type": "string"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": "integer"}, {"type": ["number", "string"]}, {"type": "integer"}),
        ({"type": "object"}, {"type": "string"}, {"type": "object"}),
        ({"minimum": 1, "maximum": 5}, {"minimum": 3, "maximum": 9}, {"minimum": 3, "maximum": 5}),
        ({"maxLength": 5}, {"maxLength": 3}, {"maxLength": 3}),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {"enum": ["b"]}),
        ({"enum": ["a"]}, {"enum": ["b"]}, {"enum": ["a"]}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"description": "x"}, {"description": "y", "title": "t"}, {"description": "x", "title": "t"}),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "a", "allOf": [{"pattern": "b"}]}),
        ({"items": {"minimum": 1}}, {"items": {"maximum": 2}}, {"items": {"minimum": 1, "maximum": 2}}),
        ({"uniqueItems": True}, {"type": "array"}, {"uniqueItems": True, "type": "array"}),
    ],
)
def test_two_schemas_become_one(first: dict[str, Any], second: dict[str, Any], both: dict[str, Any]) -> None:
    assert merged(first, second) == both


def test_properties_are_joined_and_a_closed_part_closes_the_whole() -> None:
    first = {"properties": {"a": {"type": "string"}, "c": {"type": "string"}}}
    second = {"properties": {"b": {}, "a": {"maxLength": 3}}, "additionalProperties": False}
    assert merged(first, second) == {
        "properties": {"a": {"type": "string", "maxLength": 3}, "c": {"type": "string"}, "b": {}},
        "additionalProperties": False,
    }


def test_maps_are_joined() -> None:
    assert merged({"additionalProperties": True}, {"additionalProperties": {"type": "string"}}) == {
        "additionalProperties": {"type": "string"}
    }


def test_choices_that_must_both_hold_stay_apart() -> None:
    made = merged({"anyOf": [{"minimum": 1}]}, {"anyOf": [{"maximum": 2}]})
    assert made == {"anyOf": [{"minimum": 1}], "allOf": [{"anyOf": [{"maximum": 2}]}]}


def test_neither_schema_is_changed() -> None:
    first: dict[str, Any] = {"properties": {"a": {}}, "required": ["a"]}
    second: dict[str, Any] = {"properties": {"b": {}}, "required": ["b"]}
    merged(first, second)
    assert (first, second) == (
        {"properties": {"a": {}}, "required": ["a"]},
        {"properties": {"b": {}}, "required": ["b"]},
    )
