"""What a look into the index finds, as parallel arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int64]
Scores = NDArray[np.float32]


class Matches:
    """Slots that share a word with a query, with their scores, in the order of the slots.

    What a memory has in common with the query (`shares`, by slots, in [0, 1]) decides between equal scores, so it is worked
    out for the few that come that far.
    """

    __slots__ = ("scores", "shares", "slots")

    def __init__(self, slots: Slots, scores: Scores, shares: Callable[[Slots], Scores]) -> None:
        self.slots = slots
        self.scores = scores
        self.shares = shares

    def __len__(self) -> int:
        return len(self.slots)

    def without(self, places: NDArray[np.intp]) -> Matches:
        """The matches that do not stand at these places."""
        kept = np.ones(len(self.slots), np.bool_)
        kept[places] = False
        return Matches(self.slots[kept], self.scores[kept], self.shares)
