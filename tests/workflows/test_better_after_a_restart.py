"""What AgentOS loses with its process, and a turn does not: the rows of `docs/agentos.md` that need a worker to go away."""

import asyncio
import sqlite3
from typing import Any

import pytest

from tests.support import Harness, external
from worker.app import AgentApp, tool
from worker.client import TurnClient

RAN: list[str] = []


@tool
def charge(order: str) -> str:
    """Charge the card for an order."""
    RAN.append(order)
    return f"charged {order}"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


def told(harness: Harness) -> list[tuple[str, Any]]:
    """Role and text of the newest request, without the system's."""
    messages = harness.model.requests[-1]["messages"]
    return [(message["role"], message["content"]) for message in messages if message["role"] != "system"]


async def replace_worker(harness: Harness) -> None:
    """Another worker takes over, one that replays at every task."""
    await harness.workers[-1].stop()
    await harness.work(cached=False)


async def test_a_worker_killed_between_an_answer_and_the_reply_costs_nothing(harness: Harness) -> None:
    """There, the pause is cleared before its results are used: a crash in between loses the turn."""
    process = harness.work_apart()
    harness.model.call([("ask", {})])
    harness.model.hang()
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    await harness.model.wait_for_requests(1)
    (call,) = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": call.id, "output": "ref 77"}])
    await harness.model.wait_for_requests(2)
    process.kill()
    await asyncio.to_thread(process.wait)
    await harness.work()

    assert (await turn.result()).response_text == "Done."
    assert told(harness) == [("user", "Go"), ("assistant", None), ("tool", "ref 77")]


async def test_a_pause_belongs_to_no_process(harness: Harness) -> None:
    """There, it hangs on one process, one stream and one object. Here any host with its id answers, through any worker."""
    await harness.work()
    harness.model.call([("ask", {})])
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    before = (await harness.pause(turn)).tool_calls
    record = await turn.pending()
    await replace_worker(harness)
    stranger = TurnClient(await harness.server.connect(), harness.task_queue).of(turn.id)

    assert await stranger.pending() == record
    assert (await stranger.next_stop()).tool_calls == before
    harness.model.say("Done.")
    await stranger.answer([{"toolCallId": (before or ())[0].id, "output": "yes"}])
    assert (await stranger.result()).response_text == "Done."


async def test_all_that_a_turn_had_before_its_pause_it_has_after_it(harness: Harness) -> None:
    """There, a stored pause loses the agent's text, its own tool rounds, keys and usage, and null becomes the word."""
    harness.secrets = {"ACME": "sk-acme-0123456789"}
    await harness.work(AgentApp(tools=[charge]))
    harness.model.call([("charge", {"order": "7"})], "One moment.")
    harness.model.call([("ask", {})])
    turn = await harness.turns.start(
        "Go", externalTools=[external("ask")], options={"userApiKeys": ["ACME"], "temperature": 0.3}
    )
    stop = await harness.pause(turn)
    await replace_worker(harness)
    harness.model.say("Done.")
    await turn.answer([{"toolCallId": (stop.tool_calls or ())[0].id, "output": None}])
    output = await turn.result()

    assert told(harness)[:4] == [
        ("user", "Go"),
        ("assistant", "One moment."),
        ("tool", "charged 7"),
        ("assistant", None),
    ]
    assert told(harness)[4] == ("tool", "(no output)")
    assert harness.model.requests[-1]["temperature"] == 0.3
    assert harness.model.headers[-1]["authorization"] == "Bearer sk-acme-0123456789"
    assert output.response_text == "One moment.\nDone."
    assert [each.name for each in output.tool_calls or ()] == ["charge"]
    assert output.usage is not None
    assert stop.usage is not None
    assert output.usage.total_tokens > stop.usage.total_tokens > 0


async def test_a_pause_stands_though_the_store_is_away(harness: Harness) -> None:
    """There, the pause is a row of the store, and a store that only appends never gets it."""
    await harness.work(cached=False)
    harness.model.call([("ask", {})])
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    (call,) = (await harness.pause(turn)).tool_calls or ()
    other = sqlite3.connect(harness.folder / "turnhold.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    pending = await turn.pending()
    assert pending is not None
    assert [each.id for each in pending.tool_calls] == [call.id]
    ack = await turn.answer([{"toolCallId": call.id, "output": "yes"}])
    other.rollback()
    other.close()
    harness.model.say("Done.")

    assert ack.accepted == (call.id,)
    assert (await turn.result()).response_text == "Done."


async def test_what_a_tool_did_is_recorded_and_not_done_again(harness: Harness) -> None:
    """There, a crash in the middle of a turn re-runs nothing and remembers nothing."""
    await harness.work(AgentApp(tools=[charge]))
    harness.model.call([("charge", {"order": "7"}), ("ask", {})])
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    stop = await harness.pause(turn)
    await replace_worker(harness)
    harness.model.say("Done.")
    await turn.answer([{"toolCallId": (stop.tool_calls or ())[0].id, "output": "yes"}])
    await turn.result()

    assert RAN == ["7"]
    assert told(harness)[2:] == [("tool", "charged 7"), ("tool", "yes")]
