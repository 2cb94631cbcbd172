"""Any JSON Schema as the part of it that model providers take, for functions whose schemas others wrote.

What is left out makes the schema looser, never narrower: the function itself still checks arguments against the whole.
"""

from collections.abc import Iterable, Iterator
from typing import Any

MAX_DEPTH = 40
# Keywords whose value is no schema and holds none.
_VALUES = {
    *("$ref", "title", "description", "deprecated", "default", "examples", "enum", "const", "format", "pattern"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "contentEncoding", "contentMediaType"),
}
_CHOICES = ("anyOf", "oneOf", "allOf")
_OLD_REFERENCE, _REFERENCE = "#/definitions/", "#/$defs/"

Schema = dict[str, Any]


def plain_schema(schema: Schema) -> Schema:
    """The parameters of a function as providers take them: an object, without a choice at the top.

    Raises:
        ValueError: it is nested more than `MAX_DEPTH` levels deep, or something in it is no schema.
    """
    made = _plain(schema, 0)
    for word in ("anyOf", "allOf", "enum", "const"):
        made.pop(word, None)
    return {"properties": {}, **made, "type": "object"}


def _plain(node: Any, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        raise ValueError(f"its parameters are nested more than {MAX_DEPTH} levels deep")
    if isinstance(node, bool):
        return {}
    if not isinstance(node, dict):
        raise ValueError("something in its parameters is no schema")
    made = {word: value for word, value in node.items() if word in _VALUES}
    if types := _types(node):
        made["type"] = types[0] if len(types) == 1 else types
    if required := [name for name in _items(node, "required") if isinstance(name, str)]:
        made["required"] = required
    if isinstance(node.get("additionalProperties"), bool) and not node.get("patternProperties"):
        made["additionalProperties"] = node["additionalProperties"]
    made |= {word: inner for word, inner in _inner(node, depth + 1) if inner}
    if isinstance(reference := made.get("$ref"), str) and reference.startswith(_OLD_REFERENCE):
        made["$ref"] = _REFERENCE + reference.removeprefix(_OLD_REFERENCE)
    if "array" in types:
        made.setdefault("items", {})
    return made


def _inner(node: Schema, depth: int) -> Iterator[tuple[str, Any]]:
    """The keywords that hold schemas, made plain."""
    properties = _mapping(node, "properties")
    yield "properties", {name: _plain(each, depth) for name, each in properties.items() if each is not False}
    definitions = {**_mapping(node, "definitions"), **_mapping(node, "$defs")}
    yield "$defs", {name: _plain(each, depth) for name, each in definitions.items()}
    choices = {word: [_plain(each, depth) for each in _items(node, word)] for word in _CHOICES}
    # Providers do not know `oneOf`. A value that fits two of its branches is for the function to refuse.
    yield "anyOf", choices["anyOf"] or choices["oneOf"]
    yield "allOf", choices["allOf"]
    items = node.get("items")
    first = items if isinstance(items, list) else _items(node, "prefixItems")
    yield "prefixItems", [_plain(each, depth) for each in first]
    if isinstance(items, dict):
        yield "items", _plain(items, depth)
    more = node.get("additionalProperties")
    if isinstance(more, dict):
        yield "additionalProperties", _plain(more, depth)


def _types(node: Schema) -> list[str]:
    named = node.get("type", [])
    types = [named] if isinstance(named, str) else named
    if not isinstance(types, list) or not all(isinstance(each, str) for each in types):
        raise ValueError("a type in its parameters is not a name")
    return types


def _mapping(node: Schema, word: str) -> Schema:
    value = node.get(word, {})
    if not isinstance(value, dict):
        raise ValueError(f"{word!r} in its parameters is not an object")
    return value


def _items(node: Schema, word: str) -> Iterable[Any]:
    value = node.get(word, [])
    if not isinstance(value, list):
        raise ValueError(f"{word!r} in its parameters is not a list")
    return value
