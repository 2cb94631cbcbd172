"""What listeners are told, and that they change nothing."""

import asyncio
from typing import Any

import pytest

from tests.support import Harness
from tests.worker.nestia.agents import PHASES, Calculator, agent_of, calculator, choose
from worker.client import TurnFailed
from worker.nestia.listeners import Listeners

ALL = ("initialize", "select", "cancel", "call", "execute", "describe", "text", "request", "response")


def script(harness: Harness) -> None:
    harness.model.call([("getApiFunctions", {})], "Let me see.")
    harness.model.call(choose("add"))
    harness.model.call([("add", {"a": 1, "b": 2})])
    harness.model.say("3.")


async def test_every_type_is_told_in_order_with_the_fields_of_the_seed(harness: Harness) -> None:
    events: list[Any] = []
    async with agent_of(harness, calculator(), config=PHASES) as agent:
        for kind in ALL:
            agent.on(kind, events.append)  # type: ignore[arg-type]  # each is an event's type
        script(harness)
        await agent.conversate("Add")

    spoken = [each for each in events if each.type not in ("request", "response")]
    assert [each.type for each in spoken] == [
        "text",
        "initialize",
        "text",
        "select",
        "call",
        "execute",
        "cancel",
        "describe",
    ]
    assert [(each.role, each.text) for each in spoken if each.type == "text"] == [
        ("user", "Add"),
        ("assistant", "Let me see."),
    ]
    assert spoken[3].operation.model_dump() == {
        "protocol": "class",
        "controller": "calc",
        "function": "add",
        "name": "add",
    }
    assert spoken[3].reason == "add is wanted"
    assert (spoken[4].arguments, spoken[5].value, spoken[4].id) == ({"a": 1, "b": 2}, 3, spoken[5].id)
    assert spoken[-1].executions[0]["value"] == 3
    assert [each.type for each in events] == [
        "text",
        *["request", "response", "initialize", "text"],
        *["request", "response", "select"],
        *["request", "response", "call", "execute", "cancel"],
        *["request", "response", "describe"],
    ]
    numbers = [each.number for each in events]
    assert numbers == sorted(set(numbers))
    assert len({each.turn_id for each in events}) == 1
    asked = [each for each in events if each.type == "request"]
    answered = [each for each in events if each.type == "response"]
    assert [each.source for each in asked] == ["initialize", "select", "execute", "describe"]
    assert [each.source for each in answered] == [each.source for each in asked]
    assert asked[1].body["model"] == "scripted-1"
    assert asked[1].body["tools"][0]["function"]["name"] == "selectFunctions"
    assert answered[3].value["choices"][0]["message"]["content"] == "3."


async def test_a_listener_that_raises_or_writes_changes_nothing(harness: Harness) -> None:
    made = Calculator()
    async with agent_of(harness, calculator(made), config=PHASES) as agent:

        def deny(event: Any) -> None:
            event.arguments["a"] = 1_000
            raise PermissionError("DENY")

        def rewrite(event: Any) -> None:
            event.body["messages"].clear()

        agent.on("call", deny).on("request", rewrite)
        script(harness)
        prompts = await agent.conversate("Add")

        assert made.log == [("add", 1, 2)]
        assert prompts[3]["arguments"] == {"a": 1, "b": 2}
        assert all(each["messages"] for each in harness.model.requests)


async def test_a_listener_taken_away_is_told_nothing_more(harness: Harness) -> None:
    heard: list[Any] = []
    async with agent_of(harness) as agent:
        agent.on("text", heard.append).on("text", heard.append)
        harness.model.say("Hello.")
        await agent.conversate("Hi")
        agent.off("text", heard.append).off("text", print)
        harness.model.say("Bye.")
        await agent.conversate("Bye")

    assert [each.text for each in heard] == ["Hi", "Hello."]
    with pytest.raises(ValueError, match="there is no event 'poem'"):
        agent.on("poem", print)  # type: ignore[arg-type]


async def test_listeners_of_one_event_are_told_at_once_and_events_in_order() -> None:
    listeners = Listeners()
    heard: list[str] = []
    met = asyncio.Barrier(2)

    async def meet(event: Any) -> None:
        async with asyncio.timeout(5):
            await met.wait()
        heard.append(event.text)

    async def also(event: Any) -> None:
        await meet(event)

    listeners.on("text", meet)
    listeners.on("text", also)
    for text in ("a", "b"):
        listeners.tell("text", "turn", {"role": "user", "text": text})
    telling = asyncio.create_task(listeners.run())
    await listeners.told()
    telling.cancel()

    assert heard == ["a", "a", "b", "b"]


async def test_a_listener_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up at each event; others hear all of them."""
    monkeypatch.setattr("worker.nestia.listeners.LISTENER_SECONDS", 0.01)
    heard: list[str] = []
    given_up: list[str] = []

    async def hang(event: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(event.text)

    listeners = Listeners()
    listeners.on("text", hang)
    listeners.on("text", lambda event: heard.append(event.text))
    for text in ("a", "b"):
        listeners.tell("text", "turn", {"role": "user", "text": text})
    telling = asyncio.create_task(listeners.run())
    async with asyncio.timeout(5):
        await listeners.told()
    telling.cancel()

    assert (heard, given_up) == (["a", "b"], ["a", "b"])


async def test_a_turn_that_fails_is_told_as_far_as_it_came(harness: Harness) -> None:
    """And what it did stands in the history, so that the next turn knows of it."""
    made = Calculator()
    heard: list[str] = []
    async with agent_of(harness, calculator(made), config=PHASES) as agent:
        agent.on("execute", lambda event: heard.append(event.operation.name))
        harness.model.call([("getApiFunctions", {})])
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.respond(401, {"error": {"message": "no such key"}})
        with pytest.raises(TurnFailed, match="LLM_PROVIDER_ERROR"):
            await agent.conversate("Add")
        assert heard == ["add"]
        kinds = [each["type"] for each in agent.get_prompt_histories()]
        assert kinds == ["text", "select", "execute", "cancel"]
        harness.model.say("It was 3.")
        await agent.conversate("What was it?")
        results = [each["content"] for each in harness.model.requests[-1]["messages"] if each["role"] == "tool"]
        assert "3" in results
        assert made.log == [("add", 1, 2)]
