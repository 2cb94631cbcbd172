"""The formulas of BM25, and the order of what they find.

BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, https://doi.org/10.1561/1500000019
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from .matches import Matches

K1 = 0.9
"""How soon a repeated word stops counting."""
B = 0.4
"""How much a long text is held against itself."""

_SAMPLED = 16


def inverse_document_frequency(total: int, frequency: int) -> float:
    """The weight of a word that `frequency` of `total` documents hold; always positive."""
    return math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))


def bm25_weights(counts: NDArray[np.float32], lengths: NDArray[np.float32], mean_length: float) -> NDArray[np.float32]:
    """The saturated count of one word in each of (n,) documents of the given lengths in words."""
    norm = np.float32(K1 * (1.0 - B)) + np.float32(K1 * B / mean_length) * lengths
    return (counts * np.float32(K1 + 1.0) / (counts + norm)).astype(np.float32, copy=False)


@dataclass(frozen=True, slots=True)
class Leaders:
    """The best matches as parallel arrays, the best first; `places` are those among the matches."""

    places: NDArray[np.intp]
    slots: NDArray[np.int64]
    scores: NDArray[np.float32]
    shares: NDArray[np.float32]
    created: NDArray[np.int64]

    def groups(self) -> Iterator[list[int]]:
        """The slots in their order; those that nothing told apart stand in one group."""
        ranks = zip(self.scores.tolist(), self.shares.tolist(), self.created.tolist(), strict=True)
        for _, group in groupby(zip(ranks, self.slots.tolist(), strict=True), key=itemgetter(0)):
            yield [slot for _, slot in group]


def leading(matches: Matches, created: NDArray[np.int64], count: int) -> Leaders:
    """The `count` best matches and all that tie with the last of them.

    By score, then by what is shared, then the newer; `created` is by slot. `argpartition` alone would break ties at random.
    """
    scores = matches.scores
    chosen = np.flatnonzero(scores >= nth_best(scores, count)) if len(scores) > count else np.arange(len(scores))
    slots, scores = matches.slots[chosen], scores[chosen]
    shares, since = _shares_of_tied(matches, slots, scores), created[slots]
    order = np.lexsort((-since, -shares, -scores))
    return Leaders(chosen[order], slots[order], scores[order], shares[order], since[order])


def _shares_of_tied(matches: Matches, slots: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """What is shared, if there are equal scores, where alone it matters; else zeros."""
    in_order = np.sort(scores)
    if (in_order[1:] == in_order[:-1]).any():
        return matches.shares(slots)
    return np.zeros(len(slots), np.float32)


def nth_best(scores: NDArray[np.float32], count: int) -> np.float32:
    """The `count`-th best of at least so many scores; that of every sixteenth alone rules most of the others out."""
    sample = scores[::_SAMPLED]
    if len(sample) > count:
        scores = scores[scores >= np.sort(sample)[-count]]
    # Sorted and not parted: with many equal scores `partition` takes ten times as long.
    best: np.float32 = np.sort(scores)[-count]
    return best
