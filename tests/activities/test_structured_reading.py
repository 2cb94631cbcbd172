"""A JSON value is found in whatever a model wrote around it, and told by its faults where it does not fit."""

from typing import Any

import pytest
from pydantic import BaseModel

from activities.structured_contracts import StructuredReply
from activities.structured_reading import asked_schema, find_value

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}


class Node(BaseModel):
    name: str
    children: "list[Node]" = []


def wanted(schema: dict[str, Any]) -> StructuredReply:
    return StructuredReply(json_schema=schema, name="order")


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 7}',
        '  {"id": 7}\n',
        '```json\n{"id": 7}\n```',
        'Here it is:\n```\n{"id": 7}\n```\nAnything else?',
        'As in [1], the order {"id": "seven"} is {"id": 7}.',
        '{"thought": "an order"} {"id": 7}',
    ],
)
def test_the_value_that_fits_is_found(text: str) -> None:
    found = find_value(text, wanted(ORDER))
    assert (found.value, found.issues) == ({"id": 7}, ())


@pytest.mark.parametrize(
    ("text", "value", "issue"),
    [
        ("", None, "the answer holds no JSON value"),
        ("I cannot do that.", None, "the answer holds no JSON value"),
        ('{"id": 7', None, "the answer holds no JSON value"),
        ('{"id": "7"}', {"id": "7"}, "order.id: "),
        ('{"note": "x"}', {"note": "x"}, 'order: "id" is a required property'),
        ('{"id": 1, "extra": 2}', {"id": 1, "extra": 2}, "order: "),
        ("[1]", [1], "order: "),
        ('"text"', "text", "order: "),
        ("null", None, "order: "),
        ("[" * 100_000, None, "the answer holds no JSON value"),
        ('{"id": ' + "[" * 200 + "]" * 200 + "}", ..., "nested more than 100 levels"),
        ('{"id": NaN}', ..., "is nan"),
        ('{"id": 7, "note": "\\ud800"}', ..., "half of a surrogate pair"),
    ],
)
def test_a_value_that_does_not_fit_comes_with_its_faults(text: str, value: Any, issue: str) -> None:
    found = find_value(text, wanted(ORDER))
    assert value is ... or found.value == value
    assert issue in found.issues[0]


def test_faults_are_bounded() -> None:
    found = find_value(str([{}] * 500).replace("'", '"'), wanted({"type": "array", "items": ORDER}))
    assert len(found.issues) == 10


@pytest.mark.parametrize("text", ["[1, 2]", '{"value": [1, 2]}', 'So: {"value": [1, 2]}'])
def test_what_is_no_object_is_asked_for_as_a_field_of_one(text: str) -> None:
    numbers = wanted({"type": "array", "items": {"type": "integer"}})
    assert asked_schema(numbers)["properties"]["value"] == numbers.json_schema
    assert find_value(text, numbers).value == [1, 2]


def test_a_field_called_value_of_an_object_is_its_own() -> None:
    schema = {"type": "object", "properties": {"value": {"type": "integer"}}}
    assert asked_schema(wanted(schema)) == schema
    assert find_value('{"value": 1}', wanted(schema)).value == {"value": 1}


def test_references_of_a_schema_that_is_wrapped_lead_where_they_led() -> None:
    recursive = wanted(Node.model_json_schema())
    asked = wanted(asked_schema(recursive))
    tree = '{"value": {"name": "a", "children": [{"name": "b", "children": []}]}}'
    assert find_value(tree, asked).issues == ()
    assert find_value(tree.replace('"b"', "5"), asked).issues[0].startswith("order.value.children[0].name: ")
    assert find_value(tree, recursive).value["children"][0]["name"] == "b"
