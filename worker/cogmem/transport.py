"""The two ways to carry a story out: in this thread, or awaited. Authentication, limits and logging stand here."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx

from worker.cogmem.call import BASE_PATH, Call, Method, Query
from worker.cogmem.config import CognitiveMemoryConfig
from worker.cogmem.exchange import Answer, Pause, Run, Send, Step, Story, exchange

T = TypeVar("T")

MAX_ANSWER_BYTES = 64 * 1024 * 1024
logger = logging.getLogger(__name__)


class HttpClient:
    """Calls the service from this thread; threads may share it."""

    def __init__(self, config: CognitiveMemoryConfig, transport: httpx.BaseTransport | None = None) -> None:
        self.config = config
        self._http = httpx.Client(transport=transport, timeout=config.timeout / 1_000)

    def send(self, call: Call[T]) -> T:
        """The result of one call, after as many tries as it takes and the configuration allows."""
        return self.perform(exchange(call, self.config.retry))

    def perform(self, story: Story[T]) -> T:
        """The result of a story."""
        try:
            step = next(story)
            while True:
                try:
                    value = self._do(step)
                except Exception as error:
                    step = story.throw(error)
                else:
                    step = story.send(value)
        except StopIteration as told:
            result: T = told.value
            return result

    def request(self, method: Method, path: str, *, query: Query | None = None, body: Any = None) -> Any:
        """The decoded answer to a call that has no method of its own; `path` follows `/api/v1`. Only a GET is tried again."""
        return self.send(_plain_call(method, path, query, body))

    def close(self) -> None:
        """Close the connections. The client cannot be used after it."""
        self._http.close()

    def _do(self, step: Step) -> Any:
        match step:
            case Call():
                return self.send(step)
            case Send():
                return self._fetch(step)
            case Pause():
                return time.sleep(step.seconds)
            case Run():
                return _must_be_ready(step.function())

    def _fetch(self, step: Send[Any]) -> Answer:
        tried = _Try(self.config, step)
        response = self._http.send(tried.request(self._http), stream=True)
        try:
            for chunk in response.iter_bytes():
                tried.take(chunk)
        except httpx.DecodingError:
            tried.spoil()
        finally:
            response.close()
        return tried.answer(response)


class AsyncHttpClient:
    """Calls the service from an event loop; tasks of that loop may share it."""

    def __init__(self, config: CognitiveMemoryConfig, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.config = config
        self._http = httpx.AsyncClient(transport=transport, timeout=config.timeout / 1_000)

    def send(self, call: Call[T]) -> Coroutine[Any, Any, T]:
        """The result of one call, after as many tries as it takes and the configuration allows."""
        return self.perform(exchange(call, self.config.retry))

    async def perform(self, story: Story[T]) -> T:
        """The result of a story."""
        try:
            step = next(story)
            while True:
                try:
                    value = await self._do(step)
                except Exception as error:
                    step = story.throw(error)
                else:
                    step = story.send(value)
        except StopIteration as told:
            result: T = told.value
            return result

    async def request(self, method: Method, path: str, *, query: Query | None = None, body: Any = None) -> Any:
        """The decoded answer to a call that has no method of its own; `path` follows `/api/v1`. Only a GET is tried again."""
        return await self.send(_plain_call(method, path, query, body))

    async def aclose(self) -> None:
        """Close the connections. The client cannot be used after it."""
        await self._http.aclose()

    async def _do(self, step: Step) -> Any:
        match step:
            case Call():
                return await self.send(step)
            case Send():
                return await self._fetch(step)
            case Pause():
                return await asyncio.sleep(step.seconds)
            case Run():
                value = step.function()
                return await value if inspect.isawaitable(value) else value

    async def _fetch(self, step: Send[Any]) -> Answer:
        tried = _Try(self.config, step)
        response = await self._http.send(tried.request(self._http), stream=True)
        try:
            async for chunk in response.aiter_bytes():
                tried.take(chunk)
        except httpx.DecodingError:
            tried.spoil()
        finally:
            await response.aclose()
        return tried.answer(response)


class _Try:
    """One try: what is sent, and what has come back so far."""

    def __init__(self, config: CognitiveMemoryConfig, step: Send[Any]) -> None:
        self._config = config
        self._call = step.call
        self._headers = step.headers
        self._body = bytearray()
        self._deadline = time.monotonic() + config.timeout / 1_000

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request as it goes out. ASCII only: JSON that is escaped survives halves of surrogate pairs."""
        headers = httpx.Headers(dict(self._config.headers))
        headers.update({"accept": "application/json", **self._headers})
        if self._call.needs_key:
            headers["authorization"] = f"Bearer {self._config.api_key}"
        content = None
        if self._call.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(self._call.body, allow_nan=False).encode()
        url = f"{self._config.url}{BASE_PATH}{self._call.path}"
        request = http.build_request(
            self._call.method, url, params=self._call.query or None, headers=headers, content=content
        )
        self._log("%s %s", request.method, request.url)
        return request

    def take(self, chunk: bytes) -> None:
        """One more piece of the body.

        Raises:
            httpx.DecodingError: the body has no end.
            httpx.ReadTimeout: it takes too long.
        """
        self._body += chunk
        if len(self._body) > MAX_ANSWER_BYTES:
            raise httpx.DecodingError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
        if time.monotonic() > self._deadline:
            raise httpx.ReadTimeout(f"the answer was not complete after {self._config.timeout:g} ms")

    def spoil(self) -> None:
        """The body cannot be had. There is an answer nevertheless, and its status counts."""
        self._body.clear()

    def answer(self, response: httpx.Response) -> Answer:
        """What came back. An error in which something in between repeats the key loses it: errors are shown and logged."""
        self._log("%s %s: %s", self._call.method, response.url, response.status_code)
        text = self._body.decode("utf-8", "replace")
        if not response.is_success and self._call.needs_key:
            text = text.replace(self._config.api_key, "[key]")
        return Answer(response.status_code, response.headers, text)

    def _log(self, message: str, *values: object) -> None:
        if self._config.debug:
            logger.info(message, *values)


def _plain_call(method: Method, path: str, query: Query | None, body: Any) -> Call[Any]:
    if not path.startswith("/"):
        raise ValueError(f"a path begins with a slash, as /keys does; got {path!r}")
    # Not every route of the service keeps its answers for a second try: that of new keys must not, for one.
    return Call(method, path, _as_it_is, query or {}, body, repeatable=method == "GET")


def _as_it_is(decoded: Any) -> Any:
    return decoded


def _must_be_ready(value: T) -> T:
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("a function for Cogmem must not be async; use AsyncCogmem for those that are")
    return value
