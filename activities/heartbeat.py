"""Heartbeats in the background of a long activity. Only through them does a cancellation reach it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity

LONGEST_INTERVAL = 1.0


def heartbeat_interval(timeout: timedelta | None) -> float:
    """Seconds between two heartbeats: at most one, and a third of a shorter heartbeat timeout."""
    if timeout is None:
        return LONGEST_INTERVAL
    return min(LONGEST_INTERVAL, timeout.total_seconds() / 3)


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Beat until the block ends. Outside an activity, as in a plain call, it does nothing."""
    if not activity.in_activity():
        yield
        return
    beating = asyncio.create_task(_beat(heartbeat_interval(activity.info().heartbeat_timeout)))
    try:
        yield
    finally:
        beating.cancel()


async def _beat(interval: float) -> None:
    # The first beat is not at once: most activities are over before it, and each beat is a write on the server.
    while True:
        await asyncio.sleep(interval)
        activity.heartbeat()
