"""One conversation through every member of the interface, on the real server."""

import asyncio
import json
from typing import Any

import pytest

from activities.persona_character import MetaPrompt, MoodAdaptation
from activities.personas import Persona
from tests.cli import run_cli
from tests.support import Harness, external
from tests.worker.gmi.instances import event, instance
from worker.app import AgentApp
from worker.gmi import IGMI, GMIError
from workflows.names import gmi_workflow_id

SUPPORT = Persona(
    id="support",
    name="Support",
    base_system_prompt="You help.",
    personality_traits={"openness": 0.5, "wit": 0.2},
    mood_adaptation=MoodAdaptation(mood_prompts={"empathetic": "Be kind."}),
    default_working_memory={"motto": "calm"},
    meta_prompts=(
        MetaPrompt(id="gmi_self_trait_adjustment", prompt_template="Look at {{recentMessages}} and adjust."),
    ),
    hard_limits=("Never promise refunds.",),
)


async def restart(harness: Harness) -> None:
    """Replace the worker, gracefully."""
    await harness.workers[-1].stop()
    await harness.work()


async def test_one_conversation_goes_through_every_member(harness: Harness) -> None:
    await harness.work(AgentApp(personas=[SUPPORT]))
    gmi = instance(harness)
    assert isinstance(gmi, IGMI)

    await gmi.initialize("support", {"userId": "ren", "externalTools": [external("ask")]})
    await gmi.initialize("support", {"userId": "ren", "externalTools": [external("ask")]})
    assert await gmi.get_gmi_id() == gmi.gmi_id
    assert await gmi.get_current_state() == "ready"
    assert await gmi.get_current_primary_persona_id() == "support"
    created = await gmi.creation_timestamp()

    await gmi.set_personality_trait("openness", 0.9)
    assert (await gmi.get_persona()).personality_traits["openness"] == 0.9

    harness.model.call([("ask", {"q": "which"}), ("ask", {"q": "when"})])
    stream = gmi.process_turn_stream({"content": "Plan it", "interactionId": "t1"})
    chunks = [chunk async for chunk in stream]
    stop = await stream.output()
    first, second = stop.tool_calls or ()
    assert not stop.is_final
    assert chunks[-1].type == "tool_call_request"
    system = harness.model.requests[-1]["messages"][0]["content"]
    assert "openness 0.9" in system
    assert system.endswith("- Never promise refunds.")
    assert await gmi.get_current_state() == "awaiting_tool_result"
    assert [call.id for call in ((await gmi.get_pending_request()) or pytest.fail("no pause")).tool_calls] == [
        first.id,
        second.id,
    ]

    await restart(harness)
    partly = await gmi.handle_tool_result(first.id, "ask", {"type": "success", "result": "blue"}, "ren")
    assert [call.id for call in partly.tool_calls or ()] == [second.id]
    harness.model.say("Planned.")
    error = {"type": "error", "error": {"code": "LATE", "message": "too late"}}
    done = await gmi.handle_tool_results([{"toolCallId": second.id, **error}], "ren")
    assert (done.is_final, done.response_text) == (True, "Planned.")

    history = await gmi.get_conversation_history()
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "tool", "assistant"]
    assert await gmi.get_last_turn_history() == history

    harness.model.say("Second.")
    assert (await gmi.process_turn("And then?")).response_text == "Second."
    assert len(await gmi.get_conversation_history()) == 7
    assert [message["role"] for message in await gmi.get_last_turn_history()] == ["user", "assistant"]

    await gmi.hydrate_conversation_history(history)
    assert [
        {key: value for key, value in message.items() if key not in ("id", "timestamp")}
        for message in await gmi.get_conversation_history()
    ] == [{key: value for key, value in message.items() if key not in ("id", "timestamp")} for message in history]
    harness.model.say("Third.")
    await gmi.process_turn("Still there?")
    said = [message.get("content") for message in harness.model.requests[-1]["messages"]]
    assert "Plan it" in said
    assert "And then?" not in said

    await gmi.replace_history([{"role": "user", "content": "Plan it"}, {"role": "assistant", "content": "ok"}])
    entries = (await gmi.get_reasoning_trace())["entries"]
    begun = [entry for entry in entries if entry["type"] == "INTERACTION_START"]
    assert ["details" in entry for entry in begun] == [True, False, False]
    await gmi.clear_history()
    assert await gmi.get_conversation_history() == []
    assert await gmi.get_last_turn_history() == []

    await restart(harness)
    await gmi.hydrate_turn_context({"sessionId": "s2", "ragSources": [{"id": "r1", "content": "x"}]})
    await gmi.record_user_feedback({"rating": "Positive", "text": "The deploy host is blue-7, well done."})
    assert await gmi.get_learner_session() is None
    memory = await gmi.get_cognitive_memory_manager()
    assert (await memory.scope())["userId"] == "ren"
    assert (await memory.stats())["memories"] >= 1
    assert "blue-7" in (await memory.search("deploy host"))[0]["content"]

    harness.model.say(json.dumps({"updatedGmiMood": "empathetic", "updatedPersonalityTraits": {"wit": 1.0, "no": 1}}))
    await gmi._trigger_and_process_self_reflection()
    snapshot = await gmi.get_working_memory_snapshot()
    assert snapshot["currentGmiMood"] == "empathetic"
    assert snapshot["motto"] == "calm"
    assert (await gmi.get_persona()).personality_traits["wit"] == 0.4

    response = await gmi.on_memory_lifecycle_event(event(gmi.gmi_id))
    assert response["actionTaken"] == "DELETE"
    assert (await gmi.analyze_and_report_memory_health())["overallStatus"] == "OPERATIONAL"
    health = await gmi.get_overall_health()
    assert health["overallStatus"] == "HEALTHY"
    assert health["activeTurnsProcessed"] == 3

    assert await gmi.creation_timestamp() == created
    await gmi.shutdown()
    await gmi.shutdown()
    assert await gmi.get_current_state() == "shutdown"
    with pytest.raises(GMIError) as late:
        await gmi.process_turn("Hello?")
    assert late.value.code == "SYS_NOT_INITIALIZED"


