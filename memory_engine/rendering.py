"""Printing remembered text into a prompt so that it stays data.

A memory may hold anything a person typed. In the prompt it is one line of a list: no line break, no heading, no fence, no
tag that could close the block around it, no character a reader cannot see.
"""

from __future__ import annotations

import re
import unicodedata

from .text import clip, without_lone_surrogates

RENDERED_LENGTH = 600

_BREAKS = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]"
)
_LINE_OPENERS = re.compile(r"(?m)^[ \t]*(?:#+|>+)[ \t]*")
_FENCES = re.compile(r"`{3,}|~{3,}")
_TAG_OPENER = re.compile(r"<(?=[A-Za-z/!?|])")


def one_line(text: str) -> str:
    """The text on one line, without heading marks at the start of its lines and without unseen characters."""
    if text.isascii() and text.isprintable() and not text.startswith(("#", ">", " ")):
        return text.rstrip()
    visible = _INVISIBLE.sub("", _keep_breaks(without_lone_surrogates(text)))
    unmarked = _LINE_OPENERS.sub("", visible)
    return _BREAKS.sub(" ", unmarked).strip()


def _keep_breaks(text: str) -> str:
    for line_end in ("\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"):
        text = text.replace(line_end, "\n")
    return text


def render_safe(text: str, limit: int = RENDERED_LENGTH) -> str:
    """One inert line of at most `limit` code points and an ellipsis. What is stored stays as it was."""
    line = one_line(unicodedata.normalize("NFC", text[: limit * 4]))
    line = _FENCES.sub("'''", line)
    line = _TAG_OPENER.sub("&lt;", line)
    return clip(line, limit)
