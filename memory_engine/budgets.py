"""Keeping each tier within its bounds. What does not fit moves to the next colder tier; nothing is ever dropped."""

from __future__ import annotations

import heapq
from collections.abc import Set as AbstractSet

from .options import CognitiveMemoryOptions
from .records import Record
from .store import MemoryStore


def enforce_budgets(store: MemoryStore, options: CognitiveMemoryOptions, fresh: AbstractSet[str]) -> int:
    """Moves the least recently used out of L0, L1 and L2 until each fits; a bound of 0 or less is none.

    `fresh` are the memories of the present turn, which go last. Returns how many were moved.
    """
    return (
        _unpin(store, options.max_l0_tokens)
        + _cool(store, options.max_l1_tokens, fresh)
        + _archive(store, options.max_l2_items)
    )


def _unpin(store: MemoryStore, max_tokens: int) -> int:
    pinned = sorted(store.tier("L0").values(), key=_age)
    moved = 0
    while max_tokens > 0 and store.quarters("L0") > 4 * max_tokens and moved < len(pinned):
        store.move(pinned[moved], "L1")
        moved += 1
    return moved


def _cool(store: MemoryStore, max_tokens: int, fresh: AbstractSet[str]) -> int:
    excess = store.quarters("L1") - 4 * max_tokens
    if max_tokens <= 0 or excess <= 0:
        return 0
    hot = store.tier("L1")
    leaving: list[Record] = []
    for group in (False, True):
        for memory_id in store.hot.oldest_first():
            if excess <= 0:
                break
            if (memory_id in fresh) is group:
                leaving.append(hot[memory_id])
                excess -= store.cost(hot[memory_id])
    for record in leaving:
        store.move(record, "L2")
    return len(leaving)


def _archive(store: MemoryStore, max_items: int | None) -> int:
    warm = store.tier("L2")
    if max_items is None or max_items <= 0 or len(warm) <= max_items:
        return 0
    leaving = heapq.nsmallest(len(warm) - max_items, warm.values(), key=_age)
    for record in leaving:
        store.move(record, "L3")
    return len(leaving)


def _age(record: Record) -> tuple[int, int]:
    return record.last_accessed_at, record.placed
