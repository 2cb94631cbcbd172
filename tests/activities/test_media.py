"""Bytes that claim to be sound or pictures: what is taken, and in which words the rest is refused."""

import base64
from typing import Any

import pytest

from activities import media
from activities.media import ADDRESS, MediaInvalidError, MediaKind, key_of, media_item

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
WAV = b"RIFF\x24\0\0\0WAVEfmt "
WEBP = b"RIFF\x24\0\0\0WEBPVP8 "


@pytest.mark.parametrize(
    ("kind", "data", "told", "format_", "mime"),
    [
        ("image", PNG, None, "png", "image/png"),
        ("image", base64.b64encode(PNG).decode(), None, "png", "image/png"),
        ("image", "data:image/png;base64," + base64.b64encode(PNG).decode(), None, "png", "image/png"),
        ("image", "data:image/jpeg;charset=x;base64,/9j/", None, "jpeg", "image/jpeg"),
        ("image", b"\xff\xd8\xff\xe0", "JPG", "jpeg", "image/jpeg"),
        ("image", WEBP, None, "webp", "image/webp"),
        ("audio", WAV, None, "wav", "audio/wav"),
        ("audio", bytearray(b"\1\2"), "pcm16", "pcm16", "audio/pcm"),
        ("audio", memoryview(b"\1\2"), "audio/mpeg; rate=8000", "mp3", "audio/mpeg"),
    ],
)
def test_what_is_sound_or_a_picture_is_taken(
    kind: MediaKind, data: bytes | str, told: str | None, format_: str, mime: str
) -> None:
    item = media_item(kind, data, told)
    assert (item.format, item.mime) == (format_, mime)


@pytest.mark.parametrize(
    ("data", "told", "words"),
    [
        ("!!! not base64 !!!", "png", "is not base64"),
        ("AAA", "png", "is not base64"),
        ("žluťoučký", "png", "is not base64"),
        ("data:image/png,raw", None, "is not base64"),
        (b"", "png", "is empty"),
        ("", "png", "is empty"),
        (7, "png", "is a int, not bytes"),
        (b"MZ\x90\0", None, "the format of the image is not told"),
        (WAV, None, "the format of the image is not told"),
        (PNG, "exe", "'exe' is no format of image that is known; there are: png"),
        (PNG, "audio/wav", "is no format of image"),
        (PNG, 7, "'7' is no format of image"),
        (PNG, "x" * 100_000, "is no format"),
    ],
)
def test_what_is_not_is_refused_in_words(data: Any, told: Any, words: str) -> None:
    with pytest.raises(MediaInvalidError, match=words) as refused:
        media_item("image", data, told)
    assert len(str(refused.value)) < 300


def test_what_is_too_large_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_ITEM_BYTES", 30)
    assert media_item("audio", base64.b64encode(b"x" * 30).decode(), "mp3").data == b"x" * 30
    with pytest.raises(MediaInvalidError, match="the audio has 31 bytes, more than 30"):
        media_item("audio", b"x" * 31, "mp3")
    with pytest.raises(MediaInvalidError, match="1,000 characters of base64 are more than"):
        media_item("audio", "!" * 1_000, "mp3")


def test_an_address_names_the_same_bytes_of_a_turn_alike_and_others_apart() -> None:
    urls = {
        media_item("image", PNG).url("t1"),
        media_item("image", PNG, "png").url("t1"),
        media_item("image", PNG).url("t2"),
        media_item("image", PNG + b"\0").url("t1"),
    }
    assert len(urls) == 3
    assert all(len(key_of(url)) == 32 for url in urls)


@pytest.mark.parametrize("url", ["", ADDRESS, "turnhold://media/../x", ADDRESS + "0" * 31, "https://x.org", None, 7])
def test_other_addresses_are_refused(url: Any) -> None:
    with pytest.raises(MediaInvalidError, match="is not an address like"):
        key_of(url)
