"""A worker that dies in the middle of a call to an API."""

import asyncio

from activities.errors import TOOL_OUTCOME_UNKNOWN
from tests.activities.recording import Recorded
from tests.support import Harness
from tests.workflows.shop import ADDRESS_VARIABLE, Answer, Shop, ask, let_run, results, said
from worker.app import AgentApp

APP = "tests.workflows.shop_app:app"


async def test_it_sends_a_write_once_though_its_worker_was_killed_after_the_server_had_it(harness: Harness) -> None:
    """The next worker says that the outcome is unknown; a read in the same round is simply made again."""
    has_write, has_read, dead = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def lost(arrived: asyncio.Event) -> Answer:
        async def respond(request: Recorded) -> bytes:
            arrived.set()
            await dead.wait()
            return b""

        return respond

    fine = said("200 OK", {"id": "7"})
    shop = await harness.stack.enter_async_context(
        Shop({"POST /orders": [lost(has_write), fine], "GET /orders/7": [lost(has_read), fine]})
    )
    harness.model.call([("createOrder", {"body": {"article": "lamp"}}), ("readOrder", {"orderId": "7"})])
    process = harness.work_apart(APP, **{ADDRESS_VARIABLE: shop.url})
    turn = await ask(harness)
    await asyncio.wait_for(asyncio.gather(has_write.wait(), has_read.wait()), 60)
    process.kill()
    await asyncio.to_thread(process.wait)
    dead.set()
    await harness.work(AgentApp(controllers=[shop.controller(policy=let_run("createOrder"))]))
    output = await asyncio.wait_for(turn.result(), 90)

    write, read = results(harness)
    assert len(shop.calls("POST")) == 1
    assert TOOL_OUTCOME_UNKNOWN in write
    assert "may or may not have happened" in write
    assert len(shop.calls("GET")) == 2
    assert '"id": "7"' in read
    assert output.response_text == "Done."
