"""Ranking terms: words brought to a common stem, so that "where do we deploy" finds "Deploys go out"."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .tokens import fold_plural, words


def ranking_terms(value: str) -> Iterator[str]:
    """The stems of the content words, in order, repeats included."""
    for word in words(value):
        if word.is_relevant:
            yield stem(word.folded)


@lru_cache(maxsize=65_536)
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
