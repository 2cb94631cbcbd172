"""Whole turns that stream, on a real server: what readers see, what the history does not, and a worker that dies."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from activities.streaming_chunks import GMIOutputChunk
from tests.postgres import PostgresServer, missing_postgres, running_postgres
from tests.support import ROOT, Harness, event_types, events_of, external, until
from tests.walks import blocks_of
from worker.app import AgentApp, tool
from worker.chunks import ChunkReader, NotStreamed, TextView, TurnUnknown, text_of_chunks
from worker.client import Turn, TurnFailed
from worker.scripted_streams import DONE
from workflows.names import TASK_QUEUE

STREAM = {"stream": True}


@tool(side_effects=False)
async def stamp() -> str:
    """Put a stamp on it."""
    return "stamped"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def each_database(request: pytest.FixtureRequest, harness: Harness) -> None:
    """Has the worker and the readers of the test on one database and then on the other."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        harness.overrides["database_url"] = server.url(server.new_database())


@pytest.fixture
async def reader(harness: Harness) -> AsyncIterator[ChunkReader]:
    async with ChunkReader(harness.settings.database_url) as reader:
        yield reader


def delta(content: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}


async def read(turn: Turn, reader: ChunkReader, after: int = 0) -> list[GMIOutputChunk]:
    """All chunks of a turn, whose numbers have no gap and of which the last alone is final."""
    async with asyncio.timeout(60):
        read = [chunk async for chunk in turn.stream(reader, after)]
    assert [chunk.sequence for chunk in read] == list(range(after + 1, after + 1 + len(read)))
    assert [chunk.is_final for chunk in read] == [*[False] * (len(read) - 1), True]
    return read


def kinds(chunks: list[GMIOutputChunk]) -> list[str]:
    """The types, each text as one."""
    types = [chunk.type for chunk in chunks]
    return [kind for place, kind in enumerate(types) if kind != "text_delta" or types[place - 1 : place] != [kind]]


@pytest.mark.usefixtures("each_database")
async def test_a_turn_tells_its_rounds_its_pause_and_its_end(harness: Harness, reader: ChunkReader) -> None:
    harness.model.call([("stamp", {})], "Let me look.")
    harness.model.call([("approve", {"x": 1})], "A person has to see this.")
    harness.model.say("All done.")
    await harness.work(AgentApp(tools=[stamp]))
    turn = await harness.turns.start("go", options=STREAM, externalTools=[external("approve")])
    reading = asyncio.ensure_future(read(turn, reader))
    stop = await harness.pause(turn)
    assert stop.tool_calls is not None
    before = await reader._feeds[turn.key or ""].after(0)
    await turn.answer([{"toolCallId": stop.tool_calls[0].id, "output": "yes"}])
    told = await reading

    output = await turn.result()
    assert text_of_chunks(told) == output.response_text == "Let me look.\nA person has to see this.\nAll done."
    assert kinds(told) == [
        "text_delta", "tool_call_request", "usage_update", "step_finished", "tool_result",
        "text_delta", "tool_call_request", "usage_update", "step_finished", "tool_result",
        "text_delta", "usage_update", "step_finished", "final_response_marker",
    ]  # fmt: skip
    own, asked = [chunk for chunk in told if chunk.type == "tool_call_request"]
    assert (own.metadata["executionMode"], own.metadata["requiresExternalToolResult"]) == ("internal", False)
    assert (asked.metadata["executionMode"], asked.metadata["requiresExternalToolResult"]) == ("external", True)
    assert asked.content == [{"id": stop.tool_calls[0].id, "name": "approve", "arguments": {"x": 1}}]
    assert told[: len(before)] == before, "what comes after the pause has the next numbers"
    assert {chunk.interaction_id for chunk in told} == {output.turn_id}
    assert output.usage is not None
    assert told[-1].usage is not None
    assert told[-1].usage.total_tokens == output.usage.total_tokens


async def test_tokens_leave_no_trace_in_the_history(harness: Harness, reader: ChunkReader) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    harness.model.say(words)
    harness.model.say(words)
    await harness.work()
    plain = await harness.turns.start("go")
    await plain.result()
    streamed = await harness.turns.start("go", options=STREAM)
    await read(streamed, reader)
    output = await streamed.result()
    assert output.response_text == words
    plain_events, streamed_events = await events_of(plain.handle), await events_of(streamed.handle)
    assert event_types(streamed_events) == event_types(plain_events)
    assert abs(len(repr(streamed_events)) - len(repr(plain_events))) < 1_000
    assert "stream" not in harness.model.requests[0]
    assert harness.model.requests[1]["stream_options"] == {"include_usage": True}


@pytest.mark.usefixtures("each_database")
async def test_an_attempt_that_broke_off_is_withdrawn(harness: Harness, reader: ChunkReader) -> None:
    seen = asyncio.Event()
    harness.model.stream(delta("The first attempt said this"), seen, cut=True)
    harness.model.say("The second one counts.")
    await harness.work()
    turn = await harness.turns.start("go", options=STREAM)
    view, texts = TextView(), []
    async for chunk in turn.stream(reader):
        view.add(chunk)
        texts.append(view.text)
        seen.set()
    assert "The first attempt said this" in texts
    assert view.text == (await turn.result()).response_text == "The second one counts."
    assert text_of_chunks(await read(turn, reader)) == "The second one counts."
    late = await read(turn, reader)
    assert not any("first attempt" in str(chunk.content) for chunk in late)


