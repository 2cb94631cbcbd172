"""Names that point at one thing: URLs, hosts, paths, build ids. A message that says one asks for what is known about it.

One pass over the pieces between spaces and brackets; each piece gives at most one identifier and never a fragment of a
longer one. Every pattern is matched against a short whole piece, so the time grows with the text and not with its square.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .identifiers_ts import extract_identifiers_ts
from .profile import Profile
from .text import SCAN_LIMIT, vocabulary

_LONGEST = 256
_LONGEST_URL = 2048

_PIECE = re.compile(
    r"[^\s\"'`()<>\[\]{}|,;\u2018-\u201f\u2026\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff0f\uff1a-\uff20]++"
)
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_URL_TAIL = ".,;:!?)*"
_INNER_BREAK = re.compile(r"[=&*#?!~:%$^\\]++")

_EMAIL = re.compile(r"[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|/\d{1,2})?")
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}(?:[-+][0-9A-Za-z.+-]+)?")
_PATH = re.compile(r"(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)+/?")
_DOTTED = re.compile(r"\.?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.[A-Za-z]{2,}")
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*")
_CODE = re.compile(r"[A-Z]{2,}[A-Z0-9-]*\d[A-Z0-9-]*")
_CAMEL = re.compile(r"[a-z]+[a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+")
_KEBAB = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+){2,}")
_HEX = re.compile(r"[0-9A-Fa-f]{6,}")
_ALNUM = re.compile(r"[A-Za-z0-9]{6,}")
_LETTER_DIGIT_BORDER = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")

_WORD_PAIRS = vocabulary(
    "and/or either/or yes/no on/off true/false he/she she/he his/her him/her read/write input/output in/out up/down "
    "left/right start/stop start/end before/after client/server tcp/ip pass/fail pros/cons now/never win/lose "
    "day/night black/white mon/fri"
)
_JOINING_WORDS = vocabulary("a an and as at by for from in it of off on or out per the to up vs with")


def extract_identifiers(text: str, profile: Profile = Profile.V1) -> list[str]:
    """The identifiers of a text in order of appearance, each once, spelled as written. Prose gives an empty list.

    Looks at the first 20,000 characters. Compare them without regard to case.
    """
    scanned = text[:SCAN_LIMIT]
    if profile is Profile.TS:
        return extract_identifiers_ts(scanned)
    return list(_identifiers(scanned))


def identifier_keys(text: str) -> frozenset[str]:
    """The identifiers of a text, case folded, for matching."""
    return _keys(text[:SCAN_LIMIT])


@lru_cache(maxsize=4096)
def _keys(text: str) -> frozenset[str]:
    return frozenset(identifier.casefold() for identifier in _identifiers(text))


def _identifiers(text: str) -> dict[str, None]:
    found: dict[str, None] = {}
    for piece in _PIECE.findall(text):
        if not (piece.isalpha() and (piece.islower() or piece.istitle())):
            for identifier in _of_piece(piece):
                found[identifier] = None
    return found


@lru_cache(maxsize=16_384)
def _of_piece(piece: str) -> tuple[str, ...]:
    scheme = _SCHEME.search(piece)
    if scheme is None:
        return _of_plain_piece(piece)
    url = piece[scheme.start() :].rstrip(_URL_TAIL)
    is_url = scheme.end() - scheme.start() < len(url) <= _LONGEST_URL
    return (*_of_plain_piece(piece[: scheme.start()]), *((url,) if is_url else ()))


def _of_plain_piece(piece: str) -> tuple[str, ...]:
    bare = piece.rstrip(".,:;!?*~/-") if piece.startswith(".") else piece.strip(".,:;!?*~").rstrip("/-")
    if not 2 <= len(bare) <= _LONGEST:
        return ()
    if _is_whole(bare):
        return (bare,)
    parts = (part.strip(".-/@+") for part in _INNER_BREAK.split(bare))
    return tuple(part for part in parts if _is_whole(part))


def _is_whole(piece: str) -> bool:
    if len(piece) < 2 or (piece.isalpha() and piece.islower()):
        return False
    if "@" in piece:
        return bool(_EMAIL.fullmatch(piece))
    if _IPV4.fullmatch(piece) or _VERSION.fullmatch(piece):
        return True
    if "/" in piece:
        return bool(_PATH.fullmatch(piece)) and _is_path(piece)
    if "." in piece:
        return bool(_DOTTED.fullmatch(piece)) and any(len(label) > 1 for label in piece.split(".")[:-1])
    return _is_coined_word(piece)


def _is_path(piece: str) -> bool:
    if piece.startswith(("./", "../", "/")):
        return True
    segments = piece.strip("/").split("/")
    if all(segment.replace(".", "").replace("-", "").isdigit() for segment in segments):
        return False
    if len(segments) == 2:
        return piece.casefold() not in _WORD_PAIRS and min(len(segment) for segment in segments) > 1
    return max(len(segment) for segment in segments) > 1


def _is_coined_word(piece: str) -> bool:
    if "_" in piece:
        return bool(_SNAKE.fullmatch(piece))
    if _CODE.fullmatch(piece) or _CAMEL.fullmatch(piece):
        return True
    if "-" in piece:
        return bool(_KEBAB.fullmatch(piece)) and not _JOINING_WORDS & set(piece.casefold().split("-")[1:-1])
    if _HEX.fullmatch(piece):
        return any(character.isdigit() for character in piece)
    return bool(_ALNUM.fullmatch(piece)) and len(_LETTER_DIGIT_BORDER.findall(piece)) >= 3
