"""Structured answers over whole turns: with tools, pauses, streams and instances, tried again as steps of their own."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from activities.conversation import AssistantMessage
from tests.support import Harness, event_types, events_of, external
from worker.app import AgentApp, tool
from worker.chunks import ChunkReader, TextView
from worker.client import TurnFailed
from worker.gmi import GMI
from worker.structured import NotStructured, structured_value
from workflows.answers import Refusal, read_answer


class Order(BaseModel):
    """An order."""

    id: int
    items: list[str] = []


@tool(side_effects=False)
def look_up(order: int) -> str:
    """Look an order up."""
    return f"order {order}: tea"


GOOD, BAD = '{"id": 7, "items": ["tea"]}', '{"id": "seven"}'


async def test_an_answer_is_tried_again_after_tools_and_a_pause(harness: Harness) -> None:
    harness.model.call([("look_up", {"order": 7}), ("ask", {})], "Let me look.")
    harness.model.script(BAD, f"Sorry!\n```json\n{GOOD}\n```", "Hello.")
    await harness.work(AgentApp(tools=[look_up]), cached=False)
    turn = await harness.turns.start(
        "Which order?", conversationId="c", structured_reply=Order, externalTools=[external("ask")]
    )
    [call] = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": call.id, "output": "the tea"}])
    output = await turn.result()

    assert structured_value(output, Order) == Order(id=7, items=["tea"])
    assert output.structured_output is not None
    assert output.structured_output.meta.model_dump() == {
        "schema_name": "Order", "valid": True, "attempts": 2, "enforcement": "provider_schema", "stage": "model",
    }  # fmt: skip
    assert output.error is None
    assert output.response_text == f"Let me look.\nSorry!\n```json\n{GOOD}\n```"
    assert (await turn.state()).model_calls == 3
    events = await events_of(turn.handle)
    assert event_types(events).count("ACTIVITY_TASK_COMPLETED") == 5, "three model calls, a tool, the memory"
    history = (await turn.handle.query("get_history"))["entries"]
    assert BAD not in repr(history)
    trace = (await turn.handle.query("get_reasoning_trace"))["entries"]
    assert any("does not fit its schema (attempt 1): Order.id" in entry["message"] for entry in trace)

    await (await harness.turns.start("Thanks", conversationId="c")).result()
    later = [message["content"] for message in harness.model.requests[-1]["messages"]]
    assert BAD not in later
    assert any(GOOD in (text or "") for text in later)


async def test_an_answer_that_never_fits_is_an_error_or_given_back_as_it_is(harness: Harness) -> None:
    await harness.work()
    harness.model.script(BAD, BAD, BAD)
    failed = await (await harness.turns.start("go", structured_reply=Order)).result()
    harness.model.script("no", BAD)
    wanted = {"schema": Order.model_json_schema(), "maxRetries": 1, "onExhausted": "return_invalid"}
    given = await (await harness.turns.start("go", structured_reply=wanted)).result()

    assert failed.error is not None
    assert failed.error.code == "GMI_STRUCTURED_OUTPUT_INVALID"
    assert "in 3 attempts: Order.id" in failed.error.message
    assert failed.response_text is None
    assert failed.usage is not None
    assert given.usage is not None
    assert failed.usage.total_tokens > given.usage.total_tokens
    with pytest.raises(NotStructured, match="3 attempts"):
        structured_value(failed, Order)
    assert given.error is None
    assert given.response_text == BAD
    assert given.structured_output is not None
    assert given.structured_output.value == {"id": "seven"}
    assert (given.structured_output.meta.valid, given.structured_output.meta.attempts) == (False, 2)
    assert given.structured_output.meta.issues


async def test_a_limit_ends_the_tries(harness: Harness) -> None:
    await harness.work()
    harness.model.script(BAD)
    output = await (await harness.turns.start("go", structured_reply=Order, limits={"maxModelCalls": 1})).result()
    assert output.error is not None
    assert output.error.code == "LIMIT_MODEL_CALLS"
    assert output.structured_output is not None
    assert not output.structured_output.meta.valid


async def test_a_reader_of_the_stream_is_left_with_the_answer_that_fits(harness: Harness) -> None:
    harness.model.script(BAD, GOOD)
    await harness.work()
    turn = await harness.turns.start("go", structured_reply=Order, options={"stream": True})
    view, texts = TextView(), []
    async with ChunkReader(harness.settings.database_url) as reader:
        async for chunk in turn.stream(reader):
            view.add(chunk)
            texts.append(view.text)
        late = [chunk async for chunk in turn.stream(reader)]
    assert view.text == (await turn.result()).response_text == GOOD
    assert '{"id": "seven"}' not in repr([chunk.content for chunk in late])


async def test_a_long_answer_is_found_by_its_row(harness: Harness) -> None:
    items = [f"item {number}" for number in range(2_000)]
    text = Order(id=7, items=items).model_dump_json()
    harness.model.say(text)
    await harness.work()
    turn = await harness.turns.start("go", structured_reply=Order)
    output = await turn.result()
    assert output.structured_output is not None
    assert output.structured_output.value is None
    key, _, row = (output.structured_output.value_ref or "").rpartition("/")
    message = dict(harness.store().rows(key))[int(row)]
    assert isinstance(message, AssistantMessage)
    assert message.content == text
    with pytest.raises(NotStructured, match=r"worker\.rows"):
        structured_value(output, Order)


async def test_functions_are_chosen_first_and_the_answer_follows(harness: Harness) -> None:
    """Words about what to choose, or about results, are no answer."""
    chosen = {"functions": [{"reason": "It reads it.", "name": "look_up"}]}
    harness.model.call([("selectFunctions", chosen)])
    harness.model.call([("look_up", {"order": 7})])
    harness.model.script(GOOD, "Nothing fits.", GOOD)
    await harness.work(AgentApp(tools=[look_up]))
    options = {"toolSelection": "select", "selection": {"threshold": 0}}
    called = await (await harness.turns.start("go", structured_reply=Order, options=options)).result()
    talked = await (await harness.turns.start("go", structured_reply=Order, options=options)).result()
    for output in (called, talked):
        assert structured_value(output, Order).id == 7
    assert len(harness.model.requests) == 5


async def test_an_instance_gives_structured_answers(harness: Harness) -> None:
    harness.model.script(BAD, GOOD)
    await harness.work()
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize()
    output = await gmi.process_turn("go", structured_reply=Order)
    assert structured_value(output, Order).items == ["tea"]
    assert [each["content"] for each in await gmi.get_conversation_history()] == ["go", GOOD]


async def test_a_worker_killed_between_two_tries_costs_no_try(harness: Harness) -> None:
    harness.model.say(BAD)
    harness.model.hang()
    harness.model.say(GOOD)
    process = harness.work_apart()
    turn = await harness.turns.start("go", structured_reply=Order)
    await asyncio.wait_for(harness.model.wait_for_requests(2), 60)
    process.kill()
    await asyncio.to_thread(process.wait)
    await harness.work()
    output = await asyncio.wait_for(turn.result(), 90)

    assert structured_value(output, Order).id == 7
    assert output.structured_output is not None
    assert output.structured_output.meta.attempts == 2
    assert len(harness.model.requests) == 3


@pytest.mark.parametrize(
    ("reply", "options", "told"),
    [
        (
            {"schema": {"type": "nothing"}},
            {},
            "options.structuredReply.schema: the schema is not valid at type: the value is not",
        ),
        ({"schema": {"$ref": "https://example.org/s.json"}}, {}, "not fetched"),
        ({"schema": {"enum": ["x" * 70_000]}}, {}, "more than 64,000"),
        ({"schema": {}, "maxRetries": 6}, {}, "options.structuredReply.maxRetries: "),
        ({"schema": {}, "name": "no name"}, {}, "options.structuredReply.name: "),
        ({"schema": {}, "enforcement": "hope"}, {}, "options.structuredReply.enforcement: "),
        ({"schema": {}, "strict": True}, {}, "options.structuredReply.strict: is not a field"),
        ({"schema": []}, {}, "options.structuredReply.schema: "),
        ({}, {}, "options.structuredReply.schema: Field required"),
        ({"schema": {}}, {"responseFormat": {"type": "json_object"}}, "only one of them may be given"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused_with_its_field(
    harness: Harness, reply: Any, options: Any, told: str
) -> None:
    await harness.work()
    turn = await harness.turns.start("go", options={"structuredReply": reply, **options})
    with pytest.raises(TurnFailed) as refused:
        await turn.result()
    assert refused.value.code == "SYS_VALIDATION_ERROR"
    assert told in str(refused.value)
    assert harness.model.requests == []


def test_an_answer_of_the_host_cannot_change_it() -> None:
    body = {"results": [{"toolCallId": "a", "output": 1}], "options": {"structuredReply": {"schema": {}}}}
    refusal = read_answer([body], "many")
    assert isinstance(refusal, Refusal)
    assert "is said when a turn starts" in refusal.text
