"""Whether two statements are one, and whether writing one over the other would lose something."""

from __future__ import annotations

import re
from functools import lru_cache

from .identifiers import identifier_keys
from .inflection import fold_plural
from .polarity import Signs, is_sign_lost, is_sign_opposed, negation_markers, signs_of
from .profile import Profile
from .text import normalise
from .tokens import (
    CONTRACTED_NOT,
    distinctive,
    distinctive_tokens,
    overlap_score,
    relevance_tokens,
    spoken_tokens,
    without_label,
)

CANDIDATE_FLOOR = 0.3
"""Who is worth comparing. Low on purpose: this is no verdict on similarity."""
COLLAPSE_THRESHOLD = 0.8
"""Two search results this similar are one memory, told twice."""
MAX_CANDIDATES = 8
"""How many held memories one statement is compared with."""

_CONFLICT_CAP = 0.79
_ATOM = re.compile(r"(?<!\d)\d++(?:[.:/-]\d++)++")


def atoms(value: str) -> frozenset[str]:
    """Numbers that are one value although punctuation stands in them: versions, addresses, dates, times."""
    return frozenset(_ATOM.findall(value))


def similarity(a: str, b: str, profile: Profile = Profile.V1) -> float:
    """The distinctive words in common, divided by the smaller set; in [0, 1], symmetric.

    V1 keeps contradicting pairs below `COLLAPSE_THRESHOLD`, however many words they share, and finds statements without
    distinctive words equal when they are equal.
    """
    if profile is Profile.TS:
        return overlap_score(distinctive_tokens(a, profile), distinctive_tokens(b, profile))
    first, second = distinctive(a), distinctive(b)
    score = overlap_score(first, second)
    if not first and not second:
        score = float(bool(a.strip()) and normalise(a) == normalise(b))
    if score > _CONFLICT_CAP and _conflict(a, b):
        return _CONFLICT_CAP
    return score


def _conflict(a: str, b: str) -> bool:
    marks_a, marks_b = _marks(a), _marks(b)
    if marks_a - marks_b and marks_b - marks_a:
        return True
    return is_sign_opposed(_signs(a), _signs(b)) or negation_markers(a) != negation_markers(b)


def _short_words(value: str) -> set[str]:
    """Words of three letters do not make a statement distinctive, yet "npm" and "pip" are all that tells two apart."""
    relevant = relevance_tokens(without_label(value)) - CONTRACTED_NOT
    return {token for token in relevant if len(token) == 3}


@lru_cache(maxsize=4096)
def _marks(value: str) -> frozenset[str]:
    digits = {token for token in distinctive(value) if any(character.isdigit() for character in token)}
    return identifier_keys(value) | atoms(value) | digits


@lru_cache(maxsize=4096)
def _signs(value: str) -> Signs:
    return signs_of(value)


def is_lossy_rewrite(original: str, replacement: str, profile: Profile = Profile.V1) -> bool:
    """Whether `replacement` drops something `original` says. Additions lose nothing; the order of arguments matters.

    V1 looks for a missing word, number, date or identifier, for a negation or a qualifier that came or went, and never
    calls a text without any word covered unless it is contained as it is.
    """
    kept = distinctive_tokens(original, profile)
    if profile is Profile.TS:
        written = {fold_plural(token, profile) for token in distinctive_tokens(replacement, profile)}
        return any(fold_plural(token, profile) not in written for token in kept)
    if not kept and normalise(original) not in normalise(replacement):
        return True
    return (
        not kept | _short_words(original) <= spoken_tokens(replacement)
        or not atoms(original) <= atoms(replacement)
        or not identifier_keys(original) <= identifier_keys(replacement)
        or is_sign_lost(_signs(original), _signs(replacement))
        or negation_markers(original) != negation_markers(replacement)
    )
