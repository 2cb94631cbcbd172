"""Sound and pictures in a chat completion, in the forms that providers and gateways send them. Pure; nothing is decoded here.

The API itself has `message.audio`. Pictures come as parts of `content` or in `message.images`, as `image_url`, `output_image`
or bare `b64_json`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from activities.json_values import clean_text
from activities.media import MediaKind


@dataclass(frozen=True, slots=True)
class RawMedia:
    """One sound or picture as it came: base64, a data URL or an address. Nothing of it is certain."""

    kind: MediaKind
    source: str
    format: str | None = None


def read_media(message: dict[str, Any]) -> tuple[RawMedia, ...]:
    """The sound and the picture of a message; of several of a kind the last one."""
    found = {raw.kind: raw for raw in (*_sounds(message), *_pictures(message))}
    return tuple(found.values())


def transcript_of(message: dict[str, Any]) -> str:
    """What the message's sound says, in words; empty when that is not told."""
    audio = message.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    return transcript if isinstance(transcript, str) else ""


def is_picture(part: Any) -> bool:
    """Whether a part of a message's content is a picture."""
    return isinstance(part, dict) and _picture_in(part) is not None


def _sounds(message: dict[str, Any]) -> Iterator[RawMedia]:
    audio = message.get("audio")
    if isinstance(audio, dict) and isinstance(data := audio.get("data"), str) and data:
        yield RawMedia("audio", data, _text(audio.get("format")))


def _pictures(message: dict[str, Any]) -> Iterator[RawMedia]:
    for field in ("content", "images"):
        parts = message.get(field)
        for part in [parts] if isinstance(parts, dict) else parts if isinstance(parts, list) else ():
            source = _picture_in(part) if isinstance(part, dict) else part if field == "images" else None
            if isinstance(source, str) and source:
                told = part if isinstance(part, dict) else {}
                yield RawMedia("image", source, _text(told.get("format") or told.get("mime_type")))


def _picture_in(part: dict[str, Any]) -> str | None:
    """Where a part has its picture; None when it is no picture."""
    if part.get("type") not in (None, "image", "image_url", "output_image", "image_generation_call"):
        return None
    places = [part.get("image_url"), part.get("b64_json"), part.get("image"), part.get("result"), part.get("data")]
    for place in places:
        if isinstance(place, dict):
            place = place.get("url") or place.get("b64_json") or place.get("data")
        if isinstance(place, str) and place:
            return place
    url = part.get("url")
    return url if isinstance(url, str) and url else None


def _text(value: Any) -> str | None:
    return clean_text(value)[:40] if isinstance(value, str) and value else None
