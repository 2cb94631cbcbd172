"""A worker that is killed while a turn of an instance waits for its host."""

import asyncio

from tests.support import Harness, external
from tests.worker.gmi.instances import instance
from worker.demo_script import Saying


async def test_a_killed_worker_costs_neither_the_pause_nor_the_messages_that_wait(harness: Harness) -> None:
    process = harness.work_apart()
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
