"""Bringing the forms of an English word together: the singular for identity, a light stem for ranking."""

from __future__ import annotations

from .profile import Profile


def fold_plural(token: str, profile: Profile = Profile.V1) -> str:
    """The singular of a plural. TS strips one final `s` of four letters or more, also from `100ms`; V1 never does that."""
    if profile is Profile.TS:
        return token[:-1] if len(token) >= 4 and token.endswith("s") else token
    if len(token) < 4 or not token.endswith("s") or not token.isascii() or not token.isalpha():
        return token
    if token.endswith("ies"):
        return token[:-3] + "y"
    if token.endswith(("sses", "xes", "zes", "ches", "shes")):
        return token[:-2]
    return token if token.endswith(("ss", "us", "is")) else token[:-1]


def stem(token: str) -> str:
    """A light English stem: plural, -ing, -ed, -ly and a final e go; words with digits or other scripts stay."""
    if len(token) < 4 or not token.isascii() or not token.isalpha():
        return token
    token = fold_plural(token)
    for ending in ("ing", "ed", "ly"):
        if token.endswith(ending) and _has_vowel(token[: -len(ending)]) and len(token) - len(ending) >= 3:
            token = _undouble(token[: -len(ending)])
            break
    return token[:-1] if len(token) > 3 and token.endswith("e") else token


def _has_vowel(token: str) -> bool:
    return any(letter in "aeiouy" for letter in token)


def _undouble(token: str) -> str:
    if len(token) > 3 and token[-1] == token[-2] and token[-1] not in "lsz":
        return token[:-1]
    return token
