"""The rankers of our own: the engine in its variants, and the embedder it may be given."""

from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np

from activities.memory_embedder import MINILM, EmbedderUnavailable, named_embedder
from benchmarks.memory_corpus import Row
from memory_engine import CognitiveMemory, CognitiveMemoryOptions, Embedder, new_item


@cache
def minilm() -> Embedder:
    """The embedder of the worker's setting `minilm`, one for all rankers. Raises `ImportError` if it is not installed."""
    try:
        return cast(Embedder, named_embedder(MINILM))
    except EmbedderUnavailable as missing:
        raise ImportError(str(missing)) from None


class Engine:
    """memory_engine itself."""

    def __init__(self, ranking: str = "idf", neighbours: int = 0, embedder: Embedder | None = None) -> None:
        self._engine = CognitiveMemory(CognitiveMemoryOptions(ranking=ranking, embedder=embedder))  # type: ignore[arg-type]
        self._neighbours, self._count = neighbours, 0

    def build(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.add(row)
        while self._engine.embed_memories():
            pass

    def add(self, row: Row) -> None:
        self._count += 1
        item = new_item(row.text, id=row.id, now=self._count)
        item.metadata.source_session_id = row.session or None
        self._engine.add_memory(item)

    def search(self, query: str, count: int) -> list[str]:
        return [hit.item.id for hit in self._engine.search(query, count, self._neighbours)]


class Meaning:
    """all-MiniLM-L6-v2 alone: the rows by their cosine to the query."""

    def __init__(self) -> None:
        self._embedder, self._rows = minilm(), list[Row]()

    def build(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._vectors = self._embedder.embed([row.text for row in self._rows])

    def add(self, row: Row) -> None:
        self.build([*self._rows, row])

    def search(self, query: str, count: int) -> list[str]:
        cosines = self._vectors @ self._embedder.embed([query])[0]
        return [self._rows[at].id for at in np.argsort(-cosines, kind="stable")[:count]]
