"""JSON and nothing else: what may cross Temporal, and what happens to a value that may not.

Python's `json` writes NaN, breaks on bytes and lets half a surrogate pair through; each of them fails later, in a place that
retries for ever. So values are cleaned (ours to change: model text, tool output) or refused (a host's answer) where they enter.
"""

import base64
import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import to_json

MAX_DEPTH = 100
# Python itself refuses to print longer ones, and no peer reads them.
MAX_INT_DIGITS = 1_000


_TYPE_NAMES = {
    type(None): "null",
    str: "text",
    bool: "true/false value",
    int: "number",
    float: "number",
    list: "list",
    dict: "object",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Undecodable:
    """A payload from outside that is not JSON we accept. Stands where the value would; `reason` says what is wrong."""

    reason: str


def json_type(value: Any) -> str:
    """What JSON calls a value of this type."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def encoded_size(value: Any) -> int:
    """Bytes of a value as the payload converter writes it."""
    return len(to_json(value))


def clean_text(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD; every other text is returned unchanged."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Any) -> Any:
    """The nearest JSON value: what a tool or a model gave back, made safe to store and to send.

    Bytes become base64 under a note, instants ISO text, NaN and infinities null, sets and generators lists, objects their
    text; nesting past `MAX_DEPTH` is cut.
    """
    return _clean(value, 0)


def _clean(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return "[cut: nested too deeply]"
    match value:
        case None | bool():
            return value
        case Enum():
            return _clean(value.value, depth)
        case str():
            return clean_text(str(value))
        case int():
            return value if abs(value) < 10**MAX_INT_DIGITS else f"[cut: an integer of {value.bit_length()} bits]"
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray() | memoryview():
            return {"bytes": len(bytes(value)), "base64": base64.b64encode(bytes(value)).decode()}
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | UUID():
            return str(value)
        case BaseModel():
            return _clean(value.model_dump(mode="python", by_alias=True), depth)
        case Mapping():
            return {clean_text(str(key)): _clean(item, depth + 1) for key, item in value.items()}
        case set() | frozenset():
            return [_clean(item, depth + 1) for item in sorted(value, key=repr)]
        case Iterable():
            return [_clean(item, depth + 1) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _clean({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
    return clean_text(str(value))


def json_fault(value: Any, at: str = "value") -> str | None:
    """Why a decoded value is not JSON we accept, naming the field; None when it is.

    Looks for NaN and infinities, lone surrogates, integers past `MAX_INT_DIGITS` and nesting past `MAX_DEPTH`.
    """
    if isinstance(value, Undecodable):
        return f"{at}: {value.reason}"
    pending: list[tuple[Any, str, int]] = [(value, at, 0)]
    while pending:
        item, path, depth = pending.pop()
        if depth > MAX_DEPTH:
            return f"{path} is nested more than {MAX_DEPTH} levels deep"
        if isinstance(item, str):
            if not item.isascii() and clean_text(item) is not item:
                return f"{path} has half of a surrogate pair"
        elif isinstance(item, float):
            if not math.isfinite(item):
                return f"{path} is {item}, which JSON does not have"
        elif isinstance(item, dict):
            for key in item:
                if not isinstance(key, str) or clean_text(key) is not key:
                    return f"{path} has a key that is not text"
            pending.extend((child, f"{path}.{key}", depth + 1) for key, child in item.items())
        elif isinstance(item, list | tuple):
            pending.extend((child, f"{path}[{index}]", depth + 1) for index, child in enumerate(item))
        elif isinstance(item, int) and not isinstance(item, bool):
            if abs(item) >= 10**MAX_INT_DIGITS:
                return f"{path} is an integer of more than {MAX_INT_DIGITS} digits"
        elif item is not None and not isinstance(item, bool):
            return f"{path} is a {type(item).__name__}, which JSON does not have"
    return None
