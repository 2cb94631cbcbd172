"""One open turn per conversation: who is refused, who waits, who takes over, and what a next turn finds."""

import asyncio
import os
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus

from activities import errors
from tests.cli import run_cli
from tests.support import Harness, external
from worker.app import AgentApp, tool
from worker.client import Turn, TurnEnded, TurnFailed
from worker.executions import TemporalExecutions
from workflows.names import TURN_WORKFLOW


async def open_turn(harness: Harness, conversation_id: str = "c1", **fields: Any) -> tuple[Turn, str]:
    """A turn that holds the conversation at a pause, and the id of its call."""
    harness.model.call([("book", {})])
    turn = await harness.turns.start(
        "Book it", conversationId=conversation_id, externalTools=[external("book")], **fields
    )
    stop = await harness.pause(turn)
    return turn, (stop.tool_calls or ())[0].id


def roles(harness: Harness) -> list[str]:
    """Roles of the newest model request, without the system message."""
    return [message["role"] for message in harness.model.requests[-1]["messages"] if message["role"] != "system"]


async def reset(harness: Harness, turn: Turn, reapply: ResetReapplyType.ValueType) -> None:
    """As `temporal workflow reset` to the turn's first task."""
    history = await turn.handle.fetch_history()
    task = next(e.event_id for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    await harness.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id=turn.id),
            reason="test",
            workflow_task_finish_event_id=task,
            request_id=os.urandom(8).hex(),
            reset_reapply_type=reapply,
        )
    )


async def test_a_second_turn_is_refused_and_told_who_holds_the_conversation(harness: Harness) -> None:
    """The holder's pause is untouched."""
    await harness.work()
    holder, call_id = await open_turn(harness)
    second = await harness.turns.start("Hello?", conversationId="c1")
    with pytest.raises(TurnFailed, match=holder.id) as busy:
        await second.result()

    assert busy.value.code == errors.CONVERSATION_BUSY
    harness.model.say("Booked.")
    await holder.answer([{"toolCallId": call_id, "output": "ok"}])
    assert (await holder.result()).response_text == "Booked."


async def test_a_superseding_turn_settles_the_pause_and_goes_on(harness: Harness) -> None:
    """The old turn's call is filled next to the call, the new message comes after it, a late answer is refused."""
    await harness.work()
    holder, call_id = await open_turn(harness)
    harness.model.say("Two nights then.")
    newer = await harness.turns.start("Make it two nights", conversationId="c1", onBusy="supersede")

    assert (await newer.result()).response_text == "Two nights then."
    ended = await holder.result()
    assert ended.error is not None
    assert ended.error.code == errors.TURN_SUPERSEDED
    assert roles(harness) == ["user", "assistant", "tool", "user"]
    filled = harness.model.requests[-1]["messages"][-2]["content"]
    assert errors.EXTERNAL_TOOL_NOT_RUN in filled
    assert "moved on" in filled
    with pytest.raises(TurnEnded, match="over"):
        await holder.answer([{"toolCallId": call_id, "output": "late"}])


async def test_a_superseded_turn_keeps_the_answer_that_it_had(harness: Harness) -> None:
    """The open call is filled, each result stands behind its call, and the new message comes after them."""
    await harness.work()
    harness.model.call([("book", {}), ("pay", {})])
    tools = [external("book"), external("pay")]
    holder = await harness.turns.start("Book and pay", conversationId="c1", externalTools=tools)
    book, pay = (await harness.pause(holder)).tool_calls or ()
    await holder.answer([{"toolCallId": book.id, "output": "booked"}], partial="wait")
    harness.model.say("Two nights then.")
    newer = await harness.turns.start("Make it two nights", conversationId="c1", onBusy="supersede")
    await newer.result()

    *_, asked, first, second, message = harness.model.requests[-1]["messages"]
    assert [call["id"] for call in asked["tool_calls"]] == [book.id, pay.id]
    assert (first["tool_call_id"], first["content"]) == (book.id, "booked")
    assert second["tool_call_id"] == pay.id
    assert errors.EXTERNAL_TOOL_NOT_RUN in second["content"]
    assert message == {"role": "user", "content": "Make it two nights"}


async def test_a_terminated_holder_is_taken_over(harness: Harness) -> None:
    """`temporal workflow terminate` leaves no lock behind; its open call is filled."""
    await harness.work()
    holder, _ = await open_turn(harness)
    ended = await run_cli(harness.server, "workflow", "terminate", "-w", holder.id)
    assert ended.code == 0, ended.err
    harness.model.say("Here again.")
    newer = await harness.turns.start("Hello again", conversationId="c1")

    assert (await newer.result()).response_text == "Here again."
    assert roles(harness) == ["user", "assistant", "tool", "user"]
    assert errors.EXTERNAL_TOOL_NOT_RUN in harness.model.requests[-1]["messages"][-2]["content"]


async def test_of_two_racing_turns_one_runs_and_one_is_refused(harness: Harness) -> None:
    """Also with two workers, each on the same database."""
    await harness.work()
    await harness.work()
    harness.model.handler = lambda _: "ok"
    for round_number in range(5):
        turns = [
            await harness.turns.start("Hi", conversationId=f"race-{round_number}", turn_id=f"t{place}")
            for place in range(2)
        ]
        ends = await asyncio.gather(*(turn.result() for turn in turns), return_exceptions=True)
        refused = [end for end in ends if isinstance(end, TurnFailed)]
        assert len(refused) <= 1
        assert all(end.code == errors.CONVERSATION_BUSY for end in refused)


async def test_another_users_conversation_does_not_exist(harness: Harness) -> None:
    """A conversation is its owner's; the refusal does not say that it exists."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    await (await harness.turns.start("Hi", conversationId="ana-1", userId="ana")).result()
    with pytest.raises(TurnFailed, match="no conversation") as refused:
        await (await harness.turns.start("Hi", conversationId="ana-1", userId="bob")).result()

    assert refused.value.code == errors.SYS_RESOURCE_NOT_FOUND


async def test_two_conversations_may_name_their_turns_alike(harness: Harness) -> None:
    """A turn id is unique in its conversation only."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    for conversation_id in ("a", "b"):
        turn = await harness.turns.start("Hi", conversationId=f"{harness.task_queue}-{conversation_id}", turn_id="t1")
        assert (await turn.result()).turn_id == "t1"


async def test_a_turn_id_that_ran_does_not_run_again(harness: Harness) -> None:
    """Under another workflow id too."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    await (await harness.turns.start("Hi", conversationId="c-ran", turn_id="ran")).result()
    handle = await harness.client.start_workflow(
        TURN_WORKFLOW,
        {"content": "Hi", "conversationId": "c-ran", "interactionId": "ran"},
        id=f"other-{harness.task_queue}",
        task_queue=harness.task_queue,
    )
    with pytest.raises(TurnFailed) as refused:
        await harness.turns.of(handle.id).result()

    assert refused.value.code == errors.TURN_ALREADY_RAN


async def test_histories_begin_a_conversation(harness: Harness) -> None:
    """Earlier messages of another agent are read before the first turn's."""
    await harness.work()
    harness.model.say("Ren.")
    histories = [
        {"type": "text", "role": "user", "text": "Call me Ren."},
        {"type": "text", "role": "assistant", "text": "Hello Ren."},
    ]
    await (await harness.turns.start("My name?", conversationId="h1", histories=histories)).result()

    assert roles(harness) == ["user", "assistant", "user"]


async def test_a_reset_turn_goes_on_with_the_same_calls_and_keys(harness: Harness) -> None:
    """Reset to before its tool ran: the tool is not run again, the call ids are the same, the end is the same."""
    keys: list[str] = []

    @tool
    def pay() -> str:
        """Pay."""
        keys.append("ran")
        return "paid"

    await harness.work(AgentApp(tools=[pay]))
    harness.model.call([("pay", {})])
    harness.model.say("Paid.")
    turn = await harness.turns.start("Pay", conversationId="c1")
    first = await turn.result()
    await reset(harness, turn, ResetReapplyType.RESET_REAPPLY_TYPE_NONE)
    again = await turn.result()

    assert (await turn.handle.describe()).status is WorkflowExecutionStatus.COMPLETED
    assert keys == ["ran"]
    assert [call.id for call in again.tool_calls or ()] == [call.id for call in first.tool_calls or ()]
    assert again.response_text == "Paid."
    assert len(harness.model.requests) == 2


async def test_a_paused_turn_that_is_reset_waits_for_the_same_call(harness: Harness) -> None:
    """The model is not asked again, and the answer to the call that was shown before is taken."""
    await harness.work()
    turn, call_id = await open_turn(harness)
    await reset(harness, turn, ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE)
    stop = await harness.pause(turn)
    harness.model.say("Booked.")
    await turn.answer([{"toolCallId": call_id, "output": "ok"}])

    assert [call.id for call in stop.tool_calls or ()] == [call_id]
    assert (await turn.result()).response_text == "Booked."
    assert len(harness.model.requests) == 2


async def test_an_old_turn_that_is_reset_changes_nothing_of_its_conversation(harness: Harness) -> None:
    """Answers by update come back with the reset; later turns stay where they are. While one is open, the reset is refused."""
    await harness.work()
    old, call_id = await open_turn(harness)
    harness.model.say("Booked.")
    await old.answer([{"toolCallId": call_id, "output": "ok"}])
    await old.result()
    newer, newer_call = await open_turn(harness)
    await reset(harness, old, ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE)
    with pytest.raises(TurnFailed) as busy:
        await old.result()
    assert busy.value.code == errors.CONVERSATION_BUSY
    harness.model.say("Twice.")
    await newer.answer([{"toolCallId": newer_call, "output": "ok"}])
    await newer.result()
    await reset(harness, old, ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE)
    assert (await old.result()).response_text == "Booked."
    asked = len(harness.model.requests)
    harness.model.say("Yes.")
    await (await harness.turns.start("Still there?", conversationId="c1")).result()

    assert len(harness.model.requests) == asked + 1 == 5
    assert roles(harness) == [*["user", "assistant", "tool", "assistant"] * 2, "user"]


async def test_memory_recalls_in_a_later_conversation_what_the_user_said(harness: Harness) -> None:
    """Of the same user and persona, and nobody else's."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    await (await harness.turns.start("My staging host is blue-7.", userId="ren")).result()
    await (await harness.turns.start("Where is staging?", userId="ren")).result()
    assert "blue-7" in str(harness.model.requests[-1]["messages"][0])
    await (await harness.turns.start("Where is staging?", userId="ana")).result()

    assert "blue-7" not in str(harness.model.requests[-1]["messages"])


async def test_the_model_can_search_memory(harness: Harness) -> None:
    """`search_memory` is a tool of every persona."""
    await harness.work()
    harness.model.say("Noted.")
    await (await harness.turns.start("My staging host is blue-7.", userId="ren")).result()
    harness.model.call([("search_memory", {"query": "staging host"})])
    harness.model.say("It is blue-7.")
    output = await (await harness.turns.start("Find it", userId="ren")).result()

    assert "blue-7" in harness.model.requests[-1]["messages"][-1]["content"]
    assert [call.name for call in output.tool_calls or ()] == ["search_memory"]


async def test_a_turn_runs_without_registered_search_attributes(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a namespace that knows none of them."""

    async def none(_: TemporalExecutions) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr(TemporalExecutions, "search_attributes", none)
    await harness.work()
    turn, call_id = await open_turn(harness, "bare")
    harness.model.say("Fine.")
    await turn.answer([{"toolCallId": call_id, "output": 1}])

    assert (await turn.result()).response_text == "Fine."
