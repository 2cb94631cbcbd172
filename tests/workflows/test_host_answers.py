"""How a host's answers reach a turn: early, twice, in pieces, out of order, with strangers, many at once."""

import asyncio
import random
from typing import Any

import pytest

from activities.call_ids import mint_call_id
from activities.errors import EXTERNAL_TOOL_NOT_RUN, TOOL_CALL_REJECTED
from tests.support import Harness, external, until
from worker.app import AgentApp, tool
from worker.client import AnswerRefused, Turn, TurnEnded
from workflows import messages
from workflows.contracts import PendingRequest
from workflows.display import pause_details
from workflows.names import TURN_WORKFLOW

RAN: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool(needs_approval=True)
def transfer(amount: int, to: str) -> str:
    """Transfer money."""
    RAN.append({"amount": amount, "to": to})
    return f"sent {amount} to {to}"


def tool_contents(harness: Harness) -> list[str]:
    """Tool messages of the newest model request, in order."""
    return [message["content"] for message in harness.model.requests[-1]["messages"] if message["role"] == "tool"]


async def paused(harness: Harness, *names: str, **fields: Any) -> tuple[Turn, list[str]]:
    """A turn that waits for these calls, and their ids."""
    harness.model.call([(name, {}) for name in names])
    harness.model.say("Done.")
    tools = [external(name) for name in dict.fromkeys(names)]
    turn = await harness.turns.start("Go", externalTools=fields.pop("externalTools", tools), **fields)
    stop = await harness.pause(turn)
    return turn, [call.id for call in stop.tool_calls or ()]


@pytest.mark.parametrize("channel", ["signal", "update"])
async def test_a_partial_answer_fills_the_rest(harness: Harness, channel: str) -> None:
    """The seed's rule: one answer ends the pause, what it leaves out was not run."""
    await harness.work()
    turn, (_, second) = await paused(harness, "book", "pay")

    send = turn.signal if channel == "signal" else turn.answer
    await send([{"toolCallId": second, "output": {"paid": True}}])
    await turn.result()

    book, pay = tool_contents(harness)
    assert EXTERNAL_TOOL_NOT_RUN in book
    assert pay == '{"paid": true}'


async def test_pieces_are_collected_out_of_order(harness: Harness) -> None:
    """With `partial` "wait" the turn goes on after the last piece, and results stand in call order."""
    await harness.work(cached=False)
    turn, ids = await paused(harness, "a", "b", "c")

    for place in (2, 0):
        ack = await turn.answer([{"toolCallId": ids[place], "output": place}], partial="wait")
        assert ids[1] in ack.waiting_for
    assert len(harness.model.requests) == 1
    await turn.handle.signal("handle_tool_result", {"toolCallId": ids[1], "output": 1})
    await turn.result()

    assert tool_contents(harness) == ["0", "1", "2"]


async def test_a_repeated_answer_changes_nothing_and_a_different_one_is_refused(harness: Harness) -> None:
    """First answer wins."""
    await harness.work()
    turn, (first, second) = await paused(harness, "transfer_money", "other")
    answer = [{"toolCallId": first, "output": "done, ref 77"}]

    assert (await turn.answer(answer, partial="wait")).accepted == (first,)
    assert (await turn.answer(answer, partial="wait")).repeated == (first,)
    with pytest.raises(AnswerRefused, match="already answered differently"):
        await turn.answer([{"toolCallId": first, "errorDetails": "rejected"}], partial="wait")
    await turn.signal([{"toolCallId": first, "output": "something else"}], partial="wait")
    await turn.answer([{"toolCallId": second, "output": None}], partial="wait")
    await turn.result()

    assert tool_contents(harness)[0] == "done, ref 77"
    assert len(harness.model.requests) == 2
    assert "already answered" in (await turn.rejected_answers())[0].reasons[0].reason


async def test_an_answer_is_taken_whole_or_refused_whole(harness: Harness) -> None:
    """One stranger among the results refuses all of them, with a reason for it."""
    await harness.work()
    turn, (first, second) = await paused(harness, "a", "b")

    with pytest.raises(AnswerRefused, match="nosuchid1: is no call of this pause"):
        await turn.answer([{"toolCallId": first, "output": 1}, {"toolCallId": "nosuchid1", "output": 2}])
    status = await turn.state()

    assert status.waiting_for == (first, second)


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([{"toolCallId": "{0}", "toolName": "b", "output": 1}], "belongs to the tool a"),
        ([{"toolCallId": "{0}"}], "none of `output`"),
        ([{"toolCallId": "{0}", "output": 1}, {"toolCallId": "{0}", "output": 1}], "twice"),
        ([{"toolCallId": "{0}", "decision": "approve"}], "nothing to approve"),
        ([], "empty"),
    ],
)
async def test_a_wrong_answer_is_refused_with_what_to_send(
    harness: Harness, results: list[dict[str, Any]], reason: str
) -> None:
    """Nothing is lost and the turn goes on waiting."""
    await harness.work()
    turn, (first,) = await paused(harness, "a")
    results = [{**result, "toolCallId": first} for result in results]

    with pytest.raises(AnswerRefused, match=reason):
        await turn.answer(results)
    await turn.answer([{"toolCallId": first, "output": "ok"}])

    assert (await turn.result()).response_text == "Done."


