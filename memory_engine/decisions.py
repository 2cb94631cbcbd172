"""Carrying out what an arbiter decided."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from .evaluation import ArbiterEvaluationResult, DetectedTension, SelfModelUpdate
from .knowledge import Claim
from .self_model import domain_key, record_outcome
from .state import State
from .tensions import new_tension

_LONGEST_DOMAIN = 100
_LONGEST_PATTERN = 500


def apply_evaluation(
    state: State, evaluation: ArbiterEvaluationResult, now: int, keep: AbstractSet[str] = frozenset()
) -> int:
    """Promotions, demotions, pins, tensions, self-model, in this order. Returns how many memories were promoted.

    A memory that is promoted and demoted at once ends in the warm store. Unknown ids are ignored, and demotions of the
    memories in `keep`.
    """
    promoted = sum(_promote(state, promotion.memory_id, now) for promotion in evaluation.promotions)
    for demotion in evaluation.demotions:
        record = state.store.get(demotion.memory_id)
        if record is not None and record.tier == "L1" and record.id not in keep:
            state.store.move(record, "L2")
    for pin in evaluation.pins:
        record = state.store.get(pin.memory_id)
        if record is not None and record.tier != "L0" and record.is_injectable:
            state.store.move(record, "L0")
    for seen in evaluation.detected_tensions:
        _add_tension(state, seen, now)
    if evaluation.self_model_update is not None:
        _update_self_model(state, evaluation.self_model_update)
    return promoted


def unknown_ids(state: State, evaluation: ArbiterEvaluationResult) -> list[str]:
    """Ids that an evaluation names and no memory has, each once."""
    named = [move.memory_id for move in evaluation.promotions]
    named += [move.memory_id for move in evaluation.demotions]
    named += [move.memory_id for move in evaluation.pins]
    return list(dict.fromkeys(memory_id for memory_id in named if memory_id not in state.store))


def _promote(state: State, memory_id: str, now: int) -> bool:
    record = state.store.get(memory_id)
    if record is None or record.tier not in ("L2", "L3") or not record.is_injectable:
        return False
    state.store.move(record, "L1")
    state.store.touch(record, now)
    return True


def _add_tension(state: State, seen: DetectedTension, now: int) -> None:
    first, second = (Claim(source="arbiter", statement=text, timestamp=now) for text in (seen.claim_a, seen.claim_b))
    tension = new_tension(first, second, seen.impact, seen.actionable_question)
    state.stats.tensions_detected += state.tensions.add(tension)


def _update_self_model(state: State, update: SelfModelUpdate) -> None:
    domain, pattern = update.domain[:_LONGEST_DOMAIN], update.failure_pattern_observed
    if update.success is not None and domain_key(domain):
        record_outcome(state.self_model, domain, update.success, pattern[:_LONGEST_PATTERN] if pattern else None)
