"""The clients of the memory service."""

from __future__ import annotations

from typing import Final, Generic, Self, TypeVar, Unpack

import httpx

from memory_engine import Health
from worker.cogmem import calls
from worker.cogmem.config import DEFAULT_TIMEOUT, CognitiveMemoryConfig, ConfigFields
from worker.cogmem.exchange import Story
from worker.cogmem.resources import (
    C,
    ContextResource,
    MemoriesResource,
    RecallResource,
    SelfModelResource,
    StatsResource,
    TensionsResource,
    TurnsResource,
)
from worker.cogmem.transport import AsyncHttpClient, HttpClient

T = TypeVar("T")


class _Client(Generic[C]):
    """The resources, on one way of sending."""

    def __init__(self, http: C) -> None:
        self.http: Final = http
        self.base_url: Final = http.config.url
        self.memories: Final = MemoriesResource(http)
        self.context: Final = ContextResource(http)
        self.recall: Final = RecallResource(http)
        self.turns: Final = TurnsResource(http)
        self.tensions: Final = TensionsResource(http)
        self.self_model: Final = SelfModelResource(http)
        self.stats: Final = StatsResource(http)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class Cogmem(_Client[HttpClient]):
    """The memory service as this key sees it: `Cogmem(api_key="cmi_…")`. Threads may share one.

    Close it, or use it in a `with` block. Every call may raise `CognitiveMemoryError` for what the service answered, and
    `httpx.TransportError` where no answer came.

    Args:
        config: The configuration; its fields may stand here as keywords instead.
        transport: Takes the place of the network.

    Raises:
        ValueError: the key is blank, or another field cannot be used.
    """

    def __init__(
        self,
        config: CognitiveMemoryConfig | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        **fields: Unpack[ConfigFields],
    ) -> None:
        super().__init__(HttpClient(_config(config, fields), transport))

    def health(self) -> Health:
        """Whether the service is up, and what it could not use of its settings. The key is not sent."""
        return self.http.send(calls.get_health())

    def perform(self, story: Story[T]) -> T:
        """Carry out a story of several calls."""
        return self.http.perform(story)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncCogmem(_Client[AsyncHttpClient]):
    """`Cogmem` for an event loop: the same calls, awaited. Close it with `aclose()`, or use it in an `async with` block."""

    def __init__(
        self,
        config: CognitiveMemoryConfig | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        **fields: Unpack[ConfigFields],
    ) -> None:
        super().__init__(AsyncHttpClient(_config(config, fields), transport))

    async def health(self) -> Health:
        """Whether the service is up, and what it could not use of its settings. The key is not sent."""
        return await self.http.send(calls.get_health())

    async def perform(self, story: Story[T]) -> T:
        """Carry out a story of several calls."""
        return await self.http.perform(story)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def create_client(config: CognitiveMemoryConfig, transport: httpx.BaseTransport | None = None) -> Cogmem:
    """A client, for those who would rather call a function."""
    return Cogmem(config, transport=transport)


def create_http_client(config: CognitiveMemoryConfig, transport: httpx.BaseTransport | None = None) -> HttpClient:
    """What carries calls out, alone: `request("GET", "/keys")` for what has no method of its own."""
    return HttpClient(_config(config, {}), transport)


def fetch_health(
    base_url: str | None = None,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    transport: httpx.BaseTransport | None = None,
) -> Health:
    """Whether the service there is up. One try, without a key, as a readiness probe wants it; `timeout` in milliseconds."""
    # A configuration has a key always; a call that needs none does not send it.
    config = CognitiveMemoryConfig(api_key="unsent", base_url=base_url, timeout=timeout, retry=0)
    with Cogmem(config, transport=transport) as memory:
        return memory.health()


def _config(config: CognitiveMemoryConfig | None, fields: ConfigFields) -> CognitiveMemoryConfig:
    if config is None:
        return CognitiveMemoryConfig(**fields)
    if not isinstance(config, CognitiveMemoryConfig):
        raise TypeError("config must be a CognitiveMemoryConfig; its fields are keywords, as in Cogmem(api_key=…)")
    if fields:
        raise TypeError(f"{', '.join(fields)} must stand inside the configuration that was given")
    return config
