"""What a persona says of itself, as its turns show it."""

import pytest
from temporalio.client import WorkflowFailureError

from activities.errors import SYS_CONFIGURATION_ERROR
from tests.support import Harness, event_types, events_of
from worker.app import AgentApp, Persona
from worker.client import TurnFailed
from worker.gmi import GMI, GMIError
from worker.settings import SettingsInvalid
from workflows.names import gmi_workflow_id

# With the names that AgentOS uses.
ANALYST = {
    "id": "analyst",
    "name": "Ada",
    "description": "Reads figures.",
    "version": "1.2.0",
    "label": "A",
    "baseSystemPrompt": {"template": "You are {{name}} of {{team}}.", "variables": ["name", "team"]},
    "customFields": {"team": "Harbor", "initialTaskContext": {"domain": "finance"}},
    "defaultModelId": "scripted-2",
    "defaultProviderId": "openai",
    "defaultModelCompletionOptions": {"temperature": 0.2, "maxTokens": 50, "topP": 0.5},
    "memoryConfig": {"enabled": False, "conversationContext": {"maxMessages": 2}},
    "contextualPromptElements": [
        {
            "id": "e",
            "type": "SYSTEM_INSTRUCTION_ADDON",
            "content": "Be brief.",
            "criteria": {"userSkillLevel": "expert"},
        },
        {
            "id": "n",
            "type": "SYSTEM_INSTRUCTION_ADDON",
            "content": "Explain.",
            "criteria": {"userSkillLevel": ["novice"]},
        },
    ],
    "hardLimits": "No advice.",
    "personalityTraits": {"precision": 0.9, "style": "socratic"},
}


async def test_a_persona_with_agentos_names_acts_as_it_says(harness: Harness) -> None:
    """Its prompt is filled in, its model asked its way, two messages of the past are enough, and nothing is remembered."""
    await harness.work(AgentApp(personas=[Persona.model_validate(ANALYST)]))
    harness.model.script("One.", "Two.", "Three.")

    for said in ("My host is blue-7.", "Go on", "And?"):
        turn = await harness.turns.start(said, conversationId="c", userContextOverride={"skillLevel": "expert"})
        output = await turn.result()

    request = harness.model.requests[-1]
    system, *rest = request["messages"]
    assert system["content"].startswith("You are Ada of Harbor.\n\nBe brief.\n\n")
    assert system["content"].endswith("- No advice.")
    assert "Explain" not in system["content"]
    assert [message["content"] for message in rest] == ["Go on", "Two.", "And?"]
    asked = {name: request.get(name) for name in ("model", "temperature", "max_tokens", "top_p", "tools")}
    assert asked == {"model": "scripted-2", "temperature": 0.2, "max_tokens": 50, "top_p": 0.5, "tools": None}
    assert output.memory is not None
    assert output.memory["learned"]["skipped"] == "the persona keeps no memory"
    # One step, the model's: nothing is planned, looked up or learned.
    assert event_types(await events_of(turn.handle)).count("ACTIVITY_TASK_SCHEDULED") == 1


async def test_an_instance_of_it_begins_with_what_it_says(harness: Harness) -> None:
    """Traits in words are told and stay, contexts stand in working memory, feedback is not remembered."""
    await harness.work(AgentApp(personas=[Persona.model_validate(ANALYST)]))
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize("analyst")
    await gmi.set_personality_trait("precision", 0.5)
    await gmi.process_turn("Hi")
    await gmi.record_user_feedback({"score": 1, "text": "The port is 8080."})

    persona = await gmi.get_persona()
    assert (persona.label, persona.default_provider_id) == ("A", "openai")
    assert persona.personality_traits == {"precision": 0.5, "style": "socratic"}
    assert "style: socratic" in harness.model.requests[-1]["messages"][0]["content"]
    assert (await gmi.get_working_memory_snapshot())["currentTaskContext"] == {"domain": "finance"}
    assert (await (await gmi.get_cognitive_memory_manager()).stats())["memories"] == 0
    with pytest.raises(GMIError, match="no trait 'style'"):
        await gmi.set_personality_trait("style", 1)


async def test_a_persona_that_needs_a_secret_runs_only_where_it_is(harness: Harness) -> None:
    """A worker without it does not start; a turn of a persona that came as data is refused and names what is missing."""
    needing = Persona(id="shop", required_secrets=("SHOP", "BANK"))
    harness.secrets["BANK"] = "b"
    with pytest.raises(SettingsInvalid, match=r"persona shop needs .* TURNHOLD_SECRET_SHOP$"):
        await harness.work(AgentApp(personas=[needing]))

    await harness.work(AgentApp())
    turn = await harness.turns.start(
        "Hi", personaId="shop", instance={"gmiId": "g", "persona": needing.model_dump(mode="json", by_alias=True)}
    )
    with pytest.raises(TurnFailed, match="persona shop needs secrets that this worker does not have: SHOP") as refused:
        await turn.result()
    assert refused.value.code == SYS_CONFIGURATION_ERROR


async def test_a_field_nobody_knows_is_refused_by_name(harness: Harness) -> None:
    """By the instance too, whose start anybody may write by hand."""
    await harness.work(AgentApp())
    start = {"gmiId": "x", "persona": {"id": "p", "metaPrompts": [{"id": "m", "promptTemplate": "?", "triger": {}}]}}
    handle = await harness.client.start_workflow(
        "GMIWorkflow", start, id=gmi_workflow_id("x"), task_queue=harness.task_queue
    )
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert "persona.metaPrompts.0.triger" in str(failed.value.cause)
