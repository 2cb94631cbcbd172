"""Pictures and sound of a message: read in every form a host may send, and checked before anything is asked."""

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from activities.conversation import AssistantMessage, Content, Message, TextPart, UserMessage
from activities.input_media import INLINE_CHARS, media_fault
from activities.modalities import Kind, model_fault, persona_fault, without
from activities.personas import Persona
from activities.turn_input import TurnInput

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode()
MP3 = base64.b64encode(b"ID3\x03" + b"\0" * 20).decode()
ADDRESS = "https://example.org/a.png"


def image(url: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def sound(data: str, format: str = "wav") -> dict[str, Any]:  # noqa: A002 - its name on the wire
    return {"type": "input_audio", "input_audio": {"data": data, "format": format}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def read(content: Any) -> Content:
    return TurnInput.model_validate({"content": content}).content


def told(content: Any) -> list[dict[str, Any]]:
    """The parts as they go to the provider."""
    parts = read(content)
    assert not isinstance(parts, str)
    return [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in parts]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ([image(ADDRESS, detail="low")], [image(ADDRESS, detail="low")]),
        ([{"type": "image_url", "data": ADDRESS}], [image(ADDRESS)]),
        (
            [{"type": "base64", "data": PNG, "mimeType": "image/png", "description": "A cat"}],
            [text("What the next picture shows: A cat"), image(f"data:image/png;base64,{PNG}")],
        ),
        ([{"type": "base64", "data": PNG}], [image(f"data:image/png;base64,{PNG}")]),
        ([{"type": "base64", "data": f"data:image/gif;base64,{PNG}"}], [image(f"data:image/gif;base64,{PNG}")]),
        ([{"type": "base64", "data": MP3, "mimeType": "audio/mpeg"}], [sound(MP3, "mp3")]),
        ([{"type": "base64", "data": WAV}], [sound(WAV)]),
        ([{"type": "audio_url", "data": f"data:audio/x-wav;base64,{WAV}"}], [sound(WAV)]),
        ([{"type": "transcription", "data": "Hello", "languageCode": "en"}], [text("Hello")]),
        (
            {"text": "Look", "visionInputs": [{"type": "image_url", "data": ADDRESS}], "audioInput": sound(WAV)},
            [text("Look"), image(ADDRESS), sound(WAV)],
        ),
    ],
)
def test_every_form_becomes_a_part_of_the_providers_api(given: Any, parts: list[dict[str, Any]]) -> None:
    assert told(given) == parts
    assert told(told(given)) == parts
    assert media_fault(read(given)) is None or "gif" in str(given)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ([{"type": "audio_url", "data": "https://example.org/a.mp3"}], "send it as base64"),
        ([{"type": "base64", "data": "AAAA"}], "send mimeType"),
        ([{"type": "base64", "data": 5}], "must be text"),
        ([{"type": "video", "data": "AAAA"}], "video"),
        ([5], "content"),
        ({"video": 1}, "content"),
    ],
)
def test_a_form_that_no_message_can_hold_is_refused_with_what_to_send(given: Any, wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        read(given)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        (image("ftp://example.org/a.png"), "http or https"),
        (image("file:///etc/passwd"), "http or https"),
        (image("javascript:alert(1)"), "http or https"),
        (image("https://"), "http or https"),
        (image("https://[::1/"), "http or https"),
        (image("https://ada:secret@example.org/a.png"), "name or password"),
        (image("https://example.org/" + "a" * 9_000), "longer than"),
        (image(ADDRESS, detail="huge"), "detail must be"),
        (image("data:text/html;base64,AAAA"), "data:image"),
        (image("data:image/png,AAAA"), "data:image"),
        (image(f"data:image/tiff;base64,{PNG}"), "format tiff is not known"),
        (image("data:image/png;base64,%%%"), "not base64"),
        (image("data:image/png;base64,"), "is no png"),
        (image(f"data:image/jpeg;base64,{PNG}"), "is no jpeg"),
        (image(f"data:image/png;base64,{WAV}"), "is no png"),
        (sound("%%%"), "not base64"),
        (sound(""), "is no wav"),
        (sound(WAV, "avi"), "'avi' is not known"),
        (sound(WAV, "mp3"), "is no mp3"),
        (sound(PNG, "ogg"), "is no ogg"),
    ],
)
def test_what_a_part_is_not_is_said_with_its_place(part: dict[str, Any], wrong: str) -> None:
    fault = media_fault(read([text("Look"), part]))
    assert fault is not None
    assert fault.startswith("content[1].")
    assert wrong in fault
    assert "secret" not in fault


def test_a_message_has_few_parts_and_little_base64() -> None:
    raw = b"\x89PNG\r\n\x1a\n" + b"\0" * (INLINE_CHARS // 2)
    large = image("data:image/png;base64," + base64.b64encode(raw).decode())
    assert media_fault(read([large])) is None
    assert "send the URL" in str(media_fault(read([large, large])))
    assert "parts are more than" in str(media_fault(read([text("x")] * 65)))
    assert media_fault("x" * 600_000) is None


PARTS = read([text("Look"), image(ADDRESS), image(f"data:image/png;base64,{PNG}"), sound(WAV)])


@pytest.mark.parametrize(
    ("allowed", "fault"),
    [
        (None, None),
        (["text", "image", "audio"], None),
        (["text", "vision_image_url", "audio"], "content[2]: persona p takes no images"),
        (["text", "vision_image_base64"], "content[1]: persona p takes no images"),
        (["text", "image", "audio_transcription"], "content[3]: persona p takes no audio"),
        (["image", "audio"], "content[0]: persona p takes no text; it takes image, audio"),
        ([], "content[0]: persona p takes no text; it takes nothing"),
    ],
)
def test_a_persona_takes_what_it_names(allowed: list[str] | None, fault: str | None) -> None:
    said = persona_fault(PARTS, Persona.model_validate({"id": "p", "allowedInputModalities": allowed}))
    assert said == fault or (said or "").startswith(f"{fault}; it takes")


def test_a_model_takes_what_the_worker_knows_of_it() -> None:
    text_alone: tuple[Kind, ...] = ("text",)
    assert model_fault(PARTS, "m", None) is None
    assert model_fault("Hi", "m", text_alone) is None
    assert "content[3]: the model m takes no audio" in str(model_fault(PARTS, "m", ("text", "image")))


def test_a_note_stands_where_a_model_cannot_see() -> None:
    said: list[Message] = [UserMessage(content=PARTS), AssistantMessage(content="A cat."), UserMessage(content="Hi")]
    images: tuple[Kind, ...] = ("image",)
    first, *rest = without(said, images)
    assert rest == said[1:]
    assert isinstance(first, UserMessage)
    assert [type(part) is TextPart for part in first.content if not isinstance(part, str)] == [True, True, True, False]
    assert without(said, ()) == said
