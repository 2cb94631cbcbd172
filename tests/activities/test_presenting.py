"""A tool's value in two halves: the model reads the one, the user gets the other."""

import base64
from typing import Any

import pytest

from activities.media import media_item
from activities.output_parts import UICommand
from activities.presenting import Origin, Presented, present
from activities.tool_replies import AudioOutput, ImageOutput, Reply
from tests.activities.test_media import PNG, WAV

ORIGIN = Origin("conv/t1", "abc123xyz", "speak")


def shown(value: Any) -> Presented:
    made = present(value, ORIGIN, 1_000)
    assert isinstance(made, Presented)
    return made


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, [1, 2], []])
def test_a_plain_value_is_what_it_was(value: Any) -> None:
    assert present(value, ORIGIN, 1_000) == value


def test_sound_is_kept_aside_and_the_model_reads_a_note() -> None:
    made = shown(AudioOutput(data=WAV, text="Hello \ud800", voice_id="alloy", language_code="en"))

    audio, (item,) = made.parts.audio_output, made.media
    assert made.output == "The user gets the audio (wav, 16 bytes)."
    assert audio is not None
    assert audio.model_dump(by_alias=True) == {
        "provider": "speak",
        "textToSpeak": "Hello \ufffd",
        "voiceId": "alloy",
        "url": item.url("conv/t1"),
        "format": "wav",
        "languageCode": "en",
    }
    assert item.data == WAV


def test_a_small_picture_stands_in_the_output_too_and_a_large_one_does_not() -> None:
    small, large = shown(ImageOutput(data=PNG, prompt="A lamp.")), shown(ImageOutput(data=PNG + b"\0" * 6_000))

    assert small.parts.image_output is not None
    assert large.parts.image_output is not None
    assert small.parts.image_output.base64_data == base64.b64encode(PNG).decode()
    assert small.parts.image_output.prompt_used == "A lamp."
    assert large.parts.image_output.base64_data is None
    assert large.parts.image_output.image_url == large.media[0].url("conv/t1")


def test_what_is_elsewhere_stays_there() -> None:
    made = shown(Reply(image=ImageOutput(url="https://example.org/a.png"), audio=AudioOutput(url="https://x.org/a")))
    assert made.media == ()
    assert made.output == "The user gets the audio. The user gets the image."


def test_a_data_url_is_taken_as_data() -> None:
    made = shown(ImageOutput(url="data:image/png;base64," + base64.b64encode(PNG).decode()))
    assert made.media == (media_item("image", PNG),)


def test_a_reply_has_its_own_words_for_the_model() -> None:
    made = shown(Reply(output={"orders": 2}, audio=AudioOutput(data=WAV)))
    assert made.output == {"orders": 2}


def test_a_reply_may_have_words_for_where_nothing_but_words_is_given() -> None:
    made = shown(Reply(otherwise=["\ud800"], audio=AudioOutput(data=WAV)))
    assert (made.output, made.otherwise) == ("The user gets the audio (wav, 16 bytes).", ["\ufffd"])
    assert shown(AudioOutput(data=WAV)).otherwise is None


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (UICommand(command="close"), ["abc123xyz"]),
        ([UICommand(command="close"), UICommand(command="open")], ["abc123xyz-0", "abc123xyz-1"]),
        (Reply(ui_commands=[UICommand(command="close", command_id="mine")]), ["mine"]),
    ],
)
def test_commands_are_known_by_the_call_that_made_them(value: Any, ids: list[str]) -> None:
    made = shown(value)
    assert [command.command_id for command in made.parts.ui_commands] == ids
    assert made.output.startswith("Sent: close")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (AudioOutput(), "needs either a url or data"),
        (AudioOutput(url="https://x.org", data=WAV), "needs either a url or data"),
        (AudioOutput(data="%%%", format="mp3"), "is not base64"),
        (AudioOutput(data=b"MZ"), "the format of the audio is not told"),
        (ImageOutput(data=PNG, format="exe"), "'exe' is no format of image"),
        (ImageOutput(url="file:///etc/passwd"), "is an http address"),
        (ImageOutput(url="javascript:alert(1)"), "is an http address"),
        (ImageOutput(url="https://x.org/" + "x" * 2_000), "is an http address of at most"),
        (ImageOutput(data=PNG, metadata={"x": "y" * 3_000}), "metadata has 3,008 bytes"),
        (Reply(audio=ImageOutput(data=PNG)), "audio is a ImageOutput"),  # type: ignore[arg-type]
        (Reply(ui_commands=[{"command": "a"}]), "has a dict in it"),  # type: ignore[list-item]
        (UICommand(command="a", payload={"x": "y" * 9_000}), "have 9,0.. bytes, more than 8,000"),
        ([AudioOutput(data=WAV)], "AudioOutput stands inside another value"),
        ({"a": Reply()}, "Reply stands inside another value"),
    ],
)
def test_parts_that_cannot_be_used_are_an_error_of_the_tool(value: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        present(value, ORIGIN, 1_000)
