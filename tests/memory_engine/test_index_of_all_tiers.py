"""The index of a block over all tiers, as a service shows it to programs that run no turn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import CognitiveMemory, CognitiveMemoryOptions, MemoryTier
from memory_engine.recency import RecencyOrder
from memory_engine.records import new_item


def memory(**options: int) -> CognitiveMemory:
    return CognitiveMemory(CognitiveMemoryOptions(index_all_tiers=True, **options))  # type: ignore[arg-type]


def put(engine: CognitiveMemory, name: str, tier: MemoryTier, now: int) -> None:
    engine.add_memory(new_item(f"The {name} berth is free", id=name, now=now), tier)


def indexed(engine: CognitiveMemory) -> list[tuple[str, str]]:
    return [(entry.id, entry.tier) for entry in engine.plan_injection().entries if entry.reason == "index"]


def test_hot_memories_come_first_then_the_others_last_used_first() -> None:
    engine = memory()
    for name, tier, now in (("north", "L3", 9), ("east", "L2", 5), ("south", "L1", 1), ("west", "L2", 7)):
        put(engine, name, tier, now)  # type: ignore[arg-type]
    assert indexed(engine) == [("south", "L1"), ("north", "L3"), ("west", "L2"), ("east", "L2")]
    engine.touch(["east"], 20)
    assert [name for name, _ in indexed(engine)] == ["south", "east", "north", "west"]
    engine.promote("east", "L1")
    engine.remove_memory("north")
    assert indexed(engine) == [("east", "L1"), ("south", "L1"), ("west", "L2")]


def test_a_turn_shows_the_hot_ones_alone() -> None:
    engine = CognitiveMemory()
    put(engine, "north", "L2", 1)
    assert indexed(engine) == []


def test_the_number_of_lines_is_bounded_for_each_plan() -> None:
    engine = memory(max_index_items=3)
    for at in range(6):
        put(engine, f"b{at}", "L2", at)
    assert len(indexed(engine)) == 3
    report = engine.plan_injection(max_index_items=5)
    assert len(report.entries) == 5


def test_what_no_longer_holds_is_not_in_the_index() -> None:
    engine = memory()
    engine.remember(["The harbour port is 8080"], tier="L3", now=1)
    assert len(indexed(engine)) == 1
    engine.remember(["The harbour port is 9090"], tier="L3", now=2)
    [(shown, _)] = indexed(engine)
    found = engine.get_memory(shown)
    assert found is not None
    assert found.content == "The harbour port is 9090"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pmtrse"), st.integers(0, 5), st.integers(0, 9)), max_size=20))
def test_the_order_stays_what_sorting_anew_would_give(steps: list[tuple[str, int, int]]) -> None:
    engine = memory()
    store = engine._state.store
    assert list(store.cold) == []
    for what, number, now in steps:
        name = f"b{number}"
        match what:
            case "p":
                put(engine, name, ("L2", "L3", "L1")[now % 3], now)
            case "m":
                engine.promote(name, ("L0", "L1", "L2", "L3")[now % 4])
            case "t":
                engine.touch([name], now)
            case "r":
                engine.remove_memory(name)
            case "e":
                engine.edit_memory(name, content=f"Berth {now} is taken")
            case _ if (row := store.get(name)) is not None:
                store.supersede(row, "other")
    cold = [row for tier in ("L2", "L3") for row in store.tier(tier).values() if row.is_injectable]
    assert list(store.cold) == list(RecencyOrder(cold))
