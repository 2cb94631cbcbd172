"""The formulas of BM25, and the order of what they find.

BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, https://doi.org/10.1561/1500000019
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
"""How soon a repeated word stops counting."""
B = 0.4
"""How much a long text is held against itself."""


def inverse_document_frequency(total: int, frequency: int) -> float:
    """The weight of a word that `frequency` of `total` documents hold; always positive."""
    return math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))


def bm25_weights(counts: NDArray[np.float32], lengths: NDArray[np.float32], mean_length: float) -> NDArray[np.float32]:
    """The saturated count of one word in each of (n,) documents of the given lengths in words."""
    norm = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / mean_length) * lengths
    return (counts * np.float32(K1 + 1.0) / (counts + norm)).astype(np.float32, copy=False)


def leading(
    scores: NDArray[np.float32], overlaps: NDArray[np.float32], created: NDArray[np.int64], count: int
) -> NDArray[np.intp]:
    """Positions of the `count` best and of all that tie with the last of them, best first.

    By score, then overlap, then the newer. `argpartition` alone would break ties at random.
    """
    if len(scores) > count:
        threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
        chosen = np.flatnonzero(scores >= threshold)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.lexsort((-created[chosen], -overlaps[chosen], -scores[chosen]))]
