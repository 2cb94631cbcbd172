"""What guardrails leave of a turn stands in the agent's history and in its events."""

import json
from typing import Any

import pytest

from tests.support import Harness
from tests.worker.nestia.agents import agent_of, calculator, choose, kinds
from worker.app import Block, GuardContext, Pass, Sanitise, guardrail


@guardrail(stages=("input", "result", "output"))
def no_card(text: str, context: GuardContext) -> Pass | Sanitise:
    """Nobody sees a card number."""
    return Sanitise(text.replace("4111", "[card]"), "a card number") if "4111" in text else Pass()


@guardrail(stages=("input", "output"))
def no_promise(text: str, context: GuardContext) -> Pass | Block:
    """Refunds are promised by people."""
    return Block("Refunds are promised by people.") if "refund" in text else Pass()


async def test_what_they_change_is_what_is_told_kept_and_read_by_the_model(harness: Harness) -> None:
    told: list[tuple[str, Any]] = []
    async with agent_of(harness, calculator(), guardrails=[no_card]) as agent:
        agent.on("text", lambda event: told.append((event.role, event.text)))
        agent.on("describe", lambda event: told.append(("describe", event.text)))
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 4000, "b": 111})])
        harness.model.say("4111 it is.")
        prompts = await agent.conversate("Is it 4111?")

    assert told == [("user", "Is it [card]?"), ("describe", "[card] it is.")]
    assert [prompts[0]["text"], prompts[-1]["text"]] == ["Is it [card]?", "[card] it is."]
    assert "4111" not in json.dumps([request["messages"] for request in harness.model.requests])
    # What a function gives back stays as it is where no model reads it.
    assert [each["value"] for each in prompts if each["type"] == "execute"] == [4111]


@pytest.mark.parametrize(
    ("said", "answer", "prompts"),
    [
        ("I want a refund", None, ["(The user's message was withheld by a guardrail.)"]),
        ("What now?", "You get a refund.", ["What now?"]),
    ],
)
async def test_a_turn_that_they_block_returns_the_reason(
    harness: Harness, said: str, answer: str | None, prompts: list[str]
) -> None:
    told: list[str] = []
    async with agent_of(harness, guardrails=[no_promise]) as agent:
        agent.on("text", lambda event: told.append(event.text))
        if answer is not None:
            harness.model.say(answer)
        entries = await agent.conversate(said)
        harness.model.say("Hello again.")
        later = await agent.conversate("Hello")
        history = agent.get_prompt_histories()

    reason = "Refunds are promised by people."
    assert [each["text"] for each in entries] == [*prompts, reason]
    assert told[: len(entries)] == [*prompts, reason]
    assert later[-1]["text"] == "Hello again."
    assert history == [*entries, *later]
    assert kinds(history) == ["text"] * 4
    assert "refund" not in json.dumps([request["messages"] for request in harness.model.requests])