async def test_every_member_works_from_the_command_line(harness: Harness) -> None:
    await harness.work(AgentApp(personas=[SUPPORT]))
    gmi_id = harness.task_queue
    workflow_id = gmi_workflow_id(gmi_id)
    start = {"gmiId": gmi_id, "personaId": "support", "config": {"externalTools": [external("ask")]}}
    started = await run_cli(
        *(harness.server, "workflow", "start", "--type", "GMIWorkflow", "--task-queue", harness.task_queue),
        *("--workflow-id", workflow_id, "--input", json.dumps(start)),
    )
    assert started.code == 0, started.err

    async def update(name: str, body: Any = None) -> Any:
        given = () if body is None else ("--input", json.dumps(body))
        ran = await run_cli(
            *(harness.server, "workflow", "update", "execute", "--workflow-id", workflow_id, "--name", name),
            *(*given, "-o", "json"),
        )
        assert ran.code == 0, (name, ran.err)
        return ran.json["result"]

    async def query(name: str) -> Any:
        ran = await run_cli(
            harness.server, "workflow", "query", "--workflow-id", workflow_id, "--name", name, "-o", "json"
        )
        assert ran.code == 0, (name, ran.err)
        return ran.json["queryResult"][0]

    harness.model.call([("ask", {})])
    stop = await update("process_turn", {"content": "Go", "interactionId": "t1"})
    assert not stop["isFinal"]
    assert await query("get_current_state") == "awaiting_tool_result"
    harness.model.say("Done.")
    answer = {"toolCallId": stop["toolCalls"][0]["id"], "output": 1}
    assert (await update("handle_tool_result", answer))["responseText"] == "Done."
    page, trait, feedback, health, memory, replaced, reflected = await asyncio.gather(
        update("get_conversation_history"),
        update("set_personality_trait", {"trait": "honesty", "value": 1}),
        update("record_user_feedback", {"score": 5}),
        update("get_overall_health"),
        update("get_cognitive_memory_manager", {"query": "x"}),
        update("replace_history", {"messages": []}),
        update("_trigger_and_process_self_reflection", {"metaPromptId": "none"}),
    )
    assert len(page["messages"]) in (0, 4)
    assert trait["honesty"] == 1
    assert feedback["feedback"]["polarity"] == "positive"
    assert health["gmiId"] == gmi_id
    assert memory["scope"]["personaId"] == "support"
    assert replaced == {"messages": 0, "turns": 0}
    assert "skipped" in reflected
    assert (await query("get_reasoning_trace"))["entries"]
    assert (await query("get_persona"))["id"] == "support"
    assert (await update("shutdown"))["state"] == "shutdown"
    assert await query("get_current_state") == "shutdown"
