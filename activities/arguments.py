"""The arguments of a tool call, as models really write them, read into a JSON object or into the reason why not.

Absent arguments are an empty object. Anything that is not certain to be what the model meant is a fault: running a tool with
nothing, or with half of what was intended, is worse than an error the model can correct.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic_core import from_json

from activities.conversation import Arguments
from activities.json_values import clean_text, json_fault

EXCERPT_CHARS = 120
FENCE = "```"
# What stands behind a finished object when the JSON goes on. Prose does not begin like this.
GOES_ON = ('"', ",", ":", "[")


class Fault(StrEnum):
    """Why arguments cannot be used."""

    CUT = "cut"
    MALFORMED = "malformed"
    NOT_AN_OBJECT = "not an object"
    SEVERAL = "several objects"


@dataclass(frozen=True, slots=True)
class BadArguments:
    """Arguments that must not run, and the words that tell the model why."""

    fault: Fault
    message: str


def read_arguments(raw: Any) -> Arguments | BadArguments:
    """The arguments object of `raw`, which should be JSON text but may be a decoded object, absent, blank or 'null'."""
    if raw is None or isinstance(raw, dict):
        return _checked(raw or {})
    if not isinstance(raw, str):
        return BadArguments(Fault.NOT_AN_OBJECT, f"the arguments are a JSON {_kind(raw)}, not an object")
    text = raw.strip()
    if len(text) >= 2 * len(FENCE) and text.startswith(FENCE) and text.endswith(FENCE):
        text = text[len(FENCE) : -len(FENCE)].removeprefix("json").strip()
    if text in ("", "null"):
        return {}
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        return _unreadable(text, error)
    if isinstance(value, str) and value.lstrip().startswith("{") and not text[end:].strip():
        # Some models write the object's text as a JSON string. What it says is as certain as the text.
        return read_arguments(value)
    if not isinstance(value, dict):
        return BadArguments(Fault.NOT_AN_OBJECT, f"the arguments are a JSON {_kind(value)}, not an object")
    return _trailing_fault(text[end:].lstrip()) or _checked(value)


def _trailing_fault(rest: str) -> BadArguments | None:
    if "{" in rest:
        return BadArguments(Fault.SEVERAL, "two objects were found where one was expected; make one call for each")
    if rest.startswith(GOES_ON):
        return BadArguments(Fault.MALFORMED, f"the arguments go on after the end of their object: {_excerpt(rest)}")
    return None


def _unreadable(text: str, error: Exception) -> BadArguments:
    if text.startswith("{") and _begins_json(text):
        return BadArguments(Fault.CUT, f"the arguments end in the middle: {_excerpt(text[-EXCERPT_CHARS:])}")
    reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return BadArguments(Fault.MALFORMED, f"the arguments are not JSON ({reason}): {_excerpt(text)}")


def _begins_json(text: str) -> bool:
    try:
        from_json(text, allow_partial=True)
    except ValueError:
        return False
    return True


def _checked(value: Arguments) -> Arguments | BadArguments:
    try:
        if json_fault(value) is None:
            return value
        # Escapes can smuggle half of a surrogate pair in; written out and cleaned, the same JSON is readable everywhere.
        cleaned: Arguments = json.loads(clean_text(json.dumps(value, ensure_ascii=False)))
        fault = json_fault(cleaned, "arguments")
    except (TypeError, ValueError, RecursionError):
        fault = "arguments has values that JSON does not have"
    return cleaned if fault is None else BadArguments(Fault.MALFORMED, fault)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {list: "array", str: "string", int: "number", float: "number"}.get(type(value), "null")


def _excerpt(text: str) -> str:
    return clean_text(text if len(text) <= EXCERPT_CHARS else text[:EXCERPT_CHARS] + "…")
