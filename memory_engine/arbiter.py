"""Moving memories between the index and the warm store after a turn, without a model."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice

from .evaluation import ArbiterEvaluationResult, ArbiterInput, Demotion, MemorySummary, Promotion
from .ranking import leading
from .records import Record
from .state import State
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
_MOST_SHOWN = 100


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


def arbiter_input(
    state: State, turn_text: str, assistant_reply: str, l0_prompt: str, fresh: AbstractSet[str]
) -> ArbiterInput:
    """What an arbiter is shown: the newest hot memories, and the colder ones that the turn or its lessons are about."""
    store = state.store
    tense = {claim.source for tension in state.tensions.active() for claim in (tension.claim_a, tension.claim_b)}
    hot = [record for memory_id in islice(store.hot, _MOST_SHOWN) if (record := store.get(memory_id))]
    learned = [record for memory_id in sorted(fresh) if (record := store.get(memory_id)) and _may_rise(record)]
    related = _candidates(store, f"{turn_text[:SCAN_LIMIT]}\n{assistant_reply[:SCAN_LIMIT]}")
    candidates = {record.id: record for record in (*learned, *related)}
    return ArbiterInput(
        turn_text=turn_text,
        assistant_reply=assistant_reply,
        l0_prompt=l0_prompt,
        l1_summaries=[_summary(record, tense) for record in hot if record.is_injectable],
        candidates=[_summary(record, tense) for record in candidates.values()],
    )


def _summary(record: Record, tense: AbstractSet[str]) -> MemorySummary:
    has_tension = True if record.id in tense else None
    return MemorySummary(id=record.id, bookmark=record.bookmark, domains=list(record.domains), has_tension=has_tension)


def _may_rise(record: Record) -> bool:
    return record.tier in ("L2", "L3") and record.is_injectable


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
    best = leading(matches, store.index.created, 4 * MOST_CANDIDATES)
    candidates: list[Record] = []
    for slot in best.slots[: 16 * MOST_CANDIDATES].tolist():
        record = store.get(store.index.id_at(slot))
        if record is not None and _may_rise(record):
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


def _shown(record: Record) -> AbstractSet[str]:
    return _tokens(" ".join((record.bookmark, *record.domains)))


@lru_cache(maxsize=4096)
def _tokens(shown: str) -> frozenset[str]:
    # The same memories are candidates turn after turn.
    return frozenset(relevance_tokens(shown))
