"""From an operation and its arguments to the request that is sent. Nothing here has effects, and nothing here is secret.

Only what was given is sent: defaults of a document are for its server. A null in a body is a value; elsewhere there is no way
to write one, and an optional argument that is null counts as left out.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from activities.conversation import Arguments
from activities.openapi.bodies import essence, is_json
from activities.openapi.faults import Place, Unwritable, path_of
from activities.openapi.message import HttpRequest, escape_name
from activities.openapi.operation import Operation, Parameter
from activities.openapi.parameters import GROUPS, HEADER_NAME, NOT_PARAMETERS
from activities.openapi.paths import fill_path
from activities.openapi.payloads import write_body
from activities.openapi.styles import (
    QUERY_RESERVED,
    SEGMENT_RESERVED,
    Pair,
    escape,
    form_pairs,
    header_text,
    json_text,
    path_text,
    scalar,
)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# These belong to the connection, to the credentials or to the message; an argument must not reach them.
RESERVED_HEADERS = NOT_PARAMETERS | {"expect", "keep-alive", "proxy-connection"}
HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|")


class ValueUnwritable(Unwritable):
    """An argument that fits its schema and cannot be sent."""

    def __init__(self, place: Place, expected: str, value: Any) -> None:
        super().__init__(expected)
        self.place = place
        self.value = value

    def __str__(self) -> str:
        return f"{path_of(self.place)}: expected {self.expected}"


def without_nulls(operation: Operation, arguments: Arguments) -> Arguments:
    """The arguments without optional ones that are null where nothing can carry a null. A body is not touched."""
    kept = dict(arguments)
    for parameter in operation.parameters:
        if parameter.where == "path" or parameter.required or parameter.media_type is not None:
            continue
        name = GROUPS[parameter.where]
        group = kept.get(name)
        if isinstance(group, dict) and parameter.key in group and group[parameter.key] is None:
            kept[name] = {key: value for key, value in group.items() if key != parameter.key}
    return kept


def build_request(operation: Operation, arguments: Arguments, base_url: str) -> HttpRequest:
    """The request for arguments that fit the operation's schema.

    Raises:
        ValueUnwritable: an argument cannot stand where it belongs.
    """
    given = list(_given(operation, arguments))
    path, _, fixed_query = operation.path.partition("?")
    query = [(name, text) for name, _, text in (pair.partition("=") for pair in fixed_query.split("&") if pair)]
    headers = [("Accept", _accepted(operation))]
    cookies: list[Pair] = []
    for parameter, place, value in given:
        with _placed(place, value):
            match parameter.where:
                case "query":
                    query += _pairs(parameter, value, QUERY_RESERVED)
                case "header":
                    headers += _headers(parameter, value)
                case "cookie":
                    cookies += _pairs(parameter, value, "")
    body = None
    if operation.body is not None and "body" in arguments:
        with _placed(("body",), arguments["body"]):
            content_type, body = write_body(operation.body, _renamed(arguments["body"], operation.body.renamed))
            headers.append(("Content-Type", content_type))
    return HttpRequest(
        method=operation.method,
        address=base_url.rstrip("/") + _path(path, given),
        query=tuple(query),
        headers=tuple(headers),
        cookies=tuple(cookies),
        body=body,
    )


@contextmanager
def _placed(place: Place, value: Any) -> Iterator[None]:
    """Says of which argument an `Unwritable` speaks."""
    try:
        yield
    except ValueUnwritable:
        raise
    except Unwritable as fault:
        raise ValueUnwritable(place, fault.expected, value) from None


def _given(operation: Operation, arguments: Arguments) -> Iterator[tuple[Parameter, Place, Any]]:
    for parameter in operation.parameters:
        group = GROUPS.get(parameter.where)
        source = arguments if group is None else arguments.get(group)
        if isinstance(source, dict) and parameter.key in source:
            place = (parameter.key,) if group is None else (group, parameter.key)
            yield parameter, place, _renamed(source[parameter.key], parameter.renamed)


def _path(template: str, given: list[tuple[Parameter, Place, Any]]) -> str:
    values = {
        parameter.name: (parameter, place, value) for parameter, place, value in given if parameter.where == "path"
    }
    used: list[tuple[Place, Any]] = [((), None)]

    def write(name: str) -> str:
        if name not in values:
            raise ValueUnwritable((name,), "a value: it stands in the path", None)
        parameter, place, value = values[name]
        used.append((place, value))
        with _placed(place, value):
            return _segment_text(parameter, value)

    try:
        return fill_path(template if template.startswith("/") else f"/{template}", write)
    except Unwritable as fault:
        if isinstance(fault, ValueUnwritable):
            raise
        place, value = used[-1]
        raise ValueUnwritable(place, fault.expected, value) from None


def _segment_text(parameter: Parameter, value: Any) -> str:
    def encode(text: str) -> str:
        return escape(text, SEGMENT_RESERVED if parameter.allow_reserved else "")

    if parameter.media_type is not None:
        text = encode(_as_media(parameter.media_type, value))
    elif value is None:
        raise Unwritable("a value, not null")
    else:
        text = path_text(parameter.name, value, parameter.style, parameter.explode, encode)
    if not text:
        raise Unwritable("a value that is not empty, because it stands in a path")
    return text


def _pairs(parameter: Parameter, value: Any, reserved: str) -> list[Pair]:
    def encode(text: str) -> str:
        return escape(text, reserved if parameter.allow_reserved else "")

    name = escape_name(parameter.name)
    if parameter.media_type is not None:
        return [(name, encode(_as_media(parameter.media_type, value)))]
    if value is None:
        raise Unwritable("a value, not null")
    pairs = form_pairs(parameter.name, value, parameter.style, parameter.explode, encode, escape_name)
    return pairs or ([(name, "")] if parameter.required else [])


def _headers(parameter: Parameter, value: Any) -> list[Pair]:
    if parameter.name.lower() in RESERVED_HEADERS or not HEADER_NAME.fullmatch(parameter.name):
        raise Unwritable("nothing: this header is not set by arguments")
    if parameter.media_type is not None:
        text = _as_media(parameter.media_type, value, ascii_only=True)
    elif value is None:
        raise Unwritable("a value, not null")
    else:
        text = header_text(value, parameter.explode)
    if not HEADER_VALUE.fullmatch(text):
        raise Unwritable("printable ASCII on one line, without space at its ends, because it stands in a header")
    return [(parameter.name, text)] if text or isinstance(value, str) or parameter.required else []


def _as_media(media_type: str, value: Any, ascii_only: bool = False) -> str:
    return json_text(value, ascii_only) if is_json(essence(media_type)) else scalar(value)


def _accepted(operation: Operation) -> str:
    return ", ".join(operation.success_types) or "*/*"


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if not names:
        return value
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value
