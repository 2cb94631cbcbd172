"""What the engine holds, as the service shows it. Reads only."""

from collections import Counter
from collections.abc import Iterable

from memory_engine import (
    CognitiveMemory,
    KnowledgeTension,
    LearnCounts,
    LearnResult,
    MemoryItem,
    MemoryTier,
    MemoryTotals,
    PostTurnResult,
    RejectedStatement,
    SelfModel,
    Stats,
    Tension,
    TensionTotals,
    WeakDomain,
    has_secret,
    memory_of_item,
    weak_domains,
)
from worker.memory_service.wire import MemoryListing, MemoryListingStats

RECENT = 5
TIERS: tuple[MemoryTier, ...] = ("L0", "L1", "L2", "L3")
_SHOWN_CHARS = 200


def listing(engine: CognitiveMemory, tier: str | None, offset: int, limit: int) -> MemoryListing:
    """Some of the memories, the newest first, and what there is in all."""
    items = engine.memories()
    listed = [item for item in items if tier is None or item.tier == tier]
    totals = totals_of(items)
    return MemoryListing(
        memories=[memory_of_item(item) for item in newest_first(listed)[offset : offset + limit]],
        stats=MemoryListingStats(
            total=totals.total,
            by_tier=totals.by_tier,
            sessions=totals.sessions,
            active_tensions=len(active_tensions(engine)),
            created_at=totals.first_stored_at,
            last_accessed_at=totals.last_accessed_at,
        ),
    )


def stats_of(engine: CognitiveMemory) -> Stats:
    """The overview."""
    items = engine.memories()
    tensions = active_tensions(engine)
    return Stats(
        memories=totals_of(items),
        tensions=TensionTotals(active=len(tensions)),
        weak_domains=weak_in(engine),
        recent=[memory_of_item(item) for item in newest_first(items)[:RECENT]],
        active_tensions=tensions,
    )


def totals_of(items: Iterable[MemoryItem]) -> MemoryTotals:
    """Counts and times; the times are 0 when there is nothing."""
    items = list(items)
    counted = Counter(item.tier for item in items)
    return MemoryTotals(
        total=len(items),
        by_tier={tier: counted[tier] for tier in TIERS},
        sessions=len({item.metadata.source_session_id for item in items} - {None}),
        first_stored_at=min((item.metadata.created_at for item in items), default=0),
        last_accessed_at=max((item.metadata.last_accessed_at for item in items), default=0),
    )


def newest_first(items: Iterable[MemoryItem]) -> list[MemoryItem]:
    """By when they were stored, then by id."""
    return sorted(items, key=lambda item: (-item.metadata.created_at, item.id))


def weak_in(engine: CognitiveMemory) -> list[WeakDomain]:
    """The domains that put a warning into prompts, the worst first."""
    model = engine.self_model
    return [
        WeakDomain(domain=name, reliability_score=known.reliability_score, sample_count=known.sample_count)
        for name in weak_domains(model)
        if (known := model.domains[name])
    ]


def self_model_of(engine: CognitiveMemory) -> SelfModel:
    """Reliability by domain."""
    model = engine.self_model
    return SelfModel(
        calibration_factor=model.calibration_factor,
        active_domains=model.active_domains,
        domains=model.domains,
        weak_domains=weak_domains(model),
    )


def tensions_of(engine: CognitiveMemory, status: str | None = None) -> list[Tension]:
    """Contradictions, the newest first."""
    found = [each for each in reversed(engine.tensions()) if status is None or each.status == status]
    found.sort(key=_newest_claim, reverse=True)
    return [flat(each) for each in found]


def active_tensions(engine: CognitiveMemory) -> list[Tension]:
    """The contradictions that nobody has decided yet."""
    return tensions_of(engine, "active")


def flat(tension: KnowledgeTension) -> Tension:
    """A contradiction with its resolution laid flat."""
    resolution = tension.resolution
    return Tension(
        id=tension.id,
        status=tension.status,
        claim_a=tension.claim_a,
        claim_b=tension.claim_b,
        impact=tension.impact,
        actionable_question=tension.actionable_question,
        resolved_by=None if resolution is None else resolution.resolved_by,
        pattern=None if resolution is None else resolution.pattern,
    )


def learned(results: Iterable[PostTurnResult]) -> LearnResult:
    """What several calls did, as one result."""
    whole = LearnResult(counts=LearnCounts())
    for result in results:
        whole.stored += result.stored
        whole.merged_into += result.merged_into
        whole.rejected += result.rejected
        for name in type(whole.counts).model_fields:
            setattr(whole.counts, name, getattr(whole.counts, name) + getattr(result.counts, name))
    return whole


def not_learned(message: str, reason: str) -> RejectedStatement:
    """A message that taught nothing as a whole, and why. What may hold a secret is not repeated."""
    shown = "[redacted]" if has_secret(message) else message[:_SHOWN_CHARS]
    return RejectedStatement(content=shown, reason=reason)


def _newest_claim(tension: KnowledgeTension) -> int:
    return max(tension.claim_a.timestamp, tension.claim_b.timestamp)
