"""The end of a worker: it drains, and is given up when the SDK does not come to an end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from temporalio.worker import Worker

# What the SDK needs beside the grace of the activities: to tell their ends, to close its polls.
SDK_SECONDS = 30.0


class NotDrained(Exception):
    """The SDK did not come to an end. A workflow task that it took for deadlocked keeps it from that for ever."""


@asynccontextmanager
async def draining(
    worker: AbstractAsyncContextManager[Worker], grace: float, sdk_seconds: float = SDK_SECONDS
) -> AsyncIterator[Worker]:
    """The worker polls while the block runs, and drains at its end: seconds of `grace` for activities, some more for the SDK.

    Raises:
        NotDrained: it did not end in this time. Threads of it may live on, so the process should end.
    """
    try:
        async with asyncio.timeout(None) as limit, worker as running:
            try:
                yield running
            finally:
                limit.reschedule(asyncio.get_running_loop().time() + grace + sdk_seconds)
    except TimeoutError as late:
        if not limit.expired():
            raise
        raise NotDrained(f"the worker did not drain within {grace + sdk_seconds:g} s") from late
