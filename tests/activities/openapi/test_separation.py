from typing import Any

import pytest

from activities.json_schema import schema_fault
from activities.openapi.operation import Operation
from activities.openapi.schemas import HUMAN
from activities.openapi.separation import is_secret, merge_parts, separated
from tests.activities.openapi.documents import only, posting, querying, ref

TEXT = {"type": "string"}
PASSWORD = {"type": "string", "format": "password"}


def object_of(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return {**made, "required": required} if required else made


def split(schema: dict[str, Any], **schemas: Any) -> tuple[Any, Any, Operation]:
    """The body of the model, the body of the person, and the operation."""
    operation = only(posting(schema, "3.1.0", schemas=schemas), separate=is_secret)
    model = operation.llm_schema["properties"].get("body")
    human = operation.human_schema and operation.human_schema["properties"].get("body")
    assert HUMAN not in str(operation)
    return model, human, operation


@pytest.mark.parametrize(
    ("schema", "secret"),
    [
        (PASSWORD, True),
        ({"type": "string", "writeOnly": True}, True),
        ({"x-secret": True}, True),
        ({"type": "object", "writeOnly": True}, False),
        (TEXT, False),
        ({"x-secret": "false"}, False),
    ],
)
def test_secrets_are_known_by_their_marks(schema: dict[str, Any], secret: bool) -> None:
    assert is_secret(schema) is secret


def test_members_are_divided_and_what_is_required_with_them() -> None:
    model, human, operation = split(
        object_of(["name", "pin"], name=TEXT, pin=PASSWORD, deep=object_of(a=TEXT, b=PASSWORD))
    )
    assert model == object_of(["name"], name=TEXT, deep=object_of(a=TEXT))
    assert human == {
        **object_of(["pin"], pin=PASSWORD, deep={**object_of(b=PASSWORD), "additionalProperties": False}),
        "additionalProperties": False,
    }
    assert operation.input_schema["properties"]["body"]["properties"].keys() == {"name", "pin", "deep"}


def test_nothing_is_divided_without_a_mark() -> None:
    operation = only(posting(object_of(a=TEXT)), separate=is_secret)
    assert operation.human_schema is None
    assert operation.llm_schema == operation.input_schema


def test_a_body_that_is_all_secret_leaves_nothing_to_the_model() -> None:
    model, human, operation = split(object_of(["pin"], pin=PASSWORD))
    assert model is None
    assert human is not None
    assert operation.llm_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_items_of_an_array_are_divided() -> None:
    model, human, _ = split({"type": "array", "minItems": 1, "items": object_of(a=TEXT, b=PASSWORD)})
    assert model["items"] == object_of(a=TEXT)
    assert human["items"]["properties"] == {"b": PASSWORD}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [object_of(a=PASSWORD), object_of(b=TEXT)]},
        {"type": "string", "format": "password", "nullable": True},
        {"type": "object", "additionalProperties": PASSWORD},
        {**object_of(a=TEXT), "additionalProperties": object_of(b=PASSWORD)},
        {"type": "array", "prefixItems": [TEXT, PASSWORD], "items": TEXT},
    ],
)
def test_a_secret_that_cannot_be_cut_out_takes_the_whole_with_it(schema: dict[str, Any]) -> None:
    model, human, _ = split(object_of(x=schema, y=TEXT))
    assert model["properties"].keys() == {"y"}
    assert human["properties"].keys() == {"x"}


def test_a_schema_that_contains_itself_is_divided_into_two_that_do() -> None:
    node = object_of(["name", "pin"], name=TEXT, pin=PASSWORD, next=ref("Node"))
    _, _, operation = split(object_of(root=ref("Node")), Node=node)
    assert operation.human_schema is not None
    model = {"body": {"root": {"name": "a", "next": {"name": "b"}}}}
    human = {"body": {"root": {"pin": "1", "next": {"pin": "2"}}}}
    assert schema_fault(operation.llm_schema, model, "$") is None
    assert schema_fault(operation.human_schema, human, "$") is None
    assert schema_fault(operation.human_schema, {"body": {"root": {"pin": "1", "name": "x"}}}, "$") is not None
    assert schema_fault(operation.input_schema, merge_parts(model, human), "$") is None
    assert "pin" not in str(operation.llm_schema)


def test_what_is_referred_to_stands_beside_each_part() -> None:
    big = {"type": "object", "properties": {f"p{place}": TEXT for place in range(9)}}
    _, _, operation = split(object_of(a=ref("Big"), b=ref("Big"), pin=PASSWORD), Big=big)
    assert list(operation.llm_schema["$defs"]) == ["Big"]
    assert operation.human_schema is not None
    assert "$defs" not in operation.human_schema


def test_a_required_body_stays_required_on_the_side_that_has_it() -> None:
    made = posting(object_of(["a", "b"], a=TEXT, b=PASSWORD))
    made["paths"]["/t"]["post"]["requestBody"]["required"] = True
    operation = only(made, separate=is_secret)
    assert operation.human_schema is not None
    assert operation.llm_schema["required"] == operation.human_schema["required"] == ["body"]


@pytest.mark.parametrize(
    ("model", "human", "both"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"c": 3}]}, {"a": [{"b": 1, "c": 3}, {"b": 2}]}),
        ([1], [None, 5], [1, 5]),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, None, {"a": 1}),
        ({"a": 1}, {"a": None}, {"a": 1}),
        (None, {"a": 1}, {"a": 1}),
        ({}, {}, {}),
    ],
)
def test_the_two_parts_are_joined_again(model: Any, human: Any, both: Any) -> None:
    assert merge_parts(model, human) == both


def test_a_parameter_may_be_the_persons() -> None:
    pin = {"name": "pin", "in": "header", "required": True, "x-secret": True, "schema": TEXT}
    operation = only(querying(pin, {"name": "q", "in": "query", "schema": TEXT}), separate=is_secret)
    assert operation.llm_schema["properties"].keys() == {"query"}
    assert "required" not in operation.llm_schema
    assert operation.human_schema is not None
    assert operation.human_schema["required"] == ["headers"]
    assert operation.human_schema["properties"]["headers"]["properties"] == {"pin": TEXT}


def test_a_predicate_is_asked_about_the_raw_schema() -> None:
    operation = only(posting(object_of(a={**TEXT, "x-owner": "me"}, b=TEXT)), separate=lambda raw: "x-owner" in raw)
    assert operation.human_schema is not None
    assert operation.human_schema["properties"]["body"]["properties"] == {"a": TEXT}


def test_a_schema_without_marks_comes_back_as_it_was() -> None:
    schema = object_of(a=TEXT)
    assert separated(schema) == (schema, schema, None)
