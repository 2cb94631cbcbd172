"""What a tool may return besides a plain value: sound, a picture, commands for the user interface. The app imports these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activities.output_parts import UICommand


@dataclass(frozen=True, slots=True)
class AudioOutput:
    """Sound for the user: `url` where it is (https), or its `data` (bytes or base64) with its format (`mp3`, `wav` …).

    `text` is what it says. The provider is the tool's name unless given.
    """

    data: bytes | str | None = None
    url: str | None = None
    format: str | None = None
    text: str = ""
    provider: str | None = None
    voice_id: str | None = None
    language_code: str | None = None
    custom_params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ImageOutput:
    """A picture for the user: `url` where it is (https), or its `data` (bytes or base64) with its format (`png`, `jpeg` …).

    `prompt` is what it was made from. The provider is the tool's name unless given.
    """

    data: bytes | str | None = None
    url: str | None = None
    format: str | None = None
    prompt: str | None = None
    provider: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model reads (`output`) and what the user gets. Without an output the model reads a short note.

    `otherwise` is the whole result for a persona that may not answer with sound or pictures; without it that is an error.
    """

    output: Any = None
    ui_commands: Sequence[UICommand] = ()
    audio: AudioOutput | None = None
    image: ImageOutput | None = None
    otherwise: Any = None
