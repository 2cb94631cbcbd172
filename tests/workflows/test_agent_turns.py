"""Turns with sub-agents: they work side by side, what they ask is answered at the top, and they end with their caller."""

import asyncio
import json
from typing import Any

import pytest
from temporalio.api.enums.v1 import ResetReapplyType
from temporalio.client import WorkflowExecutionStatus

from activities import errors
from activities.conversation import ToolCall
from activities.pairing import pairing_fault
from activities.store.chunk_store import ChunkStore
from activities.store.database import open_database
from tests.support import Harness, event_types, events_of, external, until
from tests.workflows.test_conversation import reset
from worker.app import AgentApp, Persona, tool
from worker.chunks import ChunkReader
from worker.client import AnswerRefused, Turn
from worker.demo_script import Saying
from worker.gmi import GMI
from worker.scripted_responses import refuse
from workflows.contracts import PendingCall

SENT: list[int] = []


@tool(needs_approval=True)
def transfer(amount: int) -> str:
    """Transfer money."""
    SENT.append(amount)
    return f"sent {amount}"


def look() -> None:
    """Look at nothing."""


def persona(name: str, *agents: str, **fields: Any) -> Persona:
    return Persona(id=name, base_system_prompt=f"You are {name}.", sub_agents=agents, **fields)


APP = AgentApp(
    personas=[
        persona("lead", "clerk", "writer", tool_ids=()),
        persona("clerk", "deputy", description="Moves money."),
        persona("writer", tool_ids=()),
        persona("deputy", "deputy"),
    ],
    tools=[transfer],
)


def said_by(request: dict[str, Any]) -> str:
    """Which persona asks."""
    return next(
        name
        for name in ("lead", "clerk", "writer", "deputy")
        if f"You are {name}." in json.dumps(request["messages"][0])
    )


def results_in(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def delegate(persona_id: str, task: str) -> tuple[str, dict[str, Any]]:
    return "delegate", {"persona": persona_id, "task": task}


class Minds:
    """What each persona says: its replies in order; the last one is said for ever."""

    def __init__(self, harness: Harness, **replies: list[Any]) -> None:
        self.replies = replies
        self.asked: list[tuple[str, dict[str, Any]]] = []
        harness.model.handler = self._reply

    def _reply(self, request: dict[str, Any]) -> Any:
        who = said_by(request)
        self.asked.append((who, request))
        mine = self.replies[who]
        said = mine.pop(0) if len(mine) > 1 else mine[0]
        return Saying(calls=tuple(said)) if isinstance(said, list) else said

    def requests(self, who: str) -> list[dict[str, Any]]:
        return [request for name, request in self.asked if name == who]


async def pending(turn: Turn, count: int = 1) -> list[PendingCall]:
    """The open calls of the pause, as soon as there are so many."""

    async def enough() -> list[PendingCall] | None:
        record = await turn.pending()
        calls = [call for call in record.tool_calls if call.state == "open"] if record else []
        return calls if len(calls) >= count else None

    calls: list[PendingCall] = await until(enough, 60)
    return calls


async def is_over(harness: Harness, workflow_id: str) -> WorkflowExecutionStatus | None:
    status = (await harness.client.get_workflow_handle(workflow_id).describe()).status
    return None if status == WorkflowExecutionStatus.RUNNING else status


async def test_two_agents_side_by_side_of_which_one_pauses(harness: Harness) -> None:
    """Its call is answered at the top by signal, under an id that names the way to it; usage of all is in the output."""
    SENT.clear()
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[delegate("clerk", "Send 5."), delegate("writer", "Write a note.")], "All done."],
        clerk=[[("transfer", {"amount": 5})], "Five are sent."],
        writer=["Dear Ada."],
    )
    turn = await harness.turns.start("Pay and write", personaId="lead", conversationId="c", userId="ada")
    [call] = await pending(turn)

    status = await turn.state()
    [agent] = [each for each in status.agents if each.persona_id == "clerk"]
    assert call.id == f"{agent.call_id}.{call.id.partition('.')[2]}"
    assert (call.kind, call.name, call.persona_id, call.arguments) == ("approval", "transfer", "clerk", {"amount": 5})
    assert (status.phase, agent.workflow_id) == ("waiting", f"{turn.id}.{agent.call_id}")
    details = (await turn.handle.query("__temporal_workflow_metadata")).current_details
    assert call.id in details
    offered = json.dumps(minds.requests("lead")[0]["tools"])
    assert "clerk: Moves money." in offered
    assert minds.requests("clerk")[0]["messages"][-1]["content"] == "Send 5."
    with pytest.raises(AnswerRefused, match="schema"):
        await turn.answer([{"toolCallId": call.id, "decision": "edit", "arguments": {"amount": "many"}}])
    await turn.signal([{"toolCallId": call.id, "decision": "edit", "arguments": {"amount": 4}}])
    output = await turn.result()

    assert (output.response_text, output.error, SENT) == ("All done.", None, [4])
    assert results_in(minds.requests("lead")[-1]) == ["Five are sent.", "Dear Ada."]
    assert output.usage is not None
    assert len(minds.asked) == 5
    assert output.usage.total_tokens == sum(entry.tokens for entry in output.usage.breakdown)
    child = await harness.client.get_workflow_handle(agent.workflow_id).result()
    assert child["modelCalls"] == 2
    assert output.usage.total_tokens > child["usage"]["totalTokens"] > 0
    assert [each.name for each in output.tool_calls or ()] == ["delegate", "delegate"]
    assert (await turn.state()).agents == ()


