"""Whether a model API takes a function: one that it refuses fails every request of every turn that offers it."""

from dataclasses import replace

from activities.contracts import PREVIEW_CHARS
from activities.controllers.plain_schema import plain_schema
from activities.json_schema import broken_schema
from activities.json_values import encoded_size
from activities.openapi.dialect import dialect_faults
from activities.tool import Tool

MAX_SCHEMA_BYTES = 100_000


class Unoffered(ValueError):
    """A function cannot be offered; the message says why."""


def fit_for_models(tool: Tool) -> Tool:
    """The tool with a schema that a model API takes. What an OpenAPI document gave is in that form already.

    Raises:
        Unoffered: there is none.
    """
    if tool.facts is not None and tool.facts.protocol != "http":
        try:
            tool = replace(tool, input_schema=plain_schema(tool.input_schema))
        except ValueError as fault:
            raise Unoffered(str(fault)) from None
    if (reason := _refusal(tool)) is not None:
        raise Unoffered(reason)
    return tool


def _refusal(tool: Tool) -> str | None:
    schema = tool.model_schema
    if faults := dialect_faults(schema, strict=False):
        return f"a model API would refuse its parameters: {'; '.join(faults[:3])}"
    if broken := broken_schema(schema):
        return f"its parameters cannot be checked: {broken}"
    if (size := encoded_size(schema)) > MAX_SCHEMA_BYTES:
        return f"its parameters take {size:,} bytes of every request; at most {MAX_SCHEMA_BYTES:,} are offered"
    if tool.separated is not None and encoded_size(tool.separated.human_schema) > PREVIEW_CHARS:
        return f"the part that a person fills is larger than {PREVIEW_CHARS:,} bytes, more than a pause can carry"
    return None
