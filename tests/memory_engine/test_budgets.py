from __future__ import annotations

import pytest

from memory_engine import ArbiterEvaluationResult, CognitiveMemory, CognitiveMemoryOptions, Pin, new_item
from memory_engine.wire import MemoryTier


def engine_of(
    tier: MemoryTier, texts: list[str], times: list[int] | None = None, **options: int | None
) -> CognitiveMemory:
    engine = CognitiveMemory(CognitiveMemoryOptions(auto_extract_memories=False, **options))  # type: ignore[arg-type]
    for at, text in enumerate(texts):
        engine.add_memory(new_item(text, id=f"m{at}", now=times[at] if times else at), tier)
    return engine


def ids(engine: CognitiveMemory, tier: MemoryTier) -> list[str]:
    return [item.id for item in engine.memories(tier)]


LONG = [f"{letter} " + "x" * 3_998 for letter in "abc"]


def test_the_least_recently_used_hot_memory_cools_first() -> None:
    engine = engine_of("L1", LONG, [5, 1, 9], max_l1_tokens=2_000)
    engine.post_turn("hello", "hi", now=10)
    assert (ids(engine, "L1"), ids(engine, "L2")) == (["m0", "m2"], ["m1"])
    assert len(engine) == 3


def test_of_equal_ages_the_one_placed_first_goes() -> None:
    engine = engine_of("L1", LONG, [1, 1, 1], max_l1_tokens=2_000)
    engine.post_turn("hello", "hi", now=10)
    assert ids(engine, "L2") == ["m0"]


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing_is_none(budget: int) -> None:
    engine = engine_of("L1", LONG, max_l1_tokens=budget, max_l0_tokens=budget, max_l2_items=budget)
    engine.promote("m0", "L0")
    engine.post_turn("hello", "hi", now=10)
    assert (ids(engine, "L0"), ids(engine, "L1")) == (["m0"], ["m1", "m2"])


def test_what_the_turn_taught_cools_last() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(max_l1_tokens=5))
    engine.add_memory(new_item("an old fact about Zed editors", id="old", now=100), "L1")
    result = engine.post_turn("My editor is Zed.", "ok", now=1)
    assert ids(engine, "L2") == ["old"]
    assert ids(engine, "L1") == [result.stored[0].id]


def test_pins_beyond_their_bound_become_hot_the_oldest_first() -> None:
    engine = engine_of("L2", LONG, [5, 1, 9], max_l0_tokens=2_000, max_l1_tokens=0)
    pins = [Pin(memory_id=f"m{at}", reason="r") for at in range(3)]
    engine.apply_evaluation(ArbiterEvaluationResult(pins=pins), now=10)
    assert len(ids(engine, "L0")) == 3
    engine.post_turn("hello", "hi", now=10)
    assert (ids(engine, "L0"), ids(engine, "L1")) == (["m0", "m2"], ["m1"])


def test_warm_memories_beyond_their_number_are_archived_and_still_found() -> None:
    engine = engine_of("L2", [f"fact alpha{at}" for at in range(10)], max_l2_items=4)
    engine.post_turn("hello", "hi", now=10)
    assert ids(engine, "L3") == [f"m{at}" for at in range(6)]
    assert [hit.item.id for hit in engine.search("alpha0")] == ["m0"]


def test_what_a_host_remembers_counts_too() -> None:
    engine = engine_of("L1", LONG, max_l1_tokens=3_001)
    engine.remember(["The staging host is blue-7"], now=20)
    assert ids(engine, "L2") == ["m0"]


def test_a_quarantined_or_superseded_memory_is_not_pinned() -> None:
    engine = engine_of("L2", ["alpha fact"])
    item = new_item("bravo fact", id="q", now=1)
    item.quarantined = True
    engine.add_memory(item)
    engine.apply_evaluation(ArbiterEvaluationResult(pins=[Pin(memory_id="q", reason="r")]), now=10)
    assert ids(engine, "L0") == []
