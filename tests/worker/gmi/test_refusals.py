"""What an instance does not take: each a `GMIError` with a code, and nothing changes."""

import asyncio
from typing import Any

import pytest

from activities.personas import Persona
from tests.support import Harness, events_of, external
from tests.worker.gmi.instances import event, instance
from worker.app import AgentApp
from worker.gmi import GMI, GMIError
from workflows.names import TURN_STOPPED, gmi_workflow_id

APP = AgentApp(personas=[Persona(id="support"), Persona(id="words", allowed_input_modalities=("text",))])
CONFIG = {"userId": "ren", "externalTools": [external("ask")]}


async def ready(harness: Harness, persona: Persona | str = "support", **config: Any) -> GMI:
    await harness.work(APP)
    gmi = instance(harness)
    await gmi.initialize(persona, {**CONFIG, **config})
    return gmi


async def update(gmi: GMI, name: str, body: Any = None) -> Any:
    return await gmi._channel.update(name, body)


IMAGE = {"content": [{"type": "image_url", "image_url": {"url": "https://a.test/i.png"}}]}
ORPHAN = [{"role": "tool", "tool_call_id": "c1", "content": "42"}]
UNANSWERED = [{"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "ask", "arguments": {}}]}]
TWICE = [*UNANSWERED, {"role": "tool", "tool_call_id": "c1", "content": "1"}, *ORPHAN]

KEY = "sk-live-0123456789abcdef"

REFUSED: list[tuple[str, Any, str]] = [
    ("no_such_member", None, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": ""}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "colour": "red"}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "onBusy": "panic"}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "waitSeconds": -1}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "waitSeconds": True}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "instance": {"gmiId": "other"}}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "userId": "eve"}, "SYS_RESOURCE_NOT_FOUND"),
    ("process_turn", {"content": "x", "organizationId": "other"}, "SYS_RESOURCE_NOT_FOUND"),
    ("process_turn", {"content": "x", "personaId": "words"}, "GMI_PERSONA_NOT_FOUND"),
    ("process_turn", {"content": "x", "type": "tool_response"}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "metadata": {"explicitPersonaSwitchId": "words"}}, "GMI_PERSONA_NOT_FOUND"),
    ("process_turn", {"content": "x", "metadata": {"userFeedback": "great"}}, "GMI_FEEDBACK_ERROR"),
    ("process_turn", {"content": "x", "metadata": {"userFeedback": {"rating": 5, "score": 1}}}, "GMI_FEEDBACK_ERROR"),
    ("process_turn", [1, 2], "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "userApiKeys": {"openai": KEY}}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "metadata": {"userApiKeys": {"openai": KEY}}}, "SYS_VALIDATION_ERROR"),
    ("process_turn", {"content": "x", "options": {"userApiKeys": [KEY]}}, "SYS_VALIDATION_ERROR"),
    ("handle_tool_result", {"toolCallId": "c", "output": 1, "userApiKeys": {"a": KEY}}, "SYS_VALIDATION_ERROR"),
    (
        "handle_tool_result",
        {"toolCallId": "c", "output": 1, "options": {"userApiKeys": [KEY]}},
        "SYS_VALIDATION_ERROR",
    ),
    ("handle_tool_result", {"toolCallId": "c1", "output": 1}, "SYS_RESOURCE_NOT_FOUND"),
    ("handle_tool_results", {"results": []}, "SYS_VALIDATION_ERROR"),
    ("settle", None, "SYS_RESOURCE_NOT_FOUND"),
    ("settle", {"now": True}, "SYS_VALIDATION_ERROR"),
    ("cancel_turn", None, "SYS_RESOURCE_NOT_FOUND"),
    ("set_personality_trait", {"trait": "openness", "value": 1.01}, "SYS_VALIDATION_ERROR"),
    ("set_personality_trait", {"trait": "openness", "value": -0.1}, "SYS_VALIDATION_ERROR"),
    ("set_personality_trait", {"trait": "openness", "value": True}, "SYS_VALIDATION_ERROR"),
    ("set_personality_trait", {"trait": "openness", "value": "high"}, "SYS_VALIDATION_ERROR"),
    ("set_personality_trait", {"trait": "haste", "value": 0.5}, "SYS_VALIDATION_ERROR"),
    ("set_personality_trait", {"trait": "openness"}, "SYS_VALIDATION_ERROR"),
    ("record_user_feedback", {}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"text": "   "}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"rating": "positive", "score": 1}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"rating": "positive", "type": "negative"}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"rating": 5, "score": 1}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"rating": "great"}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"score": 5, "userId": "eve"}, "GMI_FEEDBACK_ERROR"),
    ("record_user_feedback", {"score": 5, "stars": 5}, "GMI_FEEDBACK_ERROR"),
    ("hydrate_conversation_history", {"messages": ORPHAN}, "SYS_VALIDATION_ERROR"),
    ("hydrate_conversation_history", {"messages": UNANSWERED}, "SYS_VALIDATION_ERROR"),
    ("replace_history", {"messages": TWICE}, "SYS_VALIDATION_ERROR"),
    ("replace_history", {"messages": [{"role": "wizard", "content": "x"}]}, "SYS_VALIDATION_ERROR"),
    ("replace_history", {"messages": "x"}, "SYS_VALIDATION_ERROR"),
    ("replace_history", {}, "SYS_VALIDATION_ERROR"),
    ("replace_history", {"messages": [{"role": "user", "content": "x" * 300_000}]}, "SYS_VALIDATION_ERROR"),
    ("clear_history", {"all": True}, "SYS_VALIDATION_ERROR"),
    ("get_conversation_history", {"before": "yesterday"}, "SYS_VALIDATION_ERROR"),
    ("get_conversation_history", {"before": 7}, "SYS_VALIDATION_ERROR"),
    ("hydrate_turn_context", {"conversationId": 7}, "SYS_VALIDATION_ERROR"),
    ("hydrate_turn_context", {"ragSources": "many"}, "SYS_VALIDATION_ERROR"),
    ("hydrate_turn_context", {"mood": "good"}, "SYS_VALIDATION_ERROR"),
    ("on_memory_lifecycle_event", event("another"), "SYS_VALIDATION_ERROR"),
    ("on_memory_lifecycle_event", {"eventId": "e1"}, "SYS_VALIDATION_ERROR"),
    ("get_cognitive_memory_manager", {"query": ""}, "SYS_VALIDATION_ERROR"),
    ("get_cognitive_memory_manager", {"limit": 0}, "SYS_VALIDATION_ERROR"),
    ("get_overall_health", {"deep": True}, "SYS_VALIDATION_ERROR"),
    ("_trigger_and_process_self_reflection", {"metaPromptId": 5}, "SYS_VALIDATION_ERROR"),
    ("shutdown", {"force": True}, "SYS_VALIDATION_ERROR"),
    ("initialize", {"personaId": "words", "config": CONFIG}, "GMI_INITIALIZATION_ERROR"),
    ("initialize", {"gmiId": "another"}, "SYS_VALIDATION_ERROR"),
]


