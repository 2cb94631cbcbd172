"""The turns of an instance: one at a time, in order, through many runs of it."""

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from activities.persona_character import MetaPrompt, MetaPromptTrigger
from activities.personas import Persona
from benchmarks.instance import live
from benchmarks.instance import runs_of as runs_listed
from benchmarks.model_server import reply
from benchmarks.stage import size_of
from tests.cli import run_cli
from tests.support import Harness, events_of, external, until
from tests.worker.gmi.instances import instance
from worker.app import AgentApp, tool
from worker.gmi import GMI, GMIError
from workflows import gmi_turn_book


async def ready(harness: Harness, **config: object) -> GMI:
    await harness.work(AgentApp())
    gmi = instance(harness)
    await gmi.initialize(None, {"externalTools": [external("ask")], **config})
    return gmi


def answer_last(harness: Harness) -> None:
    """The model repeats what the user said last."""
    harness.model.handler = lambda request: f"You said {request['messages'][-1]['content']}"


async def runs_of(gmi: GMI) -> int:
    """How often the instance continued as new, and once more."""
    chain = 1
    history = await gmi._channel.handle.fetch_history()
    run = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    while run:
        chain += 1
        earlier = await gmi._client.get_workflow_handle(gmi._channel.workflow_id, run_id=run).fetch_history()
        run = earlier.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return chain


async def test_fifty_turns_go_through_runs_of_five_each_ended_at_a_pause(harness: Harness) -> None:
    """The benchmark of an instance that lives long, in small."""
    await harness.work(AgentApp())
    harness.model.handler = reply
    gmi = instance(harness)

    life = await live(harness.client, gmi, 50, turns_per_run=5, pause_every=5)

    assert (life.turns, life.wrong, life.pauses, life.moved_while_paused) == (50, 0, 10, 10)
    status = await gmi.get_status()
    assert (status.turns, status.failed, status.state) == (50, 0, "ready")
    ids = await runs_listed(harness.client, gmi.gmi_id, 11)
    handles = [harness.client.get_workflow_handle(gmi._channel.workflow_id, run_id=each) for each in ids]
    assert max([(await size_of(handle)).events for handle in handles]) < 300
    assert life.parts[-1].state < 100_000
    assert len(await gmi.get_conversation_history()) == 50 * 2 + 10 * 2


async def test_it_continues_as_new_while_a_turn_is_paused(harness: Harness) -> None:
    gmi = await ready(harness, turnsPerRun=1)
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("Go")
    call = (stop.tool_calls or ())[0]

    async def has_continued() -> bool:
        return await runs_of(gmi) > 1

    await until(has_continued)
    assert await gmi.get_current_state() == "awaiting_tool_result"
    pending = await gmi.get_pending_request()
    assert pending is not None
    assert [each.id for each in pending.tool_calls] == [call.id]
    harness.model.say("Done.")
    done = await gmi.handle_tool_result(call.id, "ask", {"type": "success", "result": 1}, "local")
    assert done.response_text == "Done."
    answer_last(harness)
    assert (await gmi.process_turn("More")).response_text == "You said More"


async def test_two_hundred_calls_of_a_tool_with_a_large_schema_are_one_pause(harness: Harness) -> None:
    """Each call has the schema: 18 MB of record would stop the turn. What is shown of it fits, and says so by what is missing."""
    schema = {"type": "object", "description": "x" * 90_000}
    gmi = await ready(harness, externalTools=[external("ask", inputSchema=schema)])
    harness.model.call([("ask", {"n": n}) for n in range(200)])
    harness.model.say("Done.")
    stop = await gmi.process_turn("Go")
    pending = await gmi.get_pending_request()

    assert len(stop.tool_calls or ()) == 200
    assert pending is not None
    assert [call.arguments["n"] for call in pending.tool_calls] == list(range(200))
    assert all(call.input_schema is None for call in pending.tool_calls)
    assert (await gmi.settle()).response_text == "Done."