async def test_an_agent_of_an_agent_is_answered_at_the_top_beside_the_turns_own_calls(harness: Harness) -> None:
    """One pause shows all; partial answers wait, and what is left out is filled where it was asked."""
    SENT.clear()
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[("ask", {}), delegate("clerk", "Send 1 and let the deputy send 2.")], "Done."],
        clerk=[[("transfer", {"amount": 1}), delegate("deputy", "Send 2.")], "Clerk is done."],
        deputy=[[("transfer", {"amount": 2}), ("ask", {})], "Deputy is done."],
    )
    turn = await harness.turns.start("Go", personaId="lead", externalTools=[external("ask")])
    own, first, second, asking = sorted(
        await pending(turn, 4), key=lambda call: (call.id.count("."), call.name != "transfer")
    )

    assert [each.id.count(".") for each in (own, first, second, asking)] == [0, 1, 2, 2]
    assert (second.persona_id, asking.name, asking.input_schema) == ("deputy", "ask", {"type": "object"})
    ack = await turn.answer([{"toolCallId": second.id, "decision": "approve"}], partial="wait")
    assert set(ack.waiting_for) == {own.id, first.id, asking.id}
    await turn.answer(
        [{"toolCallId": own.id, "output": "yes"}, {"toolCallId": first.id, "decision": "reject", "reason": "no"}]
    )
    output = await turn.result()

    assert output.response_text == "Done."
    assert SENT == [2]
    assert ["left it out" in each for each in results_in(minds.requests("deputy")[-1])] == [False, True]
    assert "no" in results_in(minds.requests("clerk")[-1])[0]
    assert results_in(minds.requests("lead")[-1]) == ["yes", "Clerk is done."]


