"""Optional embeddings: who makes them, and how near they are to each other.

An embedder may be exchanged for one with another number of dimensions. Vectors of the old one are then left out of the
comparison, never compared with the wrong ones and never an error; `CognitiveMemory.stale_embeddings` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .records import Record

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors of texts."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32 for n texts; d is the same for all texts."""
        ...


def embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """What an embedder gives for n texts, as finite (n, d) float32. Raises `ValueError` for any other shape."""
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.shape[1] == 0:
        raise ValueError(f"an embedder must give ({len(texts)}, d) numbers, got {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("an embedder must give finite numbers")
    return vectors


class VectorIndex:
    """Unit vectors by memory, one matrix for each number of dimensions."""

    def __init__(self) -> None:
        self._by_size: dict[int, _Matrix] = {}

    def add(self, record: Record) -> None:
        """Enters the vector that a memory came with, if it did."""
        if record.embedding:
            self.put(record.id, np.asarray(record.embedding, np.float32))

    def put(self, memory_id: str, vector: Vectors) -> None:
        """Enters the (d,) vector of a memory, in place of any it has. One without a direction is near to nothing."""
        self.remove(memory_id)
        length = float(np.linalg.norm(vector))
        unit = vector / length if 0.0 < length < np.inf else np.zeros_like(vector)
        self._by_size.setdefault(len(vector), _Matrix(len(vector))).put(memory_id, unit)

    def has(self, memory_id: str, size: int | None) -> bool:
        """Whether a memory has a vector of this size."""
        return size in self._by_size and memory_id in self._by_size[size]

    def remove(self, memory_id: str) -> None:
        """Takes the vector of a memory out."""
        for matrix in self._by_size.values():
            matrix.discard(memory_id)

    def nearest(self, query: Vectors, most: int) -> list[tuple[str, float]]:
        """(id, cosine) of the `most` nearest vectors of the query's own size, nearest first, ties by id."""
        matrix = self._by_size.get(len(query))
        length = float(np.linalg.norm(query))
        if matrix is None or length == 0.0:
            return []
        return matrix.nearest(query / np.float32(length), most)

    def fork(self) -> VectorIndex:
        """An index of its own with the same vectors."""
        other = VectorIndex()
        other._by_size = {size: matrix.fork() for size, matrix in self._by_size.items()}
        return other


class _Matrix:
    """Vectors of one size in a matrix that grows by doubling; the last row moves into the place of a removed one."""

    def __init__(self, size: int) -> None:
        self._rows = np.zeros((16, size), np.float32)
        self._ids: list[str] = []
        self._place: dict[str, int] = {}

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._place

    def put(self, memory_id: str, vector: Vectors) -> None:
        if len(self._ids) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[len(self._ids)] = vector
        self._place[memory_id] = len(self._ids)
        self._ids.append(memory_id)

    def discard(self, memory_id: str) -> None:
        place = self._place.pop(memory_id, None)
        if place is None:
            return
        last = self._ids.pop()
        if last != memory_id:
            self._ids[place], self._place[last] = last, place
            self._rows[place] = self._rows[len(self._ids)]

    def nearest(self, query: Vectors, most: int) -> list[tuple[str, float]]:
        cosines = self._rows[: len(self._ids)] @ query
        if len(cosines) > most:
            threshold = np.partition(cosines, len(cosines) - most)[len(cosines) - most]
            places = np.flatnonzero(cosines >= threshold)
        else:
            places = np.arange(len(cosines))
        found = [(self._ids[place], float(cosines[place])) for place in places]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]

    def fork(self) -> _Matrix:
        other = _Matrix(self._rows.shape[1])
        other._rows, other._ids, other._place = self._rows.copy(), list(self._ids), dict(self._place)
        return other
