"""Sound and pictures in completions, whole and streamed, as providers and gateways send them."""

import base64
from typing import Any

import pytest

from activities.completion_media import RawMedia
from activities.completions import read_completion
from activities.streaming_assembly import Assembly
from activities.streaming_media import joined_base64

URL = "https://example.org/a.png"
DATA = "data:image/png;base64,iVBORw0K"


def completion(**message: Any) -> Any:
    return read_completion({"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"images": [{"type": "image_url", "image_url": {"url": DATA}}]}, RawMedia("image", DATA)),
        ({"images": [DATA]}, RawMedia("image", DATA)),
        ({"images": [{"b64_json": "iVBORw0K", "format": "png"}]}, RawMedia("image", "iVBORw0K", "png")),
        ({"content": [{"type": "image_url", "image_url": URL}]}, RawMedia("image", URL)),
        ({"content": [{"type": "output_image", "image_url": URL}]}, RawMedia("image", URL)),
        ({"content": [{"type": "image", "b64_json": "iVBORw0K"}]}, RawMedia("image", "iVBORw0K")),
        ({"content": {"type": "image", "url": URL}}, RawMedia("image", URL)),
        ({"images": [URL, DATA]}, RawMedia("image", DATA)),
        ({"audio": {"id": "a", "data": "AAAA", "format": "wav"}}, RawMedia("audio", "AAAA", "wav")),
    ],
)
def test_media_are_found_wherever_they_stand(message: dict[str, Any], expected: RawMedia) -> None:
    read = completion(**message)
    assert read.media == (expected,)
    assert not read.is_empty
    assert read.text is None


@pytest.mark.parametrize(
    "message",
    [
        {"audio": None},
        {"audio": {"id": "a", "expires_at": 1}},
        {"audio": {"data": 7}},
        {"audio": "AAAA"},
        {"images": None},
        {"images": [None, 7, {}, {"image_url": {}}, ""]},
        {"content": [{"type": "video", "url": URL}, {"type": "image_url"}]},
    ],
)
def test_what_has_no_data_is_no_media(message: dict[str, Any]) -> None:
    read = completion(**message)
    assert read.media == ()
    assert read.is_empty


def test_what_sound_says_is_the_text_of_a_reply_without_one() -> None:
    assert completion(audio={"data": "AAAA", "transcript": "Hello."}).text == "Hello."
    assert completion(audio={"data": "AAAA", "transcript": "Hello."}, content="Hi.").text == "Hi."
    assert completion(audio={"data": "AAAA", "transcript": 7}).text is None


def streamed(*deltas: dict[str, Any]) -> tuple[str, Any]:
    """What a reader sees while it comes, and the completion in the end."""
    assembly = Assembly()
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    shown = "".join(assembly.take(chunk) for chunk in chunks)
    assembly.take({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return shown, read_completion(assembly.body())


def test_streamed_sound_is_put_together_and_its_words_are_shown() -> None:
    encoded = base64.b64encode(b"0123456789").decode()
    shown, read = streamed(
        {"audio": {"id": "a", "transcript": "Hel"}},
        {"audio": {"data": encoded[:5], "transcript": "lo."}},
        {"audio": {"data": encoded[5:]}},
        {"audio": {"expires_at": 1}},
    )
    assert shown == read.text == "Hello."
    assert read.media == (RawMedia("audio", encoded),)


def test_words_beside_streamed_sound_are_the_text() -> None:
    shown, read = streamed({"content": "Hi."}, {"audio": {"data": "AAAA", "transcript": "Hello."}})
    assert shown == read.text == "Hi."


def test_streamed_pictures_are_kept() -> None:
    _, read = streamed(
        {"images": [{"type": "image_url", "image_url": {"url": URL}}]},
        {"content": [{"type": "image_url", "image_url": {"url": DATA}}, {"type": "text", "text": "Here."}]},
    )
    assert read.media == (RawMedia("image", DATA),)
    assert read.text == "Here."


def test_the_length_of_streamed_media_counts() -> None:
    assembly = Assembly()
    assembly.take({"choices": [{"delta": {"audio": {"data": "A" * 1_000}, "images": ["x" * 500]}}]})
    assert assembly.length == 1_500


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([], ""),
        (["AAEC", "AwQF"], "AAECAwQF"),
        (["AAE", "CAw", "Q="], "AAECAwQ="),
        (["AA==", "AQ=="], base64.b64encode(b"\0\1").decode()),
        (["A=", "!"], "A=!"),
    ],
)
def test_pieces_of_base64_are_one_text_however_they_were_cut(pieces: list[str], joined: str) -> None:
    assert joined_base64(pieces) == joined
