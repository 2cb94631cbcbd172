"""Turns that ask for more when they reach a limit: raised they go on, refused they end as if they had never asked."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities import errors
from activities.conversation import GMIOutput
from tests.support import Harness, event_types, events_of, external, until
from worker.app import AgentApp, tool
from worker.client import AnswerRefused, Turn
from worker.demo_script import Saying
from worker.gmi import GMI
from workflows.contracts import PendingCall

RAN: list[int] = []


@tool(side_effects=False)
def look(n: int = 0) -> int:
    """Look at something."""
    RAN.append(n)
    return n


def looking(request: dict[str, Any]) -> Any:
    """A model that calls a tool as long as it may."""
    may_call = request.get("tools") and request.get("tool_choice") != "none"
    return Saying(calls=(("look", {"n": 1}),)) if may_call else "Enough."


async def asked(turn: Turn) -> PendingCall:
    """The turn's call for more."""

    async def pending() -> PendingCall | None:
        record = await turn.pending()
        return record.tool_calls[0] if record and record.tool_calls[0].kind == "budget" else None

    call: PendingCall = await until(pending)
    return call


async def test_a_raised_limit_lets_the_turn_go_on_and_the_model_never_knows(harness: Harness) -> None:
    """What raises too little costs no history; the raise shows in the state and the trace."""
    await harness.work(AgentApp(tools=[look]), cached=False)
    harness.model.call([("look", {"n": 7})])
    harness.model.say("Seven.")
    turn = await harness.turns.start("Look", limits={"maxTokens": 1, "onLimit": "ask"})
    stop = await harness.pause(turn)
    call = await asked(turn)

    calls = stop.tool_calls or ()
    assert [(each.id, each.name) for each in calls] == [(call.id, "raise_budget")]
    assert (call.arguments["limit"], call.arguments["value"]) == ("maxTokens", 1)
    assert call.arguments["used"] > 1
    # The round whose reply went over had its calls run first.
    assert 7 in RAN
    assert len(harness.model.requests) == 1
    details = (await turn.handle.query("__temporal_workflow_metadata")).current_details
    suggested = (call.input_schema or {})["properties"]["maxTokens"]["default"]
    assert f'{{"maxTokens": {suggested}}}' in details
    for answer in ({"maxTokens": 1}, {"maxModelCalls": 9}, "more"):
        with pytest.raises(AnswerRefused, match="does not raise the limit"):
            await turn.answer([{"toolCallId": call.id, "output": answer}])

    ack = await turn.answer([{"toolCallId": call.id, "output": {"maxTokens": 50_000}}])
    output = await turn.result()

    assert ack.accepted == (call.id,)
    assert (output.response_text, output.error) == ("Seven.", None)
    limits = (await turn.state()).limits
    assert limits is not None
    assert (limits.max_tokens, limits.on_limit) == (50_000, "ask")
    trace = await turn.handle.query("get_reasoning_trace")
    assert any("raised maxTokens to 50000" in entry["message"] for entry in trace["entries"])
    assert "raise_budget" not in json.dumps(harness.model.requests)
    rows = harness.store().rows(f"{output.conversation_id}/{output.turn_id}")
    assert [message.role for _, message in rows] == ["user", "assistant", "tool", "assistant"]


async def test_rounds_and_model_calls_are_asked_about_in_turn_and_raises_last(harness: Harness) -> None:
    """No call is made without tools while the host may still allow more."""
    await harness.work(AgentApp(tools=[look]))
    harness.model.handler = looking
    turn = await harness.turns.start("Look", limits={"maxToolRounds": 1, "maxModelCalls": 2, "onLimit": "ask"})
    first = await asked(turn)
    assert first.arguments["limit"] == "maxToolRounds"
    await turn.raise_budget(maxToolRounds=3)

    second = await until(lambda: other_than(turn, first.id))
    assert (second.arguments["limit"], second.arguments["used"]) == ("maxModelCalls", 2)
    await turn.answer([{"toolCallId": second.id, "decision": "approve"}])

    third = await until(lambda: other_than(turn, first.id, second.id))
    assert (third.arguments["limit"], third.arguments["value"]) == ("maxToolRounds", 3)
    await turn.answer([{"toolCallId": third.id, "decision": "reject", "reason": "That will do."}])
    output = await turn.result()

    assert output.response_text == "Enough."
    assert output.error is not None
    assert output.error.code == errors.LIMIT_TOOL_ROUNDS
    assert output.error.message.endswith("The host did not raise it: That will do.")
    assert [bool(request.get("tools")) for request in harness.model.requests][:3] == [True, True, True]


async def other_than(turn: Turn, *known: str) -> PendingCall | None:
    """A call for more that is none of these."""
    record = await turn.pending()
    call = record.tool_calls[0] if record else None
    return call if call is not None and call.id not in known else None


