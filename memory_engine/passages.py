"""Passages of documents, found as memories are: by their words, and by meaning where there is an embedder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .embedding import give_vectors
from .records import Record
from .search import search
from .store import MemoryStore
from .text import SCAN_LIMIT
from .vectors import Embedder, embedded


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document. `heading` is found too, but is not part of the text."""

    id: str
    text: str
    heading: str = ""


class PassageIndex:
    """Passages that do not change any more. Searches may run at once; `embed` may not."""

    def __init__(self, passages: Iterable[Passage], embedder: Embedder | None = None) -> None:
        self._store = MemoryStore()
        self._embedder = embedder
        self._size: int | None = None
        for passage in passages:
            self._store.put_unindexed(_record(passage))

    def __len__(self) -> int:
        return len(self._store)

    def embed(self, most: int) -> int:
        """Makes vectors for at most `most` passages that have none; how many it made. Raises what the embedder raises."""
        if self._embedder is None:
            return 0
        made, self._size = give_vectors(self._store, self._embedder, self._size, most)
        return made

    def search(self, query: str, limit: int, *, by_meaning: bool = True) -> list[tuple[str, float]]:
        """(id, share of words in common) of the passages that match, best first; restatements stand once.

        A passage that is found by its meaning alone has the share 0. Raises what the embedder raises.
        """
        if not len(self._store):
            return []
        embedder = self._embedder if by_meaning else None
        vector = None if embedder is None else embedded(embedder, [query[:SCAN_LIMIT]])[0]
        return [(hit.item.id, hit.score) for hit in search(self._store, query, limit, query_vector=vector)]


def _record(passage: Passage) -> Record:
    return Record(
        id=passage.id,
        content=passage.text,
        bookmark="",
        gist=passage.heading or None,
        tier="L2",
        domains=(),
        created_at=0,
        last_accessed_at=0,
        access_count=0,
    )
