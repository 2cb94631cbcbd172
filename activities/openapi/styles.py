"""Values of parameters as the text that stands in a path, a query, a header or a cookie.

The rules are those of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1#style-values), which take RFC 6570 for most of the
work. Nulls inside lists and objects are left out, as there. What no style can write (an object inside a list) is written as
JSON. A value that the receiver could not tell apart from another is refused, never sent.
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from activities.openapi.faults import Unwritable

# Reserved characters that neither end a value nor are read as another character in a query.
QUERY_RESERVED = ":/?@!$'()*,;="
SEGMENT_RESERVED = ":@!$'()*,;="
DELIMITERS = {"spaceDelimited": (" ", "%20"), "pipeDelimited": ("|", "%7C"), "tabDelimited": ("\t", "%09")}
EXACT_INTEGERS = 2**53

Encode = Callable[[str], str]
Pair = tuple[str, str]


def escape(text: str, safe: str = "") -> str:
    """Percent-encoded UTF-8; letters, digits and `-._~` stay, and so do the characters of `safe`."""
    return quote(text, safe=safe, errors="replace")


def scalar(value: Any) -> str:
    """One value as text: true, false, numbers without a needless fraction, text as it is, anything else as JSON."""
    match value:
        case str():
            return value
        case bool() | None | list() | dict():
            return json_text(value)
        case float() if value.is_integer() and abs(value) < EXACT_INTEGERS:
            # For JSON 7.0 is an integer; a server that reads text may think otherwise.
            return str(int(value))
    return json_text(value)


def json_text(value: Any, ascii_only: bool = False) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False)


def members(value: list[Any] | dict[str, Any]) -> list[str]:
    """The items of a list, or keys and values of an object in turn, as text."""
    if isinstance(value, dict):
        return [text for pair in fields(value) for text in pair]
    return [scalar(item) for item in value if item is not None]


def fields(value: dict[str, Any]) -> list[Pair]:
    """Keys and values of an object, as text."""
    return [(key, scalar(item)) for key, item in value.items() if item is not None]


def form_pairs(name: str, value: Any, style: str, explode: bool, encode: Encode, encode_name: Encode) -> list[Pair]:
    """Names and values of a query, a cookie or a form, encoded. An empty list or object has none.

    Raises:
        Unwritable: an item has the character that would separate it from the next.
    """
    if style == "deepObject" and isinstance(value, dict | list):
        return [(encode_name(key), encode(text)) for key, text in _deep_pairs(name, value)]
    if not isinstance(value, dict | list):
        return [(encode_name(name), encode(scalar(value)))]
    if explode and isinstance(value, dict):
        return [(encode_name(key), encode(text)) for key, text in fields(value)]
    texts = members(value)
    if explode:
        return [(encode_name(name), encode(text)) for text in texts]
    return [(encode_name(name), _joined(texts, style, encode))] if texts else []


def path_text(name: str, value: Any, style: str, explode: bool, encode: Encode) -> str:
    """The text that takes the place of `{name}` in a path."""
    if style == "matrix":
        return _matrix_text(name, value, explode, encode)
    lead, separator = (".", ".") if style == "label" else ("", ",")
    if not isinstance(value, dict | list):
        return lead + encode(scalar(value))
    if isinstance(value, dict) and explode:
        return lead + separator.join(f"{encode(key)}={encode(text)}" for key, text in fields(value))
    return lead + (separator if explode else ",").join(encode(text) for text in members(value))


def header_text(value: Any, explode: bool) -> str:
    """The value of a header. Headers are not percent-encoded.

    Raises:
        Unwritable: an item has a comma, or a key also an equals sign, so that it could not be told from two.
    """
    if not isinstance(value, dict | list):
        return scalar(value)
    if any("," in text for text in members(value)):
        raise Unwritable("items without a comma, which separates them in a header")
    if isinstance(value, dict) and explode:
        if any("=" in key for key in value):
            raise Unwritable("keys without an equals sign")
        return ",".join(f"{key}={text}" for key, text in fields(value))
    return ",".join(members(value))


def _joined(texts: list[str], style: str, encode: Encode) -> str:
    plain, delimiter = DELIMITERS.get(style, (",", ","))
    # An encoded comma is still not a separator; these are the same as the separator itself once they are encoded.
    if style in DELIMITERS and any(plain in text for text in texts):
        raise Unwritable(f"items without {plain!r}, which separates them")
    if encode(",") == "," and any("," in text for text in texts) and plain == ",":
        raise Unwritable("items without a comma, which separates them")
    return delimiter.join(encode(text) for text in texts)


def _deep_pairs(name: str, value: Any) -> list[Pair]:
    """`name[key]` with each value, nested as deep as the values are; a list of plain values repeats its name."""
    pairs: list[Pair] = []
    pending: list[tuple[str, Any]] = [(name, value)]
    while pending:
        at, item = pending.pop()
        match item:
            case None:
                pass
            case dict():
                pending.extend((f"{at}[{key}]", child) for key, child in reversed(item.items()))
            case list() if at == name or any(isinstance(child, dict | list) for child in item):
                pending.extend((f"{at}[{place}]", child) for place, child in reversed(list(enumerate(item))))
            case list():
                pairs.extend((at, scalar(child)) for child in item if child is not None)
            case _:
                pairs.append((at, scalar(item)))
    return pairs


def _matrix_text(name: str, value: Any, explode: bool, encode: Encode) -> str:
    def pair(key: str, text: str) -> str:
        return f";{encode(key)}={text}" if text else f";{encode(key)}"

    if not isinstance(value, dict | list):
        return pair(name, encode(scalar(value)))
    if isinstance(value, dict) and explode:
        return "".join(pair(key, encode(text)) for key, text in fields(value))
    texts = [encode(text) for text in members(value)]
    if explode:
        return "".join(pair(name, text) for text in texts)
    return pair(name, ",".join(texts)) if texts else ""
