"""The text of a document to a plain JSON tree, whoever wrote it: JSON or YAML, any size, any trick.

The tree that comes out is a tree: values that YAML aliases share are written out, within a budget, so that nothing later can
be made to walk a small file for ever.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from activities.json_values import MAX_INT_DIGITS, clean_text
from activities.openapi.operation import DocumentInvalid
from activities.openapi.yaml_text import MAX_DEPTH, parse_yaml

MAX_BYTES = 20 * 1024 * 1024
MAX_VALUES = 2_000_000
_TOO_LARGE = 10**MAX_INT_DIGITS
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def load_document(data: bytes | str | Mapping[str, Any]) -> dict[str, Any]:
    """The document as a JSON object with text keys, finite numbers and no shared parts.

    Raises:
        DocumentInvalid: too large, not JSON or YAML, a key twice, or not an object.
    """
    tree = _copied(_parsed(_text(data)) if isinstance(data, bytes | str) else data)
    if not isinstance(tree, dict):
        raise DocumentInvalid("the document is not an OpenAPI document: it is not an object")
    return tree


def _text(data: bytes | str) -> str:
    if len(data) > MAX_BYTES:
        raise DocumentInvalid(f"the document has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentInvalid("the document is not text in UTF-8") from None


def _parsed(text: str) -> Any:
    start = text.lstrip()[:1]
    if start == "<":
        raise DocumentInvalid("the document is a web page or XML, not JSON or YAML")
    if start == "{":
        try:
            return json.loads(text, object_pairs_hook=_once_each)
        except (ValueError, RecursionError) as fault:
            said = fault if isinstance(fault, ValueError) else "it is nested too deeply"
            if isinstance(fault, DocumentInvalid | RecursionError):
                raise DocumentInvalid(f"the document is not JSON: {said}") from None
            return _parsed_yaml(text, f"neither JSON ({said}) nor YAML")
    return _parsed_yaml(text, "not YAML")


def _parsed_yaml(text: str, what: str) -> Any:
    try:
        return parse_yaml(text)
    except ValueError as fault:
        raise DocumentInvalid(f"the document is {what}: {clean_text(str(fault))}") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in made if names.count(key) > 1)
        raise DocumentInvalid(f"the key {clean_text(twice[:80])!r} stands twice in one object")
    return made


def _copied(value: Any) -> Any:
    left = MAX_VALUES

    def copied(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise DocumentInvalid(f"the document has more than {MAX_VALUES:,} values when its aliases are written out")
        if depth > MAX_DEPTH:
            raise DocumentInvalid(f"the document is nested more than {MAX_DEPTH} levels deep")
        match value:
            case str():
                return value if value.isascii() else clean_text(value)
            case Mapping():
                return {clean_text(str(key)): copied(item, depth + 1) for key, item in value.items()}
            case list() | tuple():
                return [copied(item, depth + 1) for item in value]
            case None | bool():
                return value
            case int():
                return value if -_TOO_LARGE < value < _TOO_LARGE else None
            case float():
                return value if math.isfinite(value) else None
        # Values of YAML 1.1 loaders, such as dates, in a document given as an object.
        return clean_text(str(value))

    return copied(value, 0)
