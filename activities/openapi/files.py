"""A file as an argument carries it."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

from activities.openapi.faults import Unwritable

MEDIA_TYPE = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(\s*;\s*[\w.+-]+=([\w.+-]+|\"[\w .+-]*\"))*", re.ASCII
)
DEFAULT_NAME = "file"
MAX_NAME_CHARS = 200
_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class File:
    """A file's name, bytes, and media type where it was said."""

    name: str
    content: bytes
    media_type: str | None


def read_file(value: Any) -> File:
    """The file of an argument: an object as `FILE_SCHEMA` says, or text.

    Raises:
        Unwritable: it is neither, or its base64 or media type cannot be read.
    """
    if isinstance(value, str):
        return File(DEFAULT_NAME, value.encode("utf-8", "replace"), None)
    if not isinstance(value, dict) or not isinstance(value.get("base64", value.get("text")), str):
        raise Unwritable("a file: text, or an object with base64 or text")
    media_type = value.get("mediaType")
    # The text becomes a header of its own, so what looks like more than a media type is refused.
    if media_type is not None and not (isinstance(media_type, str) and MEDIA_TYPE.fullmatch(media_type)):
        raise Unwritable("a mediaType such as image/png")
    content = _decoded(value["base64"]) if "base64" in value else value["text"].encode("utf-8", "replace")
    return File(_base_name(value.get("filename")), content, media_type)


def _base_name(name: Any) -> str:
    """The name alone: folders tell about the sender, and a careless receiver would follow them."""
    if not isinstance(name, str):
        return DEFAULT_NAME
    base = re.split(r"[/\\]", _UNNAMEABLE.sub("", name))[-1].strip()
    return base[:MAX_NAME_CHARS] if base not in ("", ".", "..") else DEFAULT_NAME


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Unwritable("base64 text") from None
