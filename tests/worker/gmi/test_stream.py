"""A turn of an instance as its host reads it: one sequence of chunks over pauses, readers and workers that come and go."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from activities.streaming_chunks import GMIOutputChunk, text_of_chunks
from tests.support import Harness, external, until
from tests.worker.gmi.instances import instance
from worker.app import AgentApp, tool
from worker.chunks import ChunkReader
from worker.gmi import GMI, GMIError, TurnStream

ASK = {"externalTools": [external("ask")]}


@tool(side_effects=False)
async def stamp() -> str:
    """Put a stamp on it."""
    return "stamped"


@pytest.fixture
async def reader(harness: Harness) -> AsyncIterator[ChunkReader]:
    async with ChunkReader(harness.settings.database_url) as reader:
        yield reader


async def ready(harness: Harness, reader: ChunkReader | None = None) -> GMI:
    await harness.work(AgentApp(tools=[stamp]))
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue, reader=reader)
    await gmi.initialize(None, ASK)
    return gmi


async def read(stream: TurnStream) -> list[GMIOutputChunk]:
    async with asyncio.timeout(30):
        return [chunk async for chunk in stream]


def kinds(chunks: list[GMIOutputChunk]) -> list[str]:
    """The types, each text as one."""
    types = [chunk.type for chunk in chunks]
    return [kind for place, kind in enumerate(types) if kind != "text_delta" or types[place - 1 : place] != [kind]]


def assert_whole(chunks: list[GMIOutputChunk]) -> None:
    """Nothing is missing, nothing came twice, and the last chunk alone is final."""
    assert [chunk.sequence for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert [chunk.is_final for chunk in chunks] == [*[False] * (len(chunks) - 1), True]


def script(harness: Harness) -> str:
    """Two tool rounds, one of them the host's, and an answer of many words."""
    answer = " ".join(f"word{number}" for number in range(200))
    harness.model.call([("stamp", {})], "Let me look.")
    harness.model.call([("ask", {"q": "which"}), ("ask", {"q": "when"})], "Which, and when?")
    harness.model.say(answer)
    return f"Let me look.\nWhich, and when?\n{answer}"


async def test_one_sequence_goes_over_the_pause_and_to_a_reader_who_comes_back(
    harness: Harness, reader: ChunkReader
) -> None:
    text = script(harness)
    gmi = await ready(harness, reader)
    stream = gmi.process_turn_stream({"content": "Go", "interactionId": "t1"})
    told = await read(stream)
    stop = await stream.output()
    first, second = stop.tool_calls or ()
    assert kinds(told)[-3:] == ["tool_call_request", "usage_update", "step_finished"]
    assert harness.model.requests[0]["stream"] is True

    stream.answer([{"toolCallId": first.id, "output": 1}], "local", options={"partial": "wait"})
    told += await read(stream)
    assert [call.id for call in (await stream.output()).tool_calls or ()] == [second.id]

    await harness.workers[-1].stop()
    await harness.work()
    stream.answer([{"toolCallId": second.id, "output": 2}], "local")
    async for chunk in stream:
        told.append(chunk)
        if chunk.type == "text_delta":
            break
    again = GMI(harness.client, gmi.gmi_id, task_queue=harness.task_queue, reader=reader)
    rest = again.continue_stream("t1", told[-1].sequence)
    told += await read(rest)

    assert_whole(told)
    assert text_of_chunks(told) == text == (await rest.output()).response_text
    assert (await stream.output()).response_text == text
    assert await read(again.continue_stream("t1", told[-1].sequence)) == []
    assert await read(rest) == []
    assert await read(again.continue_stream("t1")) == told


async def test_without_a_reader_it_is_told_reply_by_reply(harness: Harness) -> None:
    text = script(harness)
    gmi = await ready(harness)
    stream = gmi.process_turn_stream("Go")
    told = await read(stream)
    calls = (await stream.output()).tool_calls or ()
    stream.answer([{"toolCallId": call.id, "output": 1} for call in calls], "local")
    told += await read(stream)

    assert_whole(told)
    assert text_of_chunks(told) == text == (await stream.output()).response_text
    assert told[-2].finish_reason == "stop"
    assert await read(gmi.continue_stream(stream.turn_id, 3)) == told[3:]


