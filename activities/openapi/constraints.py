"""The keywords of a schema that hold no other schema: types, texts, limits. What has the wrong form is left out.

A document is full of small faults (`minimum: "1"`, `required: true`, `type: file`, a pattern of another engine), and none of
them is worth losing an operation: a left-out limit is checked by the server.
"""

import functools
import json
from typing import Any

import jsonschema_rs

from activities.json_schema import PATTERNS
from activities.openapi.keywords import with_types
from activities.openapi.operation import Schema
from activities.openapi.reading import shortened

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
MAX_EXAMPLE_CHARS = 200
MAX_DEFAULT_CHARS = 1_000
MAX_TITLE_CHARS = 200
MAX_ENUM = 1_000

_NAMES = ("format", "contentMediaType", "contentEncoding")
# A schema with one of these says more of a value than that it may be null.
_ABOUT_VALUES = frozenset({"$ref", "type", "properties", "required", "items", "enum", "allOf", "anyOf", "oneOf"})
_ABOUT_OBJECTS = frozenset({"properties", "additionalProperties", "patternProperties"})
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def scalars(node: dict[str, Any]) -> Schema:
    """The type, texts and limits of a raw schema, without null: `allows_null` tells that."""
    types = declared_types(node)
    made = with_types({}, types) if types else {}
    return {**made, **_texts(node), **_limits(node), **_choices(node, types)}


def declared_types(node: dict[str, Any]) -> list[str]:
    """The types a raw schema names or implies; null only where it is the only one."""
    named = node.get("type")
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    known = [name for name in names if isinstance(name, str) and name in TYPES]
    if "file" in names:
        known.append("string")
    if not known and not names:
        known = _implied(node)
    return [name for name in dict.fromkeys(known) if name != "null"] or known[:1]


def _implied(node: dict[str, Any]) -> list[str]:
    # A part of `allOf` and an alternative often say nothing but which properties are required.
    required = node.get("required")
    if (isinstance(required, list) and required) or node.keys() & _ABOUT_OBJECTS:
        return ["object"]
    return ["array"] if "items" in node or "prefixItems" in node else []


def allows_null(node: dict[str, Any]) -> bool:
    """Whether a raw schema takes null, in any of the ways the versions have for it.

    `nullable` counts wherever it stands, beside `$ref` and `allOf` and as a part of `allOf` by itself too: the letter of 3.0
    ignores it there, and those who write it mean it.
    """
    named = node.get("type")
    choices = node.get("enum")
    return (
        node.get("nullable") is True
        or node.get("x-nullable") is True
        or named == "null"
        or (isinstance(named, list) and "null" in named)
        or (isinstance(choices, list) and None in choices)
        or any(map(_is_only_nullable, parts if isinstance(parts := node.get("allOf"), list) else ()))
    )


def _is_only_nullable(part: Any) -> bool:
    return isinstance(part, dict) and part.get("nullable") is True and not part.keys() & _ABOUT_VALUES


def _texts(node: dict[str, Any]) -> Schema:
    made: Schema = {}
    for word, limit in (("title", MAX_TITLE_CHARS), ("description", None)):
        if isinstance(text := node.get(word), str) and text.strip():
            made[word] = shortened(text, limit) if limit else shortened(text)
    if "description" in made:
        made.pop("title", None)
    if node.get("deprecated") is True:
        made["deprecated"] = True
    if node.get("default") is not None and _length(node["default"]) <= MAX_DEFAULT_CHARS:
        made["default"] = node["default"]
    given = node.get("examples")
    examples = given[:1] if isinstance(given, list) else [node["example"]] if "example" in node else []
    if examples and _length(examples) <= MAX_EXAMPLE_CHARS:
        made["examples"] = examples
    made |= {word: node[word] for word in _NAMES if isinstance(node.get(word), str)}
    return made


def _limits(node: dict[str, Any]) -> Schema:
    made: Schema = {word: int(node[word]) for word in _COUNTS if _is_count(node.get(word))}
    for word, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        bound = node.get(word)
        if _is_number(bound):
            made[exclusive if node.get(exclusive) is True else word] = bound
        if _is_number(node.get(exclusive)):
            made[exclusive] = node[exclusive]
    if _is_number(node.get("multipleOf")) and node["multipleOf"] > 0:
        made["multipleOf"] = node["multipleOf"]
    if node.get("uniqueItems") is True:
        made["uniqueItems"] = True
    if isinstance(pattern := node.get("pattern"), str):
        if _is_usable(pattern):
            made["pattern"] = pattern
        else:
            made["description"] = shortened(f"{node.get('description') or ''}\nPattern: {pattern}")
    return made


def _choices(node: dict[str, Any], types: list[str]) -> Schema:
    made: Schema = {"const": node["const"]} if "const" in node else {}
    choices = node.get("enum")
    if not isinstance(choices, list) or not choices or len(choices) > MAX_ENUM:
        return made
    made["enum"] = list({json.dumps(each, sort_keys=True): each for each in choices}.values())
    fitting = [each for each in made["enum"] if not types or _has_type(each, types)]
    if fitting:
        made["enum"] = fitting
    else:
        # `type: string` over numbers, as in `enum: [1, 2]`: the list is what was meant.
        made = with_types(made, sorted({_type_of(each) for each in made["enum"]}))
    return made


def _has_type(value: Any, types: list[str]) -> bool:
    return any(_type_of(value) == name or (name == "number" and _type_of(value) == "integer") for name in types)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float) and value.is_integer():
        return "integer"
    return next((name for name in ("integer", *_PYTHON_TYPES) if isinstance(value, _PYTHON_TYPES[name])), "string")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _length(value: Any) -> int:
    return len(json.dumps(value))


@functools.lru_cache(maxsize=4_096)
def _is_usable(pattern: str) -> bool:
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=PATTERNS)
    except Exception:
        # The library raises a class of its own, ValueError, or a panic as an exception, depending on the fault.
        return False
    return True
