from typing import Any

import pytest

from activities.json_schema import schema_fault
from activities.openapi.variants import any_of
from tests.activities.openapi.documents import body_schema, converted, only, posting, ref, swagger

CAT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}}
DOG = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "bark": {"type": "string"}}}
MAPPING = {"c": "#/components/schemas/Cat", "d": "Dog"}


def kinds(schema: dict[str, Any], named: dict[str, Any] | None = None) -> list[Any]:
    """The values of `kind` in each branch."""
    found = []
    for branch in schema["anyOf"]:
        target = (named or {}).get(branch.get("$ref", "").rpartition("/")[2], {})
        found.append({**target, **branch}.get("properties", {}).get("kind", {}).get("enum"))
    return found


def test_a_discriminator_is_shown_as_the_values_of_its_property() -> None:
    poly = {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind", "mapping": MAPPING}}
    schema = only(posting(poly, schemas={"Cat": CAT, "Dog": DOG})).input_schema
    assert kinds(schema["properties"]["body"]) == [["c"], ["d"]]
    assert schema_fault(schema, {"body": {"kind": "c", "lives": 9}}, "$") is None
    assert schema_fault(schema, {"body": {"kind": "x"}}, "$") is not None


def test_without_a_mapping_the_names_of_the_schemas_are_the_values() -> None:
    poly = {"anyOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind"}}
    assert kinds(body_schema(poly, schemas={"Cat": CAT, "Dog": DOG})) == [["Cat"], ["Dog"]]


def test_a_branch_that_names_its_own_value_keeps_it() -> None:
    own = {**CAT, "properties": {"kind": {"const": "feline"}}}
    poly = {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "kind"}}
    made = body_schema(poly, "3.1.0", schemas={"Cat": own, "Dog": DOG})
    assert made["anyOf"][0]["properties"]["kind"] == {"const": "feline"}


def test_a_value_that_fits_two_branches_is_not_refused() -> None:
    both = {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}
    assert schema_fault(body_schema(both), {"a": 1, "b": 2}, "$") is None


def test_the_subtypes_of_a_base_are_its_forms() -> None:
    definitions = {
        "Pet": {
            "type": "object",
            "discriminator": "kind",
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
        },
        "Cat": {"allOf": [{"$ref": "#/definitions/Pet"}, {"properties": {"lives": {"type": "integer"}}}]},
        "Kitten": {"allOf": [{"$ref": "#/definitions/Cat"}], "x-discriminator-value": "small"},
        "Owner": {"type": "object", "properties": {"pets": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}},
    }
    body = {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Owner"}}
    operation = only(swagger({"/t": {"post": {"parameters": [body]}}}, definitions=definitions))
    assert operation.body is not None
    items = operation.body.schema["properties"]["pets"]["items"]
    assert kinds(items) == [["Cat"], ["small"], ["Pet"]]
    assert items["anyOf"][0]["properties"]["lives"] == {"type": "integer"}


def test_a_base_whose_values_are_those_of_its_subtypes_is_no_form_itself() -> None:
    kind = {"type": "string", "enum": ["Cat", "Dog"]}
    schemas = {
        "Pet": {"type": "object", "discriminator": {"propertyName": "kind"}, "properties": {"kind": kind}},
        "Cat": {"allOf": [ref("Pet"), {"properties": {"lives": {"type": "integer"}}}]},
        "Dog": {"allOf": [ref("Pet"), {"properties": {"bark": {"type": "string"}}}]},
    }
    assert kinds(body_schema(ref("Pet"), schemas=schemas)) == [["Cat"], ["Dog"]]


def test_a_subtype_that_cannot_be_read_is_left_out_and_told() -> None:
    schemas = {
        "Pet": {
            "type": "object",
            "discriminator": {"propertyName": "kind"},
            "properties": {"kind": {"type": "string"}},
        },
        "Cat": {"allOf": [ref("Pet"), {"properties": {"x": {"$ref": "cat.json"}}}]},
    }
    made = converted(posting(ref("Pet"), schemas=schemas))
    assert made.excluded == ()
    assert made.operations[0].input_schema["properties"]["body"]["properties"] == {"kind": {"type": "string"}}
    assert "Cat is left out of the forms of Pet" in made.warnings[0]
    assert "cat.json" in made.warnings[0]


def test_bases_and_subtypes_that_contain_each_other_are_finite() -> None:
    schemas = {
        "Node": {
            "type": "object",
            "discriminator": {"propertyName": "kind"},
            "properties": {"kind": {"type": "string"}, "next": ref("Node")},
        },
        "Leaf": {"allOf": [ref("Node"), {"properties": {"of": ref("Leaf")}}]},
    }
    schema = only(posting(ref("Node"), schemas=schemas)).input_schema
    value = {"kind": "Leaf", "of": {"kind": "Leaf", "next": {"kind": "Node"}}}
    assert schema_fault(schema, {"body": value}, "$") is None


@pytest.mark.parametrize(
    ("branches", "made"),
    [
        ([], {}),
        ([{"type": "null"}], {"type": "null"}),
        ([{"type": "string"}, {"type": "string"}], {"type": "string"}),
        ([{"type": "string"}, {"type": "null"}], {"type": ["string", "null"]}),
        ([{"const": "a"}, {"type": "string", "enum": ["b", "a"]}], {"enum": ["a", "b"]}),
        (
            [{"type": "string", "const": "a"}, {"type": "integer", "const": 1}],
            {"enum": ["a", 1], "type": ["string", "integer"]},
        ),
        (
            [{"const": "a", "description": "A"}, {"const": "b"}],
            {"anyOf": [{"const": "a", "description": "A"}, {"const": "b"}]},
        ),
    ],
)
def test_branches_are_said_as_simply_as_they_can_be(branches: list[dict[str, Any]], made: dict[str, Any]) -> None:
    assert any_of(branches) == made
