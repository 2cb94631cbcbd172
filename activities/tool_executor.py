"""Where tools run: never on the worker's own event loop, which has heartbeats to send.

Sync tools run in threads. Async tools share one event loop in a thread of its own, so that a client they keep between calls
stays on one loop. A tool that blocks that loop holds up the async tools already on it, and nothing else: a loop that does
not answer is left behind with them, and later calls get a new one.

What nothing can do is to stop a thread. A sync tool that overruns its timeout, or whose turn is cancelled, goes on unobserved
and keeps its thread until it ends; calls that find no free thread say that they did not start.
"""

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Never

from activities.daemon_threads import DaemonThreads
from activities.outputs import MAX_OUTPUT_CHARS, json_text, tool_output
from activities.presenting import Origin, present
from activities.side_loop import SideLoop
from activities.tool import BoundCall, Tool, ToolContext

CLEANERS = 4

logger = logging.getLogger(__name__)


class ToolRaisedError(Exception):
    """The tool, or the value it returned, raised `error`."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class ToolTimedOutError(Exception):
    """The run took longer than the tool may. `started` is false when no part of the tool ran."""

    def __init__(self, started: bool) -> None:
        super().__init__()
        self.started = started


@dataclass(frozen=True, slots=True)
class _Raised:
    """An exception carried as a value: some of them may not pass through a future, and some would end a loop."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class _Output:
    """A value that is already clean."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Made:
    """What an async tool made; `is_whole` is false where it could have made more."""

    value: Any
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a tool."""

    call: BoundCall
    context: ToolContext
    tool: str
    limit: int
    started: threading.Event = field(default_factory=threading.Event)

    def make(self) -> Any:
        self.started.set()
        return self.call(self.context)

    @property
    def origin(self) -> Origin:
        return Origin(self.context.turn_id, self.context.call_id, self.tool)


class ToolExecutor:
    """Runs tools. `threads` bounds the sync ones that run at once, `max_output_chars` the text of each output."""

    def __init__(self, *, threads: int = 32, max_output_chars: int = MAX_OUTPUT_CHARS) -> None:
        self._threads = DaemonThreads("turnhold-tool", threads)
        self._cleaners = DaemonThreads("turnhold-tool-output", CLEANERS)
        self._max_output_chars = max_output_chars
        self._loop = SideLoop("tool")

    async def run(self, tool: Tool, call: BoundCall, context: ToolContext) -> Any:
        """The tool's clean output; `Presented` where it has parts for the user.

        Raises:
            ToolRaisedError: the tool raised, or its value cannot be written as JSON.
            ToolTimedOutError: `tool.timeout` passed.
            asyncio.CancelledError: the caller was cancelled; an async tool is cancelled with it.
        """
        run = _Run(call, context, tool.name, self._max_output_chars)
        try:
            async with asyncio.timeout(tool.timeout):
                return await self._output(tool, run)
        except TimeoutError:
            if run.started.is_set() and not tool.is_async:
                logger.warning("tool %s overran its timeout and goes on in its thread", tool.name)
            raise ToolTimedOutError(run.started.is_set()) from None

    def close(self) -> None:
        """Stop the loop of the async tools. Only when nothing runs any more."""
        self._loop.close()

    async def _output(self, tool: Tool, run: _Run) -> Any:
        make: Callable[[], Any] = run.make
        if not tool.is_async:
            value = await _result(self._threads.submit(_run_sync, run))
            if isinstance(value, _Output):
                return value.value
            make = _always(value)
        loop = await self._loop.responsive()
        made = await _result(asyncio.run_coroutine_threadsafe(_run_async(make, run.limit), loop))
        return await _result(
            self._cleaners.submit(_contained, present, made.value, run.origin, run.limit, made.is_whole)
        )


async def _result(future: Future[Any]) -> Any:
    """The value of work done elsewhere; cancelling the wait cancels the work where that is possible."""
    try:
        value = await asyncio.wrap_future(future)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled the caller: the tool cancelled itself.
        raise ToolRaisedError(error) from None
    if isinstance(value, _Raised):
        raise ToolRaisedError(value.error)
    return value


def _run_sync(run: _Run) -> Any:
    """Call and clean in one thread: reading a generator runs the tool's code. An awaitable is handed back as it is."""
    value = _contained(run.make)
    if isinstance(value, _Raised) or inspect.isawaitable(value) or inspect.isasyncgen(value):
        return value
    output = _contained(present, value, run.origin, run.limit)
    return output if isinstance(output, _Raised) else _Output(output)


async def _run_async(make: Callable[[], Any], limit: int) -> Any:
    try:
        value = make()
        return await _collected(value, limit) if inspect.isasyncgen(value) else _Made(await value)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return _Raised(error)


async def _collected(items: AsyncGenerator[object, Never], limit: int) -> _Made:
    collected: list[Any] = []
    length = 0
    async with aclosing(items):
        async for item in items:
            # Cleaned one by one, because a generator without an end may make large items too.
            collected.append(tool_output(item, limit))
            length += len(json_text(collected[-1])) + 1
            if length > limit:
                return _Made(collected, is_whole=False)
    return _Made(collected)


def _contained(work: Callable[..., Any], *args: Any) -> Any:
    try:
        return work(*args)
    except BaseException as error:
        return _Raised(error)


def _always(value: Awaitable[Any]) -> Callable[[], Awaitable[Any]]:
    return lambda: value
