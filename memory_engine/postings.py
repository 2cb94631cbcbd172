"""For each word, the documents that hold it, in arrays that grow by doubling and that numpy reads without a copy."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int32]
Weights = NDArray[np.float32]


class Postings:
    """Word to (slots, counts). A slot is a document's place in the index; dead slots are filtered by the reader."""

    __slots__ = ("_counts", "_slots")

    def __init__(self) -> None:
        self._slots: dict[str, array[int]] = {}
        self._counts: dict[str, array[float]] = {}

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enters a document under each of its words. Slots must come in rising order."""
        for word, count in counts.items():
            slots = self._slots.get(word)
            if slots is None:
                self._slots[word] = array("i", (slot,))
                self._counts[word] = array("f", (count,))
            else:
                slots.append(slot)
                self._counts[word].append(count)

    def length(self, word: str) -> int:
        """How many documents were entered under a word, dead ones included."""
        slots = self._slots.get(word)
        return len(slots) if slots is not None else 0

    def of(self, word: str) -> tuple[Slots, Weights]:
        """The slots and counts of a known word, as views; do not keep them over an `add`."""
        return np.frombuffer(self._slots[word], np.int32), np.frombuffer(self._counts[word], np.float32)

    def __contains__(self, word: str) -> bool:
        return word in self._slots

    def compacted(self, moved: NDArray[np.int32]) -> Postings:
        """A copy without dead slots; `moved[slot]` is the new slot, or -1 for a dead one."""
        compact = Postings()
        for word in self._slots:
            slots, counts = self.of(word)
            places = moved[slots]
            alive = places >= 0
            if alive.any():
                compact._slots[word] = array("i", places[alive].tobytes())
                compact._counts[word] = array("f", counts[alive].tobytes())
        return compact


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word occurs, in order of first appearance."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts
