"""One streamed exchange with the provider: its text as it comes, then the body that an unstreamed answer would have.

A server that answers with something else (a whole completion, a page of a proxy) is understood as if nobody had asked for a
stream. An answer is whole when the model said why it stopped, or the server that it is done; else it was cut.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx2
from openai import AsyncOpenAI

from activities.provider_call import (
    EXCERPT_CHARS,
    MAX_BODY_BYTES,
    answer_of,
    check_length,
    decoded,
    lowered,
    provider_faults,
)
from activities.provider_errors import ProviderFault
from activities.streaming_assembly import Assembly
from activities.streaming_events import DONE, EventDecoder, LineTooLongError, looks_like_events

# A token comes in some two hundred bytes of frame.
MAX_STREAM_BYTES = 64 * 1024 * 1024
# After the model has stopped only usage and the end are to come; some servers send neither and keep the connection.
AFTER_FINISH_SECONDS = 5.0

OnText = Callable[[str], None]


async def stream_chat(client: AsyncOpenAI, request: Mapping[str, Any], seconds: float, on_text: OnText) -> Any:
    """The body of an answer, its text given to `on_text` piece by piece. It has `seconds` for the whole exchange.

    Raises:
        ProviderFault: as `post_chat`; also for an answer that reports an error in the middle, or that ends before its end.
    """
    assembly = Assembly()
    with provider_faults(seconds):
        async with asyncio.timeout(seconds), answer_of(client, request, seconds) as response:
            pieces = response.aiter_bytes()
            beginning = await _beginning(pieces)
            if not looks_like_events(beginning):
                return decoded(await _rest(beginning, pieces), lowered(response.headers))
            is_done = await _read(assembly, beginning, pieces, on_text)
    if not is_done and not assembly.finished:
        raise ProviderFault("the provider's answer ended in the middle", code="incomplete")
    return assembly.body()


async def _read(assembly: Assembly, beginning: bytes, pieces: AsyncIterator[bytes], on_text: OnText) -> bool:
    """Take events until the stream ends; whether it said so itself."""
    decoder, length, piece = EventDecoder(), 0, beginning
    while piece:
        length += len(piece)
        check_length(length, MAX_STREAM_BYTES)
        if _take(assembly, _events(decoder, piece), on_text):
            return True
        piece = await _next(pieces, assembly)
    return _take(assembly, decoder.end(), on_text)


def _events(decoder: EventDecoder, piece: bytes) -> list[str]:
    try:
        return decoder.feed(piece)
    except LineTooLongError:
        check_length(MAX_BODY_BYTES + 1, MAX_BODY_BYTES)
        raise


def _take(assembly: Assembly, events: list[str], on_text: OnText) -> bool:
    """Add events; whether the last of them was the end."""
    for data in events:
        if data.strip() == DONE:
            return True
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise ProviderFault(
                f"the stream has an event that is not JSON: {data[:EXCERPT_CHARS]}", code="not_json"
            ) from None
        text = assembly.take(chunk)
        check_length(assembly.length, MAX_BODY_BYTES)
        if text:
            on_text(text)
    return False


async def _next(pieces: AsyncIterator[bytes], assembly: Assembly) -> bytes:
    """The next piece; empty at the end, which is what comes when a finished answer gets no better end."""
    if not assembly.finished:
        return await anext(pieces, b"")
    try:
        async with asyncio.timeout(AFTER_FINISH_SECONDS):
            return await anext(pieces, b"")
    except (TimeoutError, httpx2.HTTPError):
        return b""


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """Enough of the body to see what it is."""
    beginning = b""
    while len(beginning.strip()) < len("event:") and (piece := await anext(pieces, b"")):
        beginning += piece
        check_length(len(beginning), MAX_BODY_BYTES)
    return beginning


async def _rest(beginning: bytes, pieces: AsyncIterator[bytes]) -> bytes:
    body = bytearray(beginning)
    async for piece in pieces:
        body += piece
        check_length(len(body), MAX_BODY_BYTES)
    return bytes(body)
