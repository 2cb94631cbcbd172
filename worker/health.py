"""`python -m worker.health`: whether a worker on this host gets work, as the Temporal server sees it. For container probes.

A process may be up and yet cut off from its server, its namespace or its task queue. The server knows who asked it for work, and
when; a worker names itself process@host.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from worker.connect import CannotConnect, connect
from worker.settings import SettingsInvalid, load_settings

# A worker asks anew at least once a minute; the server remembers one that has gone for five.
FRESH = timedelta(seconds=90)
ASK = timedelta(seconds=4)


def main() -> None:
    """End the process: with 0 when a worker of this host gets work, else with 1 and the reason on standard error."""
    try:
        trouble = asyncio.run(_diagnose())
    except (SettingsInvalid, CannotConnect) as fault:
        trouble = str(fault)
    except RPCError as fault:
        trouble = f"Temporal answers {fault.status.name}: {fault.message}"
    if trouble:
        sys.stderr.write(f"{trouble}\n")
        sys.stderr.flush()
    # The client's threads outlive it, and about one time in twenty they abort an interpreter that ends in the ordinary way:
    # https://github.com/temporalio/sdk-python/issues/300. A probe must not fail by chance.
    os._exit(1 if trouble else 0)


def polls_from(host: str, pollers: Iterable[PollerInfo], now: datetime) -> bool:
    """Whether one of the pollers is a worker on the host that asked for work a short while ago."""
    return any(
        poller.identity.partition("@")[2] == host and now - poller.last_access_time.ToDatetime(UTC) <= FRESH
        for poller in pollers
    )


async def _diagnose() -> str | None:
    task_queue, host = load_settings().task_queue, socket.gethostname()
    client = await connect()
    if polls_from(host, await _pollers(client, task_queue), datetime.now(UTC)):
        return None
    return f"no worker on {host} polls the task queue {task_queue!r} of namespace {client.namespace!r}"


async def _pollers(client: Client, task_queue: str) -> Iterable[PollerInfo]:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    return (await client.workflow_service.describe_task_queue(request, timeout=ASK)).pollers


if __name__ == "__main__":
    main()