@pytest.mark.parametrize("how", ["settle", "deadline", "fill"])
async def test_who_does_not_raise_has_a_turn_that_stopped_at_its_limit(harness: Harness, how: str) -> None:
    """Also when a late pause would have failed the turn: asking must not make its end worse."""
    await harness.work(AgentApp(tools=[look]))
    harness.model.call([("look", {})])
    pause = {"timeout": "PT1S" if how == "deadline" else "P1D", "onTimeout": "fail"}
    turn = await harness.turns.start("Look", limits={"maxTokens": 1, "onLimit": "ask"}, pause=pause)
    call = await asked(turn)
    if how == "settle":
        await turn.settle()
    elif how == "fill":
        await turn.signal([{"toolCallId": call.id, "errorDetails": "no money"}])
    output = await turn.result()

    assert output.error is not None
    assert output.error.code == errors.LIMIT_TOKENS
    assert (await turn.state()).phase == "completed"
    assert len(harness.model.requests) == 1


async def test_a_turn_that_is_cancelled_while_it_asks_leaves_a_usable_conversation(harness: Harness) -> None:
    await harness.work(AgentApp(tools=[look]))
    harness.model.call([("look", {})])
    turn = await harness.turns.start("Look", conversationId="c", limits={"maxTokens": 1, "onLimit": "ask"})
    await asked(turn)
    await turn.cancel()
    await until(lambda: is_cancelled(turn))
    harness.model.say("Next.")

    following = await harness.turns.start("And now?", conversationId="c")
    assert (await following.result()).response_text == "Next."


async def is_cancelled(turn: Turn) -> bool:
    status = (await turn.handle.describe()).status
    return status is not None and status.name == "CANCELED"


async def test_a_deadline_that_asks_cuts_nothing_off(harness: Harness) -> None:
    """It passes while the host works on a call: the answer counts, and only then the turn asks. Once."""
    await harness.work()
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    deadline = datetime.now(UTC) + timedelta(seconds=1)
    limits = {"deadline": deadline.isoformat(), "onLimit": "ask"}
    turn = await harness.turns.start("Go", externalTools=[external("ask")], limits=limits)
    [call] = (await harness.pause(turn)).tool_calls or ()
    await until(lambda: datetime.now(UTC) > deadline + timedelta(milliseconds=300))
    assert [each.name for each in (await harness.pause(turn)).tool_calls or ()] == ["ask"]
    await turn.answer([{"toolCallId": call.id, "output": "late but here"}])

    more = await asked(turn)
    assert more.arguments["limit"] == "deadline"
    with pytest.raises(AnswerRefused, match="has passed"):
        await turn.raise_budget(deadline=deadline.isoformat())
    await turn.answer([{"toolCallId": more.id, "decision": "approve"}])
    output = await turn.result()

    assert (output.response_text, output.error) == ("Done.", None)
    assert "late but here" in json.dumps(harness.model.requests[-1])


async def test_a_worker_that_is_killed_while_the_turn_asks_loses_nothing(harness: Harness) -> None:
    """The call keeps its id, an answer by signal waits for the next worker, and nothing runs twice."""
    worker = harness.work_apart()
    harness.model.call([("search_memory", {"query": "x"})])
    turn = await harness.turns.start("Look", limits={"maxTokens": 1, "onLimit": "ask"})
    await until(lambda: harness.model.requests, 60)
    call = await asked(turn)
    worker.kill()
    await asyncio.to_thread(worker.wait)
    await turn.signal([{"toolCallId": call.id, "output": {"maxTokens": 50_000}}])
    harness.model.say("Found.")
    await harness.work()
    async with asyncio.timeout(40):
        output = await turn.result()

    assert output.response_text == "Found."
    assert len(harness.model.requests) == 2
    types = event_types(await events_of(turn.handle))
    assert types.count("ACTIVITY_TASK_COMPLETED") == 4


async def test_an_instance_hands_the_call_on(harness: Harness) -> None:
    await harness.work(AgentApp(tools=[look]))
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize(None, {"limits": {"maxTokens": 1, "onLimit": "ask"}})
    harness.model.call([("look", {})])
    harness.model.say("Done.")
    stop: GMIOutput = await gmi.process_turn("Go")

    [call] = stop.tool_calls or ()
    assert (stop.is_final, call.name) == (False, "raise_budget")
    raised = {"type": "success", "result": {"maxTokens": 10_000}}
    assert (await gmi.handle_tool_result(call.id, call.name, raised, "local")).response_text == "Done."
    await gmi.shutdown()


async def test_a_choice_of_functions_asks_too(harness: Harness) -> None:
    """Cancelling what is no longer wanted used the budget up: the host is asked before the model selects."""
    await harness.work(AgentApp(tools=[look]))
    chosen = {"reason": "It is wanted.", "name": "look"}
    asking: dict[str, Any] = {
        "conversationId": "s",
        "options": {"toolSelection": "select", "selection": {"threshold": 0}},
    }
    harness.model.call([("selectFunctions", {"functions": [chosen]})])
    harness.model.say("At what?")
    await (await harness.turns.start("Look", **asking)).result()
    harness.model.call([("cancelFunctions", {"functions": [chosen]})])
    turn = await harness.turns.start("Again", limits={"maxTokens": 1, "onLimit": "ask"}, **asking)
    await asked(turn)
    harness.model.call([("selectFunctions", {"functions": [chosen]})])
    harness.model.call([("look", {"n": 3})])
    harness.model.say("Three.")
    await turn.raise_budget(maxTokens=90_000)

    output = await turn.result()
    assert output.response_text is not None
    assert output.response_text.endswith("Three.")
