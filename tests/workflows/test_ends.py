"""The ways a turn ends: limits, refusals, deadlines, cancellation, failures. Each leaves a conversation that works."""

import asyncio
import json
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from activities import errors
from activities.conversation import AssistantMessage, ToolMessage
from activities.memory import MemoryKeeper
from activities.pairing import pairing_fault
from activities.store.errors import SnapshotDamaged
from tests.support import Harness, event_types, events_of, external, until
from worker.app import AgentApp, tool
from worker.client import Turn, TurnFailed
from worker.demo_script import Saying
from worker.scripted_responses import Response

STARTED = asyncio.Event()


@tool(side_effects=False)
def look(n: int = 0) -> int:
    """Look at something."""
    return n


@tool(side_effects=False, timeout="PT60S")
async def hang() -> str:
    """Never come back."""
    STARTED.set()
    await asyncio.Event().wait()
    return "never"


def _release_after(connection: sqlite3.Connection, seconds: float) -> None:
    threading.Event().wait(seconds)
    connection.rollback()
    connection.close()


async def history_is_usable(harness: Harness, turn: Turn, conversation_id: str) -> None:
    """Each call of the conversation has its result, and a next turn runs."""
    store = harness.store()
    messages = [message for each in store.history(conversation_id, 99, 1000, 1_000_000) for message in each]
    assert messages
    assert pairing_fault(messages) is None
    harness.model.say("Next.")
    following = await harness.turns.start("And now?", conversationId=conversation_id)
    assert (await following.result()).response_text == "Next."


async def test_the_last_round_is_followed_by_an_answer_in_words(harness: Harness) -> None:
    """A model that would call tools for ever is asked once more without tools, and the output says so."""
    await harness.work(AgentApp(tools=[look]))

    def reply(request: dict[str, Any]) -> Any:
        may_call = request.get("tools") and request.get("tool_choice") != "none"
        return Saying(calls=(("look", {"n": 1}),)) if may_call else "Enough."

    harness.model.handler = reply
    turn = await harness.turns.start("Look", limits={"maxToolRounds": 3})
    output = await turn.result()

    assert output.response_text == "Enough."
    assert output.error is not None
    assert output.error.code == errors.LIMIT_TOOL_ROUNDS
    assert len(output.tool_calls or ()) == 3
    assert len(harness.model.requests) == 4


async def test_the_last_allowed_model_call_is_made_without_tools(harness: Harness) -> None:
    """`maxModelCalls` counts the last call too."""
    await harness.work(AgentApp(tools=[look]))
    harness.model.call([("look", {})])
    harness.model.say("Words.")
    turn = await harness.turns.start("Look", limits={"maxModelCalls": 2})
    output = await turn.result()

    assert output.response_text == "Words."
    assert output.error is not None
    assert output.error.code == errors.LIMIT_MODEL_CALLS


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"maxTokens": 1}, errors.LIMIT_TOKENS), ({"maxCostUSD": 0.000001}, errors.LIMIT_COST)],
    ids=["tokens", "cost"],
)
async def test_a_budget_ends_the_turn_with_its_error(harness: Harness, limits: dict[str, Any], code: str) -> None:
    """The call that went over is the last; usage and cost are summed in the output."""
    await harness.work(AgentApp(tools=[look]), model_prices={"scripted": {"prompt": 1.0, "completion": 2.0}})
    harness.model.call([("look", {})])
    turn = await harness.turns.start("Look", limits=limits)
    output = await turn.result()

    assert output.error is not None
    assert output.error.code == code
    assert output.usage is not None
    assert output.usage.total_cost_usd is not None
    assert len(harness.model.requests) == 1