async def test_a_wrong_answer_leaves_the_stream_at_the_pause(harness: Harness, reader: ChunkReader) -> None:
    script(harness)
    gmi = await ready(harness, reader)
    stream = gmi.process_turn_stream("Go")
    told = await read(stream)
    calls = (await stream.output()).tool_calls or ()
    stream.answer([{"toolCallId": "nobody", "output": 1}], "local")
    with pytest.raises(GMIError) as refused:
        await read(stream)
    assert refused.value.code == "SYS_VALIDATION_ERROR"

    stream.answer([{"toolCallId": call.id, "output": 1} for call in calls], "local")
    assert_whole([*told, *await read(stream)])


async def test_a_turn_that_began_without_a_stream_can_be_read_all_the_same(
    harness: Harness, reader: ChunkReader
) -> None:
    gmi = await ready(harness, reader)
    harness.model.say("Plainly.")
    await gmi.process_turn({"content": "Go", "interactionId": "t1"})

    stream = gmi.process_turn_stream({"content": "Go", "interactionId": "t1"})
    told = await read(stream)

    assert_whole(told)
    assert text_of_chunks(told) == "Plainly."
    assert (await gmi.get_status()).turns == 1


@pytest.mark.parametrize("with_reader", [True, False], ids=["stored", "polled"])
async def test_a_turn_that_cannot_tell_its_end_has_one_all_the_same(
    harness: Harness, reader: ChunkReader, with_reader: bool
) -> None:
    gmi = await ready(harness, reader if with_reader else None)
    harness.model.hang()
    stream = gmi.process_turn_stream({"content": "Go", "interactionId": "t1"})
    reading = asyncio.create_task(read(stream))
    await harness.model.wait_for_requests(1)
    status = await gmi.get_status()
    await harness.client.get_workflow_handle((status.open_turn or {})["workflowId"]).terminate()

    told = await reading

    assert [chunk.type for chunk in told] == ["error", "final_response_marker"]
    assert_whole(told)


async def test_what_never_was_is_refused(harness: Harness, reader: ChunkReader) -> None:
    harness.model.say("Done.")
    gmi = await ready(harness, reader)
    polled = instance(harness)
    last = (await read(gmi.process_turn_stream({"content": "Go", "interactionId": "t1"})))[-1].sequence

    async def refusal(wrong: TurnStream) -> str:
        with pytest.raises(GMIError) as refused:
            await read(wrong)
        return refused.value.code

    for asked in (gmi, polled):
        assert await refusal(asked.continue_stream("t1", last + 100)) == "SYS_VALIDATION_ERROR"
        assert await refusal(asked.continue_stream("t1", -1)) == "SYS_VALIDATION_ERROR"
        assert await refusal(asked.continue_stream("t9")) == "SYS_RESOURCE_NOT_FOUND"


async def test_a_message_that_waits_is_read_when_its_turn_comes(harness: Harness, reader: ChunkReader) -> None:
    gmi = await ready(harness, reader)
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn({"content": "Go", "interactionId": "t1"})
    waiting = gmi.process_turn_stream({"content": "Next", "interactionId": "t2"})
    reading = asyncio.create_task(read(waiting))

    async def is_queued() -> bool:
        return "t2" in (await gmi.get_status()).queued

    await until(is_queued)
    later = asyncio.create_task(read(gmi.continue_stream("t2")))
    harness.model.script("First.", "Second.")
    result: dict[str, Any] = {"type": "success", "result": 1}
    await gmi.handle_tool_result((stop.tool_calls or ())[0].id, "ask", result, "local")

    told = await reading
    assert_whole(told)
    assert text_of_chunks(told) == "Second."
    assert await later == told
