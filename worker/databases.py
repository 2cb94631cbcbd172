"""Whether the workers of a task queue share one database.

Workers with databases of their own would each know a part of every conversation, and no turn could tell. So each names its
database when it asks the server for work, process@host#database, and says so when it meets another.
"""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.client import Client
from temporalio.service import RPCError

from worker.pollers import FRESH, age, pollers

DATABASE_CHARS = 12

logger = logging.getLogger(__name__)


def worker_identity(process: str, database: str) -> str:
    """What a worker is called at the server: `process` is process@host, `database` the id of its database."""
    return f"{process}#{database[:DATABASE_CHARS]}"


def with_other_databases(identity: str, found: Iterable[PollerInfo], now: datetime) -> list[str]:
    """The workers among the pollers that asked for work a short while ago and have another database than this one."""
    own = identity.partition("#")[2]
    fresh = (poller.identity for poller in found if age(poller, now) <= FRESH)
    return sorted(each for each in fresh if each.partition("#")[2] not in ("", own))


async def warn_of_other_databases(client: Client, task_queue: str, identity: str) -> None:
    """Look once who else polls the queue."""
    try:
        others = with_other_databases(identity, await pollers(client, task_queue), datetime.now(UTC))
    except RPCError as fault:
        logger.warning("whether other workers share this database is not known: %s", fault.message)
        return
    if others:
        logger.warning(
            "workers of task queue %s have another database than this one (%s): %s. Conversations will seem to lose turns; "
            "give all of them one TURNHOLD_DATABASE_URL, or a queue each",
            task_queue,
            identity,
            ", ".join(others),
        )
