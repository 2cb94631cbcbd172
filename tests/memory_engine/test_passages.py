"""Passages of documents are found by their words, their headings, and by meaning."""

from collections.abc import Sequence

import numpy as np
import pytest

from memory_engine import Passage, PassageIndex
from memory_engine.vectors import Vectors

PASSAGES = [
    Passage("a", "A refund takes five working days.", "Money"),
    Passage("b", "The shop is open from nine to six.", "Opening hours"),
    Passage("c", "Deploys of OPS-7777 go out on Mondays."),
]


class Topics:
    """Vectors by topic: money, or anything else."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array(
            [[1.0, 0.0] if "refund" in text or "cash" in text else [0.0, 1.0] for text in texts], np.float32
        )


class Broken:
    """An embedder that is away."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise OSError("away")


def ids(index: PassageIndex, query: str, limit: int = 5) -> list[str]:
    return [found for found, _ in index.search(query, limit)]


def test_words_headings_and_identifiers_find_a_passage() -> None:
    index = PassageIndex(PASSAGES)

    assert len(index) == 3
    assert ids(index, "How long do refunds take?") == ["a"]
    assert ids(index, "hours") == ["b"]
    assert ids(index, "OPS-7777?") == ["c"]
    assert ids(index, "xyzzy") == []
    assert [score for _, score in index.search("refund", 1)] == [1.0]


def test_a_limit_and_an_empty_index_are_kept_to() -> None:
    many = PassageIndex(Passage(str(at), f"Refund rule {at}: wait {at} days.") for at in range(50))

    assert len(ids(many, "refund rule", 3)) == 3
    assert ids(PassageIndex([]), "refund") == []


def test_meaning_finds_what_no_word_does() -> None:
    index = PassageIndex(PASSAGES, Topics())
    assert (index.embed(2), index.embed(2), index.embed(2)) == (2, 1, 0)

    assert ids(index, "When do I see my cash again?")[0] == "a"
    assert ids(index, "When do I see my cash again?", 1) == ["a"]


def test_without_meaning_an_embedder_that_is_away_is_not_asked() -> None:
    index = PassageIndex(PASSAGES, Broken())

    with pytest.raises(OSError, match="away"):
        index.search("refund", 1)
    assert index.search("refund", 1, by_meaning=False) == [("a", 1.0)]
