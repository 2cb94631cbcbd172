"""Ranking terms: words brought to a common stem, so that "where do we deploy" finds "Deploys go out"."""

from __future__ import annotations

from functools import lru_cache

from .tokens import words


def ranking_terms(value: str) -> list[str]:
    """The stems of the content words, in order, repeats included."""
    return [word.stem for word in words(value) if word.is_relevant]


@lru_cache(maxsize=4096)
def ranking_stems(value: str) -> frozenset[str]:
    """The different stems of the content words, to be looked at and not changed."""
    return frozenset(ranking_terms(value))
