from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_engine import CognitiveMemory, CognitiveMemoryOptions, dump_snapshot, new_item, parse_snapshot

TOPICS = ("boat kayak ship sail", "food lunch dinner eat", "deploy release ship-it rollout")


class Topics:
    """An embedder that knows three topics, and pads to any size."""

    def __init__(self, size: int = 4) -> None:
        self.size = size
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        vectors = np.zeros((len(texts), self.size), np.float32)
        for at, text in enumerate(texts):
            for topic, words in enumerate(TOPICS):
                vectors[at, topic] = sum(word in text.lower() for word in words.split())
            vectors[at, 3] = 0.01
        return vectors


def engine_of(embedder: object, *texts: str) -> CognitiveMemory:
    engine = CognitiveMemory(CognitiveMemoryOptions(embedder=embedder))  # type: ignore[arg-type]
    for at, text in enumerate(texts):
        engine.add_memory(new_item(text, id=f"m{at}", now=at))
    return engine


def found(engine: CognitiveMemory, query: str) -> list[str]:
    return [hit.item.id for hit in engine.search(query)]


def test_meaning_finds_what_words_do_not() -> None:
    engine = engine_of(Topics(), "The kayak is blue", "We eat at noon", "Releases go out on Tuesdays")
    assert found(engine, "which sail is ours") == []
    assert engine.embed_memories() == 3
    assert engine.embed_memories() == 0
    assert found(engine, "which sail is ours") == ["m0"]
    assert found(engine, "zzz") == []


def test_words_still_count() -> None:
    engine = engine_of(Topics(), "The kayak is blue", "The kayak number is K-77-XB")
    engine.embed_memories()
    assert found(engine, "kayak number")[0] == "m1"
    assert found(engine, "K-77-XB")[0] == "m1"


def test_an_embedder_with_another_size_is_no_error_and_lists_what_is_stale() -> None:
    engine = engine_of(Topics(384), "The kayak is blue", "We eat at noon")
    engine.embed_memories()
    changed = CognitiveMemory(CognitiveMemoryOptions(embedder=Topics(768)))
    changed.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert found(changed, "kayak") == ["m0"]
    assert found(changed, "sail") == []
    assert changed.stale_embeddings() == ["m0", "m1"]
    assert changed.embed_memories(1) == 1
    assert found(changed, "sail") == ["m0"]
    assert found(changed, "lunch") == []
    assert changed.stale_embeddings() == ["m1"]


def test_vectors_stand_in_no_snapshot() -> None:
    engine = engine_of(Topics(), "The kayak is blue")
    engine.embed_memories()
    assert b"embedding" not in dump_snapshot(engine.get_snapshot())
    assert found(engine, "sail") == ["m0"]


def test_vectors_that_a_snapshot_came_with_are_used_and_kept() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(embedder=Topics()))
    item = new_item("The kayak is blue", id="m0", now=1)
    item.embedding = [1.0, 0.0, 0.0, 0.0]
    engine.add_memory(item)
    assert found(engine, "sail") == ["m0"]
    assert engine.embed_memories() == 0
    held = engine.get_memory("m0")
    assert held is not None
    assert held.embedding == [1.0, 0.0, 0.0, 0.0]


class Blank:
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 3), np.float32)


def test_a_vector_without_direction_is_near_nothing_and_made_once() -> None:
    engine = engine_of(Blank(), "The kayak is blue")
    assert [engine.embed_memories(), engine.embed_memories()] == [1, 0]
    assert found(engine, "sail") == []
    assert found(engine, "kayak") == ["m0"]


def test_a_changed_text_has_no_vector_any_more() -> None:
    engine = engine_of(Topics(), "The kayak is blue")
    engine.embed_memories()
    engine.edit_memory("m0", content="Lunch is at noon")
    assert found(engine, "sail") == []
    item = engine.get_memory("m0")
    assert item is not None
    assert item.embedding is None


def test_a_removed_memory_is_not_near_anything() -> None:
    engine = engine_of(Topics(), "The kayak is blue", "The ship is red", "The boat is green")
    engine.embed_memories()
    engine.remove_memory("m0")
    assert set(found(engine, "sail")) == {"m1", "m2"}


class Broken:
    def __init__(self, vectors: object) -> None:
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> object:
        if isinstance(self.vectors, Exception):
            raise self.vectors
        return self.vectors


@pytest.mark.parametrize("vectors", [RuntimeError("down"), [[1.0], [2.0]], [1.0, 2.0], [[float("nan")]], [[]], "text"])
def test_a_search_goes_by_words_when_the_embedder_fails(vectors: object) -> None:
    engine = engine_of(Broken(vectors), "The kayak is blue")
    assert found(engine, "kayak") == ["m0"]
    assert engine.embedding_problem


def test_without_an_embedder_nothing_is_embedded() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The kayak is blue", id="m", now=1))
    assert (engine.embed_memories(), engine.stale_embeddings()) == (0, [])


def test_the_order_of_equal_vectors_is_that_of_ids() -> None:
    texts = ["The kayak is blue"] * 1
    engine = engine_of(Topics(), *texts, "A kayak of colour red", "Some kayak, green")
    engine.embed_memories()
    first = found(engine, "sail")
    assert first == found(engine.fork(), "sail")
    assert sorted(first) == ["m0", "m1", "m2"]
