"""Structured answers for Python callers: a pydantic model in, an instance of it out."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from activities.conversation import GMIOutput

Value = TypeVar("Value", bound=BaseModel)
# What a turn may be asked for: a model, a JSON Schema, or a whole `structuredReply` with the schema in it.
Wanted = type[BaseModel] | Mapping[str, Any]


class NotStructured(Exception):
    """The output has no value that fits; the message says why."""


def structured_reply(wanted: Wanted, **options: Any) -> dict[str, Any]:
    """`options.structuredReply` for an answer of this shape. `options` are its other fields, such as `maxRetries`."""
    if isinstance(wanted, type):
        schema = wanted.model_json_schema(mode="validation")
        return {"schema": schema, "name": wanted.__name__[:64], **options}
    is_whole = isinstance(wanted.get("schema"), Mapping)
    return {**(wanted if is_whole else {"schema": dict(wanted)}), **options}


def with_structured_reply(fields: Mapping[str, Any], wanted: Wanted | None) -> dict[str, Any]:
    """The fields of a turn's input with the option in them; as they are for None."""
    if wanted is None:
        return dict(fields)
    return {**fields, "options": {**(fields.get("options") or {}), "structuredReply": structured_reply(wanted)}}


def structured_value(output: GMIOutput, model: type[Value]) -> Value:
    """The answer as an instance of the model that was asked for.

    Raises:
        NotStructured: the turn gave no value, one that does not fit, or one too long for an output.
        pydantic.ValidationError: it fits the schema, but not what the model checks besides.
    """
    found = output.structured_output
    if found is None or not found.meta.valid:
        why = output.error.message if output.error else "; ".join((found.meta.issues or ()) if found else ())
        raise NotStructured(why or "the turn gave no structured answer")
    if found.value_ref is not None:
        raise NotStructured(
            f"the answer is too long for an output; `python -m worker.rows {found.value_ref}` prints it"
        )
    return model.model_validate(found.value)
