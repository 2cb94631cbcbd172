"""The functions a turn may choose from, as a list for the model, and the few of a long list that a request is likely about.

Candidates are found by words (BM25 over names, descriptions, paths and tags), and by meaning where there is an embedder.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from activities.controllers.policy import ProtocolName
from memory_engine import Embedder
from memory_engine.ranking import bm25_weights, inverse_document_frequency
from memory_engine.stems import ranking_terms

MAX_QUERY_CHARS = 8_000
# A word of the name says more of what a function is for than one of its description.
_NAME_WEIGHT = 2
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function as the model chooses among them. `method`, `path` and `tags` are those of an HTTP operation."""

    name: str
    description: str
    protocol: ProtocolName | None = None
    method: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function and how well it fits: from 0 for no sign of it to 1 for the best that can be."""

    function: ListedFunction
    score: float


class Catalogue:
    """Listed functions, in the order in which they are offered. The embedder may block; so may making a catalogue with one.

    Raises:
        ValueError: the embedder does not give one vector for each text.
    """

    def __init__(self, functions: Sequence[ListedFunction], embedder: Embedder | None = None) -> None:
        self.functions = tuple(functions)
        self._words = _WordScores([_words(each) for each in self.functions])
        self._embedder = embedder
        texts = [f"{each.name}\n{each.description}" for each in self.functions]
        self._vectors = _unit_vectors(embedder, texts) if embedder is not None and texts else None

    def candidates(self, query: str, limit: int) -> list[Candidate]:
        """The `limit` functions that fit a request best, best first, ties in the order of the list.

        Functions without any sign of fitting follow with score 0, so that the model is never left with fewer.
        """
        query = query[:MAX_QUERY_CHARS]
        scores = self._words.of(query)
        if self._vectors is not None and self._embedder is not None:
            cosines = self._vectors @ _unit_vectors(self._embedder, [query])[0]
            scores = (scores + np.maximum(cosines, 0.0)) / np.float32(2.0)
        order = np.argsort(-scores, kind="stable")[: max(limit, 0)]
        return [Candidate(self.functions[at], float(scores[at])) for at in order]


@lru_cache(maxsize=64)
def catalogue_of(functions: tuple[ListedFunction, ...], embedder: Embedder | None = None) -> Catalogue:
    """The catalogue of these functions, made once: the same persona offers the same ones turn after turn."""
    return Catalogue(functions, embedder)


class _WordScores:
    """BM25 of n short texts, as a share of what a text with every word of the query could reach."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._lengths = np.array([len(words) for words in texts], np.float32)
        self._mean_length = max(float(self._lengths.mean()), 1.0) if texts else 1.0
        self._counts: dict[str, dict[int, int]] = {}
        for at, words in enumerate(texts):
            for word, count in Counter(words).items():
                self._counts.setdefault(word, {})[at] = count

    def of(self, query: str) -> Scores:
        """(n,) scores in [0, 1]."""
        total = len(self._lengths)
        scores = np.zeros(total, np.float32)
        best = 0.0
        # In sorted order, so that equal queries give equal bits.
        for word in sorted(set(_terms(query)) & self._counts.keys()):
            held = self._counts[word]
            slots = np.fromiter(held.keys(), np.intp)
            counts = np.fromiter(held.values(), np.float32)
            weight = np.float32(inverse_document_frequency(total, len(held)))
            weights = weight * bm25_weights(counts, self._lengths[slots], self._mean_length)
            scores[slots] += weights
            best += float(weights.max())
        return scores / np.float32(best) if best else scores


def _words(function: ListedFunction) -> list[str]:
    about = " ".join((function.description, function.path or "", *function.tags))
    return [*_terms(function.name) * _NAME_WEIGHT, *_terms(about)]


def _terms(text: str) -> list[str]:
    """Stems, with `findByStatus` read as three words."""
    return list(ranking_terms(_HUMP.sub(" ", text).replace("_", " ")))


def _unit_vectors(embedder: Embedder, texts: Sequence[str]) -> Scores:
    """(n, d) vectors of length 1; those without a direction stay zero."""
    vectors = np.asarray(embedder.embed(texts), np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ValueError(f"an embedder must give {len(texts)} vectors of finite numbers, got {vectors.shape}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
