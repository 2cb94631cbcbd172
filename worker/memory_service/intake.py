"""Takes a request's body in, whole, before anything parses it: bounded in bytes and in time."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worker.memory_service.admission import API
from worker.memory_service.errors import request_timeout, too_large, unsupported_media_type

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class Intake:
    """An ASGI layer. `scope["state"]["body"]` has the bytes; a body of the API must be JSON."""

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request with its body.

        Raises:
            ApiError: 408, 413 or 415.
        """
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        if not declared.isascii() or not declared.isdigit() or len(declared) > 15 or int(declared) > self._most:
            raise too_large(self._most)
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._read(receive)
        except TimeoutError:
            raise request_timeout() from None
        if body is None:
            return
        if body and scope["path"].startswith(API) and not _is_json(headers.get("content-type", "")):
            raise unsupported_media_type()
        scope.setdefault("state", {})["body"] = body
        await self._app(scope, _again(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; None when the client went away."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._most:
                raise too_large(self._most)
            if not message.get("more_body", False):
                return bytes(body)


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"


def _again(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
