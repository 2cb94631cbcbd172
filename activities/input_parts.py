"""The forms in which a host may send pictures and sound, made into the parts of a message. Pure.

Source: VisionInputData and AudioInputData of AgentOS, beside the parts of the Chat Completions API, which stay as they are.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticCustomError

# How the first bytes of a format begin, where a host does not say which it is.
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))
_SOUNDS = ((b"ID3", "mp3"), (b"\xff\xfb", "mp3"), (b"\xff\xf3", "mp3"), (b"fLaC", "flac"), (b"OggS", "ogg"))
SOUND_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "mp4": "m4a", "x-m4a": "m4a"}


def read_parts(content: Any) -> Any:
    """The content with each part in the form of the Chat Completions API; what is none of the known forms stays as it is.

    Raises:
        PydanticCustomError: a part says in its own form something that no message can hold; the text says what to send.
    """
    if isinstance(content, dict):
        content = list(_of_object(content))
    if not isinstance(content, list | tuple):
        return content
    return [part for each in content for part in (_parts(each) if _is_foreign(each) else (each,))]


def format_of(raw: bytes) -> tuple[str, str] | None:
    """The kind and the format that the first bytes show: ("image", "png"), ("audio", "wav")."""
    if raw[:4] == b"RIFF":
        return {b"WEBP": ("image", "webp"), b"WAVE": ("audio", "wav")}.get(raw[8:12])
    for kind, known in (("image", _IMAGES), ("audio", _SOUNDS)):
        for start, name in known:
            if raw.startswith(start):
                return kind, name
    return None


def _of_object(content: dict[str, Any]) -> Iterator[Any]:
    """The parts of `{"text"?, "visionInputs"?, "audioInput"?}`; any other object is a part itself."""
    if not content or not content.keys() <= {"text", "visionInputs", "audioInput"}:
        yield content
        return
    if content.get("text"):
        yield {"type": "text", "text": content["text"]}
    pictures, sound = content.get("visionInputs") or (), content.get("audioInput")
    yield from pictures if isinstance(pictures, list | tuple) else (pictures,)
    yield from () if sound is None else (sound,)


def _is_foreign(part: Any) -> bool:
    return isinstance(part, dict) and "data" in part and "input_audio" not in part and "image_url" not in part


def _parts(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data, kind = part["data"], part.get("type")
    if not isinstance(data, str):
        raise _refused(f"data of a part of type {str(kind)[:40]!r} must be text")
    if isinstance(description := part.get("description"), str) and description.strip():
        yield {"type": "text", "text": f"What the next picture shows: {description.strip()}"}
    match kind:
        case "transcription":
            yield {"type": "text", "text": data}
        case "image_url":
            yield {"type": "image_url", "image_url": {"url": data}}
        case "audio_url":
            yield _sound(*_of_data_url(data))
        case "base64":
            yield _of_base64(data, part.get("mimeType") or part.get("mime_type"))
        case _:
            yield part


def _of_base64(data: str, mime: Any) -> dict[str, Any]:
    if data.startswith("data:"):
        mime, data = _of_data_url(data)
    if not isinstance(mime, str) or "/" not in mime:
        shown = format_of(_head(data))
        if shown is None:
            raise _refused("base64: nothing says what it is; send mimeType, such as image/png or audio/wav")
        mime = "/".join(shown)
    if mime.startswith("audio/"):
        return _sound(mime, data)
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}


def _of_data_url(url: str) -> tuple[str, str]:
    head, comma, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        raise _refused("audio_url: models take no address of sound; send it as base64 with its mimeType")
    return head.removeprefix("data:").removesuffix(";base64"), data


def _sound(mime: str, data: str) -> dict[str, Any]:
    name = mime.partition("/")[2].partition(";")[0].strip().lower()
    return {"type": "input_audio", "input_audio": {"data": data, "format": SOUND_FORMATS.get(name, name)}}


def _head(data: str) -> bytes:
    try:
        return base64.b64decode(data[:64])
    except (binascii.Error, ValueError):
        return b""


def _refused(message: str) -> PydanticCustomError:
    return PydanticCustomError("input_part", "{message}", {"message": message})
