"""A typed Python function as a tool: its JSON Schema for the model, and the model's arguments made fit for the function.

Types come from the annotations, texts from the docstring (Google, NumPy or Sphinx style). Fields of the pydantic model bear
neutral names with the parameter's name as alias, because a parameter may be called `schema`, `json` or `_x`, which pydantic
keeps for itself.
"""

import functools
import inspect
import types
import typing
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import CoreSchema, core_schema, to_json

from activities.conversation import Arguments
from activities.json_values import clean_text
from activities.typed_dicts import readable

MAX_FAULTS = 10
MAX_FAULT_CHARS = 300
# Providers refuse a function whose description is longer.
MAX_DESCRIPTION_CHARS = 1_024


class ArgumentsInvalidError(ValueError):
    """Arguments a tool cannot take; the message names each field and says what is wrong with it, for the model to read."""


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a function takes. `input_schema` is a JSON Schema object without the injected parameters."""

    description: str
    input_schema: dict[str, Any]
    model: type[BaseModel]
    signature: inspect.Signature
    injected: tuple[str, ...]

    def bind(self, arguments: Arguments) -> inspect.BoundArguments:
        """The checked and coerced arguments with the function's defaults, not yet with the injected ones.

        Raises:
            ArgumentsInvalidError: an argument is missing, unknown, or not of its type.
        """
        checked = parse_arguments(self.model, arguments)
        given: dict[str, Any] = {
            str(field.alias): getattr(checked, name)
            for name, field in type(checked).model_fields.items()
            if name in checked.model_fields_set or _has_field_default(self.signature, str(field.alias))
        }
        bound = inspect.BoundArguments(self.signature, OrderedDict(given))
        # The function's own defaults, not the model's copies of them: a default may be a sentinel compared by identity.
        bound.apply_defaults()
        return bound


def function_schema(function: Callable[..., Any], injected: type) -> FunctionSchema:
    """Read a function's annotations and docstring. Parameters annotated `injected` are hidden from the model.

    `*args` and `**kwargs` are left out; a parameter without annotation takes any JSON value.

    Raises:
        TypeError: an annotation cannot be resolved, or has no JSON form.
    """
    signature = inspect.signature(function)
    described = _described(function)
    hints = _resolved_hints(described)
    text, parameter_texts = _read_docstring(inspect.getdoc(described) or "")
    fields: dict[str, Any] = {}
    hidden = []
    for place, parameter in enumerate(_named_parameters(signature)):
        hint = hints.get(parameter.name, Any)
        if place == 0 and parameter.name in ("self", "cls") and parameter.name not in hints:
            raise TypeError(f"{_name(function)} takes {parameter.name}: make a tool of the bound method instead")
        if _is_injected(hint, injected):
            hidden.append(parameter.name)
        else:
            fields[f"p{place}"] = _field(parameter, hint, parameter_texts.get(parameter.name))
    model = _build_model(function, fields)
    return FunctionSchema(
        description=_shorten(text, MAX_DESCRIPTION_CHARS),
        input_schema=_input_schema(function, model),
        model=model,
        signature=signature,
        injected=tuple(hidden),
    )


def parse_arguments(model: type[BaseModel], arguments: Arguments) -> BaseModel:
    """The arguments as a value of the model, coerced where the types allow it.

    Raises:
        ArgumentsInvalidError: they do not fit; at most `MAX_FAULTS` faults are named.
    """
    try:
        # As JSON, so that what JSON cannot say natively (dates, sets, tuples) is accepted by strict types as well.
        return model.model_validate_json(to_json(arguments))
    except ValidationError as fault:
        raise ArgumentsInvalidError(_describe_faults(fault, model)) from None
    except Exception as fault:
        # A validator of the tool's author may raise anything; it must cost one call, not the turn.
        said = _shorten(f"the arguments could not be checked: {type(fault).__name__}: {fault}", MAX_FAULT_CHARS)
        raise ArgumentsInvalidError(clean_text(said)) from fault


def _named_parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [parameter for parameter in signature.parameters.values() if parameter.kind not in variable]


def _described(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the annotations and the docstring, where the given one is a partial or an object."""
    if isinstance(function, functools.partial):
        return _described(function.func)
    return function if inspect.isroutine(function) else type(function).__call__


