from __future__ import annotations

import pytest

from memory_engine import (
    ArbiterEvaluationResult,
    CognitiveMemory,
    Demotion,
    DetectedTension,
    Pin,
    Promotion,
    SelfModelUpdate,
    new_item,
)
from memory_engine.wire import MemoryTier


def engine_of(*contents: str, tier: MemoryTier = "L2") -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, content in enumerate(contents):
        engine.add_memory(new_item(content, id=f"m{at}", now=at), tier)
    return engine


def ids(engine: CognitiveMemory, tier: MemoryTier) -> list[str]:
    return [item.id for item in engine.memories(tier)]


@pytest.mark.parametrize("tier", ["L2", "L3"])
def test_a_memory_the_turn_is_about_is_promoted_and_counted_as_used(tier: MemoryTier) -> None:
    engine = engine_of("Redis sess prefix", tier=tier)
    result = engine.post_turn("how is redis set up?", "fine", now=50)
    (promoted,) = engine.memories("L1")
    assert (promoted.metadata.access_count, promoted.metadata.last_accessed_at) == (1, 50)
    assert result.counts.promoted == 1


def test_an_overlap_of_exactly_the_threshold_is_not_enough() -> None:
    turn = " ".join(f"word{at}" for at in range(25))
    candidate = " ".join(["word0", "word1", "word2", *(f"x{at}" for at in range(22))])
    assert len(candidate) > 80
    engine = CognitiveMemory()
    item = new_item(candidate, id="m", now=0)
    item.bookmark = candidate
    engine.add_memory(item)
    engine.post_turn(turn, "", now=1)
    assert ids(engine, "L1") == []
    engine.post_turn(turn.replace("word24", "x1"), "", now=2)
    assert ids(engine, "L1") == ["m"]


def test_at_most_three_are_promoted_a_turn() -> None:
    engine = engine_of(*(f"redis note {at}" for at in range(6)))
    assert engine.post_turn("redis note?", "", now=9).counts.promoted == 3


@pytest.mark.parametrize(("size", "left"), [(5, 5), (6, 5), (9, 5), (14, 9)])
def test_the_index_is_demoted_slowly_and_never_below_five(size: int, left: int) -> None:
    engine = engine_of(*(f"irrelevant entry {at}" for at in range(size)), tier="L1")
    engine.post_turn("something else?", "ok", now=99)
    assert len(ids(engine, "L1")) == left
    assert ids(engine, "L2") == [f"m{at}" for at in range(size - left)]
    assert len(engine) == size


def test_what_the_turn_taught_is_not_demoted_by_it() -> None:
    engine = engine_of(*(f"irrelevant entry {at}" for at in range(7)), tier="L1")
    result = engine.post_turn("My editor is Zed.", "ok", now=1)
    assert result.stored[0].id in ids(engine, "L1")
    assert result.stored[0].tier == "L1"


def test_decisions_are_applied_in_order_and_unknown_ids_ignored() -> None:
    engine = engine_of("alpha fact one", "bravo fact two")
    evaluation = ArbiterEvaluationResult(
        promotions=[
            Promotion(memory_id="m0", signal_type="recency", urgency=1),
            Promotion(memory_id="nope", signal_type="recency", urgency=1),
        ],
        demotions=[Demotion(memory_id="m0", reason="r"), Demotion(memory_id="nope", reason="r")],
        pins=[Pin(memory_id="m1", reason="r"), Pin(memory_id="nope", reason="r")],
        detected_tensions=[DetectedTension(claim_a="a", claim_b="b", impact="low", actionable_question="?")],
        self_model_update=SelfModelUpdate(domain="auth", success=False, failure_pattern_observed="race"),
    )
    assert engine.apply_evaluation(evaluation, now=5) == 1
    assert (ids(engine, "L2"), ids(engine, "L0")) == (["m0"], ["m1"])
    assert len(engine.tensions()) == 1
    assert engine.self_model.domains["auth"].known_failure_patterns == ["race"]


def test_an_update_without_an_outcome_records_nothing() -> None:
    engine = CognitiveMemory()
    engine.apply_evaluation(ArbiterEvaluationResult(self_model_update=SelfModelUpdate(domain="auth")))
    assert engine.self_model.domains == {}
