import asyncio
import dataclasses
from datetime import timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.heartbeat import heartbeat_interval, heartbeats


@pytest.mark.parametrize(("timeout", "interval"), [(None, 1.0), (30.0, 1.0), (1.5, 0.5)])
def test_the_interval_is_a_second_or_a_third_of_a_shorter_timeout(timeout: float | None, interval: float) -> None:
    assert heartbeat_interval(None if timeout is None else timedelta(seconds=timeout)) == interval


async def test_it_beats_at_once_and_again_until_the_block_ends() -> None:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, heartbeat_timeout=timedelta(seconds=0.03))
    beats = 0
    enough = asyncio.Event()

    def beat(*_: object) -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            enough.set()

    async def work() -> None:
        async with heartbeats():
            await asyncio.wait_for(enough.wait(), 5)

    environment.on_heartbeat = beat
    await environment.run(work)
    after = beats
    await asyncio.sleep(0.05)
    assert beats == after


async def test_outside_an_activity_nothing_beats() -> None:
    before = asyncio.all_tasks()
    async with heartbeats():
        assert asyncio.all_tasks() == before
