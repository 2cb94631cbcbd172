from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from memory_engine import (
    ArbiterEvaluationResult,
    ArbiterInput,
    CognitiveMemory,
    CognitiveMemoryOptions,
    CognitiveMemoryStateSnapshot,
    Extract,
    Pin,
    ReconcileInput,
    new_item,
)

SAID = "My staging host alias is BLUE_SEVEN."


def engine_of(**callbacks: Any) -> CognitiveMemory:
    engine = CognitiveMemory(CognitiveMemoryOptions(**callbacks))
    engine.add_memory(new_item("The staging host alias GREEN_SIX is retired", id="m0", now=1))
    return engine


async def test_each_callback_is_asked_with_what_it_needs() -> None:
    asked: list[object] = []

    async def extract(ask: Extract) -> object:
        asked.append(ask)
        return {"memories": ["User's staging host alias is BLUE_SEVEN"]}

    def reconcile(ask: ReconcileInput) -> object:
        asked.append(ask)
        return [{"action": "add"}]

    async def arbiter(ask: ArbiterInput) -> ArbiterEvaluationResult:
        asked.append(ask)
        return ArbiterEvaluationResult(pins=[Pin(memory_id="m0", reason="r")])

    saved: list[CognitiveMemoryStateSnapshot] = []
    engine = engine_of(extract=extract, reconcile=reconcile, arbiter=arbiter, on_persist=saved.append)
    result = await engine.post_turn_async(SAID, "ok", turn_id="t", now=5)
    assert [type(ask) for ask in asked] == [Extract, ReconcileInput, ArbiterInput]
    assert result.errors == []
    assert [item.id for item in engine.memories("L0")] == ["m0"]
    assert saved == [engine.get_snapshot()]


async def test_a_callback_that_raises_costs_its_own_step_only() -> None:
    def broken(ask: object) -> object:
        raise RuntimeError("model is down")

    engine = engine_of(extract=broken, reconcile=broken, arbiter=broken, on_persist=broken)
    result = await engine.post_turn_async(SAID, "ok", now=5)
    assert [error.partition(":")[0] for error in result.errors] == ["extract", "reconcile", "arbitrate", "persist"]
    assert "learned but not persisted" in result.errors[-1]
    assert result.counts.stored == 1


@pytest.mark.parametrize("is_blocking", [False, True])
async def test_a_callback_that_hangs_is_left_behind(is_blocking: bool) -> None:
    async def hang(ask: object) -> object:
        await asyncio.Event().wait()
        return None

    def block(ask: object) -> object:
        time.sleep(0.3)
        return None

    engine = engine_of(extract=block if is_blocking else hang, callback_timeout_s=0.02)
    result = await engine.post_turn_async(SAID, "ok", now=5)
    assert result.errors == ["extract: no answer within 0.02 s"]
    assert result.counts.stored == 1


async def test_nonsense_is_reported() -> None:
    engine = engine_of(extract=lambda ask: 42, reconcile=lambda ask: "add it", arbiter=lambda ask: object())
    result = await engine.post_turn_async(SAID, "ok", now=5)
    assert len(result.errors) >= 3
    assert result.counts.stored == 1


async def test_two_turns_at_once_keep_both_facts_and_one_copy_of_a_shared_one() -> None:
    async def slow(ask: Extract) -> object:
        await asyncio.sleep(0)
        return {"memories": []}

    engine = engine_of(extract=slow)
    said = [f"{SAID} My editor is Zed.", f"{SAID} My shell is Fish."]
    await asyncio.gather(*(engine.post_turn_async(text, "ok", turn_id=text, now=5) for text in said))
    contents = sorted(item.content for item in engine.memories())
    assert contents == [
        "My editor is Zed",
        "My shell is Fish",
        SAID.rstrip("."),
        "The staging host alias GREEN_SIX is retired",
    ]


async def test_one_turn_reported_twice_at_once_is_learned_once() -> None:
    engine = engine_of(extract=lambda ask: {"memories": []})
    first, second = await asyncio.gather(*(engine.post_turn_async(SAID, "ok", turn_id="t", now=5) for _ in range(2)))
    assert first == second
    assert engine.stats.total_turns_processed == 1
