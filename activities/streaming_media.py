"""Sound and pictures of a streamed completion, put together to the fields that an unstreamed message would have. Pure."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from activities.completion_media import is_picture, transcript_of


@dataclass(slots=True)
class StreamedMedia:
    """What has come so far."""

    _sound: list[str] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _about: dict[str, Any] = field(default_factory=dict)
    _pictures: list[Any] = field(default_factory=list)

    def take(self, delta: dict[str, Any]) -> int:
        """Add what a part of the answer has; how many characters that is."""
        length = 0
        audio = delta.get("audio")
        if isinstance(audio, dict):
            self._about |= {name: audio[name] for name in ("id", "format", "expires_at") if audio.get(name)}
            self._words.append(transcript_of(delta))
            if isinstance(data := audio.get("data"), str):
                self._sound.append(data)
                length += len(data)
        for name in ("content", "images"):
            parts = delta.get(name)
            for part in parts if isinstance(parts, list) else ():
                if is_picture(part) or (name == "images" and isinstance(part, str)):
                    # Only the last one counts, so the one before need not be held.
                    self._pictures = [part]
                    length += len(str(part))
        return length

    def fields(self) -> dict[str, Any]:
        """The fields of the whole message."""
        fields: dict[str, Any] = {}
        if self._about or any(self._sound) or any(self._words):
            data, words = joined_base64(self._sound), "".join(self._words)
            fields["audio"] = {**self._about, "data": data, "transcript": words}
        return fields | ({"images": self._pictures} if self._pictures else {})


def joined_base64(pieces: list[str]) -> str:
    """One base64 text of all pieces. Some servers encode each by itself, others cut one text into pieces."""
    ended_early = any(piece.endswith("=") for piece in pieces[:-1])
    if not ended_early:
        return "".join(pieces)
    try:
        return base64.b64encode(b"".join(base64.b64decode(piece, validate=True) for piece in pieces)).decode()
    except (binascii.Error, ValueError):
        # Whoever reads it says that it is no base64.
        return "".join(pieces)