async def test_what_is_wrong_is_refused_with_a_code_and_changes_nothing(harness: Harness) -> None:
    gmi = await ready(harness)
    before = (await gmi.get_status(), await gmi.get_reasoning_trace(), await gmi.get_persona())

    async def refusal(name: str, body: Any) -> str | None:
        try:
            await update(gmi, name, body)
        except GMIError as refused:
            return refused.code
        return None

    wrong = [
        (name, body if len(str(body)) < 500 else "…", code, got)
        for name, body, code in REFUSED
        if (got := await refusal(name, body)) != code
    ]

    assert wrong == []
    assert (await gmi.get_status(), await gmi.get_reasoning_trace(), await gmi.get_persona()) == before
    events = await events_of(gmi._channel.handle)
    # The start's `initialize` and the two refused here, and a cursor: it is known to be wrong only where pages are read.
    assert len([each for each in events if "UPDATE_ACCEPTED" in each["eventType"]]) <= 4
    assert KEY not in str(events)


async def test_the_output_of_what_is_no_turn_is_refused_and_of_an_unknown_one_is_none(harness: Harness) -> None:
    gmi = await ready(harness)
    output = await gmi.process_turn({"content": "Hello", "interactionId": "t1"})

    for named in ("t1", {"turnId": "t1"}, {}, None):
        assert (await gmi._channel.query("get_output", named))["responseText"] == output.response_text
    for unknown in ("t2", {"turnId": "t2"}):
        assert await gmi._channel.query("get_output", unknown) is None
    for wrong in (5, ["t1"], {"turnId": 5}, {"turn": "t1"}):
        with pytest.raises(GMIError, match="SYS_VALIDATION_ERROR: get_output: "):
            await gmi._channel.query("get_output", wrong)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"personaId": "nobody"}, "GMI_PERSONA_NOT_FOUND"),
        ({"persona": {"id": "p", "toolIds": ["no_such_tool"]}}, "GMI_INITIALIZATION_ERROR"),
        ({"persona": {"id": "p", "personalityTraits": {"openness": 2}}}, "SYS_VALIDATION_ERROR"),
        ({"persona": {"id": "p"}, "personaId": "support"}, "SYS_VALIDATION_ERROR"),
        ({"gmiId": "somebody-else"}, "SYS_VALIDATION_ERROR"),
        ({"config": {"colour": "red"}}, "SYS_VALIDATION_ERROR"),
        ({"config": {"pause": {"timeout": "soon"}}}, "SYS_VALIDATION_ERROR"),
        (["x"], "SYS_VALIDATION_ERROR"),
    ],
)
async def test_a_wrong_start_ends_at_once_with_its_code(harness: Harness, body: Any, code: str) -> None:
    await harness.work(APP)
    gmi = instance(harness)
    await harness.client.start_workflow(
        "GMIWorkflow", body, id=gmi_workflow_id(gmi.gmi_id), task_queue=harness.task_queue
    )

    with pytest.raises(GMIError) as refused:
        await update(gmi, "process_turn", {"content": "Hello"})

    assert refused.value.code == code


