"""The memory engine and its peers behind one small interface, so that all see the same rows and the same questions.

The peers are needed here alone. They go into a virtual environment of their own, never into the project's:

    python3 -m venv /tmp/peers/venv
    /tmp/peers/venv/bin/pip install numpy pydantic psutil bm25s rank-bm25 tantivy langgraph chromadb mem0ai

A peer that is not installed is left out and named. Those that search by vectors get the same deterministic embedder: hashed
words, 256 numbers, no weights to download. It shows what their store costs and says nothing about a trained model.
"""

import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from benchmarks.memory_corpus import Row
from benchmarks.memory_own import Engine, Meaning, minilm

DIMENSIONS = 256
_WORD = re.compile(r"\w+")


class Ranker(Protocol):
    """Built once from rows, then asked and extended. `search` gives ids, the best first."""

    def build(self, rows: Sequence[Row]) -> None: ...
    def add(self, row: Row) -> None: ...
    def search(self, query: str, count: int) -> list[str]: ...


def hashed(texts: Sequence[str]) -> list[list[float]]:
    """(n, 256) unit vectors: each word adds one to the place its hash names."""
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for at, text in enumerate(texts):
        for word in _WORD.findall(text.lower()):
            vectors[at, crc32(word.encode()) % DIMENSIONS] += 1.0
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return [[float(number) for number in vector] for vector in vectors / lengths]


