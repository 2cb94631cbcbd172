"""Seeing each request to the model and its answer, and when the worker has done something.

The phase of a request is known where its activity runs, the request itself where the client sends it: a context variable
carries the one to the other. Nothing that is seen here can be changed.
"""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from openai import AsyncOpenAI
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.contracts import ModelRequest
from activities.selection import ChoiceRequest
from worker.nestia.events import Source


@dataclass(frozen=True, slots=True)
class _Asking:
    source: Source
    turn_id: str


_asking: ContextVar[_Asking | None] = ContextVar("nestia_asking", default=None)


@dataclass(slots=True)
class Watch:
    """What an agent knows of its worker. `happened` is set after each activity.

    `catch_up` is awaited before a request is told, so that what led to it is told first.
    """

    happened: asyncio.Event = field(default_factory=asyncio.Event)
    catch_up: Callable[[], Awaitable[None]] | None = None


class Ear(Protocol):
    """Who hears of requests and answers."""

    def wants(self, kind: Literal["request", "response"]) -> bool: ...
    def tell(self, kind: Literal["request", "response"], turn_id: str, fields: dict[str, Any]) -> None: ...


class ActivityWatch(Interceptor):
    """Says after each activity of a worker that something happened, and which phase the model is asked in."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 - the SDK's name
        """See the base class."""
        return _WatchedActivity(next, self._watch)


class _WatchedActivity(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, watch: Watch) -> None:  # noqa: A002
        super().__init__(next)
        self._watch = watch

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        """See the base class."""
        token = _asking.set(_asking_of(input.args[0] if input.args else None))
        try:
            return await super().execute_activity(input)
        finally:
            _asking.reset(token)
            self._watch.happened.set()


def _asking_of(request: object) -> _Asking | None:
    match request:
        case ChoiceRequest():
            return _Asking(request.phase, request.turn_id)
        case ModelRequest():
            return _Asking(request.phase or "execute", request.turn_id)
    return None


def observed(client: AsyncOpenAI, ear: Ear, watch: Watch, options: dict[str, Any] | None) -> AsyncOpenAI:
    """The client, with an ear at its requests. `options` are told along."""
    return cast(AsyncOpenAI, _ObservedClient(client, ear, watch, options))


class _ObservedClient:
    """What the activities use of a client."""

    def __init__(self, client: AsyncOpenAI, ear: Ear, watch: Watch, options: dict[str, Any] | None) -> None:
        self._client = client
        self._ear = ear
        self._watch = watch
        self._options = options

    @property
    def api_key(self) -> str:
        return self._client.api_key

    def with_options(self, **options: Any) -> "_ObservedClient":
        return _ObservedClient(self._client.with_options(**options), self._ear, self._watch, self._options)

    async def post(self, path: str, *, body: dict[str, Any], **rest: Any) -> Any:
        asking = _asking.get()
        if asking is None or not (self._ear.wants("request") or self._ear.wants("response")):
            return await self._client.post(path, body=body, **rest)
        if self._watch.catch_up is not None:
            await self._watch.catch_up()
        fields = {"source": asking.source, "body": copy.deepcopy(body), "options": self._options}
        self._ear.tell("request", asking.turn_id, fields)
        response = await self._client.post(path, body=body, **rest)
        return _ObservedResponse(
            response, lambda value: self._ear.tell("response", asking.turn_id, {**fields, **value})
        )


class _ObservedResponse:
    """A response whose body is kept while it is read, and told when it was read to its end."""

    def __init__(self, response: Any, told: Callable[[dict[str, Any]], None]) -> None:
        self._response = response
        self._told = told
        self.headers = response.headers

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._response.aiter_bytes():
            body += chunk
            yield chunk
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = body.decode("utf-8", "replace")
        self._told({"value": value})

    async def aclose(self) -> None:
        await self._response.aclose()
