"""Making two spellings of one text equal, and cutting text into sentences without cutting a host name or a decimal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .profile import Profile

SCAN_LIMIT = 20_000
"""No primitive looks further than this many characters into one text."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xFEFF: None}
_CURLY_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "＇": "'"})
# JavaScript's trim takes U+FEFF and leaves U+001C to U+001F; Python's strip does the reverse.
_JS_SPACES = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
_JS_SPACES += "\u202f\u205f\u3000\ufeff"

_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]]*+(?=\s)|[。！？]++|\n++")
_ABBREVIATION = re.compile(r"(?:\b(?i:e\.g|i\.e|vs|mr|mrs|dr|approx|cf)|(?<=\s)[A-Z])\.$")


def vocabulary(listed: str) -> frozenset[str]:
    """The words of a list written as running text."""
    return frozenset(listed.split())


def normalise(value: str, profile: Profile = Profile.V1) -> str:
    """The form in which an exact restatement equals its original.

    V1 composes (NFC, so that `x²` stays apart from `x2`), folds full-width ASCII and case, and collapses spaces.
    """
    if profile is Profile.TS:
        return value.strip(_JS_SPACES).lower()
    if value.isascii():
        return " ".join(value.lower().split())
    return " ".join(unicodedata.normalize("NFC", value).translate(_FULL_WIDTH).casefold().split())


def fold_width(value: str) -> str:
    """Full-width ASCII as ASCII, composed; case stays."""
    return value if value.isascii() else unicodedata.normalize("NFC", value).translate(_FULL_WIDTH)


def fold_apostrophes(value: str) -> str:
    """Curly apostrophes as straight ones, so that one pattern reads both."""
    return value if value.isascii() else value.translate(_CURLY_APOSTROPHES)


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, trimmed, in order; `e.g.`, `3.11` and `db.acme.io` do not end one."""
    start = 0
    for stop in _SENTENCE_END.finditer(text):
        if stop.group().startswith(".") and _ABBREVIATION.search(text, max(start, stop.start() - 8), stop.start() + 1):
            continue
        sentence = text[start : stop.end()].strip()
        start = stop.end()
        if sentence:
            yield sentence
    rest = text[start:].strip()
    if rest:
        yield rest


def clip(text: str, limit: int) -> str:
    """At most `limit` code points, cut at a word's end where one is near, with an ellipsis for what is missing."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    space = head.rfind(" ")
    if not text[limit].isspace() and space >= limit * 2 // 3:
        head = head[:space]
    return head.rstrip() + "…"


def without_lone_surrogates(text: str) -> str:
    """Halves of a cut emoji become U+FFFD, so that the text can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