async def test_the_turns_deadline_counts_pauses(harness: Harness) -> None:
    """It ends completed with an error; the open call says that nothing was executed."""
    await harness.work()
    harness.model.call([("ask", {})])
    deadline = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    turn = await harness.turns.start("Go", externalTools=[external("ask")], limits={"deadline": deadline})
    output = await turn.result()

    assert output.error is not None
    assert output.error.code == errors.LIMIT_DEADLINE
    rows = [message for _, message in harness.store().rows(f"{output.conversation_id}/{output.turn_id}")]
    assert isinstance(rows[-1], ToolMessage)
    assert "deadline" in str(rows[-1].result.output)
    await history_is_usable(harness, turn, str(output.conversation_id))


async def test_the_turns_deadline_stops_a_running_tool(harness: Harness) -> None:
    """A tool that hangs does not hold the turn beyond its deadline."""
    await harness.work(AgentApp(tools=[hang]))
    harness.model.call([("hang", {})])
    deadline = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    turn = await harness.turns.start("Go", limits={"deadline": deadline})
    async with asyncio.timeout(10):
        output = await turn.result()

    assert output.error is not None
    assert output.error.code == errors.LIMIT_DEADLINE


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"message": {"role": "assistant", "content": None, "refusal": "I will not."}}, errors.MODEL_REFUSAL),
        (
            {"message": {"role": "assistant", "content": "Part"}, "finish_reason": "content_filter"},
            errors.CONTENT_FILTERED,
        ),
        ({"message": {"role": "assistant", "content": ""}, "finish_reason": "tool_calls"}, errors.EMPTY_MODEL_RESPONSE),
    ],
    ids=["refusal", "filter", "nothing said"],
)
async def test_what_the_model_will_not_say_completes_the_turn_with_an_error(
    harness: Harness, fields: dict[str, Any], code: str
) -> None:
    """No endless asking, no silent success."""
    await harness.work()
    choice = {"index": 0, "finish_reason": "stop", **fields}
    harness.model.handler = lambda _: {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    turn = await harness.turns.start("Go")
    output = await turn.result()

    assert output.error is not None
    assert output.error.code == code
    assert len(harness.model.requests) <= 3


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422])
async def test_a_fatal_provider_error_fails_the_turn_at_once(harness: Harness, status: int) -> None:
    """Asked once; the failure has the provider's words and the output so far."""
    await harness.work()
    body = {"error": {"message": "no such thing", "code": "bad"}}
    harness.model.handler = lambda _: Response(json.dumps(body).encode(), status)
    turn = await harness.turns.start("Go", conversationId=f"c{status}")
    with pytest.raises(TurnFailed, match="no such thing") as failed:
        await turn.result()

    assert failed.value.code == errors.LLM_PROVIDER_ERROR
    assert failed.value.output is not None
    assert len(harness.model.requests) == 1
    harness.model.handler = lambda _: "ok"
    await history_is_usable(harness, turn, f"c{status}")


async def test_a_filter_that_stops_the_request_completes_the_turn_as_one_that_stops_the_reply(harness: Harness) -> None:
    """One meaning, whichever side of the model the filter stands on; asked once."""
    await harness.work()
    body = {"error": {"message": "The prompt was flagged", "code": "content_filter"}}
    harness.model.handler = lambda _: Response(json.dumps(body).encode(), 400)
    turn = await harness.turns.start("Go", conversationId="filtered")
    output = await turn.result()

    assert output.error is not None
    assert (output.error.code, output.response_text) == (errors.CONTENT_FILTERED, None)
    assert "The prompt was flagged" in output.error.message
    assert len(harness.model.requests) == 1
    harness.model.handler = lambda _: "ok"
    await history_is_usable(harness, turn, "filtered")


async def test_a_passing_provider_error_is_asked_again(harness: Harness) -> None:
    """500, 503, HTML, a cut body, a rate limit: each costs one attempt, none an effect."""
    await harness.work(AgentApp(tools=[look]))
    harness.model.respond(500, {"error": {"message": "oops"}}, headers={"retry-after-ms": "10"})
    harness.model.respond(200, "<html>gateway</html>", headers={"content-type": "text/html", "retry-after-ms": "10"})
    harness.model.respond(429, {"error": {"message": "slow down"}}, headers={"retry-after-ms": "50"})
    harness.model.say("At last.")
    turn = await harness.turns.start("Go")

    assert (await turn.result()).response_text == "At last."
    assert len(harness.model.requests) == 4


