"""Schemas that others wrote are used, and not trusted."""

import contextlib
import time
from typing import Any

import pytest

from activities.json_schema import broken_schema, schema_fault, schema_faults
from tests.workflows.strategies import nested

ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
}


def test_a_value_that_fits_has_no_fault() -> None:
    assert schema_fault(ORDER, {"id": "1042", "lines": [1, 2]}, "output") is None
    assert schema_fault({}, None, "output") is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"lines": []}, 'output: "id" is a required property'),
        ({"id": 5}, "output.id: "),
        ({"id": "a", "lines": [1, "two"]}, "output.lines[1]: "),
        (None, "output: "),
        ("text", "output: "),
    ],
)
def test_a_breach_is_told_with_its_place(value: Any, words: str) -> None:
    assert (schema_fault(ORDER, value, "output") or "").startswith(words)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"properties": []},
        {"required": "id"},
        {"pattern": "("},
        {"$schema": "https://example.org/my-own"},
        {"$ref": "#/$defs/nowhere"},
    ],
)
def test_a_schema_that_cannot_be_used_is_told_apart_from_a_value_that_does_not_fit(schema: dict[str, Any]) -> None:
    assert "schema is not valid" in (broken_schema(schema) or "")
    with pytest.raises(ValueError, match="schema is not valid"):
        schema_fault(schema, {}, "output")


def test_a_schema_that_cannot_be_used_is_told_with_its_place_in_one_line() -> None:
    broken = broken_schema({"type": "object", "properties": {"age": {"minimum": "secret-7"}}})
    assert broken == 'the schema is not valid at properties.age.minimum: the value is not of type "number"'


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/schema.json", "https://example.org/s.json", "file:///etc/passwd", "urn:x:y"]
)
def test_another_document_is_never_fetched(address: str) -> None:
    """Nobody lets a caller choose which requests a worker makes."""
    started = time.process_time()
    assert "not fetched" in (broken_schema({"properties": {"a": {"$ref": address}}}) or "")
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "$ref": "#/definitions/a"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": {}}, "$ref": "#/$defs/a"},
        {"x-vendor": 1, "nullable": True, "example": "unknown words are ignored"},
    ],
)
def test_schemas_of_several_ages_can_be_used(schema: dict[str, Any]) -> None:
    assert broken_schema(schema) is None
    assert schema_fault(schema, {}, "output") is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"type": "array", "items": {"$ref": "#"}},
    ],
)
def test_a_schema_that_refers_to_itself_ends(schema: dict[str, Any]) -> None:
    """And says what can be said of the value: nothing, since each of them takes any nested list."""
    assert schema_fault(schema, nested(90), "output") is None


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=a)(a+)+$", r"^(a+)+\1$", "((a{1,1000}){1,1000}){1,1000}"])
def test_a_pattern_that_explodes_does_not_stop_the_worker(pattern: str) -> None:
    started = time.process_time()
    with contextlib.suppress(ValueError):
        schema_fault({"type": "string", "pattern": pattern}, "a" * 2_000 + "b", "output")
    assert time.process_time() - started < 1


@pytest.mark.parametrize("value", [10**900, -(10**900), 1e308, {"a": 10**900}, "NUL \x00", {"": None}])
def test_unusual_values_are_checked_too(value: Any) -> None:
    assert schema_fault({"type": ["object", "number", "string"]}, value, "output") is None


def test_a_large_value_is_checked_in_a_small_part_of_a_workflow_task() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    started = time.process_time()
    assert schema_fault(schema, [{"a": n} for n in range(60_000)], "output") is None
    assert time.process_time() - started < 1


ROW = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array", "items": ROW}, 'output[0]: "name" is a required property'),
        ({"anyOf": [{"type": "array", "items": ROW}, ROW]}, "output: does not fit the schema, and is too large to tell where"),
        ({"oneOf": [{"type": "array", "items": ROW}, ROW]}, "output: does not fit the schema, and is too large to tell where"),
    ],
)  # fmt: skip
def test_a_large_value_with_many_faults_stops_no_workflow_task(schema: dict[str, Any], fault: str) -> None:
    """A task may take two seconds: an answer that is wrong in each of its rows would be tried for ever."""
    wrong = [{"id": "x"} for _ in range(80_000)]
    started = time.process_time()
    assert schema_faults(schema, wrong, "output", 5) == [fault]
    assert time.process_time() - started < 1


def test_of_a_value_of_ordinary_size_several_faults_are_told_whatever_the_schema() -> None:
    schema = {"anyOf": [{"type": "array", "items": ROW}, ROW]}
    assert schema_fault(schema, [{"id": "x"}] * 200, "output") == (
        "output: the value is not valid under any of the schemas listed in the 'anyOf' keyword"
    )
    assert schema_faults({"type": "array", "items": ROW}, [{"id": "x"}] * 200, "output", 3) == [
        'output[0]: "name" is a required property',
        'output[0].id: the value is not of type "integer"',
        'output[1]: "name" is a required property',
    ]


def test_a_fault_does_not_repeat_a_large_value() -> None:
    assert len(schema_fault({"type": "integer"}, "x" * 1_000_000, "output") or "") < 400
    assert len(schema_fault({"enum": ["y" * 1_000_000]}, "x", "output") or "") < 400
