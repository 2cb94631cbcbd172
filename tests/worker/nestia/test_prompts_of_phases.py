"""What the model is told in each phase: texts of the configuration, the place, the time."""

from datetime import UTC, datetime
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.support import Harness
from tests.worker.nestia.agents import PHASES, agent_of, calculator, choose, provider
from worker.nestia import NestiaAgent, NestiaConfig
from worker.nestia.config import system_locale, system_timezone

PHASE_NAMES = ("initialize", "select", "execute", "describe")


def told(request: dict[str, Any]) -> str:
    return str(request["messages"][0]["content"])


def script(harness: Harness) -> None:
    harness.model.call([("getApiFunctions", {})])
    harness.model.call(choose("add"))
    harness.model.call([("add", {"a": 1, "b": 2})])
    harness.model.say("3.")


async def test_every_text_can_be_replaced_the_one_of_select_too(harness: Harness) -> None:
    texts = {name: f"MY {name.upper()}" for name in (*PHASE_NAMES, "common")}
    async with agent_of(harness, calculator(), config={**PHASES, "systemPrompt": texts}) as agent:
        script(harness)
        await agent.conversate("Add")

        for request, name in zip(harness.model.requests, PHASE_NAMES, strict=True):
            assert f"MY {name.upper()}" in told(request)
            assert "MY COMMON" in told(request)


async def test_a_function_makes_the_text_of_each_turn_from_the_histories_before_it(harness: Harness) -> None:
    async def select(histories: list[dict[str, Any]]) -> str:
        return f"AFTER {len(histories)}"

    prompts: dict[str, Any] = {
        "select": select,
        "common": lambda config: f"IN {config.locale}",
        "execute": lambda _: None,
    }
    async with agent_of(
        harness, calculator(), config={**PHASES, "initialize": False, "systemPrompt": prompts}
    ) as agent:
        harness.model.say("Hello.")
        await agent.conversate("Hi")
        harness.model.say("Bye.")
        await agent.conversate("Bye")

        assert ["AFTER 0" in told(harness.model.requests[0]), "AFTER 2" in told(harness.model.requests[1])] == [
            True,
            True,
        ]
        assert "IN en-US" in told(harness.model.requests[0])


async def test_a_text_that_cannot_be_made_starts_no_turn(harness: Harness) -> None:
    async with agent_of(harness, config={**PHASES, "systemPrompt": {"select": lambda _: 7}}) as agent:
        with pytest.raises(TypeError, match="a system prompt is text, not int"):
            await agent.conversate("Hi")
        assert agent.get_prompt_histories() == []
        assert harness.model.requests == []


async def test_locale_time_zone_and_the_time_of_the_turn_are_filled_in(harness: Harness) -> None:
    config = {**PHASES, "locale": "de-DE", "timezone": "Asia/Seoul"}
    async with agent_of(harness, calculator(), config=config) as agent:
        harness.model.say("Hallo.")
        await agent.conversate("Hi")
        text = told(harness.model.requests[0])

        assert "de-DE" in text
        assert "Asia/Seoul" in text
        assert "${" not in text
        at = datetime.fromisoformat(next(word for word in text.split() if "+09:00" in word))
        assert abs((datetime.now(UTC) - at).total_seconds()) < 300


@pytest.mark.parametrize(
    ("variable", "locale"),
    [("de_DE.UTF-8", "de-DE"), ("fr", "fr"), ("C.UTF-8", "en-US"), ("POSIX", "en-US"), ("", "en-US"), ("a b", "en-US")],
)
def test_the_systems_locale_is_one(monkeypatch: pytest.MonkeyPatch, variable: str, locale: str) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", variable)
    assert system_locale() == locale


def test_the_systems_time_zone_is_one_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Europe/Berlin")
    assert system_timezone() == "Europe/Berlin"
    monkeypatch.setenv("TZ", "../../etc/passwd")
    assert system_timezone() != "../../etc/passwd"


async def test_the_providers_options_go_with_every_request(harness: Harness) -> None:
    options = {"headers": {"X-Team": "blue"}, "timeout": 20}
    agent = NestiaAgent(
        provider=provider(harness, options=options),
        controllers=[],
        temporal=harness.client,
        database_url=harness.settings.database_url,
    )
    async with agent:
        harness.model.say("Hello.")
        await agent.conversate("Hi")
        assert harness.model.headers[0]["x-team"] == "blue"
        assert agent.get_provider().options == options


def valid(**given: Any) -> NestiaAgent:
    return NestiaAgent({"provider": {"api": AsyncOpenAI(api_key="sk-s3cr3t-key"), "model": "m"}, **given})


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"provider": {"type": "gemini"}}, "provider.type"),
        ({"provider": None}, "provider.api"),
        ({"provider": {"api": "sk-s3cr3t-key", "model": "m"}}, "provider.api"),
        ({"config": {"retry": 11}}, "config.retry"),
        ({"config": {"capacity": -1}}, "config.capacity"),
        ({"config": {"elitism": True}}, "config.elitism"),
        ({"config": {"timezone": "Mars/Olympus"}}, "config.timezone"),
        ({"config": {"systemPrompt": {"selekt": "x"}}}, "config.systemPrompt.selekt"),
        ({"controler": []}, "props has no controler"),
    ],
)
def test_what_cannot_be_used_is_named_without_its_value(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as refused:
        valid(**given)
    assert "s3cr3t" not in str(refused.value)


def test_properties_may_be_given_by_name_or_as_one(harness: Harness) -> None:
    agent = NestiaAgent({"provider": provider(harness), "controllers": [calculator()]}, config=NestiaConfig(retry=1))
    assert agent.get_config().retry == 1
    assert [each.name for each in agent.get_controllers()] == ["calc"]
    assert "sk-of" not in repr(agent.get_provider())
