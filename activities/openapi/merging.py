"""Two schemas that must both hold, as one: how `allOf`, and keywords beside a reference, become a plain schema.

Where documents contradict themselves the first schema wins, because a function that can be called beats one that no value
fits; the server judges the request in any case. `additionalProperties: false` of one part is read as closing the whole: taken by
the letter it would forbid the properties of every other part, which nobody means.
"""

from collections.abc import Callable
from typing import Any

from activities.openapi.keywords import types_of, with_types
from activities.openapi.operation import Schema


def merged(first: Schema, second: Schema) -> Schema:
    """One schema for both; what cannot be joined stays in `allOf`. Texts and examples are those of the first."""
    if not first or not second or first is second:
        return first or second
    out = dict(first)
    rest: list[Schema] = []
    for keyword, value in second.items():
        if keyword not in out:
            out[keyword] = value
        elif out[keyword] == value:
            continue
        elif keyword == "type":
            out = _with_common_types(out, second)
        elif join := _JOINS.get(keyword):
            out[keyword] = join(out[keyword], value)
        elif keyword in _UNJOINABLE:
            rest.append({keyword: value})
    if rest:
        out["allOf"] = [*out.get("allOf", ()), *rest]
    return out


def _with_common_types(first: Schema, second: Schema) -> Schema:
    ours, theirs = types_of(first), types_of(second)
    common = [each for each in ours if each in theirs or (each == "integer" and "number" in theirs)] + (
        ["integer"] if "number" in ours and "integer" in theirs and "number" not in theirs else []
    )
    return with_types(first, list(dict.fromkeys(common))) if common else first


def _properties(first: dict[str, Schema], second: dict[str, Schema]) -> dict[str, Schema]:
    shared = {name: merged(first[name], second[name]) for name in first if name in second}
    return {**first, **{name: value for name, value in second.items() if name not in first}, **shared}


def _additional(first: Any, second: Any) -> Any:
    if first is False or second is False:
        return False
    if isinstance(first, dict) and isinstance(second, dict):
        return merged(first, second)
    return first if isinstance(first, dict) else second


def _choices(first: list[Any], second: list[Any]) -> list[Any]:
    return [value for value in first if value in second] or first


def _every(first: list[str], second: list[str]) -> list[str]:
    return list(dict.fromkeys((*first, *second)))


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _every,
    "allOf": lambda first, second: [*first, *second],
    "additionalProperties": _additional,
    "items": merged,
    "enum": _choices,
    "uniqueItems": lambda first, second: first or second,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_UNJOINABLE = frozenset({"anyOf", "$ref", "pattern", "multipleOf"})
