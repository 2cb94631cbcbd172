"""What an instance does not take, with a code of the field. Pure."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from activities.errors import SYS_VALIDATION_ERROR
from activities.json_values import Undecodable, encoded_size, json_fault, json_type

MAX_MESSAGE_BYTES = 1_000_000
REASON_CHARS = 2_000

M = TypeVar("M", bound=BaseModel)


class Refused(Exception):
    """A message that changes nothing. `code` is for programs, the text says what to send."""

    def __init__(self, message: str, code: str = SYS_VALIDATION_ERROR, details: dict[str, Any] | None = None) -> None:
        # The text may repeat a stranger's field names.
        super().__init__(message[:REASON_CHARS])
        self.code = code
        self.details = details


def read_object(arguments: Sequence[Any], what: str, most: int = MAX_MESSAGE_BYTES) -> dict[str, Any]:
    """The one object a message carries; no argument at all is an empty one.

    Raises:
        Refused: anything else, or one of more than `most` bytes.
    """
    if len(arguments) > 1:
        raise Refused(f"{what}: send one JSON object, {len(arguments)} arguments came")
    given = arguments[0] if arguments else None
    if isinstance(given, Undecodable):
        raise Refused(f"{what}: {given.reason}")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Refused(f"{what}: is a {json_type(given)}, not an object")
    if fault := json_fault(given, what):
        raise Refused(fault)
    if (size := encoded_size(given)) > most:
        raise Refused(f"{what}: {size:,} bytes are more than {most:,}")
    return given


def only(given: dict[str, Any], what: str, *names: str) -> dict[str, Any]:
    """The object, if it has no other fields than these.

    Raises:
        Refused: it has.
    """
    if unknown := [name for name in given if name not in names]:
        known = ", ".join(names) or "none"
        raise Refused(f"{what}: {unknown[0][:100]} is no field of it; its fields: {known}")
    return given


def read_model(model: type[M], given: Any, what: str, code: str = SYS_VALIDATION_ERROR) -> M:
    """The value, validated.

    Raises:
        Refused: names each wrong field. Values are left out: they may be secrets.
    """
    try:
        return model.model_validate(given)
    except ValidationError as invalid:
        faults = invalid.errors(include_input=False, include_url=False, include_context=False)[:10]
        told = [f"{'.'.join(map(str, each['loc'])) or what}: {_said(each)}" for each in faults]
        raise Refused("; ".join(told), code) from None


def read_text(given: dict[str, Any], name: str, what: str, most: int = 200) -> str:
    """A field that must be a text with something in it.

    Raises:
        Refused: it is not, or is longer than `most`.
    """
    value = given.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise Refused(f"{what}: {name} must be a text of 1 to {most} characters")
    return value


def _said(fault: Any) -> str:
    return "is not a field of it" if fault["type"] == "extra_forbidden" else str(fault["msg"])