async def test_a_turn_that_fails_in_the_middle_ends_with_its_error(harness: Harness, reader: ChunkReader) -> None:
    harness.model.stream(delta("so far"), {"error": {"message": "no such model", "code": "model_not_found"}})
    await harness.work()
    turn = await harness.turns.start("go", options=STREAM)
    told = await read(turn, reader)
    with pytest.raises(TurnFailed):
        await turn.result()
    assert text_of_chunks(told) == ""
    assert kinds(told)[-2:] == ["error", "final_response_marker"]
    assert told[-2].error_details is not None
    assert told[-2].error_details.code == "LLM_PROVIDER_ERROR"


async def test_a_turn_that_is_cancelled_in_the_middle_ends(harness: Harness, reader: ChunkReader) -> None:
    harness.model.stream(delta("never finis"), hangs=True)
    await harness.work()
    turn = await harness.turns.start("go", options=STREAM)
    told: list[GMIOutputChunk] = []
    async for chunk in turn.stream(reader):
        if not told:
            await turn.cancel()
        told.append(chunk)
    assert told[0].content == "never finis"
    assert text_of_chunks(told) == ""
    assert told[-1].metadata == {"state": "cancelled"}
    assert told[-1].is_final


async def test_a_turn_that_is_superseded_ends(harness: Harness, reader: ChunkReader) -> None:
    harness.model.call([("approve", {})], "Shall I?")
    harness.model.say("The next one.")
    await harness.work()
    about: dict[str, Any] = {"options": STREAM, "conversationId": "c", "externalTools": [external("approve")]}
    first = await harness.turns.start("go", **about)
    await harness.pause(first)
    second = await harness.turns.start("else", **about, onBusy="supersede")
    told, next_told = await asyncio.gather(read(first, reader), read(second, reader))
    assert text_of_chunks(told) == "Shall I?"
    assert told[-1].metadata == {"state": "superseded"}
    assert [chunk.content["isError"] for chunk in told if chunk.type == "tool_result"] == [True]
    assert text_of_chunks(next_told) == "The next one."


async def test_a_server_that_knows_less_is_asked_for_less(harness: Harness, reader: ChunkReader) -> None:
    harness.model.respond(400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}})
    harness.model.respond(400, {"error": {"message": "streaming is not supported by this model"}})
    harness.model.say("Whole, then.")
    harness.model.say("And again.")
    await harness.work()
    for expected in ("Whole, then.", "And again."):
        turn = await harness.turns.start("go", options=STREAM)
        assert text_of_chunks(await read(turn, reader)) == expected
    sent = [(request.get("stream"), request.get("stream_options")) for request in harness.model.requests]
    assert sent == [(True, {"include_usage": True}), (True, None), (None, None), (None, None)]


async def test_words_instead_of_a_choice_of_functions_are_told_too(harness: Harness, reader: ChunkReader) -> None:
    harness.model.say("None of these fits.")
    await harness.work(AgentApp(tools=[stamp]))
    options = {**STREAM, "toolSelection": "select", "selection": {"threshold": 0}}
    turn = await harness.turns.start("go", options=options)
    told = await read(turn, reader)
    assert text_of_chunks(told) == (await turn.result()).response_text == "None of these fits."
    assert told[-2].content["phase"] == "select"


async def test_a_turn_that_did_not_ask_for_a_stream_has_none(harness: Harness, reader: ChunkReader) -> None:
    await harness.work()
    turn = await harness.turns.start("go")
    await turn.result()
    with pytest.raises(NotStreamed):
        await read(turn, reader)


async def test_a_turn_that_never_began_has_nothing_to_read(harness: Harness, reader: ChunkReader) -> None:
    await harness.work()
    turn = await harness.turns.start("go", options=STREAM, personaId="nobody")
    with pytest.raises(TurnFailed):
        await turn.result()
    with pytest.raises(TurnUnknown):
        await read(turn, reader)


async def test_a_turn_found_by_its_workflow_id_is_read_too(harness: Harness, reader: ChunkReader) -> None:
    await harness.work()
    turn = await harness.turns.start("hello", options=STREAM, conversationId="a/b %")
    again = harness.turns.of(turn.id)
    assert text_of_chunks(await read(again, reader)) == "You said: hello"


async def test_a_reader_sees_the_text_once_though_a_worker_was_killed_in_the_middle(
    harness: Harness, reader: ChunkReader
) -> None:
    harness.model.stream(delta("Half of the first"), hangs=True)
    harness.model.stream(delta("The whole "), delta("answer.", "stop"), DONE)
    process = harness.work_apart()
    turn = await harness.turns.start("go", options=STREAM)
    view = TextView()
    told: list[GMIOutputChunk] = []
    async for chunk in turn.stream(reader):
        if not told:
            process.kill()
            await asyncio.to_thread(process.wait)
            await harness.work()
        told.append(chunk)
        view.add(chunk)
    assert told[0].content == "Half of the first"
    assert view.text == (await turn.result()).response_text == "The whole answer."
    await until(lambda: len(harness.model.requests) == 2)


async def test_the_python_of_the_guide_runs(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = blocks_of((ROOT / "docs" / "streaming.md").read_text(), "python")
    namespace: dict[str, Any] = {}
    exec(compile(code, "streaming.md", "exec"), namespace)
    monkeypatch.setenv("TEMPORAL_ADDRESS", harness.server.address)
    harness.task_queue = TASK_QUEUE
    harness.model.say("Once upon a time.")
    await harness.work()
    assert await namespace["watch"](harness.settings.database_url) == "Once upon a time."
    assert capsys.readouterr().out.splitlines()[-1] == "Once upon a time."
