"""Whole turns whose model itself answers with sound or pictures: kept beside the history, told as words to the next request."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from activities.errors import EMPTY_MODEL_RESPONSE, SYS_VALIDATION_ERROR
from tests.activities.test_media import PNG, WAV
from tests.support import Harness, events_of
from worker.app import AgentApp, Persona
from worker.chunks import ChunkReader, text_of_chunks
from worker.client import TurnFailed
from worker.media import MediaReader
from worker.scripted_streams import DONE

LONG_WAV = WAV + bytes(range(256)) * 78
SOUND = base64.b64encode(LONG_WAV).decode()
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(PNG).decode()}}
SPOKEN = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}


@pytest.fixture
async def media(harness: Harness) -> AsyncIterator[MediaReader]:
    async with MediaReader(harness.settings.database_url) as reader:
        yield reader


async def test_a_spoken_and_a_drawn_answer_are_words_to_the_next_request(harness: Harness, media: MediaReader) -> None:
    """`cached=False` replays every step."""
    harness.model.say(None, audio={"id": "a1", "data": SOUND, "transcript": "It is noon.", "expires_at": 9})
    harness.model.say(None, images=[PICTURE])
    harness.model.say("Both.")
    await harness.work(cached=False)
    spoken = await harness.turns.start("Say the time", conversationId="c", options=SPOKEN)
    said = await spoken.result()
    drawn = await harness.turns.start("Draw it", conversationId="c")
    shown = await drawn.result()
    await (await harness.turns.start("Which was better?", conversationId="c")).result()

    assert said.response_text == "It is noon."
    assert said.audio_output is not None
    assert (said.audio_output.text_to_speak, said.audio_output.voice_id) == ("It is noon.", "alloy")
    assert said.audio_output.format == "wav"
    assert (await spoken.media(media, said.audio_output.url or "")).data == LONG_WAV
    assert shown.response_text is None
    assert shown.error is None
    assert shown.image_output is not None
    assert (await media.read(shown.image_output.image_url or "")).data == PNG
    first, _, last = harness.model.requests
    assert (first["modalities"], first["audio"]) == (["text", "audio"], {"voice": "alloy", "format": "wav"})
    assert "modalities" not in last
    assert [each["content"] for each in last["messages"] if each["role"] == "assistant"] == [
        "It is noon.",
        "[You showed the user a picture.]",
    ]
    assert SOUND[2_000:2_100] not in json.dumps([await events_of(spoken.handle), harness.model.requests])


async def test_streamed_sound_shows_its_words_while_it_comes(harness: Harness, media: MediaReader) -> None:
    def delta(audio: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"audio": audio}, "finish_reason": finish}]}

    pieces = [b"\1\2" * 40, b"\3\4" * 40]
    first, second = (base64.b64encode(piece).decode() for piece in pieces)
    harness.model.stream(
        delta({"id": "a1", "transcript": "It is "}),
        delta({"data": first, "transcript": "noon."}),
        delta({"data": second}, "stop"),
        DONE,
    )
    harness.model.say("", audio={"data": SOUND, "transcript": "Half past."})
    await harness.work()
    bare = {**SPOKEN, "audio": {"voice": "alloy", "format": "pcm16"}, "stream": True}
    turn = await harness.turns.start("Say the time", options=bare)
    async with ChunkReader(harness.settings.database_url) as reader:
        told = [chunk async for chunk in turn.stream(reader)]
        output = await turn.result()
        whole = await harness.turns.start("Again", options={**SPOKEN, "stream": True})
        told_whole = [chunk async for chunk in whole.stream(reader)]

    assert text_of_chunks(told) == output.response_text == "It is noon."
    assert output.audio_output is not None
    assert (await turn.media(media, output.audio_output.url or "")).data == b"".join(pieces)
    assert text_of_chunks(told_whole) == "Half past."
    assert [request.get("stream") for request in harness.model.requests] == [True, None]
    assert all(len(str(chunk.content)) < 1_000 for chunk in (*told, *told_whole))


async def test_a_persona_that_only_writes_is_not_asked_to_speak(harness: Harness) -> None:
    await harness.work(AgentApp(personas=[Persona(id="desk", allowed_output_modalities=("text",))]))
    with pytest.raises(TurnFailed, match=r"options\.modalities: persona desk may not answer with audio") as failed:
        await (await harness.turns.start("Go", options=SPOKEN)).result()
    assert failed.value.code == SYS_VALIDATION_ERROR


async def test_what_cannot_be_used_is_left_out_and_said(harness: Harness) -> None:
    """Base64 that is none, a format nobody knows, and sound from a model that was not asked for any."""
    harness.model.say("Look.", images=[{"b64_json": "%%%"}])
    harness.model.say(None, images=["data:image/x-unknown;base64,AAAA"])
    harness.model.say("Listen.", audio={"data": SOUND, "transcript": "Listen."})
    await harness.work(AgentApp(personas=[Persona(id="desk", allowed_output_modalities=("text", "image"))]))
    outputs = []
    for _ in range(3):
        turn = await harness.turns.start("Go", options={"reasoningTrace": True})
        outputs.append(await turn.result())

    traces = [json.dumps(output.reasoning_trace) for output in outputs]
    assert [output.image_output for output in outputs] == [None, None, None]
    assert [output.audio_output for output in outputs] == [None, None, None]
    assert [output.response_text for output in outputs] == ["Look.", None, "Listen."]
    assert outputs[1].error is not None
    assert outputs[1].error.code == EMPTY_MODEL_RESPONSE
    assert "the model's image was left out: the data is not base64" in traces[0]
    assert "x-unknown" in traces[1]
    assert "this persona may not answer with audio" in traces[2]
