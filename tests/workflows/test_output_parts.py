"""Whole turns whose output has more than words: commands for the host's user interface, sound, pictures."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from activities.personas import UICommandKind
from tests.support import Harness, external
from worker.app import AgentApp, Persona
from worker.chunks import ChunkReader

OPEN_ORDER = UICommandKind(
    name="open_order",
    description="Shows an order.",
    payload_schema={"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]},
)
SHOWING = AgentApp(personas=[Persona(id="desk", ui_commands=(OPEN_ORDER,))])


@pytest.fixture
async def reader(harness: Harness) -> AsyncIterator[ChunkReader]:
    async with ChunkReader(harness.settings.database_url) as reader:
        yield reader


def results(harness: Harness) -> list[str]:
    """The results that the newest request shows to the model."""
    return [each["content"] for each in harness.model.requests[-1]["messages"] if each["role"] == "tool"]


async def test_a_command_is_told_at_once_and_stands_in_every_output(harness: Harness, reader: ChunkReader) -> None:
    """Beside a call that waits for the host: nobody waits for the answer to see the command. `cached=False` replays all."""
    show = {"command": "open_order", "payload": {"order": 7}, "targetElementId": "#main"}
    wrong = {"command": "open_order", "payload": {"order": "seven"}}
    harness.model.call([("ui_command", show), ("ask", {}), ("ui_command", wrong)])
    harness.model.say("Done.")
    await harness.work(SHOWING, cached=False)
    turn = await harness.turns.start("Go", externalTools=[external("ask")], options={"stream": True})
    stop = await harness.pause(turn)
    told = [chunk async for chunk in _until(reader, turn.key or "", "ui_command")]
    calls = stop.tool_calls or ()
    await turn.answer([{"toolCallId": calls[0].id, "output": "yes"}])

    output = await turn.result()

    (command,) = output.ui_commands or ()
    assert stop.ui_commands == output.ui_commands
    assert command.model_dump(by_alias=True) == {
        "commandId": command.command_id,
        "command": "open_order",
        "targetElementId": "#main",
        "payload": {"order": 7},
    }
    assert told[-1].content == [command.model_dump(by_alias=True)]
    page = await turn.handle.query("get_chunks")
    assert [each["content"] for each in page["entries"] if each["type"] == "ui_command"] == [told[-1].content]
    assert [call.name for call in output.tool_calls or ()] == ["ui_command", "ui_command"]
    sent, asked, refused = results(harness)
    assert (sent, asked) == ("sent", "yes")
    assert "payload.order" in refused
    streamed = [chunk async for chunk in turn.stream(reader)]
    assert [chunk.type for chunk in streamed].count("ui_command") == 1


async def _until(reader: ChunkReader, key: str, kind: str) -> AsyncIterator[Any]:
    """Chunks up to the first of a kind."""
    async for chunk in reader.read(key):
        yield chunk
        if chunk.type == kind:
            return


async def test_a_persona_without_commands_has_no_such_tool(harness: Harness) -> None:
    harness.model.call([("ui_command", {"command": "open_order"})])
    harness.model.say("Then not.")
    await harness.work()
    output = await (await harness.turns.start("Go")).result()
    assert output.ui_commands is None
    assert "there is no tool 'ui_command'" in results(harness)[0]