class Bm25s:
    """bm25s with its own tokenizer and English stop words. It has no way to add a row: it is built again."""

    def __init__(self) -> None:
        self._bm25s, self._rows = import_module("bm25s"), list[Row]()

    def build(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        tokens = self._bm25s.tokenize([row.text for row in self._rows], stopwords="en", show_progress=False)
        self._index = self._bm25s.BM25()
        self._index.index(tokens, show_progress=False)

    def add(self, row: Row) -> None:
        self.build([*self._rows, row])

    def search(self, query: str, count: int) -> list[str]:
        tokens = self._bm25s.tokenize([query], stopwords="en", show_progress=False)
        found, scores = self._index.retrieve(tokens, k=min(count, len(self._rows)), show_progress=False)
        return [self._rows[at].id for at, score in zip(found[0], scores[0], strict=True) if score > 0]


class RankBm25:
    """rank-bm25's Okapi over lower-cased words. It is built again for each new row."""

    def __init__(self) -> None:
        self._make, self._rows = import_module("rank_bm25").BM25Okapi, list[Row]()

    def build(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._index = self._make([_WORD.findall(row.text.lower()) for row in self._rows])

    def add(self, row: Row) -> None:
        self.build([*self._rows, row])

    def search(self, query: str, count: int) -> list[str]:
        scores = self._index.get_scores(_WORD.findall(query.lower()))
        order = np.argsort(-scores, kind="stable")[:count]
        return [self._rows[at].id for at in order if scores[at] > 0]


class Tantivy:
    """tantivy in memory with its English stemmer; a row is found after a commit and a reload."""

    def __init__(self) -> None:
        self._tantivy = import_module("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        self._index = self._tantivy.Index(builder.build())

    def build(self, rows: Sequence[Row]) -> None:
        writer = self._index.writer(50_000_000, 1)
        for row in rows:
            writer.add_document(self._tantivy.Document(id=row.id, text=row.text))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def add(self, row: Row) -> None:
        self.build([row])

    def search(self, query: str, count: int) -> list[str]:
        searcher = self._index.searcher()
        parsed = self._index.parse_query(" ".join(_WORD.findall(query)), ["text"])
        return [searcher.doc(address)["id"][0] for _, address in searcher.search(parsed, count).hits]


class Fts5:
    """SQLite's FTS5 in memory with its Porter stemmer, words joined by OR."""

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute("CREATE VIRTUAL TABLE rows USING fts5(id UNINDEXED, text, tokenize='porter unicode61')")

    def build(self, rows: Sequence[Row]) -> None:
        self._base.executemany("INSERT INTO rows VALUES (?, ?)", [(row.id, row.text) for row in rows])
        self._base.commit()

    def add(self, row: Row) -> None:
        self.build([row])

    def search(self, query: str, count: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not words:
            return []
        found = self._base.execute("SELECT id FROM rows WHERE rows MATCH ? ORDER BY rank LIMIT ?", (words, count))
        return [memory_id for (memory_id,) in found]


class LangGraph:
    """langgraph's InMemoryStore with an index over the text."""

    def __init__(self) -> None:
        store = import_module("langgraph.store.memory")
        self._store = store.InMemoryStore(index={"dims": DIMENSIONS, "embed": hashed, "fields": ["text"]})

    def build(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        self._store.put(("memories",), row.id, {"text": row.text})

    def search(self, query: str, count: int) -> list[str]:
        return [found.key for found in self._store.search(("memories",), query=query, limit=count)]


class Chroma:
    """chromadb in the process, vectors given."""

    def __init__(self) -> None:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        self._rows = import_module("chromadb").EphemeralClient().create_collection("memories", embedding_function=None)

    def build(self, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), 1_000):
            part = rows[start : start + 1_000]
            texts = [row.text for row in part]
            self._rows.add(ids=[row.id for row in part], documents=texts, embeddings=hashed(texts))

    def add(self, row: Row) -> None:
        self.build([row])

    def search(self, query: str, count: int) -> list[str]:
        return list(self._rows.query(query_embeddings=hashed([query]), n_results=count)["ids"][0])


class _Mem0Embedder:
    """What mem0 asks of an embedder."""

    def embed(self, text: str, *_: Any, **__: Any) -> list[float]:
        return hashed([text])[0]

    def embed_batch(self, texts: Sequence[str], *_: Any, **__: Any) -> list[list[float]]:
        return hashed(texts)


class Mem0:
    """mem0 with qdrant in a folder, without inference: the rows are stored as they are."""

    def __init__(self) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": tempfile.mkdtemp()}
        store = {
            "collection_name": "m",
            "path": tempfile.mkdtemp(),
            "embedding_model_dims": DIMENSIONS,
            "on_disk": False,
        }
        self._memory = import_module("mem0").Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": store}}
        )
        self._memory.embedding_model = _Mem0Embedder()

    def build(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        said = [{"role": "user", "content": row.text}]
        self._memory.add(said, user_id="u", infer=False, metadata={"row": row.id})

    def search(self, query: str, count: int) -> list[str]:
        found = self._memory.search(query, filters={"user_id": "u"}, top_k=count)
        return [hit["metadata"]["row"] for hit in found["results"]]


RANKERS: dict[str, Callable[[], Ranker]] = {
    "memory_engine": Engine,
    "memory_engine, neighbours=1": lambda: Engine(neighbours=1),
    "memory_engine, ranking=overlap": lambda: Engine("overlap"),
    "memory_engine, MiniLM": lambda: Engine(embedder=minilm()),
    "memory_engine, MiniLM, neighbours=1": lambda: Engine(neighbours=1, embedder=minilm()),
    "MiniLM alone": Meaning,
    "bm25s": Bm25s,
    "rank-bm25": RankBm25,
    "tantivy": Tantivy,
    "SQLite FTS5": Fts5,
    "langgraph InMemoryStore": LangGraph,
    "chromadb": Chroma,
    "mem0": Mem0,
}
BY_MEANING = ("memory_engine, MiniLM", "memory_engine, MiniLM, neighbours=1", "MiniLM alone")
"""Those that use the weights of a trained model."""
BY_WORDS = (
    *("memory_engine", "memory_engine, neighbours=1", "memory_engine, ranking=overlap"),
    *("bm25s", "rank-bm25", "tantivy", "SQLite FTS5"),
)
"""Those that rank by words alone; the others rank by the embedder they are given."""
