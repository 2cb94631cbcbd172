"""What a server answered, as the value a model reads. By the content type it really has: no answer is an exception here."""

import base64
import codecs
import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from activities.json_values import clean_text
from activities.openapi.bodies import essence, is_json
from activities.openapi.payloads import BINARY

GZIP = frozenset({"gzip", "x-gzip"})
# Secrets that the server gives out. A model has no use for them, and a history is no place for them.
UNSHOWN_HEADERS = frozenset({"set-cookie", "set-cookie2"})
MAX_BINARY_BYTES = 32_000
MAX_PARTIAL_CHARS = 100_000
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
_TEXT = re.compile(
    r"text/.*|application/(xml|javascript|x-www-form-urlencoded|yaml|x-yaml|x-ndjson|jsonl)|[^;]+\+(xml|yaml)"
)


@dataclass(frozen=True, slots=True)
class RawResponse:
    """An answer as it came. `headers` keep their order and repeat where the server repeated them; `body` is decompressed.

    `is_whole` is false where `body` is only the beginning, because the rest was over the limit.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_whole: bool = True

    def header(self, name: str) -> str | None:
        """The first header of that name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer: names of `headers` in lower case, `set-cookie` a list of whole values, `body` any JSON or text."""

    status: int
    headers: dict[str, str | list[str]]
    body: Any

    def shown(self) -> dict[str, Any]:
        """The value of the call, which the model reads and a history keeps: without cookies."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in UNSHOWN_HEADERS}
        return {"status": self.status, "headers": headers, "body": self.body}


def read_response(raw: RawResponse) -> HttpResponse:
    """The answer with its body read. An empty body is null, text stays text, JSON that is none is text."""
    return HttpResponse(raw.status, _joined(raw.headers), _body(raw))


def _joined(headers: tuple[tuple[str, str], ...]) -> dict[str, str | list[str]]:
    joined: dict[str, str | list[str]] = {}
    for name, value in headers:
        key, text = name.lower(), clean_text(value)
        known = joined.get(key)
        if key in UNSHOWN_HEADERS:
            joined[key] = [*(known or ()), text]
        else:
            joined[key] = text if known is None else f"{known}, {text}"
    return joined


def _body(raw: RawResponse) -> Any:
    if not raw.body:
        return None
    content_type = raw.header("content-type") or ""
    kind = essence(content_type)
    packed = (raw.header("content-encoding") or "identity").strip().lower()
    if packed != "identity" and packed not in GZIP:
        return _binary(raw.body, f"{kind or BINARY} ({clean_text(packed)[:40]})")
    if not raw.is_whole:
        return _beginning(raw, content_type)
    if not kind:
        return _unlabelled(raw.body)
    if is_json(kind):
        return _json(_text(raw.body, content_type))
    if _TEXT.fullmatch(kind):
        return _text(raw.body, content_type)
    return _binary(raw.body, kind)


def _unlabelled(body: bytes) -> Any:
    try:
        return _json(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return _binary(body, BINARY)


def _json(text: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _text(body: bytes, content_type: str) -> str:
    named = _CHARSET.search(content_type)
    try:
        charset = codecs.lookup(named[1] if named else "utf-8").name
        text = body.decode("utf-8-sig" if charset == "utf-8" else charset, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8-sig", "replace")
    return clean_text(text)


def _binary(body: bytes, kind: str) -> dict[str, Any]:
    told: dict[str, Any] = {"mediaType": kind, "bytes": len(body)}
    if len(body) <= MAX_BINARY_BYTES:
        return {**told, "base64": base64.b64encode(body).decode()}
    return {**told, "note": "not shown: binary and too large"}


def _beginning(raw: RawResponse, content_type: str) -> Any:
    kind = essence(content_type)
    told = f"more than {len(raw.body):,}" if raw.header("content-length") is None else raw.header("content-length")
    if kind and not (is_json(kind) or _TEXT.fullmatch(kind)):
        return {"mediaType": kind, "bytes": told, "note": "not shown: binary and too large"}
    text = _text(raw.body, content_type)[:MAX_PARTIAL_CHARS]
    return f"{text}\n[cut: the first {len(text):,} characters of {told} bytes are shown]"
