"""Whole turns whose output has more than words: commands for the host's user interface, sound, pictures."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from activities.conversation import GMIOutput
from activities.errors import TOOL_OUTCOME_UNKNOWN
from tests.activities.recording import Recorded, RecordingServer, answer
from tests.activities.test_media import PNG, WAV
from tests.commands import Ran, run_main, run_module
from tests.postgres import PostgresServer, missing_postgres, running_postgres
from tests.support import ROOT, Harness, events_of, external
from tests.walks import blocks_of
from tests.workflows import speech_app
from worker.app import AgentApp, AudioOutput, ImageOutput, Persona, Reply, UICommand, UICommandKind, tool
from worker.chunks import ChunkReader
from worker.media import MediaNotFound, MediaReader
from worker.media import main as media_main

TEXTS = (b"soft", b"loud")
LONG_WAV = WAV + bytes(range(256)) * 78 + b"\0" * 60

OPEN_ORDER = UICommandKind(
    name="open_order",
    description="Shows an order.",
    payload_schema={"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]},
)
SHOWING = AgentApp(personas=[Persona(id="desk", ui_commands=(OPEN_ORDER,))])


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server


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


@tool(side_effects=False)
def draw(prompt: str) -> Reply:
    """Draw a picture, and say so."""
    picture = ImageOutput(data=PNG, prompt=prompt)
    return Reply(output="drawn", image=picture, ui_commands=[UICommand(command="show"), UICommand(command="flash")])


@tool(side_effects=False)
async def speak(text: str) -> AudioOutput:
    """Say it."""
    return AudioOutput(data=LONG_WAV, text=text, voice_id="alloy")


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_what_tools_make_is_in_the_output_and_its_bytes_are_not_in_the_history(
    harness: Harness, database: str, request: pytest.FixtureRequest
) -> None:
    """Of two sounds the last one counts. The next turn's model reads the notes and none of the data."""
    if database == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        harness.overrides["database_url"] = server.url(server.new_database())
    harness.model.call([("draw", {"prompt": "a lamp"}), ("speak", {"text": "One."})])
    harness.model.call([("speak", {"text": "Two."})])
    harness.model.say("There.")
    harness.model.say("As I said.")
    await harness.work(AgentApp(tools=[draw, speak]), cached=False)
    turn = await harness.turns.start("Go", conversationId="c", userId="ada", options={"stream": True})
    output = await turn.result()
    await (await harness.turns.start("And?", conversationId="c", userId="ada")).result()

    audio, image = output.audio_output, output.image_output
    assert audio is not None
    assert image is not None
    assert (audio.provider, audio.text_to_speak, audio.voice_id, audio.format) == ("speak", "Two.", "alloy", "wav")
    assert (image.prompt_used, image.format, image.base64_data) == ("a lamp", "png", base64.b64encode(PNG).decode())
    assert [command.command for command in output.ui_commands or ()] == ["show", "flash"]
    async with MediaReader(harness.settings.database_url) as reader:
        sound = await turn.media(reader, audio.url or "")
        assert (sound.data, sound.mime) == (LONG_WAV, "audio/wav")
        assert (await reader.read(image.image_url or "", user_id="ada")).data == PNG
        for stranger in ({"user_id": "eve"}, {"user_id": "ada", "organization_id": "acme"}, {}):
            with pytest.raises(MediaNotFound):
                await reader.read(audio.url or "", **stranger)
    async with ChunkReader(harness.settings.database_url) as chunks:
        told = [chunk async for chunk in turn.stream(chunks)]
    assert [each["command"] for chunk in told if chunk.type == "ui_command" for each in chunk.content] == [
        "show",
        "flash",
    ]
    assert results(harness) == ["drawn", *["The user gets the audio (wav, 20,044 bytes)."] * 2]
    sent = json.dumps([await events_of(turn.handle), harness.model.requests])
    assert base64.b64encode(LONG_WAV).decode()[2_000:2_100] not in sent
    assert len(sent) < 60_000