async def test_another_users_answer_is_refused(harness: Harness) -> None:
    """A turn is its owner's to answer."""
    await harness.work()
    turn, (first,) = await paused(harness, "a", userId="ana")

    with pytest.raises(AnswerRefused, match="another user"):
        await turn.answer([{"toolCallId": first, "output": 1}], user_id="bob")
    await turn.answer([{"toolCallId": first, "output": 1}], user_id="ana")

    assert (await turn.result()).is_final


async def test_an_output_that_breaks_the_tools_schema_is_refused(harness: Harness) -> None:
    """The host is told where; the call keeps waiting."""
    await harness.work()
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    turn, (first,) = await paused(harness, "book", externalTools=[external("book", outputSchema=schema)])

    with pytest.raises(AnswerRefused, match=r"output\.seats"):
        await turn.answer([{"toolCallId": first, "output": {"seats": "two"}}])
    await turn.answer([{"toolCallId": first, "output": {"seats": 2}}])

    assert (await turn.result()).is_final


async def test_an_early_answer_waits_for_its_call(harness: Harness) -> None:
    """A host that is faster than the model loses nothing: ids are known before the calls are made."""
    await harness.work()
    harness.model.call([("a", {})], delay=1.0)
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", turn_id="t-fast", externalTools=[external("a")])
    await turn.signal([{"toolCallId": mint_call_id("t-fast/t-fast", 0, 0), "output": "early"}])
    output = await turn.result()

    assert output.response_text == "Done."
    assert tool_contents(harness) == ["early"]


async def test_an_answer_may_come_with_the_start(harness: Harness) -> None:
    """Signal-with-start: the handler runs before the turn's first step and finds its state."""
    await harness.work()
    harness.model.call([("a", {})])
    harness.model.say("Done.")
    answer = {"results": [{"toolCallId": mint_call_id("c1/t1", 0, 0), "output": "with the start"}]}
    handle = await harness.client.start_workflow(
        TURN_WORKFLOW,
        {"content": "Go", "conversationId": "c1", "interactionId": "t1", "externalTools": [external("a")]},
        id=f"with-start-{harness.task_queue}",
        task_queue=harness.task_queue,
        start_signal="handle_tool_results",
        start_signal_args=[answer],
    )

    assert (await harness.turns.of(handle.id).result()).response_text == "Done."
    assert tool_contents(harness) == ["with the start"]


async def test_signals_that_came_while_no_worker_was_up_are_all_taken(harness: Harness) -> None:
    """They arrive in one task: both answers count before the model is asked, and the stranger is recorded."""
    worker = await harness.work()
    turn, (first, second) = await paused(harness, "a", "b")
    await worker.stop()
    await turn.handle.signal("handle_tool_result", {"toolCallId": first, "output": "one"})
    await turn.handle.signal("handle_tool_result", {"toolCallId": second, "output": "two"})
    await turn.handle.signal("note", "extra")
    await harness.work(cached=False)
    await turn.result()

    assert tool_contents(harness) == ["one", "two"]
    assert len(harness.model.requests) == 2
    assert [rejected.channel for rejected in await turn.rejected_answers()] == ["unknown"]


async def test_unused_early_answers_are_shown_at_the_end(harness: Harness) -> None:
    """Nobody's answer disappears in silence."""
    await harness.work()
    harness.model.say("Hello.", delay=0.5)
    turn = await harness.turns.start("Hi")
    await turn.signal([{"toolCallId": "nevermade", "output": 1}])
    await turn.result()

    (rejected,) = await turn.rejected_answers()
    assert (rejected.channel, rejected.reasons[0].tool_call_id) == ("early", "nevermade")


async def test_two_hundred_answers_at_once(harness: Harness) -> None:
    """Signals and updates mixed, in any order, a tenth of them repeated: each call has its own result."""
    await harness.work()
    turn, ids = await paused(harness, *(["t"] * 200))
    order = list(range(200)) + random.Random(5).sample(range(200), 20)
    random.Random(7).shuffle(order)

    async def send(place: int) -> None:
        body = {"toolCallId": ids[place], "output": place}
        if place % 10:
            await turn.handle.signal("handle_tool_result", body)
        else:
            await turn.handle.execute_update("handle_tool_result", body)

    await asyncio.gather(*(send(place) for place in order), return_exceptions=True)
    # Updates beyond the ten a server takes at once may have been refused: their answers are sent again.
    state = await turn.state()
    for call_id in state.waiting_for:
        await turn.handle.signal("handle_tool_result", {"toolCallId": call_id, "output": ids.index(call_id)})
    await turn.result()

    assert tool_contents(harness) == [str(place) for place in range(200)]


