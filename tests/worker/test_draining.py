"""A worker that the SDK does not let end is given up, and nothing else is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from worker.draining import NotDrained, draining


class Stuck(Exception):
    """What the block raised."""


def polling(end: asyncio.Event) -> AbstractAsyncContextManager[Any]:
    """A worker that ends when it is let."""

    @asynccontextmanager
    async def context() -> AsyncIterator[str]:
        try:
            yield "worker"
        finally:
            await end.wait()

    return context()


async def test_one_that_drains_in_time_is_waited_for() -> None:
    end = asyncio.Event()
    async with draining(polling(end), 5) as worker:
        asyncio.get_running_loop().call_later(0.05, end.set)
    assert str(worker) == "worker"
    assert end.is_set()


async def test_one_that_never_ends_is_given_up() -> None:
    async with asyncio.timeout(10):
        with pytest.raises(NotDrained, match=r"did not drain within 0\.1 s"):
            async with draining(polling(asyncio.Event()), 0.05, 0.05):
                pass


async def test_one_that_never_ends_is_given_up_after_a_fault_too() -> None:
    async with asyncio.timeout(10):
        with pytest.raises(NotDrained) as late:
            async with draining(polling(asyncio.Event()), 0.05, 0.05):
                raise Stuck
    assert isinstance(late.value.__cause__, TimeoutError)


@pytest.mark.parametrize("fault", [Stuck, TimeoutError])
async def test_a_fault_of_the_block_passes(fault: type[Exception]) -> None:
    end = asyncio.Event()
    end.set()
    with pytest.raises(fault):
        async with draining(polling(end), 5):
            raise fault


async def test_the_block_may_take_as_long_as_it_likes() -> None:
    end = asyncio.Event()
    end.set()
    over = asyncio.Event()
    async with draining(polling(end), 0.01, 0.01):
        asyncio.get_running_loop().call_later(0.2, over.set)
        await over.wait()
    assert over.is_set(), "the time for draining does not begin before the block has ended"
