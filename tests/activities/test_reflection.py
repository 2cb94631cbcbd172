"""One question of an instance about itself, through the real client."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from temporalio.exceptions import ApplicationError

from activities.instance_contracts import InstanceScope, Reflect
from activities.model_settings import ModelSettings
from activities.persona_character import MetaPrompt
from activities.personas import Persona
from activities.reflection import ReflectionActivities
from activities.store.database import open_database
from activities.store.instance_histories import InstanceHistories, Owner
from tests.activities.store.values import asked, said
from worker.scripted_model import ScriptedModel

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as running:
        yield running


@pytest.fixture
async def reflections(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[ReflectionActivities]:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    histories = InstanceHistories(database)
    owner = Owner(None, "ren", "p")
    histories.replace("c1", owner, [[asked("Are you\n> sure?"), said("Yes.")]], "k", 5, append=False)
    client = AsyncOpenAI(api_key=KEY, base_url=model.base_url, max_retries=0)
    yield ReflectionActivities(histories, client, ModelSettings(model="m-1"))
    await client.close()
    database.close()


def question(template: str = "Look.", **fields: Any) -> Reflect:
    return Reflect(
        gmi_id="g1",
        scope=InstanceScope(user_id="ren", persona_id="p"),
        conversation_id="c1",
        prompt=MetaPrompt(id="r", prompt_template=template, max_output_tokens=99),
        persona=Persona(id="p", base_system_prompt="You help."),
        mood="neutral",
        traits={"wit": 0.5},
        working_memory={"goal": "ship"},
        **fields,
    )


async def test_it_asks_with_the_persona_the_template_and_the_data(
    model: ScriptedModel, reflections: ReflectionActivities
) -> None:
    model.say('```json\n{"updatedGmiMood": "focused", "updatedPersonalityTraits": {"wit": 0.6, "x": "y"}}\n```')

    found = await reflections.reflect(question("Mood {{mood}}, {{unknown}}. {{ recentMessages }}"))

    request = model.requests[-1]
    assert (request["model"], request["max_tokens"], request["temperature"]) == ("m-1", 99, 0.3)
    assert request["messages"][0]["content"].startswith("You help.")
    asked_for = request["messages"][1]["content"]
    assert asked_for.startswith('Mood "neutral", {{unknown}}. [{"role": "user"')
    assert "sure?" in asked_for.splitlines()[0]
    assert asked_for.splitlines()[-1].startswith("> {")
    assert (found.mood, found.traits, found.error) == ("focused", {"wit": 0.6}, None)
    assert found.usage is not None


@pytest.mark.parametrize("answer", ["I feel fine.", "[1, 2]", '{"updatedGmiMood": ', "{" * 5_000, '"{}"x'])
async def test_an_answer_that_is_no_object_is_told_and_changes_nothing(
    model: ScriptedModel, reflections: ReflectionActivities, answer: str
) -> None:
    model.say(answer)

    found = await reflections.reflect(question())

    assert (found.mood, found.traits, found.working_memory) == (None, {}, {})


async def test_wishes_of_wrong_types_are_left_out(model: ScriptedModel, reflections: ReflectionActivities) -> None:
    model.say(
        '{"updatedGmiMood": 5, "updatedPersonalityTraits": [1], "updatedUserSkillLevel": {"a": 1},'
        ' "newMemoryImprints": [{"key": "goal", "value": "rest"}, {"key": 5}, "x", {"key": ""}]}'
    )

    found = await reflections.reflect(question())

    assert (found.mood, found.traits, found.skill_level) == (None, {}, None)
    assert found.working_memory == {"goal": "rest"}


async def test_a_provider_that_refuses_ends_it_without_a_retry_and_without_the_key(
    model: ScriptedModel, reflections: ReflectionActivities
) -> None:
    model.respond(401, {"error": {"message": f"no such key {KEY}"}})

    with pytest.raises(ApplicationError) as failure:
        await reflections.reflect(question())

    assert (failure.value.type, failure.value.non_retryable) == ("LLM_PROVIDER_ERROR", True)
    assert KEY not in str(failure.value)


async def test_somebody_elses_conversation_is_not_read(model: ScriptedModel, reflections: ReflectionActivities) -> None:
    model.say("{}")

    await reflections.reflect(question().model_copy(update={"scope": InstanceScope(user_id="eve", persona_id="p")}))

    assert "sure?" not in str(model.requests[-1])
