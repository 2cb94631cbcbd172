"""The short forms of a memory: the gist an index line shows, and the bookmark an arbiter scans."""

from __future__ import annotations

import re
from typing import Protocol

from .profile import Profile
from .rendering import one_line
from .text import clip, sentences

GIST_LENGTH = 90
BOOKMARK_LENGTH = 80
_TS_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class HasGist(Protocol):
    """Anything with a text and perhaps a label for it."""

    @property
    def content(self) -> str: ...

    @property
    def gist(self) -> str | None: ...


def gist_of(item: HasGist, profile: Profile = Profile.V1) -> str:
    """The label of a memory, else its first sentence, at most 90 characters and an ellipsis."""
    return gist_text(item.content, item.gist, profile)


def gist_text(content: str, gist: str | None = None, profile: Profile = Profile.V1) -> str:
    """`gist_of` for a text that has not become a memory yet."""
    label = (gist or "").strip()
    if profile is Profile.TS:
        return label or _cut_ts(_TS_SENTENCE_END.split(content.strip(), maxsplit=1)[0].strip())
    if label:
        return one_line(label)
    # A statement is at most a few hundred characters; the first sentence of a longer text lies within these.
    flat = one_line(content[:2000])
    return clip(next(sentences(flat), ""), GIST_LENGTH)


def _cut_ts(sentence: str) -> str:
    return sentence if len(sentence) <= GIST_LENGTH else sentence[:GIST_LENGTH] + "…"


def bookmark_of(content: str) -> str:
    """The first 80 code points, on one line."""
    return one_line(content[: BOOKMARK_LENGTH * 2])[:BOOKMARK_LENGTH].rstrip()
