from typing import Any

import pytest

from activities.openapi.dialect import MAX_FAULTS, dialect_faults, strict_schema


def parameters(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "the parameters are not an object"),
        (parameters(**{"a b": {"type": "string"}}), "cannot name a property"),
        (parameters(**{"x" * 65: {"type": "string"}}), "cannot name a property"),
        (parameters(a={"type": "array"}), "parameters.a: an array without `items`"),
        (parameters(a={"type": "file"}), "file is not a type"),
        (parameters(a={"nullable": True}), "nullable is not a keyword"),
        (parameters(a={"$ref": "#/$defs/X"}), "which is not there"),
        (parameters(a={"anyOf": [{"enum": []}]}), "parameters.a.anyOf[0]: an empty list"),
    ],
)
def test_what_providers_refuse_is_said_with_its_place(schema: dict[str, Any], said: str) -> None:
    assert any(said in fault for fault in dialect_faults(schema, strict=False))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {}}, "open to other properties"),
        ({**parameters(a={"type": "string"}), "required": []}, "not required"),
        (parameters(a={}), "a value of any type"),
        (parameters(a={"type": "string", "minLength": 1}), "minLength is not allowed"),
        (parameters(a={"allOf": [{"type": "string"}]}), "allOf is not allowed"),
        (
            {**parameters(a={"$ref": "#/$defs/A", "title": "t"}), "$defs": {"A": {"type": "string"}}},
            "keywords beside it",
        ),
    ],
)
def test_strict_mode_refuses_more(schema: dict[str, Any], said: str) -> None:
    assert dialect_faults(schema, strict=False) == []
    assert any(said in fault for fault in dialect_faults(schema, strict=True))


def test_strict_mode_takes_ten_levels() -> None:
    def nested(levels: int) -> dict[str, Any]:
        return parameters(a={"type": "string"} if levels == 2 else nested(levels - 1))

    assert dialect_faults(nested(10), strict=True) == []
    assert "11 levels deep" in dialect_faults(nested(11), strict=True)[0]
    assert strict_schema(nested(11)) is None


def test_the_list_of_faults_is_bounded() -> None:
    assert len(dialect_faults(parameters(**{f"a {place}": {} for place in range(500)}), strict=False)) == MAX_FAULTS


def test_optional_properties_are_required_and_may_be_null_in_strict_mode() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 2, "default": "xy", "description": "A."},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"enum": [1]}}}},
            "d": {"$ref": "#/$defs/D", "description": "D."},
        },
        "required": ["a"],
        "$defs": {"D": {"type": "object", "properties": {"d": {"$ref": "#/$defs/D"}}}},
    }
    made = strict_schema(schema)
    assert made == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "A.\nminLength: 2\ndefault: xy"},
            "b": {
                "type": ["array", "null"],
                "items": {**parameters(c={"enum": [1, None]}), "required": ["c"]},
            },
            "d": {"description": "D.", "anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]},
        },
        "required": ["a", "b", "d"],
        "additionalProperties": False,
        "$defs": {"D": parameters(d={"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]})},
    }
    assert dialect_faults(made, strict=True) == []


@pytest.mark.parametrize(
    "inner",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
        {"type": "array", "items": {}},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}},
        {"allOf": [{"type": "string"}]},
        {"anyOf": [{"type": "string"}, {"required": ["a"]}]},
        {"$ref": "#/$defs/X", "required": ["a"]},
    ],
)
def test_what_has_no_strict_form_has_none(inner: dict[str, Any]) -> None:
    assert strict_schema({**parameters(x=inner), "$defs": {"X": {"type": "string"}}}) is None


def test_an_operation_without_arguments_has_a_strict_form() -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    assert strict_schema(empty) == {**empty, "required": []}
