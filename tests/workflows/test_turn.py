"""Whole turns on a real server: how they run and how they end."""

import pytest

from tests.support import Harness, event_types, events_of, external
from worker.app import AgentApp, tool


@tool(side_effects=False)
def lookup_order(order_id: str) -> dict[str, object]:
    """Look an order up.

    Args:
        order_id: Number of the order.
    """
    return {"order_id": order_id, "amount": 42.5}


async def test_a_turn_without_tools_takes_at_most_22_events(harness: Harness) -> None:
    """It answers, and its history is as small as promised."""
    await harness.work()
    harness.model.say("Hello!")

    turn = await harness.turns.start("Hi")
    output = await turn.result()

    assert (output.is_final, output.response_text, output.error) == (True, "Hello!", None)
    assert len(await events_of(turn.handle)) <= 22


async def test_one_pause_takes_at_most_40_events(harness: Harness) -> None:
    """The pause is opened, answered by signal, and the model reads the answer."""
    await harness.work()
    harness.model.call([("book", {"room": 7})])
    harness.model.say("Booked.")

    turn = await harness.turns.start("Book it", externalTools=[external("book")])
    stop = await harness.pause(turn)
    assert stop.tool_calls is not None
    await turn.signal([{"toolCallId": stop.tool_calls[0].id, "output": {"ok": True}}])
    output = await turn.result()

    assert output.response_text == "Booked."
    assert harness.model.requests[-1]["messages"][-1]["content"] == '{"ok": true}'
    events = await events_of(turn.handle)
    assert len(events) <= 40, event_types(events)


async def test_what_is_told_beside_a_step_fits_the_server_in_any_script(harness: Harness) -> None:
    """It takes 400 bytes; more may fail the task that asks for the step, again and again."""
    await harness.work()
    harness.model.say("Hello!")
    turn = await harness.turns.start("🙂" * 300, options={"model": "🙂" * 300})
    await turn.result()

    events = await events_of(turn.handle)
    summaries = [event["userMetadata"]["summary"] for event in events if "summary" in event.get("userMetadata", {})]
    assert any(each.startswith("model 🙂") for each in summaries)
    assert all(len(each.encode()) <= 400 for each in summaries)


async def test_worker_tools_run_while_the_turn_waits(harness: Harness) -> None:
    """A round may mix both; results reach the model in call order."""
    await harness.work(AgentApp(tools=[lookup_order]))
    harness.model.call([("approve", {}), ("lookup_order", {"order_id": "1042"})])
    harness.model.say("Done.")

    turn = await harness.turns.start("Refund 1042", externalTools=[external("approve")])
    stop = await harness.pause(turn)
    assert stop.tool_calls is not None
    assert [call.name for call in stop.tool_calls] == ["approve"]
    await turn.answer([{"toolCallId": stop.tool_calls[0].id, "output": "yes"}])
    output = await turn.result()

    assert [call.name for call in output.tool_calls or ()] == ["lookup_order"]
    contents = [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]
    assert contents == ["yes", '{"order_id": "1042", "amount": 42.5}']


@pytest.mark.filterwarnings("error:.*imported after initial workflow load.*:UserWarning")
async def test_a_turn_runs_in_the_sdks_own_sandbox_too(harness: Harness) -> None:
    """With a tool, a pause and memory, and no late import."""
    await harness.work(AgentApp(tools=[lookup_order]), cached=False, workflow_sandbox=True)
    harness.model.call([("lookup_order", {"order_id": "1"}), ("search_memory", {"query": "host"}), ("approve", {})])
    harness.model.say("Done.")

    turn = await harness.turns.start("My staging host is blue-7.", externalTools=[external("approve")])
    stop = await harness.pause(turn)
    await turn.signal([{"toolCallId": (stop.tool_calls or ())[0].id, "output": "yes"}])
    output = await turn.result()

    assert output.response_text == "Done."
    assert output.memory is not None
    assert output.memory["learned"]["stored"] == 1
