"""A worker that is killed while a turn of an instance waits for its host."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.support import Harness, external
from tests.worker.gmi.instances import instance
from worker.demo_script import Saying

ROOT = Path(__file__).resolve().parents[3]


def start_worker(harness: Harness) -> subprocess.Popen[bytes]:
    """`python -m worker` on the harness's queue and database."""
    settings = harness.settings
    environment = {
        **os.environ,
        "TEMPORAL_ADDRESS": harness.server.address,
        "TEMPORAL_NAMESPACE": "default",
        "TURNHOLD_DATABASE_URL": settings.database_url,
        "TURNHOLD_TASK_QUEUE": harness.task_queue,
        "TURNHOLD_MODEL": settings.model,
        "OPENAI_BASE_URL": harness.model.base_url,
        "OPENAI_API_KEY": "sk-test-key-of-the-tests",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "worker"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        process.kill()
        process.wait()

    harness.stack.callback(end)
    return process


async def test_a_killed_worker_costs_neither_the_pause_nor_the_messages_that_wait(harness: Harness) -> None:
    process = start_worker(harness)
    gmi = instance(harness)
    await gmi.initialize(None, {"externalTools": [external("ask")]})
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("Go")
    process.kill()
    await asyncio.to_thread(process.wait)
    waiting = asyncio.create_task(gmi.process_turn("Next"))
    await harness.work()

    harness.model.script(Saying("First."), Saying("Second."))
    call = (stop.tool_calls or ())[0]
    done = await gmi.handle_tool_result(call.id, "ask", {"type": "success", "result": 1}, "local")

    assert done.response_text == "First."
    assert (await waiting).response_text == "Second."
    assert len(harness.model.requests) == 3
