"""Moving memories between the index and the warm store after a turn, without a model."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from .evaluation import ArbiterEvaluationResult, Demotion, Promotion
from .ranking import leading
from .records import Record
from .stems import ranking_terms
from .store import MemoryStore
from .text import SCAN_LIMIT
from .tokens import overlap_score, relevance_tokens

PROMOTE_THRESHOLD = 0.12
"""A memory must overlap with the turn by more than this to enter the index."""

MOST_CANDIDATES = 20
MOST_PROMOTIONS = 3
MOST_DEMOTIONS = 5
SMALLEST_INDEX = 5
"""The index is never demoted below this size."""

_DEMOTION_SCAN = 64


def evaluate_turn(
    store: MemoryStore, user_message: str, assistant_response: str, fresh: AbstractSet[str]
) -> ArbiterEvaluationResult:
    """Promotes up to three memories the turn is about, demotes up to five old ones it has no word in common with.

    `fresh` are the ids of this turn's own memories, which are not demoted.
    """
    turn = f"{user_message[:SCAN_LIMIT]}\n{assistant_response[:SCAN_LIMIT]}"
    tokens = relevance_tokens(turn) | relevance_tokens(assistant_response)
    return ArbiterEvaluationResult.model_construct(
        promotions=_promotions(store, turn, tokens),
        demotions=_demotions(store, tokens, fresh),
        pins=[],
        detected_tensions=[],
    )


def _promotions(store: MemoryStore, turn: str, tokens: set[str]) -> list[Promotion]:
    scored = [(overlap_score(tokens, _shown(record)), record) for record in _candidates(store, turn)]
    relevant = [(score, record) for score, record in scored if score > PROMOTE_THRESHOLD]
    relevant.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [
        Promotion(memory_id=record.id, signal_type="anticipatory", urgency=min(1.0, score))
        for score, record in relevant[:MOST_PROMOTIONS]
    ]


def _candidates(store: MemoryStore, turn: str) -> list[Record]:
    matches = store.index.rank(ranking_terms(turn))
    order = leading(matches.scores, matches.shared, store.index.created[matches.slots], 4 * MOST_CANDIDATES)
    candidates: list[Record] = []
    for at in order[: 16 * MOST_CANDIDATES]:
        record = store.get(store.index.id_at(int(matches.slots[at])))
        if record is not None and record.tier in ("L2", "L3") and record.is_injectable:
            candidates.append(record)
        if len(candidates) == MOST_CANDIDATES:
            break
    return candidates


def _demotions(store: MemoryStore, tokens: set[str], fresh: AbstractSet[str]) -> list[Demotion]:
    most = min(MOST_DEMOTIONS, len(store.hot) - SMALLEST_INDEX)
    hot = store.tier("L1")
    demotions: list[Demotion] = []
    for memory_id, _ in zip(store.hot.oldest_first(), range(_DEMOTION_SCAN), strict=False):
        if len(demotions) >= most:
            break
        if memory_id not in fresh and not tokens & _shown(hot[memory_id]):
            demotions.append(Demotion(memory_id=memory_id, reason="no word in common with the turn"))
    return demotions


def _shown(record: Record) -> set[str]:
    return relevance_tokens(" ".join((record.bookmark, *record.domains)))
