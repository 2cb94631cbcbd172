"""The probe of a container: it believes the server, not the process."""

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.taskqueue.v1 import PollerInfo

from tests.support import Harness, until
from worker.dev_server import free_port
from worker.health import polls_from
from worker.pollers import FRESH

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


def poller(identity: str, age: timedelta) -> PollerInfo:
    """A worker that asked for work that long ago."""
    asked = Timestamp()
    asked.FromDatetime(NOW - age)
    return PollerInfo(identity=identity, last_access_time=asked)


@pytest.mark.parametrize(
    ("identity", "age", "healthy"),
    [
        ("7@web-1", timedelta(seconds=55), True),
        ("7@web-1#8c1f", timedelta(0), True),
        ("7@web-2#8c1f", timedelta(0), False),
        ("7@web-1", FRESH, True),
        ("7@web-1", FRESH + timedelta(seconds=1), False),
        ("7@web-2", timedelta(0), False),
        ("7@my-web-1", timedelta(0), False),
        ("web-1", timedelta(0), False),
    ],
)
def test_it_counts_only_a_worker_of_this_host_that_asked_lately(identity: str, age: timedelta, healthy: bool) -> None:
    """Another host's worker, or one that has been silent for long, makes nobody healthy."""
    assert polls_from("web-1", [poller(identity, age)], NOW) is healthy
    assert polls_from("web-1", [], NOW) is False


async def test_it_fails_until_a_worker_of_the_configured_queue_runs(harness: Harness) -> None:
    """The message says which queue is not polled."""
    code, printed = await probe(harness.server.address, harness.task_queue)
    assert (code, harness.task_queue in printed) == (1, True)

    await harness.work()

    async def is_healthy() -> bool:
        return await probe(harness.server.address, harness.task_queue) == (0, "")

    await until(is_healthy)
    assert (await probe(harness.server.address, f"{harness.task_queue}-other"))[0] == 1


async def test_it_fails_with_a_reason_when_no_server_answers() -> None:
    """A probe never hangs: it ends within the time a container runtime gives it."""
    async with asyncio.timeout(15):
        code, printed = await probe(f"127.0.0.1:{free_port()}", "anything")
    assert (code, "TEMPORAL_ADDRESS" in printed) == (1, True)


async def probe(address: str, task_queue: str) -> tuple[int | None, str]:
    """Run the probe as a container runtime does; its exit code, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "worker.health",
        env={**os.environ, "TEMPORAL_ADDRESS": address, "TURNHOLD_TASK_QUEUE": task_queue},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()
