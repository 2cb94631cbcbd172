"""The memories, each in exactly one tier, and the indexes that follow every change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from threading import Lock

from .collector import collector_paused
from .estimate import quarters
from .index import LexicalIndex
from .recency import RecencyOrder
from .records import Record
from .wire import MemoryTier

TIERS: tuple[MemoryTier, ...] = ("L0", "L1", "L2", "L3")
"""From the hottest to the coldest."""

_COLD: tuple[MemoryTier, ...] = ("L2", "L3")


class MemoryStore:
    """All rows by id. Whoever changes a row's text, tier or time of use does it here."""

    def __init__(self) -> None:
        self._tiers: dict[MemoryTier, dict[str, Record]] = {tier: {} for tier in TIERS}
        self._tier_of: dict[str, MemoryTier] = {}
        self._quarters: dict[MemoryTier, int] = dict.fromkeys(TIERS, 0)
        self._placed = 0
        self._index: LexicalIndex | None = None
        self._unindexed: list[Record] = []
        self._indexing = Lock()
        self.hot = RecencyOrder()
        self._cold: RecencyOrder | None = None
        self.latest = 0
        """The newest time seen on any row, in milliseconds."""

    def __len__(self) -> int:
        return len(self._tier_of)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._tier_of

    @property
    def index(self) -> LexicalIndex:
        """The index over all rows, built when it is first asked for: many loads only plan and save."""
        if self._index is None:
            # Two threads may ask at once; the second must not read an index that is half built.
            with self._indexing:
                if self._index is None:
                    with collector_paused():
                        self._index = LexicalIndex(self._unindexed)
                    self._unindexed = []
        return self._index

    @property
    def cold(self) -> RecencyOrder:
        """The order of use of the colder memories that a plan may print; sorted when it is first asked for."""
        if self._cold is None:
            rows = (record for tier in _COLD for record in self._tiers[tier].values())
            self._cold = RecencyOrder(record for record in rows if record.is_injectable)
        return self._cold

    def get(self, memory_id: str) -> Record | None:
        """The row of an id, from whichever tier holds it."""
        tier = self._tier_of.get(memory_id)
        return None if tier is None else self._tiers[tier][memory_id]

    def tier(self, tier: MemoryTier) -> dict[str, Record]:
        """The rows of a tier in the order in which they were placed; for reading only."""
        return self._tiers[tier]

    def all_rows(self) -> Iterator[Record]:
        """Every row, hottest tier first."""
        return chain.from_iterable(self._tiers[tier].values() for tier in TIERS)

    def quarters(self, tier: MemoryTier) -> int:
        """What the texts of a tier cost, in quarter tokens."""
        return self._quarters[tier]

    @staticmethod
    def cost(record: Record) -> int:
        """What the text of one row costs, in quarter tokens."""
        return quarters(record.content)

    def put(self, record: Record) -> None:
        """Places a row in the tier it names; a row that has its id is replaced."""
        if record.id in self._tier_of:
            self.remove(record.id)
        record.line = record.encoded = None
        self.index.add(record)
        self._place(record)

    def put_unindexed(self, record: Record) -> None:
        """Places a row of a load, whose id is not held; the index will read all of them at once."""
        if self._index is None:
            self._unindexed.append(record)
        else:
            self._index.add(record)
        self._place(record)

    def remove(self, memory_id: str) -> Record | None:
        """Takes a row out of its tier and of every index."""
        record = self.get(memory_id)
        if record is not None:
            self._unplace(record)
            self.index.remove(record)
        return record

    def move(self, record: Record, tier: MemoryTier) -> None:
        """Changes the tier of a row; the row comes last there."""
        self._unplace(record)
        record.tier = tier
        record.line = record.encoded = None
        self._place(record)

    def touch(self, record: Record, now: int) -> None:
        """Counts one use of a row at `now`. A clock that runs back does not make a row older."""
        used_at = max(now, record.last_accessed_at)
        self._leave_order(record)
        record.last_accessed_at = used_at
        record.access_count += 1
        record.encoded = None
        self.latest = max(self.latest, used_at)
        self._enter_order(record)

    def rewrite(self, record: Record, content: str, bookmark: str, gist: str | None, domains: tuple[str, ...]) -> None:
        """Changes what a row says; when it was made and how often it was used stay."""
        former = record.content
        self.index.remove(record)
        self._quarters[record.tier] += quarters(content) - quarters(record.content)
        record.content, record.bookmark, record.gist, record.domains = content, bookmark, gist, domains
        if record.embedding and content != former:
            record.embedding = None
        record.line = record.encoded = None
        self.index.add(record)

    def mark_strategy(self, record: Record) -> None:
        """Notes that a row tells how something was done well."""
        record.is_successful_strategy = True
        record.encoded = None

    def supersede(self, record: Record, by: str) -> None:
        """Retires a row to the archive with a link to the one that took its place."""
        self._leave_order(record)
        record.superseded_by = by
        record.encoded = None
        self.index.hide(record.id, True)
        if record.tier != "L3":
            self.move(record, "L3")

    def fork(self) -> MemoryStore:
        """A store of its own with the same rows, indexed."""
        other = MemoryStore()
        for tier, rows in self._tiers.items():
            other._tiers[tier] = {memory_id: record.clone() for memory_id, record in rows.items()}
        other._tier_of = dict(self._tier_of)
        other._quarters = dict(self._quarters)
        other._placed = self._placed
        other._index = self.index.fork()
        other.hot = self.hot.fork()
        other.latest = self.latest
        return other

    def _place(self, record: Record) -> None:
        self._placed += 1
        record.placed = self._placed
        self._tiers[record.tier][record.id] = record
        self._tier_of[record.id] = record.tier
        self._quarters[record.tier] += quarters(record.content)
        self.latest = max(self.latest, record.last_accessed_at, record.created_at)
        self._enter_order(record)

    def _enter_order(self, record: Record) -> None:
        if record.tier == "L1":
            self.hot.add(record)
        elif self._cold is not None and record.tier in _COLD and record.is_injectable:
            self._cold.add(record)

    def _leave_order(self, record: Record) -> None:
        if record.tier == "L1":
            self.hot.remove(record)
        elif self._cold is not None:
            self._cold.remove(record)

    def _unplace(self, record: Record) -> None:
        self._leave_order(record)
        self._quarters[record.tier] -= quarters(record.content)
        del self._tiers[record.tier][record.id]
        del self._tier_of[record.id]
