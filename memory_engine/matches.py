"""What a look into the index finds, as parallel arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Matches:
    """Slots that share a word with a query, with their scores, unordered; all arrays have the same length."""

    __slots__ = ("scores", "shared", "slots")

    def __init__(self, slots: NDArray[np.intp], scores: NDArray[np.float32], shared: NDArray[np.float32]) -> None:
        self.slots = slots
        self.scores = scores
        self.shared = shared
