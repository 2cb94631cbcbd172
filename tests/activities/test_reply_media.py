"""The sound and the picture of a model's reply: kept, named, or left out with a word why."""

import base64
from typing import Any

import pytest

from activities.completion_media import RawMedia
from activities.completions import Completion
from activities.conversation import ErrorDetails
from activities.guard_contracts import GuardNote
from activities.media import MediaItem, media_item
from activities.output_parts import OutputParts
from activities.personas import Persona
from activities.reply_media import ReplyMedia
from activities.store.errors import MediaFull
from activities.turn_input import AudioOptions, TurnOptions
from tests.activities.test_media import PNG, WAV

SPEAKER = Persona(id="p")
SOUND = RawMedia("audio", base64.b64encode(b"\1\2").decode())
PICTURE = RawMedia("image", base64.b64encode(PNG).decode())


class Shelf:
    """Keeps items in memory."""

    def __init__(self, room: int = 10_000) -> None:
        self.items: list[MediaItem] = []
        self._room = room

    def put(self, turn_id: str, items: tuple[MediaItem, ...]) -> None:
        if sum(len(item.data) for item in items) > self._room:
            raise MediaFull(0, 2, self._room)
        self.items += items


def completion(*media: RawMedia, **fields: Any) -> Completion:
    about = {"text": "Hello.", "calls": (), "finish_reason": "stop", "model": "m", "usage": None, **fields}
    return Completion(media=media, **about)


async def keep(
    given: Completion, shelf: Shelf | None = None, persona: Persona = SPEAKER, options: TurnOptions | None = None
) -> tuple[Completion, OutputParts | None]:
    keeper = ReplyMedia(Shelf() if shelf is None else shelf, "openai")
    return await keeper.keep("t1", persona, options or TurnOptions(), given)


async def test_a_reply_of_words_has_no_parts() -> None:
    given = completion()
    assert await keep(given) == (given, None)


async def test_sound_and_picture_are_kept_and_named() -> None:
    shelf = Shelf()
    options = TurnOptions(modalities=("audio",), audio=AudioOptions(voice="alloy", format="pcm16"))
    left, parts = await keep(completion(SOUND, PICTURE), shelf, options=options)

    assert parts is not None
    assert parts.audio_output is not None
    assert parts.image_output is not None
    assert (parts.audio_output.format, parts.audio_output.voice_id) == ("pcm16", "alloy")
    assert parts.audio_output.text_to_speak == "Hello."
    assert [item.url("t1") for item in shelf.items] == [parts.audio_output.url, parts.image_output.image_url]
    assert (left.media, left.hint) == ((), None)


async def test_what_is_elsewhere_is_named_and_not_fetched() -> None:
    shelf = Shelf()
    _, parts = await keep(completion(RawMedia("image", "https://example.org/a.jpg", "jpg")), shelf)
    assert parts is not None
    assert parts.image_output is not None
    assert (parts.image_output.image_url, parts.image_output.format) == ("https://example.org/a.jpg", "jpeg")
    assert shelf.items == []


@pytest.mark.parametrize(
    ("given", "persona", "room", "why"),
    [
        (completion(SOUND), SPEAKER, 10, "audio was left out: the format of the audio is not told"),
        (completion(RawMedia("image", "%%%")), SPEAKER, 10, "image was left out: the data is not base64"),
        (completion(RawMedia("image", "")), SPEAKER, 10, "image was left out: the image is empty"),
        (completion(RawMedia("image", "https://" + "x" * 3_000)), SPEAKER, 10, "its address has more than 2,000"),
        (completion(PICTURE), SPEAKER, 10, "a turn keeps 10 bytes of audio and images"),
        (
            completion(PICTURE),
            Persona(id="p", allowed_output_modalities=("text",)),
            100,
            "this persona may not answer with image",
        ),
        (
            completion(PICTURE, guardrails=(GuardNote(guardrail="g", stage="output", verdict="sanitised"),)),
            SPEAKER,
            100,
            "a guardrail changed what was said",
        ),
    ],
)
async def test_what_cannot_be_used_is_left_out(given: Completion, persona: Persona, room: int, why: str) -> None:
    shelf = Shelf(room)
    left, parts = await keep(given, shelf, persona)
    assert parts is None
    assert shelf.items == []
    assert why in (left.hint or "")
    assert left.text == "Hello."


async def test_a_verdict_on_a_tools_result_takes_nothing_from_the_reply() -> None:
    note = GuardNote(guardrail="g", stage="result", verdict="sanitised")
    _, parts = await keep(completion(PICTURE, guardrails=(note,)))
    assert parts is not None


async def test_a_reply_that_ended_in_an_error_keeps_nothing() -> None:
    shelf = Shelf()
    error = ErrorDetails(code="MODEL_REFUSAL", message="no")
    _, parts = await keep(completion(PICTURE, error=error), shelf)
    assert parts is None
    assert shelf.items == []


async def test_a_wav_is_known_by_its_bytes() -> None:
    shelf = Shelf()
    await keep(completion(RawMedia("audio", base64.b64encode(WAV).decode())), shelf)
    assert shelf.items == [media_item("audio", WAV, "wav")]
