"""The bytes of a request body, and the content type that says what they are."""

import hashlib
from typing import Any
from urllib.parse import quote_plus

import httpx

from activities.openapi.bodies import essence, is_json
from activities.openapi.faults import Unwritable
from activities.openapi.files import MEDIA_TYPE, read_file
from activities.openapi.operation import Body, Encoding
from activities.openapi.styles import QUERY_RESERVED, Pair, form_pairs, json_text, scalar
from activities.openapi.versions import FORM, JSON, MULTIPART

BINARY = "application/octet-stream"
PLAIN_ENCODING = Encoding()

# The way httpx takes a part: field name, then file name, content, media type.
_Part = tuple[str, tuple[str | None, bytes, str | None]]


def unwritable_body(body: Body) -> str | None:
    """Why no request can be made with such a body; None when one can."""
    kind = essence(body.media_type)
    if "" in body.binary or is_json(kind) or kind in (FORM, MULTIPART) or kind.startswith("text/"):
        return None
    # Any type can be sent by someone who writes it out as text.
    return None if body.schema.get("type") == "string" else f"values cannot be written as {kind}"


def write_body(body: Body, value: Any) -> tuple[str, bytes]:
    """Content type and bytes of a body whose names are those of the wire.

    Raises:
        Unwritable: the value cannot be written as this media type.
    """
    kind = essence(body.media_type)
    if "" in body.binary:
        file = read_file(value)
        return (file.media_type or BINARY) if "*" in kind else body.media_type, file.content
    if is_json(kind):
        return JSON if "*" in kind else body.media_type, json_text(value).encode("utf-8", "replace")
    if kind == FORM:
        return FORM, _urlencoded(body, value)
    if kind == MULTIPART:
        return _multipart(body, value)
    return _text_type(body.media_type), scalar(value).encode("utf-8", "replace")


def _text_type(media_type: str) -> str:
    # The text is sent as UTF-8 whatever the document wrote there.
    if essence(media_type).startswith("text/"):
        return f"{essence(media_type)}; charset=utf-8"
    return media_type


def _urlencoded(body: Body, value: Any) -> bytes:
    pairs: list[Pair] = []
    for name, item in _properties(value):
        encoding = body.encodings.get(name, PLAIN_ENCODING)
        safe = QUERY_RESERVED if encoding.allow_reserved else ""
        pairs += _form_fields(name, item, encoding, lambda text, safe=safe: quote_plus(text, safe, errors="replace"))
    return "&".join(f"{name}={text}" for name, text in pairs).encode()


def _form_fields(name: str, value: Any, encoding: Encoding, encode: Any) -> list[Pair]:
    """Names and values of one property; without a style an object is JSON and a list repeats its name."""
    style, explode = encoding.style, encoding.explode
    if style is not None or explode is not None:
        style = style or "form"
        return form_pairs(name, value, style, style == "form" if explode is None else explode, encode, encode)
    if encoding.content_type is not None and is_json(essence(encoding.content_type)):
        return [(encode(name), encode(json_text(value)))]
    items = value if isinstance(value, list) else [value]
    return [(encode(name), encode(scalar(item))) for item in items if item is not None]


def _multipart(body: Body, value: Any) -> tuple[str, bytes]:
    parts = [part for name, item in _properties(value) for part in _parts(body, name, item)]
    # Made of the content, so that the same arguments give the same bytes on every attempt.
    digest = hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()
    content_type = f"{MULTIPART}; boundary={digest}"
    if not parts:
        return content_type, f"--{digest}--\r\n".encode()
    request = httpx.Request("POST", "http://form", files=parts, headers={"content-type": content_type})
    return content_type, request.read()


def _parts(body: Body, name: str, value: Any) -> list[_Part]:
    encoding = body.encodings.get(name, PLAIN_ENCODING)
    if name in body.binary:
        return [_file_part(name, item, encoding) for item in _items(value)]
    if encoding.style is not None or encoding.explode is not None:
        pairs = _form_fields(name, value, encoding, str)
        return [(field, (None, text.encode("utf-8", "replace"), None)) for field, text in pairs]
    return [_value_part(name, item, encoding) for item in _items(value)]


def _file_part(name: str, value: Any, encoding: Encoding) -> _Part:
    file = read_file(value)
    return name, (file.name, file.content, file.media_type or _concrete_type(encoding) or BINARY)


def _value_part(name: str, value: Any, encoding: Encoding) -> _Part:
    is_tree = isinstance(value, dict | list)
    media_type = _concrete_type(encoding, prefers_json=is_tree) or (JSON if is_tree else None)
    text = json_text(value) if media_type is not None and is_json(essence(media_type)) else scalar(value)
    return name, (None, text.encode("utf-8", "replace"), media_type)


def _concrete_type(encoding: Encoding, *, prefers_json: bool = False) -> str | None:
    """The first media type of an encoding that a part can be labelled with."""
    named = (each.strip() for each in (encoding.content_type or "").split(","))
    concrete = [each for each in named if "*" not in each and MEDIA_TYPE.fullmatch(each)]
    if prefers_json:
        concrete.sort(key=lambda each: not is_json(essence(each)))
    return concrete[0] if concrete else None


def _properties(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise Unwritable("an object, whose members are the fields of a form")
    return [(name, item) for name, item in value.items() if item is not None]


def _items(value: Any) -> list[Any]:
    return [item for item in value if item is not None] if isinstance(value, list) else [value]