async def test_a_turn_that_is_cancelled_takes_its_agents_with_it(harness: Harness) -> None:
    """The agent's conversation and the caller's have a result for every call, and both can be used again."""
    await harness.work(APP)
    Minds(
        harness,
        lead=[[delegate("clerk", "Send 5.")], "Next."],
        clerk=[[("transfer", {"amount": 5})], "Never."],
    )
    turn = await harness.turns.start("Go", personaId="lead", conversationId="c")
    [call] = await pending(turn)
    agent = (await turn.state()).agents[0].workflow_id
    await turn.cancel()
    assert await until(lambda: is_over(harness, turn.id)) == WorkflowExecutionStatus.CANCELED
    assert await is_over(harness, agent) == WorkflowExecutionStatus.CANCELED

    store = harness.store()
    for conversation in ("c", f"c.{call.id.partition('.')[0]}"):
        messages = [message for each in store.history(conversation, 99, 1000, 1_000_000) for message in each]
        assert messages
        assert pairing_fault(messages) is None
        assert errors.TOOL_CANCELLED in str(messages) or "was cancelled" in str(messages)
    following = await harness.turns.start("And now?", personaId="lead", conversationId="c")
    assert (await following.result()).response_text == "Next."


async def test_a_turn_that_is_terminated_leaves_no_agent_behind(harness: Harness) -> None:
    await harness.work(APP)
    Minds(harness, lead=[[delegate("clerk", "Send 5.")]], clerk=[[("transfer", {"amount": 5})]])
    turn = await harness.turns.start("Go", personaId="lead")
    await pending(turn)
    agent = (await turn.state()).agents[0].workflow_id
    await turn.handle.terminate()

    assert await until(lambda: is_over(harness, agent)) == WorkflowExecutionStatus.CANCELED


async def test_a_worker_that_is_killed_while_agents_work_repeats_nothing(harness: Harness) -> None:
    """One agent waits for its host, the other is asked for nothing; both are started once, and nothing is sent twice."""
    app = "tests.workflows.test_agent_turns:APP"
    process = harness.work_apart(app)
    minds = Minds(
        harness,
        lead=[[delegate("clerk", "Send 5."), delegate("writer", "Write.")], "All done."],
        clerk=[[("transfer", {"amount": 5})], "Sent."],
        writer=["Written."],
    )
    turn = await harness.turns.start("Go", personaId="lead")
    await until(lambda: len(minds.asked) == 3, 120)
    [call] = await pending(turn)
    process.kill()
    await asyncio.to_thread(process.wait)
    SENT.clear()
    await turn.signal([{"toolCallId": call.id, "decision": "approve"}])
    await harness.work(APP)
    async with asyncio.timeout(120):
        output = await turn.result()

    assert output.response_text == "All done."
    assert SENT == [5]
    assert len(minds.asked) == 5
    types = event_types(await events_of(turn.handle))
    assert types.count("CHILD_WORKFLOW_EXECUTION_STARTED") == types.count("CHILD_WORKFLOW_EXECUTION_COMPLETED") == 2


async def test_the_budget_is_shared_and_what_an_agent_uses_counts(harness: Harness) -> None:
    """Two agents get half each of what is left; one that needs more asks at the top, and a raise is one of the whole."""
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[delegate("writer", "One."), delegate("clerk", "Two.")], "Done."],
        writer=["A note."],
        clerk=[[("search_memory", {"query": "a"})], [("search_memory", {"query": "b"})], "Found."],
    )
    # 6 calls: 1 used, 1 kept for the last words, 2 for each agent.
    turn = await harness.turns.start("Go", personaId="lead", limits={"maxModelCalls": 6, "onLimit": "ask"})
    [call] = await pending(turn)
    assert (call.kind, call.persona_id, call.id.count(".")) == ("budget", "clerk", 1)
    assert (call.arguments["limit"], call.arguments["used"], call.arguments["value"]) == ("maxModelCalls", 2, 2)
    with pytest.raises(AnswerRefused, match="does not raise the limit"):
        await turn.answer([{"toolCallId": call.id, "output": {"maxModelCalls": 2}}])
    await turn.answer([{"toolCallId": call.id, "output": {"maxModelCalls": 5}}])
    output = await turn.result()

    assert (output.response_text, output.error) == ("Done.", None)
    limits = (await turn.state()).limits
    assert limits is not None
    assert limits.max_model_calls == 9
    assert len(minds.asked) == 6


