"""What model providers take as the parameters of a function, and the strict form of a schema where it has one.

One function with a schema that a provider refuses fails every request it is offered in, so what is wrong is known before the
first turn. The strict rules are those of OpenAI's structured outputs:
https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
"""

from collections.abc import Iterator
from typing import Any

from activities.openapi.constraints import TYPES
from activities.openapi.keywords import nullable, referred, types_of, walk
from activities.openapi.operation import Schema
from activities.openapi.property_keys import LEGAL
from activities.openapi.reading import shortened

MAX_STRICT_DEPTH = 10
MAX_STRICT_PROPERTIES = 5_000
MAX_FAULTS = 20
_KNOWN = {
    *("$ref", "$defs", "type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf"),
    *("allOf", "enum", "const", "title", "description", "default", "examples", "deprecated", "format", "pattern"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("minProperties", "maxProperties", "multipleOf", "uniqueItems", "contentEncoding", "contentMediaType"),
}
_STRICT = {
    *("$ref", "$defs", "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"),
    *("title", "description", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minItems", "maxItems", "format"),
}
_STRICT_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def dialect_faults(schema: Schema, strict: bool) -> list[str]:
    """Why a provider would refuse a schema as the parameters of a function: at most `MAX_FAULTS` sentences, none when it
    would not. With `strict` by the rules of strict mode."""
    faults = [] if types_of(schema) == ["object"] else ["the parameters are not an object"]
    named = schema.get("$defs", {})
    for at, node in _places(schema):
        faults += [f"{at}: {fault}" for fault in (*_faults(node, named), *(_strict_faults(node) if strict else ()))]
        if len(faults) >= MAX_FAULTS:
            break
    if strict:
        faults += _strict_limits(schema)
    return faults[:MAX_FAULTS]


def strict_schema(schema: Schema) -> Schema | None:
    """The schema in strict mode, None when it has no such form: maps, values of any type and joined schemas have none.

    An argument that may be left out is required there and may be null instead; `strict_arguments.py` leaves such nulls out
    again. Limits that strict mode does not know are told in the description.
    """
    try:
        made = _strict(schema)
    except _NotStrictError:
        return None
    return None if dialect_faults(made, strict=True) else made


class _NotStrictError(Exception):
    """A schema says something that strict mode cannot."""


def _faults(node: Schema, named: dict[str, Any]) -> Iterator[str]:
    if unknown := sorted(node.keys() - _KNOWN):
        yield f"{unknown[0]} is not a keyword providers know"
    if bad := [name for name in types_of(node) if name not in TYPES]:
        yield f"{bad[0]} is not a type"
    for name in node.get("properties", ()):
        if not LEGAL.fullmatch(name):
            yield f"{name[:80]!r} cannot name a property"
    if "array" in types_of(node) and not isinstance(node.get("items"), dict):
        yield "an array without `items`"
    if node.get("enum") == []:
        yield "an empty list of values"
    if (name := referred(node)) is not None and name not in named:
        yield f"it refers to {str(node['$ref'])[:80]}, which is not there"


def _strict_faults(node: Schema) -> Iterator[str]:
    if unknown := sorted(node.keys() - _STRICT):
        yield f"{unknown[0]} is not allowed in strict mode"
    if "$ref" in node and len(node) > 1:
        yield "a reference with keywords beside it"
    if not node.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
        yield "a value of any type"
    if "object" in types_of(node):
        if node.get("additionalProperties") is not False:
            yield "an object that is open to other properties"
        if set(node.get("required", ())) != set(node.get("properties", ())):
            yield "an object with a property that is not required"


def _strict_limits(schema: Schema) -> Iterator[str]:
    if "anyOf" in schema:
        yield "the parameters are a choice of schemas"
    if (depth := max(_depth(part, 1) for part in (schema, *schema.get("$defs", {}).values()))) > MAX_STRICT_DEPTH:
        yield f"{depth} levels deep; strict mode takes {MAX_STRICT_DEPTH}"
    if (count := sum(len(node.get("properties", ())) for node in walk(schema))) > MAX_STRICT_PROPERTIES:
        yield f"{count} properties; strict mode takes {MAX_STRICT_PROPERTIES}"


def _depth(schema: Schema, depth: int) -> int:
    """Levels of objects and arrays, references not followed."""
    inside = [(each, depth + 1) for each in schema.get("properties", {}).values()]
    inside += [
        (each, depth + 1)
        for each in (schema.get("items"), schema.get("additionalProperties"))
        if isinstance(each, dict)
    ]
    inside += [(each, depth) for each in (*schema.get("anyOf", ()), *schema.get("allOf", ()))]
    return max((_depth(each, level) for each, level in inside), default=depth)


def _places(schema: Schema) -> Iterator[tuple[str, Schema]]:
    pending = [("parameters", schema)]
    while pending:
        at, node = pending.pop()
        yield at, node
        for word in ("properties", "$defs"):
            pending += [(f"{at}.{name[:80]}", inner) for name, inner in node.get(word, {}).items()]
        for word in ("anyOf", "allOf", "prefixItems"):
            pending += [(f"{at}.{word}[{place}]", inner) for place, inner in enumerate(node.get(word, ()))]
        for word in ("items", "additionalProperties"):
            if isinstance(node.get(word), dict):
                pending.append((f"{at}.{word}", node[word]))


def _strict(schema: Schema) -> Schema:
    if not schema or schema.keys() & {"allOf", "prefixItems"}:
        raise _NotStrictError
    made = {word: value for word, value in schema.items() if word in _STRICT}
    if made.get("format") not in _STRICT_FORMATS:
        made.pop("format", None)
    if told := _told(schema, made):
        made["description"] = shortened("\n".join(part for part in (made.get("description"), told) if part))
    if "$ref" in made:
        return _strict_reference(made)
    if "object" in types_of(made):
        made |= _strict_object(made)
    if isinstance(made.get("items"), dict):
        made["items"] = _strict(made["items"])
    if "anyOf" in made:
        made["anyOf"] = [_strict(each) for each in made["anyOf"]]
    if "$defs" in made:
        made["$defs"] = {name: _strict(each) for name, each in made["$defs"].items()}
    return made


def _told(schema: Schema, made: Schema) -> str:
    """The limits that strict mode loses, one a line."""
    lost = [
        word for word in schema if word not in made and word not in ("additionalProperties", "deprecated", "examples")
    ]
    return "\n".join(f"{word}: {schema[word]}" for word in lost)


def _strict_reference(schema: Schema) -> Schema:
    """Nothing may stand beside a reference; a choice of one has room for the description."""
    if schema.keys() - {"$ref", "title", "description"}:
        raise _NotStrictError
    beside = {word: value for word, value in schema.items() if word != "$ref"}
    return {**beside, "anyOf": [{"$ref": schema["$ref"]}]} if beside else schema


def _strict_object(schema: Schema) -> Schema:
    more = schema.get("additionalProperties")
    if more or (more is None and not schema.get("properties")):
        raise _NotStrictError
    required = schema.get("required", ())
    properties = {}
    for name, inner in schema.get("properties", {}).items():
        made = _strict(inner)
        properties[name] = made if name in required else nullable(made)
    if set(required) - set(properties):
        raise _NotStrictError
    return {"properties": properties, "required": list(properties), "additionalProperties": False}
