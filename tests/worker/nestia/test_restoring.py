"""An agent that begins with the histories of another, or goes on with a conversation of its own."""

import json
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.support import Harness
from tests.worker.nestia.agents import Calculator, Getter, agent_of, calculator, choose, kinds, offered, sources
from worker.app import ClassController
from worker.nestia import ConversationTaken, NestiaAgent

GONE = {"protocol": "http", "controller": "old", "function": "find", "name": "find"}


def getters(*names: str) -> list[ClassController]:
    return [ClassController(name=name, instance=Getter(name)) for name in names]


def executed(name: str, controller: str, function: str, **fields: Any) -> dict[str, Any]:
    base = {"type": "execute", "protocol": "class", "controller": controller, "function": function, "name": name}
    return {**base, "id": "call_1", "arguments": {"key": "k"}, "value": "v", **fields}


def selected(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "select", "id": "s1", "operations": [{**each, "reason": "asked for"} for each in operations]}


async def test_histories_of_functions_whose_names_collide_are_read_back(harness: Harness) -> None:
    async with agent_of(harness, *getters("one", "two")) as agent:
        harness.model.call(choose("two_get"))
        harness.model.call([("two_get", {"key": "a"})])
        harness.model.say("two:a")
        await agent.conversate("Get a of two")
        saved = json.loads(json.dumps(agent.get_prompt_histories()))
        assert saved[2]["name"] == "two_get"
        assert saved[2]["function"] == "get"
    async with agent_of(harness, *getters("zero", "one", "two"), histories=saved) as restored:
        assert restored.get_prompt_histories() == saved
        harness.model.call(choose("one_get"))
        harness.model.call([("one_get", {"key": "b"})])
        harness.model.say("one:b")
        prompts = await restored.conversate("Now b of one")

        assert prompts[2]["value"] == "one:b"
        assert restored.get_prompt_histories() == [*saved, *prompts]
        assert '"two_get"' in json.dumps(harness.model.requests[3]["messages"])


async def test_functions_get_the_names_they_have_today(harness: Harness) -> None:
    """The names of agents in Nestia's manner count the controllers."""
    saved = [{"type": "text", "role": "user", "text": "Get k"}, executed("_1_get", "two", "get")]
    async with agent_of(harness, *getters("one", "two"), histories=saved) as agent:
        assert agent.get_prompt_histories()[1]["name"] == "two_get"
        harness.model.say("Done.")
        await agent.conversate("And?")
        calls = [each for each in harness.model.requests[0]["messages"] if each.get("tool_calls")]
        assert [each["function"]["name"] for each in calls[-1]["tool_calls"]] == ["two_get"]


async def test_a_function_that_is_gone_is_kept_and_marked(harness: Harness) -> None:
    value = {"status": 200, "headers": {"set-cookie": ["sid=1"], "etag": "x"}, "body": {"ok": True}}
    saved = [
        {"type": "text", "role": "user", "text": "Find it"},
        {**executed("find", "old", "find"), "protocol": "http", "value": value, "id": "", "extra": 1},
        executed("add", "calc", "add", id="call_1"),
        {"type": "describe", "executions": [executed("find", "old", "find")], "text": "Found."},
    ]
    async with agent_of(harness, calculator(), histories=saved) as agent:
        harness.model.say("Yes.")
        await agent.conversate("Really?")
        record = (await agent.records())[0]

        assert record.type == "restored"
        assert record.unavailable == (("old", "find"),)
        kept = agent.get_prompt_histories()[1]
        assert (kept["name"], kept["value"]["headers"]) == ("find", {"etag": "x"})
        ids = [call["id"] for each in harness.model.requests[0]["messages"] for call in each.get("tool_calls", ())]
        assert len(ids) == len(set(ids)) == 3


async def test_what_was_selected_and_did_not_run_is_pending_still(harness: Harness) -> None:
    made = Calculator()
    add = {"protocol": "class", "controller": "calc", "function": "add", "name": "add"}
    divide = {**add, "function": "divide", "name": "divide"}
    saved = [
        {"type": "text", "role": "user", "text": "Add and divide"},
        selected(add, divide, divide, GONE),
        executed("divide", "calc", "divide", arguments={"a": 4, "b": 2}, value=2),
        {"type": "cancel", "id": "call_1", "operations": [{**divide, "reason": "complete"}]},
        {"type": "cancel", "id": "c2", "operations": [{**divide, "reason": "no longer wanted"}]},
        {"type": "text", "role": "assistant", "text": "Which numbers shall I add?"},
    ]
    async with agent_of(harness, calculator(made), histories=saved) as agent:
        harness.model.say(None)
        harness.model.say("I add them.")
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        await agent.conversate("1 and 2")

        assert sources(harness) == ["cancel", "select", "execute", "describe"]
        assert offered(harness.model.requests[2]) == ["add"]
        assert made.log == [("add", 1, 2)]


async def test_another_agent_goes_on_with_the_conversation(harness: Harness) -> None:
    saved = [{"type": "text", "role": "user", "text": "Hi"}, {"type": "text", "role": "assistant", "text": "Hello."}]
    async with agent_of(harness, calculator(), histories=saved) as agent:
        harness.model.call(choose("add"))
        harness.model.say("Which numbers?")
        await agent.conversate("Add")
        before, usage, id_ = agent.get_prompt_histories(), agent.get_token_usage(), agent.conversation_id
    async with agent_of(harness, calculator(), conversation_id=id_, histories=[]) as other:
        assert other.get_prompt_histories() == before
        assert other.get_token_usage() == usage
        harness.model.say(None)
        harness.model.say("On it.")
        harness.model.call([("add", {"a": 1, "b": 2})])
        harness.model.say("3.")
        assert kinds(await other.conversate("1 and 2"))[-1] == "describe"
    with pytest.raises(ConversationTaken):
        await agent_of(harness, conversation_id=id_, user_id="mallory").start()


@pytest.mark.parametrize(
    ("histories", "fault"),
    [
        ("text", "histories is a list of objects"),
        ([1], "histories is a list of objects"),
        ([{"type": "poem"}], r"histories\[0\]"),
        (
            [{"type": "text", "role": "user", "text": "a"}, {"type": "text", "role": "system", "text": "b"}],
            r"histories\[1\].role",
        ),
        ([executed("get", "one", "get", protocol="ftp")], r"histories\[0\]"),
        ([selected({"controller": "c", "function": "f"})], r"histories\[0\].operations.0.name"),
    ],
)
def test_malformed_histories_are_refused_by_place(histories: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        NestiaAgent(provider={"api": AsyncOpenAI(api_key="k"), "model": "m"}, histories=histories)
