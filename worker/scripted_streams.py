"""How the scripted model streams: a completion in pieces as the OpenAI API sends them, or any pieces a test wants to send."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from starlette.types import Send

from worker.scripted_responses import Request, Response

# What may stand in a script of pieces: an event's JSON, raw bytes or text, seconds to wait, or what to wait for.
Piece = Mapping[str, Any] | bytes | str | float | asyncio.Event
DONE = "data: [DONE]\n\n"
ARGUMENT_CHARS = 8
_TOKEN = re.compile(r"\s*\S+|\s+")


def pieces(*script: Piece, cut: bool = False, hangs: bool = False) -> Response:
    """An event stream of these pieces. Afterwards it ends, breaks off (`cut`) or is silent (`hangs`)."""
    encoded = tuple(_encoded(piece) for piece in script)
    return Response(headers={"content-type": "text/event-stream"}, pieces=encoded, cut=cut, hangs=hangs)


def streamed(response: Response, request: Request, pace: float = 0.0) -> Response:
    """The answer as a stream of tokens, `pace` seconds apart, when it is a completion; anything else as it is.

    One that is `cut` breaks off after half of its events.
    """
    body = _completion_in(response)
    if body is None:
        return response
    options = request.get("stream_options")
    wants_usage = isinstance(options, dict) and options.get("include_usage") is True
    events = list(_events(body, wants_usage=wants_usage))
    script: list[Piece] = [part for event in events for part in ((pace, event) if pace else (event,))]
    whole = pieces(*script[: len(script) // 2], cut=True) if response.cut else pieces(*script, DONE)
    return replace(whole, delay=response.delay, hangs=response.hangs)


async def send_pieces(send: Send, response: Response) -> None:
    """Send the pieces of a stream. Its end is the caller's: nothing is left to be sent, or the connection breaks."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    for piece in response.pieces:
        match piece:
            case bytes():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            case asyncio.Event():
                await piece.wait()
            case seconds:
                await asyncio.sleep(seconds)


def _events(body: Mapping[str, Any], *, wants_usage: bool) -> Iterable[dict[str, Any]]:
    frame = {"id": body.get("id"), "object": "chat.completion.chunk", "created": body.get("created")}
    frame |= {"model": body.get("model")} | ({"usage": None} if wants_usage else {})
    choice = body["choices"][0]
    message = dict(choice["message"])
    content, calls = message.pop("content", None), message.pop("tool_calls", None)
    yield {**frame, "choices": [_choice({"content": "" if content is not None else None, **message})]}
    parts = _TOKEN.findall(content) if isinstance(content, str) else [content] if content else []
    for part in parts:
        yield {**frame, "choices": [_choice({"content": part})]}
    for delta in _call_deltas(calls or ()):
        yield {**frame, "choices": [_choice({"tool_calls": [delta]})]}
    yield {**frame, "choices": [_choice({}, choice.get("finish_reason"))]}
    if wants_usage and body.get("usage") is not None:
        yield {**frame, "choices": [], "usage": body["usage"]}


def _call_deltas(calls: Iterable[Any]) -> Iterable[Any]:
    for index, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(arguments, str):
            yield {"index": index, **call} if isinstance(call, dict) else call
            continue
        yield {"index": index, **call, "function": {**function, "arguments": ""}}
        for start in range(0, len(arguments), ARGUMENT_CHARS):
            yield {"index": index, "function": {"arguments": arguments[start : start + ARGUMENT_CHARS]}}


def _choice(delta: dict[str, Any], finish: Any = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _completion_in(response: Response) -> dict[str, Any] | None:
    """The completion that an answer holds; None when it is something else."""
    if response.status != 200 or response.pieces:
        return None
    try:
        body = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return body if isinstance(first, dict) and isinstance(first.get("message"), dict) else None


def _encoded(piece: Piece) -> bytes | float | asyncio.Event:
    if isinstance(piece, Mapping):
        return f"data: {json.dumps(piece)}\n\n".encode()
    return piece.encode() if isinstance(piece, str) else piece
