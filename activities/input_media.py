"""Whether the pictures and the sound of a message are what they say, and small enough to travel with it. Pure."""

import base64
import binascii
import re
from urllib.parse import urlsplit

from activities.conversation import AudioPart, Content, ImagePart
from activities.input_parts import format_of

MAX_PARTS = 64
URL_CHARS = 8_000
# All of a message together, as base64. It crosses the history twice.
INLINE_CHARS = 500_000
IMAGE_FORMATS = ("png", "jpeg", "gif", "webp")
AUDIO_FORMATS = ("wav", "mp3", "flac", "ogg", "opus", "m4a", "aac", "webm", "pcm16")

_DATA_URL = re.compile(r"data:image/([a-z0-9.+-]{1,40})(?:;[^,;]{1,100})*;base64,", re.IGNORECASE)


def media_fault(content: Content) -> str | None:
    """What is wrong with a message's media, naming the part and saying what to send; None when nothing is."""
    if isinstance(content, str):
        return None
    if len(content) > MAX_PARTS:
        return f"content: {len(content)} parts are more than {MAX_PARTS}"
    inline = 0
    for index, part in enumerate(content):
        if isinstance(part, ImagePart):
            fault, where, size = _image_fault(part), "image_url", len(part.image_url.url)
            inline += size if part.is_inline else 0
        elif isinstance(part, AudioPart):
            fault, where = _audio_fault(part), "input_audio"
            inline += len(part.input_audio.data)
        else:
            continue
        if fault:
            return f"content[{index}].{where}: {fault}"
    if inline > INLINE_CHARS:
        return (
            f"content: {inline:,} characters of base64 are more than {INLINE_CHARS:,} in one message; "
            "send the URL of a picture, or a smaller or shorter one"
        )
    return None


def _image_fault(part: ImagePart) -> str | None:
    url = part.image_url.url
    if part.image_url.detail not in (None, "auto", "low", "high"):
        return "detail must be auto, low or high"
    if not part.is_inline:
        return _address_fault(url)
    head = _DATA_URL.match(url)
    if head is None:
        return "a data URL must begin with data:image/…;base64,"
    name = {"jpg": "jpeg"}.get(head[1].lower(), head[1].lower())
    if name not in IMAGE_FORMATS:
        return f"the format {name} is not known; send {', '.join(IMAGE_FORMATS)}"
    raw = _decoded(url[head.end() :])
    if raw is None:
        return "is not base64"
    shown = format_of(raw)
    return None if shown in (("image", name), None) and raw else f"is no {name}"


def _address_fault(url: str) -> str | None:
    if len(url) > URL_CHARS:
        return f"the URL is longer than {URL_CHARS:,} characters"
    try:
        parts = urlsplit(url)
        is_known = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_known = False
    if not is_known:
        return "must be an http or https URL, or a data URL with base64"
    if parts.username is not None or parts.password is not None:
        return "must not have a name or password in it"
    return None


def _audio_fault(part: AudioPart) -> str | None:
    given = part.input_audio
    if given.format not in AUDIO_FORMATS:
        return f"the format {given.format[:40]!r} is not known; send {', '.join(AUDIO_FORMATS)}"
    raw = _decoded(given.data)
    if raw is None:
        return "data is not base64"
    shown = format_of(raw)
    is_other = (
        shown is not None and shown[1] != given.format and (shown[0] != "audio" or given.format in ("wav", "mp3"))
    )
    return f"is no {given.format}" if is_other or not raw else None


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