def _resolved_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        return {name: readable(hint) for name, hint in hints.items()}
    except Exception as fault:
        raise TypeError(f"the annotations of {_name(function)} cannot be resolved: {fault}") from fault


def _is_injected(hint: Any, injected: type) -> bool:
    if get_origin(hint) is Annotated:
        return _is_injected(get_args(hint)[0], injected)
    if get_origin(hint) in (typing.Union, types.UnionType):
        return any(_is_injected(part, injected) for part in get_args(hint))
    return hint is injected


def _field(parameter: inspect.Parameter, hint: Any, text: str | None) -> tuple[Any, Any]:
    settings: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
    default = parameter.default
    if isinstance(default, FieldInfo):
        hint = Annotated[hint, default]
    elif default is not inspect.Parameter.empty:
        settings["default"] = default
    if text and not _describes_itself(hint):
        settings["description"] = text
    return hint, Field(**settings)


def _describes_itself(hint: Any) -> bool:
    return get_origin(hint) is Annotated and any(getattr(part, "description", None) for part in get_args(hint)[1:])


def _has_field_default(signature: inspect.Signature, name: str) -> bool:
    # Left to itself the function would receive pydantic's description of the default instead of the default.
    return isinstance(signature.parameters[name].default, FieldInfo)


def _build_model(function: Callable[..., Any], fields: Mapping[str, Any]) -> type[BaseModel]:
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return create_model("Arguments", __config__=config, **fields)
    except PydanticUserError as fault:
        raise TypeError(f"a parameter of {_name(function)} has no JSON form: {fault.message}") from fault


def _input_schema(function: Callable[..., Any], model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_PlainJsonSchema)
    except PydanticUserError as fault:
        raise TypeError(f"a parameter of {_name(function)} has no JSON form: {fault.message}") from fault
    return {"type": "object", "properties": {}, **schema}


class _PlainJsonSchema(GenerateJsonSchema):
    """Schemas as small as they can be: no titles made from names, no pattern that providers' grammars cannot read."""

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        made = super().generate(schema, mode)
        made.pop("title", None)
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        made = super().decimal_schema(schema)
        for form in made.get("anyOf", ()):
            form.pop("pattern", None)
        return made

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """A default that JSON cannot show still counts when the argument is left out."""


def _read_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    try:
        parsed = docstring_parser.parse(docstring)
    except docstring_parser.ParseError:
        return docstring, {}
    parts = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    texts = {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
    return "\n\n".join(parts), texts


def _describe_faults(fault: ValidationError, model: type[BaseModel]) -> str:
    faults = fault.errors(include_url=False, include_context=False)
    known = ", ".join(str(field.alias or name) for name, field in model.model_fields.items())
    lines = [_describe_fault(each, known) for each in faults[:MAX_FAULTS]]
    if len(faults) > MAX_FAULTS:
        lines.append(f"and {len(faults) - MAX_FAULTS} more")
    return "; ".join(lines)


def _describe_fault(fault: Any, known: str) -> str:
    where = clean_text(_path(fault["loc"]))
    match fault["type"]:
        case "missing":
            said = f"{where}: is required and missing"
        case "extra_forbidden" if len(fault["loc"]) == 1:
            said = f"{where}: is not an argument of this tool; it takes {known or 'none'}"
        case "extra_forbidden":
            said = f"{where}: is not a known field"
        case _:
            given = clean_text(_shorten(repr(fault["input"]), 60))
            said = f"{where or 'arguments'}: {fault['msg']} (got {given})"
    return _shorten(said, MAX_FAULT_CHARS)


def _path(location: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)
