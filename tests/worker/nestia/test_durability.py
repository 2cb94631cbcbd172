"""What becomes of a turn whose process dies, whose caller goes away, whose agent is closed."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import Harness
from tests.worker.nestia.agents import Shop, agent_of, calculator, choose, kinds, sources
from worker.client import TurnEnded
from worker.nestia import AgentNotRunning

ROOT = Path(__file__).resolve().parents[3]
ORDER = "orders_post"


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    made = Shop()
    async with made.server:
        yield made


async def test_a_process_killed_between_the_post_and_its_description_posts_once(harness: Harness, shop: Shop) -> None:
    harness.model.call(choose(ORDER))
    harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
    harness.model.hang()
    given = {
        "temporal": harness.server.address,
        "database": harness.settings.database_url,
        "model": harness.model.base_url,
        "shop": shop.server.url,
        "conversation": harness.task_queue,
    }
    command = [sys.executable, "-m", "tests.worker.nestia.victim", json.dumps(given)]
    victim = await asyncio.to_thread(subprocess.Popen, command, cwd=ROOT)
    try:
        async with asyncio.timeout(60):
            await harness.model.wait_for_requests(3)
    finally:
        victim.kill()
        await asyncio.to_thread(victim.wait)
    harness.model.say("Ordered as zz9.")
    async with agent_of(harness, shop.controller(), conversation_id=harness.task_queue) as agent:
        prompts = await agent.resume()

        assert [each["article"] for each in shop.posts] == ["lamp"]
        assert sources(harness) == ["select", "execute", "describe", "describe"]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "describe"]
        assert agent.get_prompt_histories() == prompts


async def test_an_agent_that_is_closed_leaves_its_turn_to_the_next(harness: Harness, shop: Shop) -> None:
    """The first to speak with the conversation again has the open turn finished before."""
    async with agent_of(harness, shop.controller(policy=[]), on_pause="return") as agent:
        harness.model.call(choose(ORDER))
        harness.model.call([(ORDER, {"body": {"article": "lamp"}})])
        await agent.conversate("Order")
    with pytest.raises(AgentNotRunning):
        await agent.conversate("And now?")
    async with agent_of(harness, shop.controller(policy=[]), conversation_id=agent.conversation_id) as other:
        pending = await other.pending()
        assert pending is not None
        harness.model.say("Ordered.")
        harness.model.say("You are welcome.")
        talking = asyncio.create_task(other.conversate("Thanks"))
        await other.answer([{"toolCallId": pending.tool_calls[0].id, "decision": "approve"}])

        assert [each["text"] for each in await talking] == ["Thanks", "You are welcome."]
        assert len(shop.posts) == 1
        assert kinds(other.get_prompt_histories())[:5] == ["text", "select", "execute", "cancel", "describe"]


async def test_a_caller_who_goes_away_cancels_the_turn_and_the_next_one_is_taken(harness: Harness) -> None:
    async with agent_of(harness, calculator()) as agent:
        harness.model.hang()
        talking = asyncio.create_task(agent.conversate("Add"))
        await harness.model.wait_for_requests(1)
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking
        harness.model.say("Hello.")
        prompts = await agent.conversate("Hi")

        assert [each["text"] for each in prompts] == ["Hi", "Hello."]
        assert [each["text"] for each in agent.get_prompt_histories()] == ["Add", "Hi", "Hello."]


async def test_it_says_that_it_is_not_started_or_that_nothing_waits(harness: Harness) -> None:
    agent = agent_of(harness)
    for asked in (agent.get_prompt_histories, agent.get_token_usage):
        with pytest.raises(AgentNotRunning):
            asked()
    async with agent:
        await agent.start()
        assert agent.get_prompt_histories() == []
        assert await agent.records() == []
        assert await agent.resume() == []
        with pytest.raises(TurnEnded):
            await agent.answer([{"toolCallId": "x", "output": 1}])
        harness.model.say("Hello.")
        await agent.conversate("Hi")
    await agent.aclose()
    assert len(agent.get_prompt_histories()) == 2
    async with agent:
        harness.model.say("Bye.")
        await agent.conversate("Bye")
        assert [each["text"] for each in agent.get_prompt_histories()] == ["Hi", "Hello.", "Bye", "Bye."]


async def test_closing_ends_the_wait_of_its_callers(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.nestia.running.SHUTDOWN_SECONDS", 0.5)
    agent = agent_of(harness, calculator())
    await agent.start()
    harness.model.hang()
    talking = asyncio.create_task(agent.conversate("Add"))
    await harness.model.wait_for_requests(1)
    async with asyncio.timeout(20):
        await agent.aclose()
        with pytest.raises(AgentNotRunning, match="closed"):
            await talking


async def test_a_function_that_is_gone_later_is_told_all_the_same(harness: Harness) -> None:
    async with agent_of(harness, calculator()) as agent:
        harness.model.call(choose("add"))
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        prompts = await agent.conversate("Add")
    async with agent_of(harness, conversation_id=agent.conversation_id) as other:
        assert other.get_prompt_histories() == prompts
        record = (await other.records())[0]

        assert record.type == "turn"
        (execution,) = record.executions
        assert (execution.controller, execution.function, execution.protocol) == ("calc", "add", "class")
        assert (execution.is_available, execution.success) == (False, True)
        assert execution.attempts[0].took_ms == execution.latency_ms
        assert record.ended_ms is not None
        assert record.latency_ms == record.ended_ms - record.created_ms > 0
        assert set(record.usage_by_phase) == {"select", "execute", "describe"}
        assert record.usage.total == sum(each.total for each in record.usage_by_phase.values())
