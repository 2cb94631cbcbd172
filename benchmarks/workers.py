"""The process under test: our worker and the bare one, alike but for their task queues.

`python -m benchmarks.workers [BODY_FILE]`; without the file only ours. Settings come from the environment, as for
`python -m worker`.
"""

import json
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from temporalio.client import Client
from temporalio.worker import Worker

from benchmarks.app import app
from benchmarks.bare import BARE_TASK_QUEUE, BareActivities, BareWorkflow
from benchmarks.processes import announce_and_wait
from worker.build import FAILURES, HEARTBEAT_THROTTLE, running_worker
from worker.connect import connect
from worker.event_loop import run
from worker.settings import Settings, load_settings


async def work(body: dict[str, Any] | None) -> None:
    """Run the workers until the process is told to stop."""
    settings, client = load_settings(), await connect()
    assert settings.openai_api_key is not None
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running_worker(client, app, settings))
        if body is not None:
            key = settings.openai_api_key.get_secret_value()
            model = AsyncOpenAI(api_key=key, base_url=settings.openai_base_url, max_retries=0)
            await stack.enter_async_context(model)
            await stack.enter_async_context(_bare_worker(client, settings, BareActivities(model, body)))
        await announce_and_wait("")


def _bare_worker(client: Client, settings: Settings, activities: BareActivities) -> Worker:
    return Worker(
        client,
        task_queue=BARE_TASK_QUEUE,
        workflows=[BareWorkflow],
        activities=[activities.bare_call_model, activities.bare_post_turn],
        max_cached_workflows=settings.max_cached_workflows,
        max_concurrent_activities=settings.max_concurrent_activities,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_grace),
        max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        workflow_failure_exception_types=list(FAILURES),
        disable_payload_error_limit=True,
    )


if __name__ == "__main__":
    run(work(json.loads(Path(sys.argv[1]).read_text()) if len(sys.argv) > 1 else None))