async def test_an_unknown_persona_is_told_by_initialize(harness: Harness) -> None:
    await harness.work(APP)

    with pytest.raises(GMIError) as refused:
        await instance(harness).initialize("nobody")

    assert refused.value.code == "GMI_PERSONA_NOT_FOUND"
    assert "support" in refused.value.message


async def test_two_instances_of_one_id_are_one_or_refused(harness: Harness) -> None:
    gmi = await ready(harness)
    other = instance(harness)

    await other.initialize("support", CONFIG)
    with pytest.raises(GMIError) as refused:
        await other.initialize("support", {**CONFIG, "sessionId": "another"})

    assert refused.value.code == "GMI_INITIALIZATION_ERROR"
    assert (await gmi.get_status()).turns == 0


async def test_an_instance_that_never_was_is_not_initialized(harness: Harness) -> None:
    gmi = instance(harness)

    for asked in (gmi.process_turn("Hello"), gmi.get_current_state(), gmi.get_overall_health()):
        with pytest.raises(GMIError) as refused:
            await asked
        assert refused.value.code == "SYS_NOT_INITIALIZED"
    await gmi.shutdown()


async def test_a_persona_takes_only_its_modalities(harness: Harness) -> None:
    gmi = await ready(harness, "words")

    with pytest.raises(GMIError) as refused:
        await gmi.process_turn(IMAGE)

    assert refused.value.code == "SYS_VALIDATION_ERROR"
    assert "image" in refused.value.message


async def test_a_pause_is_not_touched_by_what_comes_to_the_instance(harness: Harness) -> None:
    """A refused message, a strange notice, a wrong answer, a new history: the pause stays, and is answered."""
    gmi = await ready(harness)
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn({"content": "Go", "interactionId": "t1"})
    call = (stop.tool_calls or ())[0]
    notice = {"workflowId": "turn-x-y", "turnId": "t1", "number": 9, "output": {"isFinal": True}}
    for argument in (notice, 5, {"output": None}):
        await gmi._channel.handle.signal(TURN_STOPPED, argument)
    await gmi._channel.handle.signal("proces_turn", "x")

    for name, body, code in (
        ("process_turn", {"content": "Now", "onBusy": "refuse"}, "SYS_INVALID_STATE"),
        ("process_turn", {"content": "Other words", "interactionId": "t1"}, "TURN_ALREADY_RAN"),
        ("replace_history", {"messages": []}, "SYS_INVALID_STATE"),
        ("handle_tool_result", {"toolCallId": "nobody", "output": 1}, "SYS_VALIDATION_ERROR"),
        ("handle_tool_result", {"toolCallId": call.id, "output": 1, "userId": "eve"}, "SYS_VALIDATION_ERROR"),
        ("handle_tool_result", {"toolCallId": call.id, "output": 1, "turnId": "t0"}, "SYS_RESOURCE_NOT_FOUND"),
    ):
        with pytest.raises(GMIError) as refused:
            await update(gmi, name, body)
        assert (name, refused.value.code) == (name, code)

    assert await gmi.get_current_state() == "awaiting_tool_result"
    rejected = await gmi._channel.query("get_rejected_messages")
    assert [each["name"] for each in rejected] == [*([TURN_STOPPED] * 3), "proces_turn"]
    harness.model.say("Done.")
    done = await gmi.handle_tool_result(call.id, "ask", {"type": "success", "result": 1}, "ren")
    assert done.response_text == "Done."


async def test_the_same_message_twice_is_one_turn(harness: Harness) -> None:
    gmi = await ready(harness)
    harness.model.say("Once.")
    message = {"content": "Go", "interactionId": "t1"}

    outputs = await asyncio.gather(gmi.process_turn(message), gmi.process_turn(message))
    again = await gmi.process_turn(message)

    assert {output.response_text for output in (*outputs, again)} == {"Once."}
    assert len(harness.model.requests) == 1
    assert (await gmi.get_status()).turns == 1
