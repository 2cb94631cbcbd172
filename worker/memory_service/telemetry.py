"""The outermost layer: bounds the time of a request, counts it, logs it, and answers what nobody else answered."""

import asyncio
import logging
import time
import uuid
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worker.memory_service.answers import refusal
from worker.memory_service.errors import ApiError, api_error, unavailable
from worker.memory_service.logs import log
from worker.memory_service.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class Telemetry:
    """An ASGI layer. Routes are named by their pattern, since a path may hold what somebody remembered."""

    def __init__(self, app: ASGIApp, metrics: Metrics, seconds: float) -> None:
        self._app = app
        self._metrics = metrics
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Answered(send)
        started = time.perf_counter()
        self._metrics.open.inc()
        try:
            async with asyncio.timeout(self._seconds):
                await self._app(scope, receive, request.send)
        except TimeoutError:
            await request.refuse(unavailable("the request took too long"), scope, receive)
        except Exception as fault:
            error = api_error(fault)
            if error.status == 500:
                log("request failed", logging.ERROR, fault=fault, request=request.id)
            await request.refuse(error, scope, receive)
        finally:
            self._metrics.open.dec()
            self._note(scope, request, time.perf_counter() - started)

    def _note(self, scope: Scope, request: "_Answered", seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "unmatched")
        self._metrics.requests.labels(method, route, str(request.status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        caller = getattr(scope.get("state", {}).get("caller"), "id", None)
        facts: dict[str, Any] = {"method": method, "route": route, "status": request.status, "key": caller}
        log("request", request=request.id, ms=round(seconds * 1000, 2), **facts)


class _Answered:
    """What was sent of an answer. 0 is the status of one that nobody was there to read."""

    def __init__(self, send: Send) -> None:
        self.id = uuid.uuid4().hex
        self.status = 0
        self._send = send

    async def send(self, message: Message) -> None:
        """Pass it on, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            given += [header for header in _HEADERS if header[0] not in names]
            message = {**message, "headers": [*given, (b"x-request-id", self.id.encode())]}
        await self._send(message)

    async def refuse(self, error: ApiError, scope: Scope, receive: Receive) -> None:
        """Answer with an error, unless an answer has begun."""
        if self.status == 0:
            await refusal(error)(scope, receive, self.send)
