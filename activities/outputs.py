"""What a tool gave back, as JSON the model can read: clean, bounded, and small where it crosses a history.

A tool may return anything: an endless generator, a structure that holds itself ten times over, an object whose `str` raises.
So the value is first copied within bounds, then cleaned, then cut.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Real
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from activities.contracts import PREVIEW_CHARS
from activities.conversation import ErrorDetails, ToolCallResult
from activities.json_values import MAX_DEPTH, clean_json, clean_text
from activities.tool_replies import AudioOutput, ImageOutput, Reply

MAX_OUTPUT_CHARS = 256_000
MAX_ERROR_CHARS = 2_000
MAX_VALUES = 500_000
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def tool_output(value: Any, limit: int = MAX_OUTPUT_CHARS, is_whole: bool = True) -> Any:
    """The value as clean JSON; where its text is longer than `limit` characters, the start of that text and a note.

    `is_whole` is false for a value that the tool could have gone on with.

    Iterating and printing run the tool's own code: call this where the tool itself may run. Generators are read until the
    limit is passed. Raises what that code raises.
    """
    walk = _Walk(limit)
    plain = clean_json(walk.copy(value, 0))
    text = json_text(plain)
    is_whole = is_whole and not walk.stopped
    if len(text) <= limit and is_whole:
        return plain
    length = f"{len(text):,}" if is_whole else f"more than {len(text):,}"
    return f"{text[:limit]}\n[cut: the first {min(limit, len(text)):,} of {length} characters are shown]"


def json_text(value: Any) -> str:
    """The text of a clean JSON value as the model reads it: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else to_json(value).decode()


def preview(result: ToolCallResult) -> tuple[ToolCallResult, bool]:
    """The result as a history carries it, and whether its output was cut to {"preview": text}."""
    text = json_text(result.output)
    if len(text) <= PREVIEW_CHARS:
        return result, False
    return result.model_copy(update={"output": {"preview": text[:PREVIEW_CHARS]}}), True


def failed_result(call_id: str, tool_name: str, code: str, message: str) -> ToolCallResult:
    """The result of a call that ended in an error. The message is cleaned and capped."""
    text = clean_text(message)
    if len(text) > MAX_ERROR_CHARS:
        text = f"{text[:MAX_ERROR_CHARS]} [cut: {len(text):,} characters]"
    error = ErrorDetails(code=code, message=text).model_dump(mode="json", exclude_none=True)
    return ToolCallResult(
        tool_call_id=call_id, tool_name=tool_name, output=dict(error), is_error=True, error_details=error
    )


def error_text(error: BaseException) -> str:
    """What an exception says, clean and without its stack: type and message; of a group, those of its members."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(error_text(each) for each in error.exceptions)
    try:
        said = clean_text(str(error))
    except Exception:
        said = ""
    name = type(error).__name__
    return f"{name}: {said}" if said else name


class _Walk:
    """Copies a value into plain containers while counting what was copied, and stops in time."""

    def __init__(self, limit: int) -> None:
        self.stopped = False
        self._limit = limit
        self._chars = 0
        self._values = 0

    def copy(self, value: Any, depth: int) -> Any:
        self._values += 1
        self._chars += 2
        if depth > MAX_DEPTH:
            return "[cut: nested too deeply]"
        match value:
            case Enum():
                return self.copy(value.value, depth)
            case str() | bytes() | bytearray() | memoryview():
                self._chars += len(value)
                return value
            case bool() | int() | float():
                return value
            case Integral():
                return int(value)
            case Real():
                return float(value)
            case BaseModel():
                return self.copy(value.model_dump(by_alias=True, warnings=False), depth)
            case Mapping():
                return self._copy_mapping(value, depth)
            case set() | frozenset():
                return self._copy_items(sorted(value, key=repr), depth)
            case Iterable():
                return self._copy_items(value, depth)
            case BaseException():
                return error_text(value)
            case AudioOutput() | ImageOutput() | Reply():
                raise TypeError(f"{type(value).__name__} stands inside another value; return it by itself")
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self.copy({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
        return _leaf(value)

    def _copy_mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        copied = {}
        for key in self._within_bounds(value):
            self._chars += len(str(key)) + 3
            copied[key] = self.copy(value[key], depth + 1)
        return copied

    def _copy_items(self, value: Iterable[Any], depth: int) -> list[Any]:
        return [self.copy(item, depth + 1) for item in self._within_bounds(value)]

    def _within_bounds(self, values: Iterable[Any]) -> Iterator[Any]:
        # What is in memory already is copied whole, so that the note can say how long it was; what is made on demand
        # may have no end.
        lazy = not isinstance(values, list | tuple | dict)
        for value in values:
            if self._values >= MAX_VALUES or (lazy and self._chars > self._limit):
                self.stopped = True
                return
            yield value


def _leaf(value: Any) -> Any:
    """Values that cleaning knows are left to it; any other becomes its text, without the address that differs each time."""
    known = clean_json(value)
    return _ADDRESS.sub("", known) if isinstance(known, str) and not isinstance(value, str) else known
