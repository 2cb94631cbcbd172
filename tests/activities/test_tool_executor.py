"""Tools run beside the worker's loop, within their time, and their failures stay theirs."""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from activities import side_loop
from activities.tool import Tool, ToolContext, tool
from activities.tool_executor import ToolExecutor, ToolRaisedError, ToolTimedOutError

CONTEXT = ToolContext("t", "c", "u", None, "p", "abc123xyz", "t:abc123xyz", 1)


@pytest.fixture
def executor() -> Iterator[ToolExecutor]:
    made = ToolExecutor(threads=2, max_output_chars=1_000)
    yield made
    made.close()


def made_of(function: Callable[..., Any], timeout: str = "PT5S") -> Tool:
    return tool(name="t", timeout=timeout)(function)


async def run(executor: ToolExecutor, function: Callable[..., Any], within: str = "PT5S") -> Any:
    made = made_of(function, within)
    return await executor.run(made, made.bind({}), CONTEXT)


async def ticks_during(work: Any) -> tuple[float, Any]:
    """The longest time this loop was not served while `work` ran, in seconds, and what came of it."""
    longest, last, task = 0.0, time.monotonic(), asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest, task.result()


def blocking() -> str:
    time.sleep(0.6)
    return "done"


async def blocking_async() -> str:
    time.sleep(0.6)  # noqa: ASYNC251 - the tool under test is a bad one
    return "done"


@pytest.mark.parametrize("function", [blocking, blocking_async])
async def test_blocking_tool_does_not_block_the_worker(executor: ToolExecutor, function: Callable[..., Any]) -> None:
    longest, output = await ticks_during(run(executor, function))
    assert output == "done"
    assert longest < 0.4


async def test_async_tools_share_one_loop_so_their_clients_can_be_shared(executor: ToolExecutor) -> None:
    async def which() -> int:
        return id(asyncio.get_running_loop())

    first, second = await run(executor, which), await run(executor, which)
    assert first == second != id(asyncio.get_running_loop())


async def test_blocked_loop_is_left_behind(executor: ToolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_loop, "LOOP_PATIENCE", 0.1)
    release = threading.Event()

    async def stuck() -> None:
        release.wait(20)

    async def fine() -> str:
        await asyncio.sleep(0)
        return "fine"

    with pytest.raises(ToolTimedOutError) as late:
        await run(executor, stuck, "PT0.1S")
    assert late.value.started
    assert await run(executor, fine) == "fine"
    release.set()


async def test_async_tool_is_cancelled_at_its_timeout(executor: ToolExecutor) -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(ToolTimedOutError) as late:
        await run(executor, slow, "PT0.1S")
    assert late.value.started
    assert await asyncio.to_thread(cancelled.wait, 5)


async def test_sync_tool_is_left_at_its_timeout(executor: ToolExecutor) -> None:
    release = threading.Event()
    with pytest.raises(ToolTimedOutError) as late:
        await run(executor, lambda: release.wait(20), "PT0.1S")
    assert late.value.started
    release.set()


async def test_call_that_found_no_free_thread_says_it_did_not_start(executor: ToolExecutor) -> None:
    release, effects = threading.Event(), []
    held = [asyncio.create_task(run(executor, lambda: release.wait(20))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(ToolTimedOutError) as late:
        await run(executor, lambda: effects.append("ran"), "PT0.2S")
    assert not late.value.started
    release.set()
    assert await asyncio.gather(*held) == [True, True]
    assert await run(executor, lambda: "next") == "next"
    assert effects == []


async def test_cancelling_the_caller_cancels_an_async_tool(executor: ToolExecutor) -> None:
    started, cancelled = threading.Event(), threading.Event()

    async def slow() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    task = asyncio.create_task(run(executor, slow))
    assert await asyncio.to_thread(started.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(cancelled.wait, 5)


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)


async def raises_cancelled() -> None:
    raise asyncio.CancelledError


async def exits() -> None:
    sys.exit(3)


async def stops() -> None:
    raise StopAsyncIteration


def stops_iteration() -> None:
    raise StopIteration


def times_out() -> None:
    raise TimeoutError("the shop did not answer")


def unprintable() -> Any:
    class Broken:
        def __str__(self) -> str:
            raise OSError("gone")

    return [Broken()]


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (cancels_itself, asyncio.CancelledError),
        (raises_cancelled, asyncio.CancelledError),
        (exits, SystemExit),
        (sys.exit, SystemExit),
        (stops, (StopAsyncIteration, RuntimeError)),
        (stops_iteration, StopIteration),
        (times_out, TimeoutError),
        (unprintable, OSError),
    ],
)
async def test_whatever_a_tool_raises_is_its_own_failure(
    executor: ToolExecutor, function: Callable[..., Any], error: Any
) -> None:
    made = Tool("t", "", {}, lambda _: lambda _: function(), is_async=asyncio.iscoroutinefunction(function))
    with pytest.raises(ToolRaisedError) as raised:
        await executor.run(made, made.bind({}), CONTEXT)
    assert isinstance(raised.value.error, error)

    async def after() -> int:
        return 1

    assert await run(executor, after) == 1


async def test_sync_function_that_returns_an_awaitable_is_awaited(executor: ToolExecutor) -> None:
    async def later() -> str:
        return "later"

    assert await run(executor, lambda: later()) == "later"


async def test_generators_are_read_to_the_cap_and_closed(executor: ToolExecutor) -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        while True:
            yield 1

    async def async_endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "x" * 400
        finally:
            closed.set()

    async def three() -> AsyncIterator[int]:
        for n in range(3):
            yield n

    assert await run(executor, three) == [0, 1, 2]
    for function in (endless, async_endless):
        cut = await run(executor, function)
        assert len(cut) < 1_100
        assert "of more than" in cut
    assert closed.is_set()


async def test_generator_that_fails_in_the_middle_is_a_failure(executor: ToolExecutor) -> None:
    def half() -> Iterator[int]:
        yield 1
        raise ValueError("page 2")

    with pytest.raises(ToolRaisedError) as raised:
        await run(executor, half)
    assert str(raised.value.error) == "page 2"


async def test_many_async_tools_run_at_once(executor: ToolExecutor) -> None:
    async def nap() -> int:
        await asyncio.sleep(0.2)
        return 1

    started = time.monotonic()
    assert sum(await asyncio.gather(*(run(executor, nap) for _ in range(100)))) == 100
    assert time.monotonic() - started < 5
