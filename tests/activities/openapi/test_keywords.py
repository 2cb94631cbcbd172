from typing import Any

import pytest

from activities.openapi.keywords import nullable, rewritten, subschemas, walk

DATA = {
    "type": "object",
    "default": {"$ref": "#/$defs/A"},
    "enum": [{"properties": {"x": {}}}],
    "properties": {"$ref": {}},
}


def test_a_walk_visits_schemas_and_no_data() -> None:
    assert list(walk(DATA)) == [DATA, {}]
    nested = {"anyOf": [{"items": {"title": "a"}}], "$defs": {"B": {"title": "b"}}, "additionalProperties": False}
    assert [each.get("title") for each in walk(nested) if "title" in each] == ["b", "a"]
    assert len(list(subschemas(nested))) == 2


def test_a_schema_nothing_changes_stays_the_same_object() -> None:
    assert rewritten(DATA, lambda inner: inner) is DATA
    made = rewritten(DATA, lambda inner: {"title": "new"})
    assert made["properties"] == {"$ref": {"title": "new"}}
    assert DATA["properties"] == {"$ref": {}}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({}, {}),
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": "null"}, {"type": "null"}),
        ({"const": 1}, {"enum": [1, None]}),
        (
            {"description": "d", "$ref": "#/$defs/A"},
            {"description": "d", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        ),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"anyOf": [{"type": "null"}, {}]}, {"anyOf": [{"type": "null"}, {}]}),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}]},
            {"anyOf": [{"type": "object", "anyOf": [{"required": ["a"]}]}, {"type": "null"}]},
        ),
    ],
)
def test_null_is_added_once(schema: dict[str, Any], made: dict[str, Any]) -> None:
    assert nullable(schema) == made
    assert nullable(made) == made
