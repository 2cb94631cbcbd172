"""Reads what a server received back into arguments, by the rules of OpenAPI alone: nothing of ours helps to read it."""

import json
import re
from email import message_from_bytes
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote

from activities.openapi.operation import Body, Operation, Parameter
from tests.activities.recording import Recorded

SPLIT = {"form": ",", "simple": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}


def decoded(operation: Operation, received: Recorded) -> dict[str, Any]:
    """The arguments that a request carries: those of the path at the top, beside query, headers, cookies, body."""
    path, _, query = received.target.partition("?")
    arguments: dict[str, Any] = _path(operation, path)
    pairs = [tuple(pair.split("=", 1)) for pair in query.split("&") if pair]
    cookies = [tuple(pair.split("=", 1)) for pair in (received.header("Cookie") or "").split("; ") if pair]
    groups = {
        "query": {p.key: _from_pairs(p, pairs) for p in operation.parameters if p.where == "query"},
        "cookies": {p.key: _from_pairs(p, cookies) for p in operation.parameters if p.where == "cookie"},
        "headers": {p.key: _header(p, received.header(p.name)) for p in operation.parameters if p.where == "header"},
    }
    for name, group in groups.items():
        given = {key: value for key, value in group.items() if value is not None}
        if given:
            arguments[name] = given
    content_type = received.header("Content-Type")
    if operation.body is not None and content_type is not None:
        arguments["body"] = _body(operation.body, content_type, received.body)
    return arguments


def _path(operation: Operation, path: str) -> dict[str, Any]:
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(operation.path))
    match = re.fullmatch(pattern, path)
    assert match is not None, f"{path} is another endpoint than {operation.path}"
    return {p.key: _path_value(p, match[p.name]) for p in operation.parameters if p.where == "path"}


def _path_value(parameter: Parameter, text: str) -> Any:
    kind = _kind(parameter.schema)
    if parameter.style == "label":
        assert text[0] == "."
        text, separator = text[1:], "." if parameter.explode else ","
    elif parameter.style == "matrix":
        pieces = [piece.partition("=") for piece in text.split(";")[1:]]
        if parameter.explode and kind == "object":
            return {unquote(key): _typed(parameter.schema, unquote(value), unquote(key)) for key, _, value in pieces}
        if parameter.explode and kind == "array":
            return [_typed(parameter.schema, unquote(value)) for _, _, value in pieces]
        assert [unquote(key) for key, _, _ in pieces] == [parameter.name]
        text, separator = pieces[0][2], ","
    else:
        separator = ","
    return _split(parameter, text, separator)


def _split(parameter: Parameter, text: str, separator: str) -> Any:
    kind = _kind(parameter.schema)
    if kind == "array":
        return [_typed(parameter.schema, unquote(piece)) for piece in text.split(separator)]
    if kind == "object":
        pieces = text.split(separator)
        if parameter.explode and parameter.style in ("simple", "label"):
            split = [tuple(piece.split("=", 1)) for piece in pieces]
        else:
            split = list(zip(pieces[::2], pieces[1::2], strict=True))
        return {unquote(key): _typed(parameter.schema, unquote(value), unquote(key)) for key, value in split}
    return _scalar(parameter.schema, unquote(text))


def _from_pairs(parameter: Parameter, pairs: list[Any]) -> Any:
    schema, kind = parameter.schema, _kind(parameter.schema)
    own = [value for name, value in pairs if unquote(name) == parameter.name]
    if parameter.media_type is not None:
        return json.loads(unquote(own[0])) if own else None
    if parameter.style == "deepObject":
        named = re.compile(re.escape(parameter.name) + r"\[(.*)\]", re.DOTALL)
        found = [(named.fullmatch(unquote(name)), value) for name, value in pairs]
        return {m[1]: _typed(schema, unquote(value), m[1]) for m, value in found if m} or None
    if kind == "object" and parameter.explode:
        known = schema["properties"]
        made = {unquote(k): _typed(schema, unquote(v), unquote(k)) for k, v in pairs if unquote(k) in known}
        return made or None
    if not own:
        return None
    if kind == "array" and parameter.explode:
        return [_typed(schema, unquote(value)) for value in own]
    assert len(own) == 1
    return _split(parameter, own[0], SPLIT[parameter.style])


def _header(parameter: Parameter, text: str | None) -> Any:
    if text is None:
        return None
    if parameter.media_type is not None:
        return json.loads(text)
    kind = _kind(parameter.schema)
    if kind == "array":
        return [_typed(parameter.schema, piece) for piece in text.split(",")]
    if kind == "object":
        pieces = text.split(",")
        split = (
            [piece.split("=", 1) for piece in pieces]
            if parameter.explode
            else zip(pieces[::2], pieces[1::2], strict=True)
        )
        return {key: _typed(parameter.schema, value, key) for key, value in split}
    return _scalar(parameter.schema, text)


def _body(body: Body, content_type: str, content: bytes) -> Any:
    kind = content_type.partition(";")[0]
    if kind.endswith("json"):
        return json.loads(content)
    if kind == "application/x-www-form-urlencoded":
        return _form(body, parse_qsl(content.decode("ascii"), keep_blank_values=True, strict_parsing=bool(content)))
    if kind == "multipart/form-data":
        return _multipart(body, content_type, content)
    return content.decode("utf-8")


def _multipart(body: Body, content_type: str, content: bytes) -> dict[str, Any]:
    whole = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + content, policy=HTTP)
    pairs: list[tuple[str, Any]] = []
    for part in whole.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        payload: Any = part.get_payload(decode=True)
        if part.get_filename() is not None:
            pairs.append(
                (name, {"filename": part.get_filename(), "mediaType": part.get_content_type(), "content": payload})
            )
        else:
            pairs.append((name, payload.decode("utf-8")))
    return _form(body, pairs)


def _form(body: Body, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        schema = body.schema["properties"][name]
        if _kind(schema) == "array":
            made.setdefault(name, []).append(_typed(schema, value))
        else:
            assert name not in made
            made[name] = json.loads(value) if _kind(schema) == "object" else _scalar(schema, value)
    return made


def _kind(schema: dict[str, Any]) -> str:
    return str(schema.get("type", "string"))


def _typed(schema: dict[str, Any], text: Any, key: str = "") -> Any:
    inner = schema["items"] if _kind(schema) == "array" else schema["properties"][key]
    return _scalar(inner, text)


def _scalar(schema: dict[str, Any], text: Any) -> Any:
    match _kind(schema):
        case "integer":
            return int(text)
        case "number":
            return float(text)
        case "boolean":
            return {"true": True, "false": False}[text]
        case "object":
            return json.loads(text)
    return text
