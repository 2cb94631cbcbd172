"""What besides a memory's own words may lift it in a search: the meaning of the query, and the turns beside it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .index import LexicalIndex
from .matches import Matches

NEIGHBOUR_WEIGHT = 0.4
"""How much of its score a hit gives to each turn beside it; half of that two places away."""
MEANING_WEIGHT = 0.4
"""The share of the embeddings in the sum of both; the words, set to their best, have the rest."""
LEAST_COSINE = 0.3
"""A memory without a word of the query must be at least this near to be found by meaning alone."""

_MOST_SPREADING = 200


def with_neighbours(matches: Matches, index: LexicalIndex, reach: int, *, include_hidden: bool) -> Matches:
    """The matches, where the best 200 also lift the memories beside them in their session, matching or not."""
    if reach < 1 or not len(matches.slots):
        return matches
    best = np.argsort(-matches.scores, kind="stable")[:_MOST_SPREADING]
    lifts: dict[int, float] = {}
    for at in best:
        for memory_id, distance in index.sessions.beside(index.id_at(int(matches.slots[at])), reach):
            slot = index.slot_of(memory_id)
            if include_hidden or not index.is_hidden(slot):
                lifts[slot] = lifts.get(slot, 0.0) + NEIGHBOUR_WEIGHT * float(matches.scores[at]) / distance
    return _lifted(matches, lifts)


def with_meaning(
    matches: Matches, index: LexicalIndex, cosines: Mapping[str, float], *, include_hidden: bool
) -> Matches:
    """The weighted sum of words and meaning. Vectors of another size than the query's are not among the cosines."""
    best = float(matches.scores.max()) if len(matches.scores) else 0.0
    own_words = np.float32((1.0 - MEANING_WEIGHT) / best) if best > 0.0 else np.float32(0.0)
    scaled = Matches(matches.slots, matches.scores * own_words, matches.shares)
    known = set(matches.slots.tolist())
    lifts: dict[int, float] = {}
    for memory_id, cosine in cosines.items():
        slot = index.slot_of(memory_id)
        is_near = slot in known or cosine >= LEAST_COSINE
        if is_near and cosine > 0.0 and (include_hidden or not index.is_hidden(slot)):
            lifts[slot] = MEANING_WEIGHT * cosine
    return _lifted(scaled, lifts)


def _lifted(matches: Matches, lifts: Mapping[int, float]) -> Matches:
    if not lifts:
        return matches
    lifted = np.fromiter(lifts, np.int64, len(lifts))
    slots = np.union1d(matches.slots, lifted)
    scores = np.zeros(len(slots), np.float32)
    scores[np.searchsorted(slots, matches.slots)] = matches.scores
    scores[np.searchsorted(slots, lifted)] += np.fromiter(lifts.values(), np.float32, len(lifts))
    return Matches(slots, scores, matches.shares)