async def test_messages_wait_for_the_pause_and_come_in_order(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn({"content": "Go", "interactionId": "t0"})
    answer_last(harness)
    waiting = []
    for number in (1, 2, 3):
        message = {"content": f"word {number}", "interactionId": f"t{number}"}
        waiting.append(asyncio.create_task(gmi.process_turn(message)))

        async def is_queued(turn_id: str = f"t{number}") -> bool:
            return turn_id in (await gmi.get_status()).queued

        await until(is_queued)

    await gmi.handle_tool_result((stop.tool_calls or ())[0].id, "ask", {"type": "success", "result": 1}, "local")
    outputs = await asyncio.gather(*waiting)

    assert [output.response_text for output in outputs] == [f"You said word {number}" for number in (1, 2, 3)]
    roles = [message["role"] for message in await gmi.get_conversation_history()]
    assert roles == ["user", "assistant", "tool", "assistant", *(["user", "assistant"] * 3)]


async def test_a_message_may_supersede_the_paused_turn_and_those_that_wait(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn({"content": "Go", "interactionId": "t0"})
    answer_last(harness)
    later = asyncio.create_task(gmi.process_turn({"content": "Later", "interactionId": "t1"}))

    async def is_queued() -> bool:
        return "t1" in (await gmi.get_status()).queued

    await until(is_queued)
    now = await gmi.process_turn({"content": "Now", "onBusy": "supersede"})

    assert now.response_text == "You said Now"
    assert (await later).response_text == "You said Later"
    ended = await gmi._channel.query("get_output", "t0")
    assert ended["error"]["code"] == "TURN_SUPERSEDED"
    assert (await gmi.get_status()).state == "ready"


async def test_settle_and_cancel_reach_the_open_turn(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn("Go")
    harness.model.say("Without it, then.")
    assert (await gmi.settle()).response_text == "Without it, then."

    harness.model.call([("ask", {})])
    await gmi.process_turn("Again")
    cancelled = await gmi.cancel_turn()
    assert cancelled.is_final
    assert cancelled.error is not None
    assert cancelled.error.code == "TURN_CANCELLED"
    answer_last(harness)
    assert (await gmi.process_turn("On")).response_text == "You said On"


async def test_a_failed_turn_leaves_the_instance_usable(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.respond(401, {"error": {"message": "no"}})

    failed = await gmi.process_turn("Go")

    assert failed.error is not None
    assert failed.error.code == "LLM_PROVIDER_ERROR"
    assert await gmi.get_current_state() == "errored"
    answer_last(harness)
    assert (await gmi.process_turn("Again")).response_text == "You said Again"
    assert await gmi.get_current_state() == "ready"


async def test_a_terminated_turn_is_missed_when_the_next_message_comes(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn({"content": "Go", "interactionId": "t0"})
    status = await gmi.get_status()
    await harness.client.get_workflow_handle((status.open_turn or {})["workflowId"]).terminate()
    answer_last(harness)

    assert (await gmi.process_turn("Next")).response_text == "You said Next"
    assert (await gmi._channel.query("get_output", "t0"))["error"]["code"] == "GMI_PROCESSING_ERROR"


async def test_a_shutdown_cancels_the_open_turn_and_tells_those_who_wait(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn({"content": "Go", "interactionId": "t0"})
    waiting = asyncio.create_task(gmi.process_turn({"content": "Next", "interactionId": "t1"}))

    async def is_queued() -> bool:
        return "t1" in (await gmi.get_status()).queued

    await until(is_queued)
    await asyncio.gather(gmi.shutdown(), gmi.shutdown())

    told = await waiting
    assert told.error is not None
    assert told.error.code == "SYS_NOT_INITIALIZED"
    assert (await gmi._channel.query("get_output", "t0"))["error"]["code"] == "TURN_CANCELLED"
    with pytest.raises(GMIError) as late:
        await gmi.set_personality_trait("openness", 1)
    assert late.value.code == "SYS_NOT_INITIALIZED"


async def test_an_instance_that_was_shut_down_can_be_initialized_anew_in_the_same_conversation(
    harness: Harness,
) -> None:
    gmi = await ready(harness)
    answer_last(harness)
    await gmi.process_turn("Before")
    await gmi.shutdown()

    await gmi.initialize()

    await gmi.process_turn("After")
    contents = [message["content"] for message in await gmi.get_conversation_history()]
    assert contents[::2] == ["Before", "After"]
    assert (await gmi.get_status()).turns == 1


async def test_a_sender_who_does_not_wait_gets_the_id_of_the_turn(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.say("Slowly.", delay=0.5)

    at_once = await gmi._channel.update("process_turn", {"content": "Go", "interactionId": "t0", "waitSeconds": 0})

    assert at_once == {"isFinal": False, "turnId": "t0", "conversationId": f"gmi-{gmi.gmi_id}"}
    assert (await gmi.process_turn({"content": "Go", "interactionId": "t0"})).response_text == "Slowly."


async def test_a_turn_that_runs_alone_signals_nobody_though_it_names_an_instance(harness: Harness) -> None:
    """A stranger's field does not make a turn send signals."""
    gmi = await ready(harness)
    harness.model.say("Alone.")

    turn = await harness.turns.start("Hello", instance={"gmiId": gmi.gmi_id})

    assert (await turn.result()).response_text == "Alone."
    assert (await gmi.get_status()).turns == 0
    assert not [each for each in await events_of(turn.handle) if "SIGNAL_EXTERNAL" in each["eventType"]]


@pytest.mark.filterwarnings("error:.*imported after initial workflow load.*:UserWarning")
async def test_an_instance_runs_in_the_sdks_own_sandbox_too(harness: Harness) -> None:
    await harness.work(AgentApp(), cached=False, workflow_sandbox=True)
    gmi = instance(harness)
    await gmi.initialize(None, {"externalTools": [external("ask")], "turnsPerRun": 1})
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("Go")
    harness.model.say("Done.")
    done = await gmi.handle_tool_result((stop.tool_calls or ())[0].id, "ask", {"type": "success", "result": 1}, "local")

    assert done.response_text == "Done."
    assert (await gmi.get_overall_health())["overallStatus"] == "HEALTHY"
    await gmi.shutdown()


async def test_a_persona_of_its_own_has_its_prompt_and_no_tools_the_app_does_not_grant(harness: Harness) -> None:
    @tool(side_effects=False)
    def public() -> str:
        """For everybody."""
        return "p"

    @tool(side_effects=False)
    def secret() -> str:
        """For nobody."""
        return "s"

    await harness.work(AgentApp(personas=[Persona(id="app", tool_ids=("public",))], tools=[public, secret]))
    greedy = Persona(id="own", tool_ids=("secret",))
    with pytest.raises(GMIError) as refused:
        await instance(harness).initialize(greedy)
    assert refused.value.code == "GMI_INITIALIZATION_ERROR"

    gmi = instance(harness)
    await gmi.initialize(Persona(id="own", base_system_prompt="You are a poet."))
    answer_last(harness)
    await gmi.process_turn("Hi")
    asked = harness.model.requests[-1]
    assert asked["messages"][0]["content"].startswith("You are a poet.")
    assert [each["function"]["name"] for each in asked["tools"]] == ["public", "search_memory"]


async def test_thirty_messages_at_once_are_thirty_turns(harness: Harness) -> None:
    """More than the server lets wait at one workflow: the others are sent again until there is room."""
    gmi = await ready(harness, turnsPerRun=7)
    answer_last(harness)

    outputs = await asyncio.gather(*(gmi.process_turn(f"word {number}") for number in range(30)))

    assert [output.response_text for output in outputs] == [f"You said word {number}" for number in range(30)]
    assert (await gmi.get_status()).turns == 30


async def test_a_cancelled_instance_cancels_its_turn_and_ends(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn("Go")
    turn_id = ((await gmi.get_status()).open_turn or {})["workflowId"]

    await gmi._channel.handle.cancel()

    with pytest.raises(WorkflowFailureError):
        await gmi._channel.handle.result()
    assert await gmi.get_current_state() == "shutdown"
    described = await harness.client.get_workflow_handle(turn_id).describe()
    assert described.status == WorkflowExecutionStatus.CANCELED


async def test_a_turn_that_ran_before_anybody_remembers_is_not_run_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gmi_turn_book, "KEPT_OUTCOMES", 4)
    gmi = await ready(harness)
    answer_last(harness)
    await gmi.process_turn({"content": "First", "interactionId": "t0"})
    for number in range(1, 6):
        await gmi.process_turn({"content": "Next", "interactionId": f"t{number}"})
    asked = len(harness.model.requests)

    told = await gmi.process_turn({"content": "First", "interactionId": "t0"})

    assert told.error is not None
    assert told.error.code == "TURN_ALREADY_RAN"
    assert len(harness.model.requests) == asked
    assert (await gmi.get_status()).turns == 6
    assert await gmi.get_current_state() == "ready"


async def test_a_persona_thinks_about_itself_after_every_so_many_turns_and_at_feedback(harness: Harness) -> None:
    interval = MetaPromptTrigger(type="turn_interval", interval_turns=1)
    at_event = MetaPromptTrigger(type="event_based", event_name="user_frustrated")
    persona = Persona(
        id="own",
        meta_prompts=(
            MetaPrompt(id="often", prompt_template="OFTEN", trigger=interval),
            MetaPrompt(id="sorry", prompt_template="SORRY", trigger=at_event),
        ),
    )
    await harness.work(AgentApp())
    gmi = instance(harness)
    await gmi.initialize(persona)
    thoughts = {"OFTEN": "focused", "SORRY": "empathetic"}

    def reply(request: dict[str, Any]) -> str:
        said = request["messages"][-1]["content"]
        return f'{{"updatedGmiMood": "{thoughts[said[:5]]}"}}' if said[:5] in thoughts else "ok"

    async def mood(wanted: str) -> None:
        async def is_there() -> bool:
            return bool((await gmi.get_working_memory_snapshot())["currentGmiMood"] == wanted)

        await until(is_there)

    harness.model.handler = reply
    await gmi.process_turn("one")
    await gmi.process_turn("two")
    await mood("focused")
    await gmi.record_user_feedback({"rating": "negative"})
    await gmi.process_turn("three")
    await mood("empathetic")


async def test_a_message_may_bring_feedback_and_name_its_own_persona(harness: Harness) -> None:
    gmi = await ready(harness)
    answer_last(harness)
    about = {"userFeedback": {"rating": "negative", "text": "Too long."}, "explicitPersonaSwitchId": "default"}
    message = {"content": "Shorter", "interactionId": "t1", "metadata": about}

    assert (await gmi.process_turn(message)).response_text == "You said Shorter"
    await gmi.process_turn(message)

    told = [entry for entry in (await gmi.get_reasoning_trace())["entries"] if "feedback" in entry["message"]]
    assert [entry["details"]["text"] for entry in told] == ["Too long."]


async def test_people_see_the_pause_and_the_command_that_answers_it(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    await gmi.process_turn("Go")

    shown = await run_cli(
        harness.server, "workflow", "metadata", "--workflow-id", gmi._channel.workflow_id, "-o", "json"
    )

    assert "### awaiting_tool_result" in shown.out
    assert "--name handle_tool_results -o json" in shown.out


async def test_an_instance_cancelled_before_it_is_ready_tells_those_who_wait(harness: Harness) -> None:
    """No worker is up when it is started, asked and cancelled."""
    gmi = instance(harness)
    await gmi._channel.start({"gmiId": gmi.gmi_id})
    asked = asyncio.create_task(gmi.process_turn("Hello"))
    await gmi._channel.handle.cancel()
    await harness.work(AgentApp())

    with pytest.raises(GMIError) as told:
        await asked

    assert told.value.code == "SYS_NOT_INITIALIZED"
