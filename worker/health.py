"""`python -m worker.health`: whether a worker on this host gets work, as the Temporal server sees it. For container probes.

A process may be up and yet cut off from its server, its namespace or its task queue. The server knows who asked it for work, and
when; a worker names itself process@host#database.
"""

import asyncio
import socket
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.service import RPCError

from worker.connect import CannotConnect, connect
from worker.exits import leave
from worker.pollers import FRESH, age, pollers
from worker.settings import SettingsInvalid, load_settings


def main() -> None:
    """End the process: with 0 when a worker of this host gets work, else with 1 and the reason on standard error."""
    try:
        trouble = asyncio.run(_diagnose())
    except (SettingsInvalid, CannotConnect) as fault:
        trouble = str(fault)
    except RPCError as fault:
        trouble = f"Temporal answers {fault.status.name}: {fault.message}"
    if trouble:
        print(trouble, file=sys.stderr)
    leave(1 if trouble else 0)


def polls_from(host: str, found: Iterable[PollerInfo], now: datetime) -> bool:
    """Whether one of the pollers is a worker on the host that asked for work a short while ago."""
    return any(_host(poller.identity) == host and age(poller, now) <= FRESH for poller in found)


def _host(identity: str) -> str:
    return identity.partition("@")[2].partition("#")[0]


async def _diagnose() -> str | None:
    task_queue, host = load_settings().task_queue, socket.gethostname()
    client = await connect()
    if polls_from(host, await pollers(client, task_queue), datetime.now(UTC)):
        return None
    return f"no worker on {host} polls the task queue {task_queue!r} of namespace {client.namespace!r}"


if __name__ == "__main__":
    main()