async def test_sound_whose_worker_was_killed_before_it_was_kept(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that may repeat asks again with the same key; another one says that nobody knows, and there is no sound."""
    arrived, dead = asyncio.Semaphore(0), asyncio.Event()

    async def respond(request: Recorded) -> bytes:
        if dead.is_set():
            return answer("200 OK", b"ID3 again", "audio/mpeg")
        arrived.release()
        await dead.wait()
        return b""

    voice = await harness.stack.enter_async_context(RecordingServer(respond=respond))
    monkeypatch.setenv(speech_app.ADDRESS_VARIABLE, voice.url)
    harness.model.call([("speak", {"text": "soft"}), ("shout", {"text": "loud"})])
    harness.model.say("Done.")
    process = harness.work_apart("tests.workflows.speech_app:app")
    turn = await harness.turns.start("Go")
    await asyncio.wait_for(asyncio.gather(arrived.acquire(), arrived.acquire()), 60)
    process.kill()
    await asyncio.to_thread(process.wait)
    dead.set()
    await harness.work(speech_app.app)

    output = await asyncio.wait_for(turn.result(), 90)

    keys = {text: [each.header("idempotency-key") for each in voice.requests if each.body == text] for text in TEXTS}
    assert [len(keys[text]) for text in TEXTS] == [2, 1]
    assert len(set(keys[b"soft"])) == 1
    assert output.audio_output is not None
    assert output.audio_output.text_to_speak == "soft"
    async with MediaReader(harness.settings.database_url) as reader:
        assert (await turn.media(reader, output.audio_output.url or "")).data == b"ID3 again"
    assert TOOL_OUTCOME_UNKNOWN in results(harness)[1]


async def test_the_trace_is_in_what_is_asked_for_and_in_the_history_only_by_wish(harness: Harness) -> None:
    for _ in range(4):
        harness.model.say("Done.")
    await harness.work()
    plain = await harness.turns.start("Go")
    asked = await harness.turns.start("Go", options={"reasoningTrace": True})
    without, traced = await plain.result(), await asked.result()

    shown = GMIOutput.model_validate(await plain.handle.query("get_output"))
    assert without.reasoning_trace is None
    for output in (traced, shown):
        kinds = [entry["type"] for entry in output.reasoning_trace or ()]
        assert (kinds[0], kinds[-1]) == ("INTERACTION_START", "INTERACTION_END")
        assert "LLM_CALL_COMPLETE" in kinds
    assert traced.response_text == shown.response_text == "Done."


async def test_the_python_of_the_guide_runs(harness: Harness, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in blocks_of((ROOT / "docs" / "output.md").read_text(), "python"):
        exec(compile(block, "output.md", "exec"), names)
    harness.model.call([("say_aloud", {"text": "Hi."}), ("draw_chart", {"title": "Orders"})])
    harness.model.say("There.")
    await harness.work(names["app"])
    turn = await harness.turns.start("Go")

    assert await names["listen"](turn, harness.settings.database_url) == b"ID3 ..."

    output = await turn.result()
    assert capsys.readouterr().out.startswith("audio/mpeg 7 ")
    assert output.image_output is not None
    assert output.image_output.format == "png"
    assert [command.command for command in output.ui_commands or ()] == ["highlight"]
    assert results(harness)[1] == "The chart shows 40 orders, most of them on Friday."


async def test_the_bytes_are_written_by_the_command(harness: Harness) -> None:
    harness.model.call([("speak", {"text": "Hi."})])
    await harness.work(AgentApp(tools=[speak]))
    output = await (await harness.turns.start("Go", userId="ada")).result()
    assert output.audio_output is not None

    url, environment = output.audio_output.url or "", {"TURNHOLD_DATABASE_URL": harness.settings.database_url}
    assert await run_module("worker.media", url, "--user", "ada", **environment) == Ran(0, LONG_WAV, "")
    refused = await run_main(media_main, url, "--user", "eve", **environment)
    assert refused == Ran(1, b"", f"no media: there is nothing at {url} for you\n")
    wrong = await run_main(media_main, "file:///etc/passwd", **environment)
    assert wrong.code == 1
    assert "is not an address like" in wrong.err
