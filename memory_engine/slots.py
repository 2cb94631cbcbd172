"""Where each memory stands in the arrays of the index, and what is counted of it.

A removed memory leaves its slot dead, as closing the gap would move all the others; that is done for many at once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .matches import Scores, Slots
from .records import Record

_DEAD_SHARE = 0.3
_FEWEST_DEAD = 64
_LEAST_ROOM = 64

_FARTHEST = 1 << 62

Flags = NDArray[np.bool_]


class SlotTable:
    """Columns by slot, longer than what is used of them. `visible` are those alive that an ordinary search may show."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        used, room = len(records), max(len(records), _LEAST_ROOM)
        self.ids = [record.id for record in records]
        self.slot_of = {memory_id: slot for slot, memory_id in enumerate(self.ids)}
        self.alive: Flags = np.zeros(room, np.bool_)
        self.visible: Flags = np.zeros(room, np.bool_)
        self.lengths: Scores = np.zeros(room, np.float32)
        self.stem_counts: Scores = np.zeros(room, np.float32)
        self.distinct_counts: Scores = np.zeros(room, np.float32)
        self.created: NDArray[np.int64] = np.zeros(room, np.int64)
        self.alive[:used] = True
        self.visible[:used] = [record.superseded_by is None for record in records]
        self.created[:used] = [_when(record) for record in records]

    def __len__(self) -> int:
        """How many are alive."""
        return len(self.slot_of)

    @property
    def used(self) -> int:
        """How many slots are taken, dead ones included."""
        return len(self.ids)

    @property
    def is_sparse(self) -> bool:
        """Whether so many are dead that the gaps should be closed."""
        dead = self.used - len(self)
        return dead >= _FEWEST_DEAD and dead > self.used * _DEAD_SHARE

    def add(self, record: Record) -> int:
        """Takes the next slot for a memory."""
        slot = self.used
        if slot == len(self.alive):
            for name, held in self._columns():
                setattr(self, name, np.concatenate([held, np.zeros_like(held)]))
        self.ids.append(record.id)
        self.slot_of[record.id] = slot
        self.alive[slot] = True
        self.visible[slot] = record.superseded_by is None
        self.created[slot] = _when(record)
        return slot

    def remove(self, memory_id: str) -> int:
        """Leaves a memory's slot dead."""
        slot = self.slot_of.pop(memory_id)
        self.alive[slot] = self.visible[slot] = False
        return slot

    def compact(self) -> Slots:
        """Closes the gaps. For each former slot the new one, or -1 for a dead one."""
        used, alive = self.used, self.alive[: self.used]
        moved = np.where(alive, np.cumsum(alive) - 1, -1)
        kept = np.flatnonzero(alive)
        self.ids = [self.ids[slot] for slot in kept.tolist()]
        self.slot_of = {memory_id: slot for slot, memory_id in enumerate(self.ids)}
        for _, held in self._columns():
            held[: len(kept)] = held[kept]
        self.alive[len(kept) : used] = self.visible[len(kept) : used] = False
        return moved

    def fork(self) -> SlotTable:
        """A table of its own with the same slots."""
        other = copy.copy(self)
        other.ids, other.slot_of = list(self.ids), dict(self.slot_of)
        for name, held in self._columns():
            setattr(other, name, held.copy())
        return other

    def _columns(self) -> list[tuple[str, NDArray[np.generic]]]:
        return [(name, held) for name, held in vars(self).items() if isinstance(held, np.ndarray)]


def _when(record: Record) -> int:
    """The time of a memory; a snapshot may name one that no array can hold."""
    return max(-_FARTHEST, min(record.created_at, _FARTHEST))
