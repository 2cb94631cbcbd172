"""A tool's return value in two halves: what the model reads, and what the user gets. Pure."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activities.json_values import clean_json, clean_text, encoded_size
from activities.media import ADDRESS, MediaItem, MediaKind, known_format, media_item
from activities.output_parts import AudioOutputConfig, ImageOutputConfig, OutputParts, UICommand
from activities.outputs import tool_output
from activities.tool_replies import AudioOutput, ImageOutput, Reply

# A result crosses a history with these parts in it.
COMMAND_BYTES = 8_000
EXTRA_BYTES = 2_000
TEXT_CHARS = 4_000
SHORT_CHARS = 200
URL_CHARS = 2_000
# A picture up to this size stands in the output itself, too.
INLINE_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Presented:
    """The clean output for the model, the parts for the user, and the bytes that the parts have the addresses of.

    `otherwise` is the output without sound and pictures, None where there is none.
    """

    output: Any
    parts: OutputParts
    media: tuple[MediaItem, ...] = ()
    otherwise: Any = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Which call of which tool made a value."""

    turn_id: str
    call_id: str
    tool: str


def present(value: Any, origin: Origin, limit: int, is_whole: bool = True) -> Any:
    """The clean output of a tool; `Presented` when it has more than that.

    Raises:
        ValueError, TypeError: the parts are malformed or too large; whatever the value's own code raises.
    """
    reply = _reply(value)
    if reply is None:
        return tool_output(value, limit, is_whole)
    commands = _commands(reply.ui_commands, origin)
    audio, sound = _audio(reply.audio, origin) if reply.audio is not None else (None, None)
    image, picture = _image(reply.image, origin) if reply.image is not None else (None, None)
    parts = OutputParts(ui_commands=commands, audio_output=audio, image_output=image)
    output = _note(parts, sound, picture) if reply.output is None else tool_output(reply.output, limit)
    otherwise = None if reply.otherwise is None else tool_output(reply.otherwise, limit)
    return Presented(output, parts, tuple(item for item in (sound, picture) if item is not None), otherwise)


def image_config(item: MediaItem, url: str, **about: Any) -> ImageOutputConfig:
    """A stored picture as the output names it."""
    is_small = len(item.data) * 4 // 3 <= INLINE_CHARS
    inline = base64.b64encode(item.data).decode() if is_small else None
    return ImageOutputConfig(image_url=url, base64_data=inline, format=item.format, **about)


def _reply(value: Any) -> Reply | None:
    match value:
        case Reply():
            return value
        case AudioOutput():
            return Reply(audio=value)
        case ImageOutput():
            return Reply(image=value)
        case UICommand():
            return Reply(ui_commands=(value,))
        case list() | tuple() if value and all(isinstance(each, UICommand) for each in value):
            return Reply(ui_commands=tuple(value))
    return None


def _commands(given: Sequence[UICommand], origin: Origin) -> tuple[UICommand, ...]:
    commands = []
    for place, command in enumerate(given):
        if not isinstance(command, UICommand):
            raise TypeError(f"ui_commands has a {type(command).__name__} in it, not a UICommand")
        own = command.command_id or (origin.call_id if len(given) == 1 else f"{origin.call_id}-{place}")
        commands.append(UICommand.model_validate(clean_json(command) | {"commandId": own}))
    if (size := encoded_size(commands)) > COMMAND_BYTES:
        raise ValueError(f"the UI commands of one call have {size:,} bytes, more than {COMMAND_BYTES:,}")
    return tuple(commands)


def _audio(given: AudioOutput, origin: Origin) -> tuple[AudioOutputConfig, MediaItem | None]:
    if not isinstance(given, AudioOutput):
        raise TypeError(f"audio is a {type(given).__name__}, not an AudioOutput")
    url, format_, item = _where("audio", given.url, given.data, given.format, origin)
    config = AudioOutputConfig(
        provider=_short(given.provider) or origin.tool,
        text_to_speak=clean_text(given.text)[:TEXT_CHARS],
        voice_id=_short(given.voice_id),
        url=url,
        format=format_,
        language_code=_short(given.language_code),
        custom_params=_extra(given.custom_params, "custom_params"),
    )
    return config, item


def _image(given: ImageOutput, origin: Origin) -> tuple[ImageOutputConfig, MediaItem | None]:
    if not isinstance(given, ImageOutput):
        raise TypeError(f"image is a {type(given).__name__}, not an ImageOutput")
    url, format_, item = _where("image", given.url, given.data, given.format, origin)
    about = {
        "provider": _short(given.provider) or origin.tool,
        "prompt_used": clean_text(given.prompt)[:TEXT_CHARS] if given.prompt else None,
        "metadata": _extra(given.metadata, "metadata"),
    }
    if item is not None:
        return image_config(item, url, **about), item
    return ImageOutputConfig(image_url=url, format=format_, **about), None


def _where(
    kind: MediaKind, url: str | None, data: bytes | str | None, format_: str | None, origin: Origin
) -> tuple[str, str | None, MediaItem | None]:
    """Where the thing is, its format, and its bytes if they are to be kept."""
    if (url is None) == (data is None):
        raise ValueError(f"the {kind} needs either a url or data")
    if url is not None and url.startswith("data:"):
        url, data = None, url
    if data is not None:
        item = media_item(kind, data, format_)
        return item.url(origin.turn_id), item.format, item
    assert url is not None
    if not url.startswith(("https://", "http://", ADDRESS)) or len(url) > URL_CHARS:
        raise ValueError(f"the url of the {kind} is an http address of at most {URL_CHARS:,} characters")
    return clean_text(url), known_format(kind, format_) if format_ else None, None


def _note(parts: OutputParts, sound: MediaItem | None, picture: MediaItem | None) -> str:
    """What the model reads in place of the data."""
    told = []
    if parts.audio_output is not None:
        told.append(f"The user gets the audio{_size(sound)}.")
    if parts.image_output is not None:
        told.append(f"The user gets the image{_size(picture)}.")
    if parts.ui_commands:
        told.append(f"Sent: {', '.join(command.command for command in parts.ui_commands)}.")
    return " ".join(told) or "Done."


def _size(item: MediaItem | None) -> str:
    return "" if item is None else f" ({item.format}, {len(item.data):,} bytes)"


def _short(text: str | None) -> str | None:
    return clean_text(str(text))[:SHORT_CHARS] if text else None


def _extra(given: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
    if given is None:
        return None
    extra: dict[str, Any] = clean_json(dict(given))
    if (size := encoded_size(extra)) > EXTRA_BYTES:
        raise ValueError(f"{name} has {size:,} bytes, more than {EXTRA_BYTES:,}")
    return extra
