"""For each word, the documents that hold it, in arrays that grow by doubling and that numpy reads without a copy.

A posting is one number, the slot and the count side by side: half as many arrays as with two per word, which is what keeps
a large index light for the garbage collector.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

_COUNT_BITS = 8
_LARGEST_COUNT = (1 << _COUNT_BITS) - 1

Slots = NDArray[np.int64]
Weights = NDArray[np.float32]


class Postings:
    """Word to (slots, counts). A slot is a document's place in the index; dead slots are filtered by the reader."""

    __slots__ = ("_packed",)

    def __init__(self) -> None:
        self._packed: dict[str, array[int]] = {}

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enters a document under each of its words; a count over 255 is taken as 255."""
        packed, base = self._packed, slot << _COUNT_BITS
        for word, count in counts.items():
            posting = base | (count if count < _LARGEST_COUNT else _LARGEST_COUNT)
            try:
                packed[word].append(posting)
            except KeyError:
                packed[word] = array("q", (posting,))

    def length(self, word: str) -> int:
        """How many documents were entered under a word, dead ones included."""
        held = self._packed.get(word)
        return len(held) if held is not None else 0

    def slots(self, word: str) -> Slots:
        """The slots of a known word."""
        return np.frombuffer(self._packed[word], np.int64) >> _COUNT_BITS

    def counts(self, word: str) -> Weights:
        """The counts of a known word, in the order of its slots."""
        return (np.frombuffer(self._packed[word], np.int64) & _LARGEST_COUNT).astype(np.float32)

    def __contains__(self, word: str) -> bool:
        return word in self._packed

    def fork(self) -> Postings:
        """Postings of their own with the same entries."""
        other = Postings()
        other._packed = {word: held[:] for word, held in self._packed.items()}
        return other

    def compacted(self, moved: NDArray[np.int64]) -> Postings:
        """A copy without dead slots; `moved[slot]` is the new slot, or -1 for a dead one."""
        compact = Postings()
        for word, held in self._packed.items():
            places = moved[self.slots(word)]
            alive = places >= 0
            if alive.any():
                counts = np.frombuffer(held, np.int64)[alive] & _LARGEST_COUNT
                compact._packed[word] = array("q", (places[alive] << _COUNT_BITS | counts).tobytes())
        return compact


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word occurs, in order of first appearance."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts[word] + 1 if word in counts else 1
    return counts
