"""Which held memories a new statement should be compared with."""

from __future__ import annotations

from collections.abc import Collection

from .lossy import CANDIDATE_FLOOR, MAX_CANDIDATES
from .records import Record
from .store import MemoryStore


def recall_similar(store: MemoryStore, content: str, exclude: Collection[str] = ()) -> list[Record]:
    """At most eight memories of any tier that resemble a statement: exact restatements, then by overlap, then by id.

    Over-inclusive by intent; whoever compares them decides. Superseded memories and the ids in `exclude` stay out.
    """
    exact = store.index.same_text(content)
    matches = store.index.resembling(content, CANDIDATE_FLOOR)
    shares = {
        store.index.id_at(int(slot)): float(share) for slot, share in zip(matches.slots, matches.shared, strict=True)
    }
    ranked = sorted(shares, key=lambda memory_id: (-shares[memory_id], memory_id))
    wanted = (memory_id for memory_id in dict.fromkeys([*exact, *ranked]) if memory_id not in exclude)
    records = (record for memory_id in wanted if (record := store.get(memory_id)) and record.superseded_by is None)
    return [record for record, _ in zip(records, range(MAX_CANDIDATES), strict=False)]
