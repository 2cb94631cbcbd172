"""Whether the arguments of an HTTP function fit its schema, before anything is sent."""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import jsonschema_rs

from activities.conversation import Arguments
from activities.json_schema import PATTERNS
from activities.json_values import json_fault
from activities.openapi.faults import MISSING, ROOT, ArgumentFault, Place, Unwritable, path_of
from activities.openapi.operation import Schema

MAX_COLLECTED = 50
HIDDEN = "[not shown]"


class ArgumentCheck:
    """Checks arguments against one schema, which is compiled when the first call comes.

    `hidden` is the schema of the part that no model may read: faults in it tell where, never what was given.
    """

    def __init__(self, schema: Schema, hidden: Schema | None = None) -> None:
        self._schema = schema
        self._hidden = hidden

    def faults(self, arguments: Arguments) -> list[ArgumentFault]:
        """What does not fit, `MAX_COLLECTED` faults at most. A schema that cannot be used refuses nothing: the server judges."""
        if (odd := json_fault(arguments, ROOT)) is not None:
            # The validator takes only what can be written as JSON.
            return [ArgumentFault(ROOT, f"JSON, but {odd}", MISSING)]
        found: list[ArgumentFault] = []
        if self._validator is None:
            return found
        for error in self._validator.iter_errors(arguments):
            found += [self._fault(*each) for each in _faults_of(error)]
            if len(found) >= MAX_COLLECTED:
                break
        return found

    def fault_at(self, place: Place, unwritable: Unwritable, value: Any) -> ArgumentFault:
        """The fault of a value that fits its schema and still cannot be sent."""
        return self._fault(place, unwritable.expected, value)

    def _fault(self, place: Place, expected: str, value: Any) -> ArgumentFault:
        shown = HIDDEN if value is not MISSING and _leads_into(self._hidden, place) else value
        return ArgumentFault(path_of(place), expected, shown)

    @cached_property
    def _validator(self) -> Any:
        try:
            return jsonschema_rs.validator_for(self._schema, offline=True, pattern_options=PATTERNS)
        except Exception:
            # The library raises a class of its own, ValueError or another, depending on the fault.
            return None


def _faults_of(error: Any) -> Iterator[tuple[Place, str, Any]]:
    place: Place = tuple(error.instance_path)
    match error.kind.name:
        case "required":
            yield (*place, error.kind.value), "a value: it is required", MISSING
        case "additionalProperties":
            for key in error.kind.value:
                yield (*place, key), "nothing: there is no such argument", _member(error.instance, key)
        case _:
            yield place, _expected(error), error.instance


def _expected(error: Any) -> str:
    name, value = error.kind.name, error.kind.value
    match name:
        case "type":
            return value if isinstance(value, str) else " or ".join(sorted(value))
        case "enum":
            return f"one of {', '.join(_json(each) for each in value)}"
        case "const":
            return _json(value)
        case "falseSchema":
            return "nothing"
        case "anyOf" | "oneOf":
            branches = dict.fromkeys(_branch(branch, len(error.instance_path)) for branch in value or ())
            return " or ".join(filter(None, branches)) or "exactly one of the alternatives"
    return f"{name} {_json(value)}"


def _branch(errors: list[Any], depth: int) -> str:
    """What one alternative would have needed, its places told from the value that all alternatives are about."""
    needs = []
    for error in errors[:3]:
        for place, expected, _ in _faults_of(error):
            inner = path_of(place[depth:]).removeprefix("$input").removeprefix(".")
            needs.append(f"{inner}: {expected}" if inner else expected)
    return ", ".join(needs)


def _leads_into(schema: Any, place: Place) -> bool:
    """Whether a place is in what a schema describes, or holds all of it."""
    root = schema
    for part in place:
        schema = _resolved(root, schema)
        if not isinstance(schema, dict):
            return False
        inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if inner is None:
            # Below a leaf everything is hidden; beside the named members of an object nothing is.
            return "properties" not in schema and "items" not in schema
        schema = inner
    return schema is not None


def _resolved(root: Any, schema: Any) -> Any:
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            return schema
        schema = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
    return schema


def _member(value: Any, key: str) -> Any:
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
