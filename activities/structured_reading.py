"""Reading the JSON value of a structured answer out of what the model wrote, and saying how it breaks the schema. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from activities.json_schema import schema_faults
from activities.json_values import json_fault
from activities.structured_contracts import StructuredReply
from memory_engine import whole_values

MAX_ISSUES = 10
WRAPPED = "value"


@dataclass(frozen=True, slots=True)
class Found:
    """The value and what is wrong with it; nothing is for one that fits."""

    value: Any = None
    issues: tuple[str, ...] = ()


def asked_schema(wanted: StructuredReply) -> dict[str, Any]:
    """The schema as models are asked for it: providers take objects only, so any other value is asked for as a field."""
    schema = wanted.json_schema
    if schema.get("type") == "object":
        return schema
    named: dict[str, Any] = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    inner = {name: part for name, part in schema.items() if name not in (*named, "$schema", "$id")}
    return {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
        "additionalProperties": False,
        **named,
    }


def find_value(text: str, wanted: StructuredReply) -> Found:
    """The first value in the text that fits, else the first value with its faults.

    Fences and words around it do no harm.
    """
    first: Found | None = None
    for value in _candidates(text, is_wrapped=wanted.json_schema.get("type") != "object"):
        found = Found(value, _issues(value, wanted))
        if not found.issues:
            return found
        first = first or found
    return first or Found(issues=("the answer holds no JSON value",))


def _candidates(text: str, *, is_wrapped: bool) -> Iterator[Any]:
    for value in _values(text):
        if is_wrapped and isinstance(value, dict) and list(value) == [WRAPPED]:
            yield value[WRAPPED]
        else:
            yield value


def _values(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text, strict=False)
    except (ValueError, RecursionError):
        yield from whole_values(text)


def _issues(value: Any, wanted: StructuredReply) -> tuple[str, ...]:
    if fault := json_fault(value, wanted.name):
        return (fault,)
    return tuple(schema_faults(wanted.json_schema, value, wanted.name, MAX_ISSUES))
