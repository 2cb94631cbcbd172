"""JSON and nothing else: what may cross Temporal, and what happens to a value that may not.

Python's `json` writes NaN, breaks on bytes and lets half a surrogate pair through; each of them fails later, in a place that
retries for ever. So values are cleaned (ours to change: model text, tool output) or refused (a host's answer) where they enter.
"""

import base64
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_TOO_LARGE = 10**MAX_INT_DIGITS
SHOWN_KEY_CHARS = 40
SHOWN_PATH_CHARS = 300

# Keys or indexes, each with the value that stands there.
_Children = Iterator[tuple[str | int, Any]]


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
            return value if -_TOO_LARGE < value < _TOO_LARGE else f"[cut: an integer of {value.bit_length()} bits]"
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
    # Only the way to where the walk is stands in memory: a large value has many thousands of places.
    way: list[tuple[str | int, _Children]] = [("", iter([(at, value)]))]
    while way:
        depth = len(way) - 1
        for key, item in way[-1][1]:
            # Most of a large value is such, and nothing but its depth can be wrong with it.
            if depth <= MAX_DEPTH and (item is None or type(item) is bool or (type(item) is str and item.isascii())):
                continue
            if wrong := _wrong_with(item, depth):
                return f"{_told([*(name for name, _ in way[1:]), key])} {wrong}"
            if isinstance(item, dict):
                way.append((key, iter(item.items())))
                break
            if isinstance(item, list | tuple):
                way.append((key, iter(enumerate(item))))
                break
        else:
            way.pop()
    return None


def _wrong_with(item: Any, depth: int) -> str | None:
    """What is wrong with one value, its children aside."""
    if depth > MAX_DEPTH:
        return f"is nested more than {MAX_DEPTH} levels deep"
    if item is None or isinstance(item, bool | list | tuple):
        return None
    if isinstance(item, str):
        return None if clean_text(item) is item else "has half of a surrogate pair"
    if isinstance(item, int):
        return None if -_TOO_LARGE < item < _TOO_LARGE else f"is an integer of more than {MAX_INT_DIGITS} digits"
    if isinstance(item, float):
        return None if math.isfinite(item) else f"is {item}, which JSON does not have"
    if isinstance(item, dict):
        return None if _are_texts(item) else "has a key that is not text"
    return f"is a {type(item).__name__}, which JSON does not have"


def _are_texts(keys: Iterable[Any]) -> bool:
    try:
        joined = "".join(keys)
    except TypeError:
        return False
    return clean_text(joined) is joined


def _told(place: Sequence[str | int]) -> str:
    first, *rest = place
    steps = (f"[{key}]" if isinstance(key, int) else f".{key[:SHOWN_KEY_CHARS]}" for key in rest)
    return f"{first}{''.join(steps)}"[:SHOWN_PATH_CHARS]