async def test_agents_that_use_the_budget_up_leave_a_turn_at_its_limit(harness: Harness) -> None:
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[delegate("clerk", "Search.")], "Words."],
        clerk=[[("search_memory", {"query": "a"})], "Found."],
        writer=["Never asked."],
    )
    turn = await harness.turns.start("Go", personaId="lead", limits={"maxModelCalls": 4})
    output = await turn.result()

    # The clerk had two calls, of which the last is made without tools; then only the lead's own last words are left.
    assert [who for who, _ in minds.asked] == ["lead", "clerk", "clerk", "lead"]
    assert output.error is not None
    assert output.error.code == errors.LIMIT_MODEL_CALLS
    assert errors.LIMIT_MODEL_CALLS in results_in(minds.requests("lead")[1])[0]


async def test_agents_are_three_deep_and_say_so(harness: Harness) -> None:
    """A persona that calls itself through others is stopped by the depth, in words it can act on."""
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[delegate("clerk", "Do it.")], "Done."],
        clerk=[[delegate("deputy", "Do it.")], "Clerk."],
        deputy=[[delegate("deputy", "Do it.")], [delegate("deputy", "Do it.")], "Myself."],
    )
    turn = await harness.turns.start("Go", personaId="lead")
    assert (await turn.result()).response_text == "Done."

    told = [each for request in minds.requests("deputy") for each in results_in(request)]
    assert any("Agents may be 3 deep" in each for each in told)
    deepest = minds.requests("deputy")[1]
    assert "delegate" not in json.dumps(deepest.get("tools", []))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"persona": "nobody", "task": "x"}, "The agents are: clerk, writer"),
        ({"persona": "clerk"}, "task"),
        ({"persona": "clerk", "task": "  "}, "is empty"),
        ({"persona": "clerk", "task": "x" * 9_000}, "task"),
        ({"persona": "lead", "task": "x"}, "The agents are: clerk, writer"),
    ],
)
async def test_a_task_that_cannot_be_handed_out_is_refused_in_words(
    harness: Harness, arguments: dict[str, Any], words: str
) -> None:
    await harness.work(APP)
    minds = Minds(harness, lead=[[("delegate", arguments)], "Well."])
    turn = await harness.turns.start("Go", personaId="lead")
    assert (await turn.result()).response_text == "Well."
    assert words in results_in(minds.requests("lead")[-1])[0]


async def test_an_agent_that_fails_is_a_result(harness: Harness) -> None:
    """Its code and words reach the model; the caller's turn goes on."""
    await harness.work(APP)
    minds = Minds(harness, lead=[[delegate("writer", "Write.")], "Then not."], writer=[refuse(401, "no such key")])
    turn = await harness.turns.start("Go", personaId="lead")
    assert (await turn.result()).response_text == "Then not."
    assert errors.LLM_PROVIDER_ERROR in results_in(minds.requests("lead")[-1])[0]


async def test_strangers_cannot_speak_for_an_agent(harness: Harness) -> None:
    """Notices and fills of the wrong shape or of nobody are recorded, and change nothing."""
    await harness.work(APP)
    Minds(harness, lead=[[delegate("clerk", "Send 5.")], "Done."], clerk=[[("transfer", {"amount": 5})], "Ok."])
    turn = await harness.turns.start("Go", personaId="lead")
    [call] = await pending(turn)
    bad: list[tuple[str, Any]] = [
        ("turn_stopped", None),
        ("turn_stopped", {"workflowId": "elsewhere.x", "turnId": "x", "number": 9, "output": {"isFinal": True}}),
        ("turn_stopped", {"workflowId": 5}),
        ("fill_calls", {"toolCallIds": [call.id], "reason": "because"}),
        ("fill_calls", {"toolCallIds": [], "reason": "settled"}),
        ("fill_calls", [call.id]),
    ]
    for name, argument in bad:
        await turn.handle.signal(name, argument)

    async def all_recorded() -> bool:
        return len(await turn.rejected_answers()) == len(bad)

    await until(all_recorded)
    assert [each.id for each in await pending(turn)] == [call.id]
    await turn.settle()
    assert (await turn.result()).response_text == "Done."


