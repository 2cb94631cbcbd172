"""What the scripted model puts on the wire: chat completions made of words and calls, and any other HTTP answer."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.types import Receive, Send

from worker.demo_script import Call, Saying

Request = dict[str, Any]
MAX_REQUEST_BYTES = 64 * 1024 * 1024
BYTES_PER_TOKEN = 4
# Nothing the model sends depends on the clock, so that two runs of a test see the same bytes.
CREATED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer, after `delay` seconds. A `cut` one breaks off in mid body; one that `hangs` is never sent.

    With `pieces` it is a stream: what is sent, and between that seconds to pass or events to wait for. There `cut` and `hangs`
    say what follows the last piece.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    hangs: bool = False
    pieces: tuple[bytes | float | asyncio.Event, ...] = ()


class RequestTooLargeError(Exception):
    """A request body over `MAX_REQUEST_BYTES`."""


def respond(status: int, body: Any = None, headers: Mapping[str, str] | None = None, *, delay: float = 0.0) -> Response:
    """An answer with any body: bytes and strings as they are, anything else as JSON."""
    kind = "application/json"
    if isinstance(body, bytes | str):
        encoded = body.encode() if isinstance(body, str) else body
        kind = "text/html" if encoded.lstrip()[:1] == b"<" else kind
    else:
        encoded = b"" if body is None else json.dumps(body).encode()
    return Response(encoded, status, {"content-type": kind, **(headers or {})}, delay)


def refuse(status: int, message: str) -> Response:
    """An error in the form of the OpenAI API."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return respond(status, {"error": error})


def say(request: Request, saying: Saying, fields: Mapping[str, Any] | None = None, *, delay: float = 0.0) -> Response:
    """A chat completion that says this to the request.

    `fields` replace what the body would have: `finish_reason`, `usage` (None leaves it out), `model`; others go into the message.
    """
    message: dict[str, Any] = {"role": "assistant", "content": saying.text}
    if saying.calls:
        message["tool_calls"] = tool_calls(saying.calls)
    return respond(200, completion(request, message, fields or {}), delay=delay)


def completion(request: Request, message: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a completion. Its usage follows from the sizes of request and message."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    said = {
        **message,
        **{name: value for name, value in fields.items() if name not in ("finish_reason", "usage", "model")},
    }
    usage = fields.get("usage", _usage(request, said))
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": CREATED,
        "model": fields.get("model", request.get("model", "scripted")),
        "choices": [{"index": 0, "message": said, "finish_reason": fields.get("finish_reason", finish)}],
        "usage": usage,
    }
    return {name: value for name, value in body.items() if name != "usage" or value is not None}


def tool_calls(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Calls in the form of the API. Arguments that are text are sent as they are, however wrong."""
    return [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": _arguments(arguments)}}
        for place, (name, arguments) in enumerate(calls)
    ]


def halved(response: Response) -> Response:
    """The same answer, whose connection will break in the middle of its body."""
    return replace(response, cut=True)


async def read_body(receive: Receive) -> bytes:
    """The whole body of an ASGI request."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_REQUEST_BYTES:
            raise RequestTooLargeError
    return bytes(body)


async def send_response(send: Send, response: Response) -> None:
    """Send it. Returning in the middle of a promised body makes the server break the connection."""
    headers = {"content-length": str(len(response.body)), **response.headers}
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": encoded})
    if response.cut:
        half = response.body[: len(response.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
    else:
        await send({"type": "http.response.body", "body": response.body})


def _usage(request: Request, message: Mapping[str, Any]) -> dict[str, int]:
    prompt = _tokens(request.get("messages")) + _tokens(request.get("tools", []))
    said = _tokens([message.get("content"), message.get("tool_calls")])
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _tokens(value: Any) -> int:
    return 1 + len(json.dumps(value)) // BYTES_PER_TOKEN


def _arguments(arguments: Any) -> Any:
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments
