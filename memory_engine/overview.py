"""What there is in all, and the newest of it, without a copy of every row."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from operator import attrgetter

from .records import Record
from .service_types import MemoryTotals
from .store import TIERS, MemoryStore

_created, _used, _id = attrgetter("created_at"), attrgetter("last_accessed_at"), attrgetter("id")
_session = attrgetter("source_session_id")


def newest(rows: Collection[Record], offset: int, limit: int) -> list[Record]:
    """Rows by when they were stored, the newest first, then by id; `offset` of them left out, at most `limit`."""
    end = min(len(rows), offset + limit)
    if offset >= end:
        return []
    # Sorting by numbers alone finds the time from which on rows are needed; few then take part in the real order.
    oldest = heapq.nlargest(end, map(_created, rows))[-1]
    near = sorted((row for row in rows if row.created_at >= oldest), key=_id)
    near.sort(key=_created, reverse=True)
    return near[offset:end]


def totals(store: MemoryStore) -> MemoryTotals:
    """Counts and times; the times are 0 when there is nothing."""
    rows = list(store.all_rows())
    return MemoryTotals(
        total=len(rows),
        by_tier={tier: len(store.tier(tier)) for tier in TIERS},
        sessions=len(set(map(_session, rows)) - {None}),
        first_stored_at=min(map(_created, rows), default=0),
        last_accessed_at=max(map(_used, rows), default=0),
    )