async def test_an_instance_shows_what_an_agent_of_its_turn_asks(harness: Harness) -> None:
    await harness.work(APP)
    Minds(harness, lead=[[delegate("clerk", "Send 5.")], "Done."], clerk=[[("transfer", {"amount": 5})], "Ok."])
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize("lead", {})
    stop = await gmi.process_turn("Go")
    [call] = stop.tool_calls or ()
    assert (call.name, call.id.count(".")) == ("transfer", 1)
    output = await gmi.handle_tool_result(call.id, call.name, {"type": "success", "result": "by hand"}, "local")
    assert output.response_text == "Done."
    await gmi.shutdown()


@pytest.mark.parametrize(
    ("personas", "words"),
    [
        ([persona("a", "b")], "names sub-agents that are no personas: b"),
        ([persona("a", "a")], "the name of the one that calls them: delegate"),
    ],
)
def test_an_app_whose_agents_cannot_be_called_does_not_start(personas: list[Persona], words: str) -> None:
    tools = [tool(name="delegate")(look)] if "name of" in words else []
    with pytest.raises(ValueError, match=words):
        AgentApp(personas=personas, tools=tools)


async def test_a_turn_that_is_reset_starts_no_agent_twice(harness: Harness) -> None:
    """Its new run finds the agent that the old one started, and takes what that has said."""
    SENT.clear()
    await harness.work(APP)
    minds = Minds(
        harness,
        lead=[[delegate("clerk", "Send 5."), delegate("writer", "Write.")], "All done."],
        clerk=[[("transfer", {"amount": 5})], "Five are sent."],
        writer=["Dear Ada."],
    )
    turn = await harness.turns.start("Go", personaId="lead")
    [call] = await pending(turn)
    await turn.answer([{"toolCallId": call.id, "decision": "approve"}])
    first = await turn.result()
    await reset(harness, turn, ResetReapplyType.RESET_REAPPLY_TYPE_NONE)
    again = await turn.result()

    assert (again.response_text, again.error) == (first.response_text, None)
    assert SENT == [5]
    assert len(minds.asked) == 5
    assert again.usage == first.usage


async def test_the_stream_is_told_of_calls_that_stand_in_no_reply(harness: Harness) -> None:
    """The turn's own for more budget, and those of agents; each once, also when the step runs twice."""
    await harness.work(APP)
    Minds(
        harness,
        lead=[[("search_memory", {"query": "x"})], [delegate("clerk", "Send 5.")], "Done."],
        clerk=[[("transfer", {"amount": 5})], "Ok."],
    )
    limits = {"maxToolRounds": 1, "onLimit": "ask"}
    turn = await harness.turns.start("Go", personaId="lead", limits=limits, options={"stream": True})
    [more] = await pending(turn)
    await turn.raise_budget(maxToolRounds=9)

    async def next_call() -> PendingCall | None:
        [call] = await pending(turn)
        return None if call.id == more.id else call

    call: PendingCall = await until(next_call, 60)
    key = turn.key
    assert key is not None
    database = open_database(harness.settings.database_url)
    harness.stack.callback(database.close)
    assert ChunkStore(database).tell_pause(key, "again", [ToolCall(id=call.id, name=call.name)])
    await turn.settle()
    async with ChunkReader(harness.settings.database_url) as reader:
        chunks = [chunk async for chunk in turn.stream(reader)]

    alone = [each for each in chunks if "pauseId" in each.metadata]
    assert [[called["id"] for called in chunk.content] for chunk in alone] == [[more.id], [call.id]]
    assert all(chunk.metadata["requiresExternalToolResult"] for chunk in alone)
