"""One session with an MCP server, from its handshake to its end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, MCPError

CLOSE_PATIENCE = 5.0
MAX_REASON_CHARS = 300
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)

# A transport of the library: a context that gives a stream to read and one to write.
Transport = AbstractAsyncContextManager[Any]


class McpUnavailable(Exception):
    """There is no session with the server, so nothing was run; the message says why."""


class McpSession:
    """A session and the task that holds it, since the library's contexts must be left by the task that entered them.

    `calls` counts those that wait for an answer; `failure` is what ended the session; `never_sent` says that the one call it
    had did not reach the server.
    """

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self.calls = 0
        self.failure: BaseException | None = None
        self.never_sent = False
        self._end = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(transport), name="mcp-session")

    @classmethod
    async def opened(cls, transport: Callable[[], Transport], patience: float) -> "McpSession":
        """A session that calls can be made in.

        Raises:
            McpUnavailable: the server refused, ended, or did not answer within `patience` seconds.
        """
        session = cls(transport)
        try:
            async with asyncio.timeout(patience):
                await asyncio.shield(session._client)
        except TimeoutError:
            raise McpUnavailable(f"it did not answer within {patience:g} seconds") from None
        finally:
            if not session.is_open:
                session._task.cancel()
        return session

    @property
    def client(self) -> Client:
        """The library's client of this session."""
        return self._client.result()

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._client.done() and not self._end.is_set()

    async def close(self) -> None:
        """End the session. Takes `CLOSE_PATIENCE` seconds at most, whatever the server does."""
        self._end.set()
        _, late = await asyncio.wait((self._task,), timeout=CLOSE_PATIENCE)
        if late:
            self._task.cancel()

    async def _hold(self, transport: Callable[[], Transport]) -> None:
        try:
            async with Client(_watched(transport(), self._end)) as client:
                self._client.set_result(client)
                await self._end.wait()
        except (Exception, asyncio.CancelledError) as fault:
            self.failure = fault
            # A call that cannot connect ends the session for all. Which one it was is certain only where it was alone.
            self.never_sent = self.calls <= 1 and isinstance(_leaf(fault), _NEVER_SENT)
            if not self._client.done():
                self._client.set_exception(McpUnavailable(reason_of(fault)))
                # Looked at once, because nobody may be waiting any more.
                self._client.exception()
        finally:
            self._end.set()


def reason_of(fault: BaseException) -> str:
    """Why a session failed, in a line, from what the library raises: often groups within groups."""
    leaf = _leaf(fault)
    said = leaf.message if isinstance(leaf, MCPError) else str(leaf)
    line = " ".join(said.split()) or type(leaf).__name__
    return line[:MAX_REASON_CHARS]


def _leaf(fault: BaseException) -> BaseException:
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault


@asynccontextmanager
async def _watched(transport: Transport, end: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """The transport, which says when its server has nothing more to send: the library itself keeps that to itself."""
    async with transport as (read, write):
        yield _WatchedStream(read, end), write


class _WatchedStream:
    """A stream that sets an event when it ends; everything else is the stream's own."""

    def __init__(self, stream: Any, end: asyncio.Event) -> None:
        self._stream = stream
        self._end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> "_WatchedStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._end.set()
            raise

    async def __aenter__(self) -> "_WatchedStream":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._stream.__aexit__(*raised)
