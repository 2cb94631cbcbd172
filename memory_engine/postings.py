"""For each word, the documents that hold it.

A posting is one number, the slot and the count side by side, and those of a word stand in the order of their slots. What was
entered in bulk is one array that never changes, so that a copy of the index can share it; what came one by one is appended to
small arrays beside it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_COUNT_BITS = 8
_LARGEST_COUNT = (1 << _COUNT_BITS) - 1
_SEEKS_PER_SCAN = 16
"""To look a slot up among the postings of a word costs as much as to walk over so many of them."""

Slots = NDArray[np.int64]
Weights = NDArray[np.float32]


class Postings:
    """Word to (slots, counts). A slot is a document's place in the index; dead slots are filtered by the reader."""

    __slots__ = ("_added", "_bulk", "_dead", "_places", "_starts")

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._starts: Slots = np.zeros(1, np.int64)
        self._bulk: Slots = np.zeros(0, np.int64)
        self._added: dict[str, array[int]] = {}
        self._dead: dict[str, int] = {}

    @classmethod
    def of_pairs(cls, slots: Slots, words: Slots, names: Sequence[str]) -> Postings:
        """From one pair for each time a word stands in a document, in any order; `words` are places in `names`."""
        size = int(slots.max()) + 1 if len(slots) else 1
        keys, counts = np.unique(words * size + slots, return_counts=True)
        return cls._of_sorted(keys // size, keys % size, np.minimum(counts, _LARGEST_COUNT), names)

    @classmethod
    def _of_sorted(cls, words: Slots, slots: Slots, counts: Slots, names: Sequence[str]) -> Postings:
        made = cls()
        made._bulk = slots << _COUNT_BITS | counts
        held, starts = np.unique(words, return_index=True)
        made._places = {names[word]: place for place, word in enumerate(held.tolist())}
        made._starts = np.append(starts, len(words))
        return made

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enters a document, behind all others, under each of its words; a count over 255 is taken as 255."""
        added, base = self._added, slot << _COUNT_BITS
        for word, count in counts.items():
            posting = base | (count if count < _LARGEST_COUNT else _LARGEST_COUNT)
            try:
                added[word].append(posting)
            except KeyError:
                added[word] = array("q", (posting,))

    def bury(self, words: Iterable[str]) -> None:
        """Takes note that a document with these words is dead; its postings stay until the next compaction."""
        for word in words:
            self._dead[word] = self._dead.get(word, 0) + 1

    def length(self, word: str) -> int:
        """How many documents were entered under a word, dead ones included."""
        added, place = self._added.get(word), self._places.get(word)
        kept = 0 if place is None else int(self._starts[place + 1] - self._starts[place])
        return kept if added is None else kept + len(added)

    def living(self, word: str) -> int:
        """How many documents under a word are not dead."""
        return self.length(word) - self._dead.get(word, 0)

    def slots(self, word: str) -> Slots:
        """The slots of a known word, rising."""
        return self._packed(word) >> _COUNT_BITS

    def counts(self, word: str) -> Weights:
        """The counts of a known word, in the order of its slots."""
        return (self._packed(word) & _LARGEST_COUNT).astype(np.float32)

    def counts_at(self, word: str, slots: Slots) -> Weights:
        """The counts of a known word in some documents, 0 in those without it."""
        packed = self._packed(word)
        if len(slots) > len(packed) // _SEEKS_PER_SCAN:
            return self._scanned(packed, slots)
        at = np.minimum(np.searchsorted(packed, slots << _COUNT_BITS), len(packed) - 1)
        found = packed[at]
        return np.where(found >> _COUNT_BITS == slots, found & _LARGEST_COUNT, 0).astype(np.float32)

    def words_by_slot(self, slots: int) -> Slots:
        """(slots,) the number of words of each document that was entered in bulk."""
        return np.bincount(self._bulk >> _COUNT_BITS, minlength=slots)

    def __contains__(self, word: str) -> bool:
        return word in self._places or word in self._added

    def fork(self) -> Postings:
        """Postings of their own with the same entries."""
        other = Postings()
        other._places, other._starts, other._bulk = self._places, self._starts, self._bulk
        other._added = {word: held[:] for word, held in self._added.items()}
        other._dead = dict(self._dead)
        return other

    def compacted(self, moved: Slots) -> Postings:
        """A copy without dead slots, all of it in bulk; `moved[slot]` is the new slot, or -1 for a dead one."""
        names = list(dict.fromkeys((*self._places, *self._added)))
        held = [self._packed(word) for word in names]
        packed = np.concatenate(held) if held else np.zeros(0, np.int64)
        words = np.repeat(np.arange(len(names)), [len(each) for each in held])
        slots = moved[packed >> _COUNT_BITS]
        alive = slots >= 0
        return self._of_sorted(words[alive], slots[alive], packed[alive] & _LARGEST_COUNT, names)

    @staticmethod
    def _scanned(packed: Slots, slots: Slots) -> Weights:
        held, counts = packed >> _COUNT_BITS, (packed & _LARGEST_COUNT).astype(np.float32)
        # The words of a host name stand together time and again.
        if len(held) == len(slots) and (held == slots).all():
            return counts
        by_slot = np.zeros(max(int(held[-1]), int(slots.max(initial=0))) + 1, np.float32)
        by_slot[held] = counts
        return by_slot[slots]

    def _packed(self, word: str) -> Slots:
        added, place = self._added.get(word), self._places.get(word)
        if place is None:
            return np.frombuffer(self._added[word], np.int64)
        kept = self._bulk[self._starts[place] : self._starts[place + 1]]
        return kept if added is None else np.concatenate((kept, np.frombuffer(added, np.int64)))


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word occurs, in order of first appearance."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts[word] + 1 if word in counts else 1
    return counts