async def test_what_waits_is_shown_once_for_all_answers_that_come_together(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown after each, hundreds of answers about hundreds of calls would hold up their task beyond its limit."""
    worker = await harness.work()
    turn, ids = await paused(harness, *(["t"] * 40))
    await worker.stop()
    shown: list[int] = []

    def counting(request: PendingRequest, *where: str) -> str:
        shown.append(sum(call.state == "open" for call in request.tool_calls))
        return pause_details(request, *where)

    monkeypatch.setattr(messages, "pause_details", counting)
    for call_id in ids[1:]:
        await turn.handle.signal("handle_tool_result", {"toolCallId": call_id, "output": 1})
    await harness.work()
    await until(lambda: 1 in shown)
    details = (await turn.handle.query("__temporal_workflow_metadata")).current_details

    assert "Waiting for 1 of 40 calls" in details
    # As the pause opens, and after the answers; a task that is done again shows both once more.
    assert set(shown) == {40, 1}
    assert len(shown) < 10


@pytest.mark.parametrize(
    ("decision", "ran", "said"),
    [
        ({"decision": "approve"}, [{"amount": 10, "to": "ana"}], "sent 10 to ana"),
        ({"decision": "reject", "reason": "keep the backup"}, [], "keep the backup"),
        ({"decision": "edit", "arguments": {"amount": 5, "to": "ana"}}, [{"amount": 5, "to": "ana"}], "sent 5 to ana"),
        ({"output": "done by hand"}, [], "done by hand"),
    ],
    ids=["approve", "reject", "edit", "substitute"],
)
async def test_a_person_decides_about_a_worker_tool(
    harness: Harness, decision: dict[str, Any], ran: list[dict[str, Any]], said: str
) -> None:
    """The tool runs only as the person allowed it, once."""
    await harness.work(AgentApp(tools=[transfer]), cached=False)
    harness.model.call([("transfer", {"amount": 10, "to": "ana"})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Pay Ana")
    await harness.pause(turn)
    pending = await turn.pending()
    assert pending is not None
    (call,) = pending.tool_calls
    assert (call.kind, call.name) == ("approval", "transfer")
    assert RAN == []

    await turn.answer([{"toolCallId": call.id, **decision}])
    await turn.result()

    assert ran == RAN
    assert said in tool_contents(harness)[0]
    if decision.get("decision") == "reject":
        assert TOOL_CALL_REJECTED in tool_contents(harness)[0]


async def test_edited_arguments_must_fit_the_tool(harness: Harness) -> None:
    """A wrong edit is refused and the call goes on waiting."""
    await harness.work(AgentApp(tools=[transfer]))
    harness.model.call([("transfer", {"amount": 10, "to": "ana"})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Pay Ana")
    stop = await harness.pause(turn)
    call_id = (stop.tool_calls or ())[0].id

    with pytest.raises(AnswerRefused, match="arguments"):
        await turn.answer([{"toolCallId": call_id, "decision": "edit", "arguments": {"amount": "a lot"}}])
    await turn.answer([{"toolCallId": call_id, "decision": "reject"}])
    await turn.result()

    assert RAN == []


async def test_a_late_answer_is_told_how_its_call_ended(harness: Harness) -> None:
    """It is not used for the next call of the same tool, and after the end the client says how the turn ended."""
    await harness.work()
    harness.model.call([("a", {})])
    harness.model.call([("a", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("a")], pause={"timeout": "PT1S"})
    first = (await harness.pause(turn)).tool_calls
    assert first is not None

    async def second_pause() -> bool:
        pending = await turn.pending()
        return pending is not None and pending.tool_calls[0].id != first[0].id

    await until(second_pause)
    with pytest.raises(AnswerRefused, match="no answer came before the deadline"):
        await turn.answer([{"toolCallId": first[0].id, "output": "late"}])
    assert (await turn.state()).waiting_for
    await turn.result()
    with pytest.raises(TurnEnded, match="completed"):
        await turn.answer([{"toolCallId": first[0].id, "output": "later still"}])
    with pytest.raises(TurnEnded, match="completed"):
        await turn.signal([{"toolCallId": first[0].id, "output": "later still"}])


async def test_settle_ends_the_pause(harness: Harness) -> None:
    """What is open is filled; without a pause the signal is recorded."""
    await harness.work()
    turn, _ = await paused(harness, "a", "b")

    await turn.settle()
    await turn.result()

    assert all(EXTERNAL_TOOL_NOT_RUN in content for content in tool_contents(harness))
