"""What of an operation is left for its arguments once a connection is known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from activities.openapi.operation import Operation, Parameter, Schema
from activities.openapi.parameters import GROUPS
from activities.openapi.paths import placeholders
from activities.openapi.payloads import unwritable_body
from activities.openapi.request import RESERVED_HEADERS


def offered(operation: Operation, *, headers: frozenset[str], cookies: frozenset[str]) -> Operation:
    """The operation without the parameters that the configuration sets; names of `headers` in lower case.

    Raises:
        ValueError: no request can be made: a placeholder has no parameter, or nothing writes the body.
    """
    check_operation(operation)
    fixed = [each for each in operation.parameters if _is_fixed(each, headers | RESERVED_HEADERS, cookies)]
    if not fixed:
        return operation
    return replace(
        operation,
        parameters=tuple(each for each in operation.parameters if each not in fixed),
        input_schema=_without(operation.input_schema, fixed),
        llm_schema=_without(operation.llm_schema, fixed),
        human_schema=None if operation.human_schema is None else _rest(_without(operation.human_schema, fixed)),
    )


def check_operation(operation: Operation) -> None:
    """Refuse an operation that no request can be made for, before a model is offered it.

    Raises:
        ValueError: a placeholder has no parameter, or the body has a form that nothing writes.
    """
    known = {each.name for each in operation.parameters if each.where == "path"}
    if missing := [name for name in placeholders(operation.path) if name not in known]:
        raise ValueError(f"the path {operation.path} has placeholders without a parameter: {', '.join(missing)}")
    if operation.body is not None and (reason := unwritable_body(operation.body)):
        raise ValueError(f"the body of {operation.method} {operation.path}: {reason}")


def _is_fixed(parameter: Parameter, headers: frozenset[str], cookies: frozenset[str]) -> bool:
    if parameter.where == "header":
        return parameter.name.lower() in headers
    return parameter.where == "cookie" and parameter.name in cookies


def _without(schema: Schema, parameters: list[Parameter]) -> Schema:
    for parameter in parameters:
        schema = _without_one(schema, GROUPS[parameter.where], parameter.key)
    return schema


def _without_one(schema: Schema, group: str, key: str) -> Schema:
    """A copy without one argument, and without its group when that is all it had."""
    inner = schema.get("properties", {}).get(group)
    if not isinstance(inner, dict) or key not in inner.get("properties", {}):
        return schema
    left = _dropped(inner, key)
    if not left["properties"]:
        return _dropped(schema, group)
    made = {**schema, "properties": {**schema["properties"], group: left}}
    return made if left.get("required") else _optional(made, group)


def _dropped(schema: Schema, key: str) -> Schema:
    properties = {name: value for name, value in schema["properties"].items() if name != key}
    return _optional({**schema, "properties": properties}, key)


def _optional(schema: Mapping[str, Any], key: str) -> Schema:
    if "required" not in schema:
        return dict(schema)
    return {**schema, "required": [name for name in schema["required"] if name != key]}


def _rest(schema: Schema) -> Schema | None:
    return schema if schema.get("properties") else None
