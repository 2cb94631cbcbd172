"""What a model wrote in strict mode, as the function takes it."""

from typing import Any

import pytest

from activities.json_schema import schema_fault
from activities.openapi.dialect import strict_schema
from activities.openapi.strict_arguments import without_left_out

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "title": {"type": "string"},
        "size": {"type": "string", "enum": ["s", "m"]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "pet": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
        "owner": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]},
    },
    "$defs": {
        "Line": {"type": "object", "properties": {"sku": {"type": "string"}, "more": {"$ref": "#/$defs/Line"}}},
        "Cat": {
            "type": "object",
            "properties": {"kind": {"enum": ["c"]}, "lives": {"type": "integer"}},
            "required": ["kind"],
        },
        "Dog": {
            "type": "object",
            "properties": {"kind": {"enum": ["d"]}, "lives": {"type": ["integer", "null"]}},
            "required": ["kind"],
        },
    },
}


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ({"id": 1, "note": None, "title": None, "size": None, "lines": None}, {"id": 1, "note": None}),
        ({"id": 1, "title": "t", "size": "s"}, {"id": 1, "title": "t", "size": "s"}),
        (
            {"id": 1, "lines": [{"sku": None, "more": {"sku": "a", "more": None}}]},
            {"id": 1, "lines": [{"more": {"sku": "a"}}]},
        ),
        ({"id": 1, "pet": {"kind": "c", "lives": None}}, {"id": 1, "pet": {"kind": "c"}}),
        ({"id": 1, "pet": {"kind": "d", "lives": None}}, {"id": 1, "pet": {"kind": "d", "lives": None}}),
        ({"id": 1, "pet": None, "owner": None}, {"id": 1, "owner": None}),
        # What does not fit is left to the check, which says why.
        ({"id": None, "stranger": None}, {"id": None, "stranger": None}),
        ({"id": 1, "pet": {"kind": "e", "lives": None}}, {"id": 1, "pet": {"kind": "e", "lives": None}}),
    ],
)
def test_a_null_that_is_no_value_is_left_out(written: dict[str, Any], taken: dict[str, Any]) -> None:
    before = repr(written)
    assert without_left_out(SCHEMA, written) == taken
    assert repr(written) == before


def test_what_fits_the_strict_form_fits_the_function() -> None:
    strict = strict_schema(SCHEMA)
    assert strict is not None
    written = {
        **dict.fromkeys(SCHEMA["properties"]),
        "id": 1,
        "lines": [{"sku": None, "more": None}],
        "pet": {"kind": "c", "lives": None},
    }
    assert schema_fault(strict, written, "") is None
    assert schema_fault(SCHEMA, written, "") is not None
    assert schema_fault(SCHEMA, without_left_out(SCHEMA, written), "") is None


def test_alternatives_within_alternatives_do_not_make_endless_work() -> None:
    node = {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "required": ["b"]}] * 2}
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}
    value: dict[str, Any] = {}
    for _ in range(12):
        value = {"a": value}
    assert without_left_out(schema, {"n": value}) == {"n": value}
