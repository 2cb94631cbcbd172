from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_engine import CognitiveMemory, MemoryItem, MemoryTier, memory_of_item
from memory_engine.records import new_item

TIERS: tuple[MemoryTier, ...] = ("L0", "L1", "L2", "L3")
PLACED = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from(TIERS), st.sampled_from(["s1", "s2", None])), max_size=12
)


def memory_with(placed: list[tuple[int, MemoryTier, str | None]]) -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, (created, tier, session) in enumerate(placed):
        item = new_item(f"Berth {at} is free", id=f"m{(at * 7) % 100:02}", now=created)
        item.metadata.source_session_id = session
        engine.add_memory(item, tier)
    return engine


def in_order(items: list[MemoryItem]) -> list[MemoryItem]:
    return sorted(items, key=lambda item: (-item.metadata.created_at, item.id))


@given(PLACED, st.none() | st.sampled_from(TIERS), st.integers(0, 14), st.integers(1, 14))
def test_a_page_is_a_piece_of_the_whole_sorted_list(
    placed: list[tuple[int, MemoryTier, str | None]], tier: MemoryTier | None, offset: int, limit: int
) -> None:
    engine = memory_with(placed)
    whole = [memory_of_item(item) for item in in_order(engine.memories(tier))]
    assert engine.newest(tier, offset, limit) == whole[offset : offset + limit]


@given(PLACED)
def test_totals_are_those_of_all_memories(placed: list[tuple[int, MemoryTier, str | None]]) -> None:
    engine = memory_with(placed)
    items, told = engine.memories(), engine.totals()
    assert told.total == len(items)
    assert told.by_tier == {tier: sum(item.tier == tier for item in items) for tier in TIERS}
    assert told.sessions == len({item.metadata.source_session_id for item in items} - {None})
    assert told.first_stored_at == min((item.metadata.created_at for item in items), default=0)
    assert told.last_accessed_at == max((item.metadata.last_accessed_at for item in items), default=0)


def test_a_huge_page_of_nothing_is_empty() -> None:
    assert CognitiveMemory().newest(offset=10_000_000, limit=500) == []
