"""Ranking terms: words brought to a common stem, so that "where do we deploy" finds "Deploys go out"."""

from __future__ import annotations

from collections.abc import Iterator

from .tokens import words


def ranking_terms(value: str) -> Iterator[str]:
    """The stems of the content words, in order, repeats included."""
    return (word.stem for word in words(value) if word.is_relevant)
