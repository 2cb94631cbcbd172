"""Which held memories a new statement should be compared with."""

from __future__ import annotations

import heapq
from collections.abc import Collection

from .lossy import CANDIDATE_FLOOR, MAX_CANDIDATES
from .ranking import nth_best
from .records import Record
from .store import MemoryStore


def recall_similar(store: MemoryStore, content: str, exclude: Collection[str] = ()) -> list[Record]:
    """At most eight memories of any tier that resemble a statement: exact restatements, then by overlap, then by id.

    Over-inclusive by intent; whoever compares them decides. Superseded memories and the ids in `exclude` stay out.
    """
    exact = store.index.same_text(content)
    ranked = _nearest(store, content, MAX_CANDIDATES + len(exact) + len(exclude))
    wanted = (memory_id for memory_id in dict.fromkeys([*exact, *ranked]) if memory_id not in exclude)
    records = (record for memory_id in wanted if (record := store.get(memory_id)) and record.superseded_by is None)
    return [record for record, _ in zip(records, range(MAX_CANDIDATES), strict=False)]


def _nearest(store: MemoryStore, content: str, most: int) -> list[str]:
    matches = store.index.resembling(content, CANDIDATE_FLOOR)
    slots, shares = matches.slots, matches.scores
    if len(slots) > most:
        near = shares >= nth_best(shares, most)
        slots, shares = slots[near], shares[near]
    ids = ((store.index.id_at(slot), share) for slot, share in zip(slots.tolist(), shares.tolist(), strict=True))
    return [memory_id for memory_id, _ in heapq.nsmallest(most, ids, key=lambda pair: (-pair[1], pair[0]))]
