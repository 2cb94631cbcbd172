"""Reading parts of a document that nobody has checked: each accessor returns what was asked for, or says what is wrong."""

from collections.abc import Mapping
from typing import Any

MAX_DESCRIPTION_CHARS = 1_024


class Unfit(Exception):
    """A part of a document that cannot be used. The message is one sentence, and ends up as the reason of an exclusion."""


def as_object(value: Any, what: str) -> dict[str, Any]:
    """The value as an object; null counts as an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unfit(f"{what} is not an object")
    return value


def object_at(node: Mapping[str, Any], key: str) -> dict[str, Any]:
    return as_object(node.get(key), f"`{key}`")


def list_at(node: Mapping[str, Any], key: str) -> list[Any]:
    value = node.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unfit(f"`{key}` is not a list")
    return value


def text_at(node: Mapping[str, Any], key: str) -> str:
    """The text under a key, "" when there is none; numbers are written out, as in `version: 1.0`."""
    value = node.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def texts_at(node: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts in a list, whatever else stands in it."""
    value = node.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def shortened(text: str, limit: int = MAX_DESCRIPTION_CHARS) -> str:
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
