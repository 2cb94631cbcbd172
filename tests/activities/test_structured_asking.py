"""The model is held to a schema in the best way its server takes, and what it answers is read the same in each."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from temporalio.exceptions import ApplicationError

from activities.conversation import AssistantMessage
from activities.guardrail import GuardContext, Pass, Sanitise, guardrail
from activities.guards import Guards
from activities.model import ModelActivities, ModelSettings
from activities.personas import Personas
from activities.registry import ToolRegistry
from tests.activities.model_turns import KEY, Desk, request
from worker.scripted_model import ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
NO_FORMAT = {"error": {"message": "response_format of type json_schema is not supported by this model"}}
NO_TOOLS = {"error": {"message": "this model does not support tools"}}


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with ScriptedModel() as model, AsyncOpenAI(api_key=KEY, base_url=model.base_url, max_retries=0) as client:
        yield Desk(model, client)


def wants(desk: Desk, **fields: Any) -> None:
    desk.turn(options={"structuredReply": {"schema": SCHEMA, "name": "order", **fields}})


async def test_the_servers_own_mode_is_asked_for_first(desk: Desk) -> None:
    desk.model.say('{"id": 7}')
    wants(desk, description="The order.")
    reply = await desk.ask()

    sent = desk.model.requests[0]
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "order", "description": "The order.", "schema": SCHEMA, "strict": True},
    }
    assert "list_zones" in {each["function"]["name"] for each in sent["tools"]}
    assert '"additionalProperties": false' in sent["messages"][0]["content"]
    assert reply.structured is not None
    assert reply.structured.model_dump() == {
        "valid": True, "value": {"id": 7}, "cut": False, "issues": (), "enforcement": "provider_schema",
        "stage": "model", "attempt": 1, "discarded": False,
    }  # fmt: skip


async def test_a_schema_without_a_strict_form_is_sent_without_strictness(desk: Desk) -> None:
    desk.model.say('{"id": 7}')
    desk.turn(options={"structuredReply": {"schema": {"type": "object"}}})
    await desk.ask()
    assert desk.model.requests[0]["response_format"]["json_schema"]["strict"] is False


async def test_a_server_without_it_is_asked_by_a_tool_and_then_by_words(desk: Desk) -> None:
    desk.model.respond(400, NO_FORMAT)
    desk.model.call([("order", {"id": 7})], "Here you are.")
    wants(desk)
    activities = desk.activities
    first = await activities.call_model(request())
    desk.model.respond(400, NO_TOOLS)
    desk.model.say('Sure: {"id": 8}')
    wants(desk)
    second = await activities.call_model(request())
    desk.model.say('{"id": 9}')
    wants(desk)
    third = await activities.call_model(request())

    by_tool, by_words = desk.model.requests[1], desk.model.requests[3]
    assert by_tool["tools"][-1]["function"] == {"name": "order", "parameters": SCHEMA}
    assert by_tool["tool_choice"] == "required"
    assert "response_format" not in by_tool
    assert "order" not in {each["function"]["name"] for each in by_words["tools"]}
    assert [(reply.structured and reply.structured.enforcement) for reply in (first, second, third)] == [
        "forced_tool",
        "prompt_only",
        "prompt_only",
    ]
    assert (first.calls, first.text and first.text.text) == ((), '{"id": 7}')
    assert len(desk.model.requests) == 5, "what a model's server refuses is remembered"


async def test_a_way_that_was_asked_for_is_not_left(desk: Desk) -> None:
    desk.model.respond(400, NO_FORMAT)
    wants(desk, enforcement="provider_schema")
    with pytest.raises(ApplicationError, match="not supported"):
        await desk.ask()
    assert len(desk.model.requests) == 1


async def test_calls_of_other_tools_come_before_the_answer(desk: Desk) -> None:
    """An answer beside them was given before their results were known."""
    desk.model.call([("list_zones", {}), ("order", {"id": 7})])
    wants(desk, enforcement="forced_tool")
    reply = await desk.ask()
    assert [call.name for call in reply.calls] == ["list_zones"]
    assert reply.structured is None


async def test_where_no_tool_may_be_called_the_answer_may(desk: Desk) -> None:
    desk.model.call([("list_zones", {}), ("order", {"id": 7})])
    wants(desk, enforcement="forced_tool")
    reply = await desk.ask(tools_allowed=False)
    assert desk.model.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "order"}}
    assert reply.calls == ()
    assert reply.structured is not None
    assert reply.structured.value == {"id": 7}


async def test_a_tool_of_the_turn_keeps_its_name(desk: Desk) -> None:
    desk.model.call([("_get_user", {"id": 7})])
    wants(desk, enforcement="forced_tool", name="get_user")
    reply = await desk.ask()
    names = [each["function"]["name"] for each in desk.model.requests[0]["tools"]]
    assert len(set(names)) == len(names)
    assert reply.structured is not None
    assert reply.structured.valid


async def test_the_next_attempt_reads_what_was_wrong_and_later_turns_do_not(desk: Desk) -> None:
    desk.model.say('{"id": "seven"}')
    desk.model.say('{"id": 7}')
    wants(desk)
    first = await desk.ask()
    again = await desk.ask()
    second = await desk.ask(rows=2)

    assert first.structured is not None
    assert first == again, "a reply that stands is given again"
    assert (first.structured.valid, first.structured.discarded, first.structured.attempt) == (False, True, 1)
    *_, wrong, issues = desk.model.requests[1]["messages"]
    assert wrong == {"role": "assistant", "content": '{"id": "seven"}'}
    assert "order.id:" in issues["content"]
    assert second.structured is not None
    assert (second.structured.valid, second.structured.attempt) == (True, 2)

    desk.store.earlier = [[row for _, row in desk.store.rows("t1", 9)]]
    desk.turn("t1", content="next")
    desk.model.say("Hello.")
    await desk.ask()
    sent = [message["content"] for message in desk.model.requests[2]["messages"][1:]]
    assert sent == ["hello", '{"id": 7}', "next"]


async def test_the_last_attempt_counts_where_any_answer_is_better_than_none(desk: Desk) -> None:
    desk.model.say("no")
    wants(desk, maxRetries=0, onExhausted="return_invalid")
    reply = await desk.ask()
    assert reply.structured is not None
    assert (reply.structured.valid, reply.structured.discarded) == (False, False)


async def test_a_refusal_and_an_answer_that_was_cut_are_told(desk: Desk) -> None:
    desk.model.say(None, refusal="I will not.")
    wants(desk)
    refused = await desk.ask()
    desk.model.say('{"id": 7', finish_reason="length")
    wants(desk)
    cut = await desk.ask()

    assert refused.error is not None
    assert refused.structured is None
    assert cut.structured is not None
    assert cut.structured.issues[0] == "the answer was cut off at its output limit"


async def test_a_long_value_stays_in_its_row(desk: Desk) -> None:
    desk.turn(options={"structuredReply": {"schema": {"type": "array"}}})
    desk.model.say(str(list(range(5_000))))
    reply = await desk.ask()
    assert reply.structured is not None
    assert (reply.structured.valid, reply.structured.cut, reply.structured.value) == (True, True, None)
    row = desk.store.placed["t1"][1]
    assert isinstance(row, AssistantMessage)
    assert (row.content or "").endswith("4999]")


@pytest.mark.parametrize("enforcement", ["provider_schema", "forced_tool"])
async def test_guardrails_judge_the_answer_first(desk: Desk, enforcement: str) -> None:
    @guardrail(stages=("output",))
    def no_sevens(text: str, context: GuardContext) -> Pass | Sanitise:
        assert context.tool is None, "the answer is judged as text, however it came"
        return Sanitise(text.replace("7", '"[seven]"'), "a seven")

    if enforcement == "forced_tool":
        desk.model.call([("order", {"id": 7})])
    else:
        desk.model.say('{"id": 7}')
    wants(desk, enforcement=enforcement)
    activities = ModelActivities(
        store=desk.store,
        personas=Personas([desk.persona]),
        tools=ToolRegistry(desk.tools),
        client=desk.client,
        settings=ModelSettings(**desk.settings),
        guards=Guards([no_sevens]),
    )
    reply = await activities.call_model(request())

    assert reply.structured is not None
    assert (reply.structured.valid, reply.structured.stage) == (False, "post_guardrail")
    assert reply.structured.value == {"id": "[seven]"}
