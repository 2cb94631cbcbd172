"""Turns that are heavy for their worker: tools that block it, large results, long histories. No task, no heartbeat is late."""

import asyncio
import time
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from activities import errors
from tests.support import Harness, event_types, events_of
from worker.app import AgentApp, tool
from worker.client import Turn, TurnFailed
from workflows import rounds

RAN: list[str] = []
# Longer than a heartbeat may be missing.
LONG = 11.0


@tool(timeout="PT60S")
async def block() -> str:
    """Hold up the loop that it runs in, as careless code does."""
    RAN.append("block")
    time.sleep(LONG)  # noqa: ASYNC251
    return "blocked"


@tool(timeout="PT60S")
def sleep() -> str:
    """Hold up a thread."""
    RAN.append("sleep")
    time.sleep(LONG)
    return "slept"


@tool(timeout="PT60S")
async def wait() -> str:
    """Wait as one should."""
    RAN.append("wait")
    await asyncio.sleep(LONG)
    return "waited"


@tool(side_effects=False)
def many() -> list[dict[str, Any]]:
    """Return a table of 1.5 MB."""
    return [{"id": n, "name": f"row {n}"} for n in range(60_000)]


def told(harness: Harness) -> list[str]:
    return [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]


async def no_task_failed(turn: Turn) -> None:
    types = event_types(await events_of(turn.handle))
    assert "WORKFLOW_TASK_FAILED" not in types
    assert "WORKFLOW_TASK_TIMED_OUT" not in types


async def test_a_tool_that_blocks_costs_no_other_tool_its_heartbeat(harness: Harness) -> None:
    """Each runs once, longer than a heartbeat may be missing."""
    RAN.clear()
    await harness.work(AgentApp(tools=[block, sleep, wait]))
    harness.model.call([("sleep", {}), ("wait", {}), ("block", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go")
    await turn.result()

    assert sorted(RAN) == ["block", "sleep", "wait"]
    assert told(harness) == ["slept", "waited", "blocked"]


async def test_a_large_result_and_a_long_history_hold_up_no_workflow_task(harness: Harness) -> None:
    """60,000 small objects, after 2,000 messages of another agent."""
    await harness.work(AgentApp(tools=[many]), cached=False)
    harness.model.call([("many", {})])
    harness.model.say("Many.")
    histories = [
        {"type": "text", "role": role, "text": f"{role} {n}"} for n in range(1_000) for role in ("user", "assistant")
    ]
    turn = await harness.turns.start("Go", histories=histories)

    assert (await turn.result()).response_text == "Many."
    assert told(harness)[0].startswith('[{"id":0,"name":"row 0"}')
    assert len(harness.model.requests[0]["messages"]) > 1_000
    await no_task_failed(turn)


async def test_a_fault_in_the_workflows_own_code_fails_the_turn_with_a_type(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller learns it at once; the task is not tried for ever, and the conversation goes on."""

    def plan(*_: Any) -> Any:
        raise KeyError("no such thing")

    await harness.work(AgentApp(tools=[many]))
    monkeypatch.setattr(rounds, "plan_round", plan)
    harness.model.call([("many", {})])
    turn = await harness.turns.start("Go", conversationId="faulty")
    with pytest.raises(TurnFailed) as failed:
        await asyncio.wait_for(turn.result(), 20)
    monkeypatch.undo()

    assert failed.value.code == errors.GMI_PROCESSING_ERROR
    assert (await turn.handle.describe()).status is WorkflowExecutionStatus.FAILED
    await no_task_failed(turn)
    harness.model.say("Still here.")
    assert (await (await harness.turns.start("Go", conversationId="faulty")).result()).response_text == "Still here."
