"""Turns with pictures and sound: what the model gets, what is refused before it is asked, what happens when it refuses."""

from typing import Any

import pytest

from activities.errors import LLM_PROVIDER_ERROR, SYS_VALIDATION_ERROR
from activities.modalities import NOTES
from tests.activities.test_input_media import ADDRESS, PNG, WAV, image, sound, text
from tests.support import Harness
from worker.app import AgentApp, Persona
from worker.client import TurnFailed

LOOK = [text("What is this?"), image(ADDRESS)]
NO_IMAGES = {"error": {"message": "Invalid content type. image_url is only supported by certain models."}}


def said_to(harness: Harness, at: int = -1) -> list[Any]:
    """What the users' messages of a request held."""
    return [message["content"] for message in harness.model.requests[at]["messages"] if message["role"] == "user"]


async def test_pictures_and_sound_reach_the_model_in_every_form(harness: Harness) -> None:
    await harness.work()
    harness.model.say("A cat that purrs.")
    vision = {"type": "base64", "data": PNG, "mimeType": "image/png"}

    turn = await harness.turns.start([*LOOK, vision, sound(WAV)], type="multimodal_content")
    output = await turn.result()

    assert output.response_text == "A cat that purrs."
    assert said_to(harness) == [[*LOOK, image(f"data:image/png;base64,{PNG}"), sound(WAV)]]


@pytest.mark.parametrize(
    ("content", "fields", "wrong"),
    [
        ([image("file:///etc/passwd")], {}, r"content\[0\]\.image_url: must be an http"),
        ([text("Hi"), image(f"data:image/jpeg;base64,{PNG}")], {}, r"content\[1\]\.image_url: is no jpeg"),
        ([sound(WAV)], {"personaId": "sighted"}, r"content\[0\]: persona sighted takes no audio"),
        (LOOK, {"options": {"model": "blind-1"}}, r"content\[1\]: the model blind-1 takes no images"),
        ([{"type": "audio_url", "data": "https://example.org/a.mp3"}], {}, "content: audio_url: .* send it as base64"),
    ],
)
async def test_what_cannot_be_asked_is_refused_at_once(
    harness: Harness, content: Any, fields: dict[str, Any], wrong: str
) -> None:
    """The part is named, and the model not asked."""
    sighted = Persona.model_validate({"id": "sighted", "allowedInputModalities": ["text", "image"]})
    await harness.work(AgentApp(personas=[Persona(id="any"), sighted]), model_modalities={"blind-1": ["text"]})

    turn = await harness.turns.start(content, **fields)
    with pytest.raises(TurnFailed, match=wrong) as refused:
        await turn.result()

    assert refused.value.code == SYS_VALIDATION_ERROR
    assert harness.model.requests == []


async def test_a_model_that_turns_out_to_see_nothing_fails_the_turn_once_and_says_so(harness: Harness) -> None:
    """Its refusal is final; the conversation goes on, with a note where the picture was."""
    await harness.work()
    harness.model.respond(400, NO_IMAGES)
    turn = await harness.turns.start(LOOK, conversationId="c")
    with pytest.raises(TurnFailed, match="the model scripted-1 takes no image, or not that of this message") as failed:
        await turn.result()
    assert failed.value.code == LLM_PROVIDER_ERROR
    assert len(harness.model.requests) == 1

    harness.model.respond(400, NO_IMAGES)
    harness.model.script("Tell me what it shows.", "Still no.")
    output = await (await harness.turns.start("Well?", conversationId="c")).result()
    assert output.response_text == "Tell me what it shows."
    assert said_to(harness) == [[text("What is this?"), text(NOTES["image"])], "Well?"]

    # The next turn tries the picture again: it may have been refused for itself.
    await (await harness.turns.start("And now?", conversationId="c")).result()
    assert said_to(harness)[0] == LOOK


async def test_a_model_known_to_see_nothing_is_sent_a_note_for_earlier_pictures(harness: Harness) -> None:
    await harness.work(model_modalities={"blind-1": ["text"]})
    harness.model.script("A cat.", "It was a cat.")
    await (await harness.turns.start([*LOOK, sound(WAV)], conversationId="c")).result()
    await (await harness.turns.start("What was it?", conversationId="c", options={"model": "blind-1"})).result()

    assert said_to(harness) == [[text("What is this?"), text(NOTES["image"]), text(NOTES["audio"])], "What was it?"]
