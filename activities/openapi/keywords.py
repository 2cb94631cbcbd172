"""Walking schemas of our own dialect: which keywords hold schemas, and which hold data that only looks like one.

The dialect is the part of JSON Schema 2020-12 that `schemas.py` writes; a walk that knows it never mistakes an example or a
property called `$ref` for a reference.
"""

from collections.abc import Callable, Iterator

from activities.openapi.operation import Schema

REF_PREFIX = "#/$defs/"
_ONE = ("items", "additionalProperties")
_LISTS = ("anyOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs")


def subschemas(schema: Schema) -> Iterator[Schema]:
    """The schemas directly inside."""
    for keyword in _ONE:
        if isinstance(inner := schema.get(keyword), dict):
            yield inner
    for keyword in _LISTS:
        yield from schema.get(keyword, ())
    for keyword in _MAPS:
        yield from schema.get(keyword, {}).values()


def walk(schema: Schema) -> Iterator[Schema]:
    """The schema and all inside it, references not followed."""
    pending = [schema]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(subschemas(node))


def rewritten(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema with each schema directly inside changed; the very same object when nothing did change."""
    new: Schema = {}
    for keyword in _ONE:
        inner = schema.get(keyword)
        if isinstance(inner, dict) and (made := change(inner)) is not inner:
            new[keyword] = made
    for keyword in _LISTS:
        if inner_list := schema.get(keyword):
            made_list = [change(each) for each in inner_list]
            if any(a is not b for a, b in zip(made_list, inner_list, strict=True)):
                new[keyword] = made_list
    for keyword in _MAPS:
        if inner_map := schema.get(keyword):
            made_map = {name: change(each) for name, each in inner_map.items()}
            if any(made_map[name] is not each for name, each in inner_map.items()):
                new[keyword] = made_map
    return {**schema, **new} if new else schema


def referred(schema: Schema) -> str | None:
    """The name of the definition a schema refers to, None when it is not a reference."""
    reference = schema.get("$ref")
    return reference.removeprefix(REF_PREFIX) if isinstance(reference, str) else None


def reference_to(name: str) -> Schema:
    return {"$ref": REF_PREFIX + name}


def types_of(schema: Schema) -> list[str]:
    """The types a schema names, as a list."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def with_types(schema: Schema, types: list[str]) -> Schema:
    return {**schema, "type": types[0] if len(types) == 1 else types}


def nullable(schema: Schema) -> Schema:
    """The schema that takes null as well."""
    if not schema:
        return schema
    made = dict(schema)
    if "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    if "const" in made and made["const"] is not None:
        made["enum"] = [made.pop("const"), None]
    if types := types_of(made):
        if not any(keyword in made for keyword in ("anyOf", "allOf", "$ref")):
            return made if "null" in types else with_types(made, [*types, "null"])
    elif not any(keyword in made for keyword in ("anyOf", "allOf", "$ref")):
        return made
    if _is_null_branch_in(made):
        return made
    texts: Schema = {
        word: made.pop(word) for word in ("title", "description", "default", "deprecated") if word in schema
    }
    if set(made) == {"anyOf"}:
        return {**texts, "anyOf": [*made["anyOf"], {"type": "null"}]}
    return {**texts, "anyOf": [made, {"type": "null"}]}


def _is_null_branch_in(schema: Schema) -> bool:
    return set(schema) <= {"anyOf", "title", "description"} and any(
        branch.get("type") == "null" for branch in schema.get("anyOf", ())
    )
