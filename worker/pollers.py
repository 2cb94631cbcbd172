"""Who asks a task queue for work, as the Temporal server remembers it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

# A worker asks anew at least once a minute; the server remembers one that has gone for five.
FRESH = timedelta(seconds=90)
ASK = timedelta(seconds=4)


async def pollers(client: Client, task_queue: str) -> Sequence[PollerInfo]:
    """Those who asked for workflow tasks during the last minutes, gone ones included."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    return (await client.workflow_service.describe_task_queue(request, timeout=ASK)).pollers


def age(poller: PollerInfo, now: datetime) -> timedelta:
    """How long ago it asked."""
    return now - poller.last_access_time.ToDatetime(UTC)


async def has_worker(client: Client, task_queue: str) -> bool:
    """Whether somebody asked the queue for work a short while ago."""
    now = datetime.now(UTC)
    return any(age(poller, now) <= FRESH for poller in await pollers(client, task_queue))
