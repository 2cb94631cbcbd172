from typing import Any

import pytest

from activities.openapi.constraints import allows_null, declared_types, scalars


@pytest.mark.parametrize(
    ("node", "types"),
    [
        ({"type": "string"}, ["string"]),
        ({"type": ["string", "null"]}, ["string"]),
        ({"type": ["integer", "string"]}, ["integer", "string"]),
        ({"type": "null"}, ["null"]),
        ({"type": "file"}, ["string"]),
        ({"type": "any"}, []),
        ({"type": 7}, []),
        ({"type": [None, {}]}, []),
        ({"properties": {}}, ["object"]),
        ({"additionalProperties": {}}, ["object"]),
        ({"items": {}}, ["array"]),
        ({"type": "any", "items": {}}, []),
        ({}, []),
    ],
)
def test_types_are_those_named_or_implied(node: dict[str, Any], types: list[str]) -> None:
    assert declared_types(node) == types


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "nullable": True},
        {"type": "string", "x-nullable": True},
        {"type": ["string", "null"]},
        {"type": "null"},
        {"enum": ["a", None]},
        {"nullable": True},
        {"allOf": [{"$ref": "#/x"}, {"nullable": True, "description": "or none"}]},
    ],
)
def test_null_is_allowed_in_every_way_there_is_to_say_so(node: dict[str, Any]) -> None:
    assert allows_null(node)


def test_null_is_not_allowed_unless_said() -> None:
    assert not allows_null({"type": "string", "nullable": "true", "enum": "x"})
    assert not allows_null({"allOf": [{"type": "string", "nullable": True}, {"type": "string"}]})


def test_exclusive_bounds_of_3_0_become_those_of_2020_12() -> None:
    made = scalars({"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False})
    assert made == {"type": "number", "exclusiveMinimum": 1, "maximum": 9}


BROKEN: dict[str, Any] = {
    "minimum": "1",
    "maxLength": -1,
    "minItems": 1.5,
    "maxItems": True,
    "multipleOf": 0,
    "uniqueItems": "yes",
    "enum": "abc",
    "format": [],
    "description": 7,
    "title": None,
    "deprecated": 1,
    "required": True,
}


def test_keywords_of_the_wrong_form_are_left_out() -> None:
    assert scalars({"type": "string", **BROKEN}) == {"type": "string"}


def test_a_pattern_of_another_engine_is_told_and_not_checked() -> None:
    made = scalars({"type": "string", "description": "A code.", "pattern": "^(?<n>[a-z"})
    assert "pattern" not in made
    assert made["description"] == "A code.\nPattern: ^(?<n>[a-z"


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"type": "string", "enum": ["a", "b", "a"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "number", "enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
        ({"type": "integer", "enum": [1, "x"]}, {"type": "integer", "enum": [1]}),
        ({"type": "integer", "enum": [1.0, 2]}, {"type": "integer", "enum": [1.0, 2]}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"const": 3}, {"const": 3}),
    ],
)
def test_lists_of_values_fit_their_type(node: dict[str, Any], made: dict[str, Any]) -> None:
    assert scalars(node) == made


def test_long_texts_are_shortened_and_large_examples_left_out() -> None:
    made = scalars({"description": "d" * 3_000, "title": "t", "default": "x" * 2_000, "example": ["e" * 300]})
    assert len(made["description"]) == 1_024
    assert made.keys() == {"description"}


def test_defaults_and_small_examples_are_told() -> None:
    assert scalars({"default": False, "example": 1}) == {"default": False, "examples": [1]}
