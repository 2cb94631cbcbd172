from typing import Any

import pytest

from activities.openapi.definitions import MAX_OPEN, Definitions, references
from activities.openapi.operation import Schema
from activities.openapi.reading import Unfit
from activities.openapi.references import Library, Source

SCHEMAS = {"a": {"type": "string"}, "b": {"$ref": "#/a"}, "c": {"$ref": "#/c"}, "d~e/f": {}, "bad": 7, "any": True}


def definitions(schemas: dict[str, Any], define: Any) -> tuple[Definitions, Source]:
    return Definitions(define), Library(schemas, None, None).main


def test_a_place_has_one_name_however_it_is_spelled() -> None:
    found, main = definitions(SCHEMAS, None)
    assert found.name_of("#/a", main) == found.name_of("#/b", main) == "a"
    assert found.name_of("#/d~0e~1f", main) == "d_0e_1f"
    assert found.label("d_0e_1f") == "d~e/f"


def test_what_takes_anything_has_no_name_and_what_is_no_schema_is_unfit() -> None:
    found, main = definitions(SCHEMAS, None)
    assert found.name_of("#/c", main) is found.name_of("#/any", main) is None
    with pytest.raises(Unfit, match="not a schema"):
        found.name_of("#/bad", main)


def test_a_definition_is_read_once_and_its_fault_is_kept() -> None:
    asked: list[str] = []

    def define(name: str, node: dict[str, Any], source: Source, own: bool) -> Schema:
        asked.append(name)
        raise Unfit("broken")

    found, main = definitions(SCHEMAS, define)
    name = found.name_of("#/a", main)
    assert name is not None
    for _ in range(2):
        with pytest.raises(Unfit, match="broken"):
            found.definition(name)
    assert asked == ["a"]


def test_definitions_are_not_read_within_one_another_without_end() -> None:
    depth = 0
    deepest = 0

    def define(name: str, node: dict[str, Any], source: Source, own: bool) -> Schema:
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        inner = found.name_of(node["next"], source)
        made = found.definition(inner) if inner else {}
        depth -= 1
        return {} if made is None else {"items": made}

    chain = {f"s{place}": {"next": f"#/s{place + 1}"} for place in range(200)} | {"s200": True}
    found, main = definitions(chain, define)
    name = found.name_of("#/s0", main)
    assert name is not None
    assert found.definition(name) is not None
    assert deepest == MAX_OPEN


def test_references_are_counted_as_often_as_they_stand() -> None:
    schema = {"anyOf": [{"$ref": "#/$defs/A"}, {"items": {"$ref": "#/$defs/A"}}], "default": {"$ref": "#/$defs/B"}}
    assert references(schema) == ["A", "A"]
