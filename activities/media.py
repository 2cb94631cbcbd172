"""Sound and pictures as bytes: which formats there are, how large they may be, and how the store names them. Pure.

Bytes never enter a history. They stand in the store, and everything else has their address, `turnhold://media/KEY`.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Literal

MediaKind = Literal["audio", "image"]

MAX_ITEM_BYTES = 16 * 1024 * 1024
MAX_TURN_BYTES = 64 * 1024 * 1024
ADDRESS = "turnhold://media/"
# `pcm16` is what streamed speech of the Chat Completions API is: 24 kHz, one channel, little-endian, without a header.
FORMATS: dict[MediaKind, dict[str, str]] = {
    "audio": {
        "mp3": "audio/mpeg",
        "wav": "audio/wav",
        "ogg": "audio/ogg",
        "opus": "audio/opus",
        "flac": "audio/flac",
        "aac": "audio/aac",
        "m4a": "audio/mp4",
        "webm": "audio/webm",
        "pcm16": "audio/pcm",
    },
    "image": {
        "png": "image/png",
        "jpeg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
        "avif": "image/avif",
        "svg": "image/svg+xml",
    },
}
_SAME = {"jpg": "jpeg", "mpeg": "mp3", "x-wav": "wav", "wave": "wav", "pcm": "pcm16", "mp4": "m4a", "svg+xml": "svg"}
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"ID3", "mp3"),
    (b"OggS", "ogg"),
    (b"fLaC", "flac"),
)
_KEY = re.compile(r"[0-9a-f]{32}")
_DATA_URL = re.compile(r"data:([a-z]+/[A-Za-z0-9.+-]+)?(;[A-Za-z0-9=._-]+)*;base64,", re.IGNORECASE)


class MediaInvalidError(ValueError):
    """Why something is no sound or picture that can be kept, in words for whoever made it."""


@dataclass(frozen=True)
class MediaItem:
    """One sound or picture. Made by `media_item`, which checks it."""

    kind: MediaKind
    format: str
    data: bytes

    @property
    def mime(self) -> str:
        """The media type."""
        return FORMATS[self.kind][self.format]

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the bytes, in hex."""
        return sha256(self.data).hexdigest()

    def key(self, turn_id: str) -> str:
        """Its name in a turn: the same for the same bytes, so that what is stored twice stands once."""
        return blake2b(f"{turn_id}\0{self.kind}\0{self.format}\0{self.sha256}".encode(), digest_size=16).hexdigest()

    def url(self, turn_id: str) -> str:
        """Its address."""
        return ADDRESS + self.key(turn_id)


def media_item(kind: MediaKind, data: bytes | str, format_: str | None = None) -> MediaItem:
    """Bytes, or base64 or a data URL of them, as an item. Without a format it is read from the bytes.

    Raises:
        MediaInvalidError: not base64, empty, too large, or of no known format.
    """
    if isinstance(data, str):
        told, data = decoded(data)
        format_ = format_ or told
    if not isinstance(data, bytes | bytearray | memoryview):
        raise MediaInvalidError(f"the {kind} is a {type(data).__name__}, not bytes or base64")
    data = bytes(data)
    if not data:
        raise MediaInvalidError(f"the {kind} is empty")
    if len(data) > MAX_ITEM_BYTES:
        raise MediaInvalidError(f"the {kind} has {len(data):,} bytes, more than {MAX_ITEM_BYTES:,}")
    return MediaItem(kind, known_format(kind, format_) if format_ else _format_of(kind, data), data)


def known_format(kind: MediaKind, given: str) -> str:
    """The format that a name or media type means.

    Raises:
        MediaInvalidError: nobody knows it.
    """
    name = given.strip().lower().removeprefix(f"{kind}/").partition(";")[0] if isinstance(given, str) else ""
    name = _SAME.get(name, name)
    if name not in FORMATS[kind]:
        known = ", ".join(FORMATS[kind])
        raise MediaInvalidError(f"{str(given)[:40]!r} is no format of {kind} that is known; there are: {known}")
    return name


def decoded(text: str) -> tuple[str | None, bytes]:
    """The media type, where it is told, and the bytes of base64 or of a data URL.

    Raises:
        MediaInvalidError: it is neither, or longer than an item can be.
    """
    found = _DATA_URL.match(text[:200])
    body = text[found.end() :] if found else text
    if len(body) > (MAX_ITEM_BYTES + 2) // 3 * 4 + 4:
        raise MediaInvalidError(f"{len(body):,} characters of base64 are more than {MAX_ITEM_BYTES:,} bytes")
    try:
        return (found.group(1) if found else None), base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise MediaInvalidError("the data is not base64") from None


def key_of(url: str) -> str:
    """The key in an address.

    Raises:
        MediaInvalidError: it is no address of media.
    """
    key = url.removeprefix(ADDRESS) if isinstance(url, str) and url.startswith(ADDRESS) else ""
    if _KEY.fullmatch(key) is None:
        raise MediaInvalidError(f"{str(url)[:80]!r} is not an address like {ADDRESS}KEY")
    return key


def _format_of(kind: MediaKind, data: bytes) -> str:
    if data[:4] == b"RIFF":
        told = {b"WAVE": "wav", b"WEBP": "webp"}.get(data[8:12])
    else:
        told = next((format_ for beginning, format_ in _BEGINNINGS if data.startswith(beginning)), None)
    if told not in FORMATS[kind]:
        raise MediaInvalidError(f"the format of the {kind} is not told, and its bytes do not show it")
    return told
