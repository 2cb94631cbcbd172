"""A server and the session with it, which is opened when it is needed, kept, and opened again after it died.

A session that dies leaves its calls without an answer. Whether they were carried out is known in two cases only: the call
never left, or making it again does no harm. In both it is made once more, in a new session. Any other outcome is unknown.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult, Tool
from pydantic import ValidationError

from activities.controllers.mcp.session import McpSession, McpUnavailable, Transport, reason_of

MAX_PAGES = 100
MAX_TOOLS = 2_000
# What the library says of a session that the server no longer knows: it answered, so it did not run the call.
_TERMINATED = "Session terminated"

logger = logging.getLogger(__name__)


class McpOutcomeUnknown(Exception):
    """The session ended inside a call that may have been carried out."""


class McpConnection:
    """A server. `transport` makes what a session goes through, `patience` in seconds bounds opening one.

    Calls may come from any event loop; they are carried to the one on which this was made.
    """

    def __init__(self, transport: Callable[[], Transport], patience: float) -> None:
        self._transport = transport
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._opening = asyncio.Lock()
        self._session: McpSession | None = None

    async def list_tools(self) -> list[Tool]:
        """Every tool of the server, at most `MAX_TOOLS`.

        Raises:
            McpUnavailable: no session could be opened, or the server does not answer in time.
        """
        try:
            async with asyncio.timeout(self._patience):
                client = (await self._live()).client
                tools: list[Tool] = []
                cursor = None
                for _ in range(MAX_PAGES):
                    page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                    tools += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(tools) >= MAX_TOOLS:
                        break
                return tools[:MAX_TOOLS]
        except TimeoutError:
            raise McpUnavailable(f"it did not list its tools within {self._patience:g} seconds") from None
        except MCPError as fault:
            raise McpUnavailable(f"it did not list its tools: {fault}") from None
        except ValidationError as fault:
            raise McpUnavailable(f"its list of tools has {fault.error_count()} faults and cannot be read") from None

    async def call(self, name: str, arguments: dict[str, Any], *, repeatable: bool) -> CallToolResult:
        """The result of one tool. Cancelling the call tells the server.

        Raises:
            McpUnavailable: nothing was run.
            McpOutcomeUnknown: the session ended and the call may not be made twice.
            MCPError: the server refused the call.
            ValidationError, RuntimeError: the answer breaks the protocol, or the tool's own schema of it.
        """
        if asyncio.get_running_loop() is self._loop:
            return await self._call(name, arguments, repeatable)
        made = asyncio.run_coroutine_threadsafe(self._call(name, arguments, repeatable), self._loop)
        return await asyncio.wrap_future(made)

    async def close(self) -> None:
        """End the session, if there is one."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _call(self, name: str, arguments: dict[str, Any], repeatable: bool) -> CallToolResult:
        try:
            return await self._try(name, arguments, repeatable)
        except _Lost as lost:
            logger.info("a session with an MCP server ended (%s); it is opened again", lost.reason)
        try:
            return await self._try(name, arguments, repeatable)
        except _Lost as lost:
            raise McpOutcomeUnknown(f"the connection to the server ended twice: {lost.reason}") from None

    async def _try(self, name: str, arguments: dict[str, Any], repeatable: bool) -> CallToolResult:
        session = await self._live()
        session.calls += 1
        try:
            return await session.client.call_tool(name, arguments)
        except MCPError as fault:
            if fault.code != CONNECTION_CLOSED and fault.message != _TERMINATED:
                raise
            await session.close()
            if repeatable or fault.message == _TERMINATED or session.never_sent:
                raise _Lost(reason_of(session.failure or fault)) from None
            raise McpOutcomeUnknown(
                "the connection to the server ended during the call; what it does may or may not have happened"
            ) from None
        finally:
            session.calls -= 1

    async def _live(self) -> McpSession:
        async with self._opening:
            if self._session is None or not self._session.is_open:
                self._session = await McpSession.opened(self._transport, self._patience)
            return self._session


class _Lost(Exception):
    """The session ended, and the call may be made again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
