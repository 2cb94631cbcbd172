"""Schemas of others as model providers take them."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.controllers.plain_schema import plain_schema
from activities.openapi.dialect import dialect_faults


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {"type": "object", "properties": {}}),
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": True, "b": False}},
            {"type": "object", "properties": {"a": {}}},
        ),
        (
            {"properties": {"tags": {"type": ["array", "null"]}}},
            {"type": "object", "properties": {"tags": {"type": ["array", "null"], "items": {}}}},
        ),
        (
            {
                "properties": {"a": {"$ref": "#/definitions/A"}},
                "definitions": {"A": {"oneOf": [{"type": "string"}, {"type": "null"}], "discriminator": {}}},
            },
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            },
        ),
        (
            {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
            {"type": "object", "properties": {"a": {}, "b": {}}},
        ),
        (
            {"properties": {"m": {"patternProperties": {"^x": {}}, "additionalProperties": False}}},
            {"type": "object", "properties": {"m": {}}},
        ),
        (
            {"properties": {"p": {"type": "array", "items": [{"type": "integer"}]}}, "additionalProperties": False},
            {
                "type": "object",
                "properties": {"p": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {}}},
                "additionalProperties": False,
            },
        ),
        (
            {"properties": {"n": {"type": "integer", "minimum": 1, "default": {"$ref": "data"}, "x-unit": "cm"}}},
            {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "default": {"$ref": "data"}}}},
        ),
    ],
)
def test_schema_is_made_plain_and_the_given_one_stays(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    given_one = copy.deepcopy(schema)
    assert plain_schema(schema) == expected
    assert schema == given_one
    assert dialect_faults(expected, strict=False) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {"a": 5}},
        {"properties": {"a": {"type": 5}}},
        {"properties": {"a": {"anyOf": {}}}},
        {"required": "a"},
        {"$defs": None},
    ],
)
def test_what_is_no_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="parameters"):
        plain_schema(schema)


def test_endless_nesting_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(ValueError, match="nested"):
        plain_schema(schema)


WORDS = st.sampled_from(
    ["type", "properties", "items", "anyOf", "oneOf", "$defs", "required", "enum", "$ref", "additionalProperties", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["array", "object", "string", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, JSON, max_size=5))
def test_anything_is_made_a_schema_that_can_be_looked_at_or_refused(schema: dict[str, Any]) -> None:
    try:
        made = plain_schema(schema)
    except ValueError:
        return
    assert isinstance(dialect_faults(made, strict=False), list)