async def test_a_provider_that_stays_silent_is_given_up(harness: Harness) -> None:
    """Nothing for the whole timeout, as often as attempts are given."""
    await harness.work(model_timeout=1.0, model_attempts=2)
    harness.model.hang()
    harness.model.hang()
    turn = await harness.turns.start("Go")
    with pytest.raises(TurnFailed) as failed:
        await turn.result()

    assert failed.value.code == errors.LLM_PROVIDER_ERROR
    assert len(harness.model.requests) == 2


async def test_a_quota_that_is_used_up_is_not_asked_again(harness: Harness) -> None:
    """A 429 of this kind does not pass by waiting."""
    await harness.work()
    harness.model.respond(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})
    turn = await harness.turns.start("Go")
    with pytest.raises(TurnFailed, match="quota"):
        await turn.result()

    assert len(harness.model.requests) == 1


async def test_a_locked_database_only_delays_the_turn(harness: Harness) -> None:
    """Somebody else writes for longer than a store call waits."""
    await harness.work()
    harness.model.say("Here.")
    harness.store()
    other = sqlite3.connect(harness.folder / "turnhold.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    turn = await harness.turns.start("Go")
    await asyncio.to_thread(_release_after, other, 6.0)

    assert (await turn.result()).response_text == "Here."


async def test_a_bad_request_after_a_tool_does_not_run_the_tool_again(harness: Harness) -> None:
    """Only activities are retried, never the workflow."""
    ran: list[int] = []

    @tool
    def charge_card() -> str:
        """Charge the card."""
        ran.append(1)
        return "charged"

    await harness.work(AgentApp(tools=[charge_card]))
    harness.model.call([("charge_card", {})])
    harness.model.respond(400, {"error": {"message": "bad"}})
    turn = await harness.turns.start("Charge")
    with pytest.raises(TurnFailed):
        await turn.result()

    assert ran == [1]


async def test_cancelling_a_pause_closes_its_calls(harness: Harness) -> None:
    """CANCELED, an accepted partial answer kept, the rest filled."""
    await harness.work()
    harness.model.call([("a", {}), ("b", {})])
    turn = await harness.turns.start("Go", conversationId="cc", externalTools=[external("a"), external("b")])
    stop = await harness.pause(turn)
    first, _ = stop.tool_calls or ()
    await turn.answer([{"toolCallId": first.id, "output": "kept"}], partial="wait")
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()

    assert (await turn.handle.describe()).status is WorkflowExecutionStatus.CANCELED
    (rows,) = harness.store().history("cc", 9, 99, 99_999)
    results = [row.result for row in rows if isinstance(row, ToolMessage)]
    assert results[0].output == "kept"
    assert results[1].error_details["code"] == errors.EXTERNAL_TOOL_NOT_RUN
    assert (await turn.state()).phase == "cancelled"
    await history_is_usable(harness, turn, "cc")


async def test_cancelling_aborts_the_model_request_within_three_seconds(harness: Harness) -> None:
    """The provider sees the connection close, so it stops billing."""
    await harness.work()
    harness.model.hang()
    turn = await harness.turns.start("Go")
    await harness.model.wait_for_requests(1)
    await turn.cancel()
    async with asyncio.timeout(3):
        await harness.model.wait_for_hang_ups(1)
    with pytest.raises(TurnFailed):
        await turn.result()

    assert (await turn.handle.describe()).status is WorkflowExecutionStatus.CANCELED


async def test_cancelling_stops_a_running_tool(harness: Harness) -> None:
    """Its result says that the effect may have happened."""
    STARTED.clear()
    await harness.work(AgentApp(tools=[hang]))
    harness.model.call([("hang", {})])
    turn = await harness.turns.start("Go", conversationId="ct")
    await until(STARTED.is_set)
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()

    (rows,) = harness.store().history("ct", 9, 99, 99_999)
    assert isinstance(rows[-1], ToolMessage)
    assert rows[-1].result.error_details["code"] == errors.TOOL_CANCELLED
    assert isinstance(rows[-2], AssistantMessage)


async def test_a_pause_may_fail_the_turn_at_its_deadline(harness: Harness) -> None:
    """`onTimeout: fail` ends it with PAUSE_TIMED_OUT, names the calls, and keeps the conversation paired."""
    await harness.work()
    harness.model.call([("a", {})])
    turn = await harness.turns.start(
        "Go", conversationId="cp", externalTools=[external("a")], pause={"timeout": "PT1S", "onTimeout": "fail"}
    )
    with pytest.raises(TurnFailed, match=r"deadline of the pause: a") as failed:
        await turn.result()

    assert failed.value.code == errors.PAUSE_TIMED_OUT
    await history_is_usable(harness, turn, "cp")


async def test_one_calls_own_timeout_fills_that_call_alone(harness: Harness) -> None:
    """The other goes on waiting."""
    await harness.work()
    harness.model.call([("quick", {}), ("slow", {})])
    harness.model.say("Done.")
    tools = [external("quick", timeout="PT1S"), external("slow")]
    turn = await harness.turns.start("Go", externalTools=tools)
    stop = await harness.pause(turn)
    quick, slow = stop.tool_calls or ()

    async def only_slow() -> bool:
        return (await turn.state()).waiting_for == (slow.id,)

    await until(only_slow)
    assert len(harness.model.requests) == 1
    await turn.answer([{"toolCallId": slow.id, "output": "late but here"}])
    await turn.result()

    contents = [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]
    assert errors.EXTERNAL_TOOL_NOT_RUN in contents[0]
    assert "denied" not in contents[0]
    assert "rejected" not in contents[0]
    assert contents[1] == "late but here"
    assert quick.id != slow.id


async def test_tools_that_fail_are_results(harness: Harness) -> None:
    """Unknown, raising, hanging past its timeout, huge: the model reads each and the turn goes on."""

    @tool
    def broken() -> str:
        """Break."""
        raise RuntimeError("the disk is on fire")

    @tool(timeout="PT1S")
    async def slow() -> str:
        """Take long."""
        await asyncio.Event().wait()
        return ""

    @tool(side_effects=False)
    def big() -> str:
        """Return 5 MB."""
        return "x" * 5_000_000

    @tool(side_effects=False)
    def raw() -> bytes:
        """Return bytes."""
        return b"\xff\x00"

    await harness.work(AgentApp(tools=[broken, slow, big, raw]))
    harness.model.call([("nobody", {}), ("broken", {}), ("slow", {}), ("big", {}), ("raw", {})])
    harness.model.say("I see.")
    turn = await harness.turns.start("Go")
    output = await turn.result()

    contents = [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]
    assert output.response_text == "I see."
    assert errors.TOOL_NOT_FOUND in contents[0]
    assert "the disk is on fire" in contents[1]
    assert errors.TOOL_TIMED_OUT in contents[2]
    assert 100_000 < len(contents[3]) < 300_000
    assert "base64" in contents[4]
    description = await turn.handle.describe()
    assert description.raw_description.workflow_execution_info.history_size_bytes < 60_000


async def test_a_worker_that_drains_does_not_bill_a_call_twice(harness: Harness) -> None:
    """A model call in flight at SIGTERM is finished within the grace, and not asked again."""
    worker = await harness.work(shutdown_grace=10.0)
    harness.model.say("Patience.", delay=1.5)
    turn = await harness.turns.start("Go")
    await harness.model.wait_for_requests(1)
    await worker.stop()
    await harness.work()

    assert (await turn.result()).response_text == "Patience."
    assert len(harness.model.requests) == 1


async def test_a_worker_that_stops_before_the_reply_leaves_the_question_to_the_next(harness: Harness) -> None:
    """Longer than the grace: it is asked again elsewhere, and nobody takes the stop for a cancel by the user."""
    worker = await harness.work(shutdown_grace=0.1)
    harness.model.hang()
    turn = await harness.turns.start("Go")
    await harness.model.wait_for_requests(1)
    await worker.stop()
    harness.model.say("Here.")
    await harness.work()

    output = await turn.result()
    assert (output.response_text, output.error) == ("Here.", None)
    assert len(harness.model.requests) == 2


@pytest.mark.parametrize("first", ["answer", "cancel"])
async def test_an_answer_and_a_cancel_in_one_task_both_count(harness: Harness, first: str) -> None:
    """They came while no worker was up: the turn is cancelled, asks no model, and its conversation keeps the answer."""
    worker = await harness.work()
    harness.model.call([("approve", {})])
    turn = await harness.turns.start("Go", externalTools=[external("approve")], conversationId=first)
    stop = await harness.pause(turn)
    await worker.stop()
    answer = [{"toolCallId": (stop.tool_calls or ())[0].id, "output": "yes"}]
    for what in (first, "cancel" if first == "answer" else "answer"):
        await (turn.cancel() if what == "cancel" else turn.signal(answer))
    await harness.work()

    with pytest.raises(TurnFailed) as failed:
        await turn.result()
    assert failed.value.code == "CancelledError"
    assert len(harness.model.requests) == 1
    harness.model.say("Next.")
    await (await harness.turns.start("And?", conversationId=first)).result()
    told = [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]
    assert told == ["yes"]


async def test_a_failing_memory_does_not_fail_the_turn(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output says that nothing was learned, and why."""

    def damaged(*_: Any) -> Any:
        raise SnapshotDamaged("the snapshot is damaged")

    monkeypatch.setattr(MemoryKeeper, "plan", damaged)
    monkeypatch.setattr(MemoryKeeper, "learn", damaged)
    await harness.work()
    harness.model.say("Hello.")
    turn = await harness.turns.start("My host is blue-7.")
    output = await turn.result()

    assert output.response_text == "Hello."
    assert output.memory is not None
    assert "degraded" in output.memory["planned"]
    assert "cannot be used" in output.memory["learned"]["skipped"]


async def test_no_secret_enters_a_history(harness: Harness) -> None:
    """Neither the model's key nor one a turn names stands in any event."""
    secret = "sk-secret-0123456789abcdef"
    harness.secrets = {"ACME": secret}
    await harness.work()
    harness.model.respond(401, {"error": {"message": f"Incorrect API key provided: {secret}"}})
    turn = await harness.turns.start("Go", options={"userApiKeys": ["ACME"]})
    with pytest.raises(TurnFailed):
        await turn.result()
    harness.model.say("Fine.")
    fine = await harness.turns.start("Go", options={"userApiKeys": ["ACME"]})
    await fine.result()

    assert f"Bearer {secret}" in [headers.get("authorization") for headers in harness.model.headers]
    for each in (turn, fine):
        history = (await each.handle.fetch_history()).to_json()
        text = str(await events_of(each.handle)) + history
        assert secret not in text
        assert "sk-test-key-of-the-tests" not in text


async def test_a_turn_reads_the_same_after_the_end(harness: Harness) -> None:
    """Queries answer from the history when the turn is over."""
    await harness.work(AgentApp(tools=[look]))
    harness.model.call([("look", {"n": 3})])
    harness.model.say("Three.")
    turn = await harness.turns.start("Look")
    await turn.result()

    chunks = (await turn.handle.query("get_chunks"))["entries"]
    assert [chunk["type"] for chunk in chunks].count("final_response_marker") == 1
    assert chunks[-1]["isFinal"] is True
    assert [chunk["sequence"] for chunk in chunks] == list(range(len(chunks)))
    history = (await turn.handle.query("get_history"))["entries"]
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "assistant"]
    assert (await turn.handle.query("get_usage"))["totalTokens"] > 0
    assert (await turn.handle.query("get_reasoning_trace"))["entries"]
    assert "WORKFLOW_TASK_FAILED" not in event_types(await events_of(turn.handle))
