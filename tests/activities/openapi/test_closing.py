import json
from typing import Any

import pytest

from activities.json_schema import schema_fault
from tests.activities.openapi.documents import converted, only, posting, ref

BIG = {"type": "object", "properties": {f"p{place}": {"type": "string"} for place in range(50)}}


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_large_schema_used_often_stands_once() -> None:
    body = object_of(**{f"x{place}": ref("Big") for place in range(40)})
    schema = only(posting(body, schemas={"Big": BIG})).input_schema
    assert list(schema["$defs"]) == ["Big"]
    assert json.dumps(schema).count('"p49"') == 1


def test_small_schemas_and_those_used_once_are_written_out() -> None:
    schemas = {"Small": {"type": "string", "maxLength": 3}, "Big": BIG}
    schema = only(posting(object_of(a=ref("Small"), b=ref("Small"), c=ref("Big")), schemas=schemas)).input_schema
    assert "$defs" not in schema
    assert schema["properties"]["body"]["properties"]["a"] == {"type": "string", "maxLength": 3}


def test_schemas_that_double_at_each_level_stay_linear() -> None:
    schemas = {
        f"S{level}": object_of(a=ref(f"S{level + 1}"), b={"allOf": [ref(f"S{level + 1}")]}) for level in range(200)
    }
    schema = only(posting(ref("S0"), schemas={**schemas, "S200": BIG})).input_schema
    assert len(json.dumps(schema)) < 60_000


@pytest.mark.parametrize(
    ("more", "required"),
    [
        ({}, ["a"]),
        ({"additionalProperties": False}, ["a"]),
        ({"additionalProperties": {"type": "string"}}, ["a", "gone"]),
        ({"anyOf": [object_of(gone={}), object_of(b={})]}, ["a", "gone"]),
        ({"allOf": [object_of(gone={})]}, ["a", "gone"]),
    ],
)
def test_a_name_is_not_required_where_nothing_describes_it(more: dict[str, Any], required: list[str]) -> None:
    schema = only(posting({**object_of(a={}), "required": ["a", "gone"], **more})).input_schema
    assert schema["properties"]["body"]["required"] == required


def test_a_long_chain_of_schemas_is_no_deep_nest() -> None:
    schemas = {f"S{level}": object_of(a=ref(f"S{level + 1}")) for level in range(200)}
    operation = only(posting(ref("S0"), schemas={**schemas, "S200": {"type": "integer"}}))
    value: Any = 7
    for _ in range(200):
        value = {"a": value}
    assert schema_fault(operation.input_schema, {"body": value}, "$") is None
    value = {"a": value}
    assert schema_fault(operation.input_schema, {"body": value}, "$") is not None


def test_definitions_of_two_places_with_one_name_stay_apart() -> None:
    components = {"parameters": {"X": {"name": "x", "in": "query", "schema": {"$ref": "#/components/examples/X"}}}}
    components["examples"] = {"X": {**BIG, "required": ["p1"]}}
    body = object_of(
        a=ref("X"), b=ref("X"), c={"$ref": "#/components/examples/X"}, d={"$ref": "#/components/examples/X"}
    )
    schema = only(posting(body, components=components, schemas={"X": BIG})).input_schema
    assert len(schema["$defs"]) == 2
    assert [("required" in each) for each in schema["$defs"].values()] == [False, True]


def test_what_is_too_large_for_a_model_is_excluded_and_says_so() -> None:
    wide = object_of(**{f"p{place}": {"type": "string"} for place in range(20_000)})
    long = {"type": "string", "enum": [f"{place}" * 100 for place in range(1_000)]}
    for schema, said in ((wide, "parts"), (long, "characters")):
        [excluded] = converted(posting(schema)).excluded
        assert said in excluded.reason


def test_a_response_that_is_too_large_costs_only_its_schema() -> None:
    wide = object_of(**{f"p{place}": {"type": "string"} for place in range(20_000)})
    made = posting({"type": "string"}, schemas={"Wide": wide})
    made["paths"]["/t"]["post"]["responses"] = {"200": {"content": {"application/json": {"schema": ref("Wide")}}}}
    found = converted(made)
    assert found.operations[0].output_schema is None
    assert "POST /t: the schema of its response is left out" in found.warnings[0]
