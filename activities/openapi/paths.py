"""Filling the placeholders of a path so that no value can lead to another endpoint.

Percent-encoding alone does not do that. `.` and `..` cannot be encoded: receivers and proxies undo `%2e` before they
normalise. Some decode a path twice, take a backslash for a slash, or cut a segment at `;`. So a value that reads as a dot
segment in any of these ways is refused.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

from activities.openapi.faults import Unwritable
from activities.openapi.styles import escape

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# What may stand in the fixed parts of a template; `%` because they may be encoded already.
FIXED = "/:@!$&'()*+,;=~%"
MAX_DECODINGS = 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def placeholders(template: str) -> list[str]:
    """The names in a template, in order."""
    return PLACEHOLDER.findall(template)


def fill_path(template: str, write: Callable[[str], str]) -> str:
    """The path of a template; `write` gives the encoded text of each placeholder.

    Raises:
        Unwritable: what stands in a segment would be read as something else than one segment.
    """
    return "/".join(_filled(segment, write) for segment in template.split("/"))


def _filled(segment: str, write: Callable[[str], str]) -> str:
    if "{" not in segment:
        return escape(segment, FIXED)
    pieces = PLACEHOLDER.split(segment)
    filled = "".join(write(piece) if place % 2 else escape(piece, FIXED) for place, piece in enumerate(pieces))
    _check_segment(filled)
    return filled


def _check_segment(segment: str) -> None:
    decoded = _decoded(segment)
    if not decoded:
        raise Unwritable("text that is not empty, because it stands in a path")
    if _CONTROL.search(decoded):
        raise Unwritable("text without control characters, because it stands in a path")
    if any(part.split(";")[0].strip() in (".", "..") for part in re.split(r"[/\\]", decoded)):
        raise Unwritable("text without '.' or '..' between slashes, because it stands in a path")


def _decoded(text: str) -> str:
    for _ in range(MAX_DECODINGS):
        text, before = unquote(text), text
        if text == before:
            break
    return text
