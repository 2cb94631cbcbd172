"""What the engine holds, as the service shows it. Reads only."""

from collections.abc import Iterable

from memory_engine import (
    CognitiveMemory,
    KnowledgeTension,
    LearnCounts,
    MemoryTier,
    PostTurnResult,
    RejectedStatement,
    SelfModel,
    Stats,
    Tension,
    TensionStatus,
    TensionTotals,
    WeakDomain,
    has_secret,
    weak_domains,
)
from worker.memory_service.wire import Learned, MemoryListing, MemoryListingStats

RECENT = 5
MOST_ERRORS = 20
_SHOWN_CHARS = 200


def listing(engine: CognitiveMemory, tier: MemoryTier | None, offset: int, limit: int) -> MemoryListing:
    """Some of the memories, the newest first, and what there is in all."""
    totals = engine.totals()
    return MemoryListing(
        memories=engine.newest(tier, offset, limit),
        stats=MemoryListingStats(
            total=totals.total,
            by_tier=totals.by_tier,
            sessions=totals.sessions,
            active_tensions=engine.active_tension_count,
            created_at=totals.first_stored_at,
            last_accessed_at=totals.last_accessed_at,
        ),
    )


def stats_of(engine: CognitiveMemory) -> Stats:
    """The overview."""
    tensions = active_tensions(engine)
    return Stats(
        memories=engine.totals(),
        tensions=TensionTotals(active=len(tensions)),
        weak_domains=weak_in(engine),
        recent=engine.newest(limit=RECENT),
        active_tensions=tensions,
    )


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


def tensions_of(engine: CognitiveMemory, status: TensionStatus | None = None) -> list[Tension]:
    """Contradictions, the newest first."""
    found = engine.tensions(status)[::-1]
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


def learned(results: Iterable[PostTurnResult]) -> Learned:
    """What several calls did, as one result."""
    whole = Learned(counts=LearnCounts())
    errors: list[str] = []
    for result in results:
        whole.stored += result.stored
        whole.merged_into += result.merged_into
        whole.rejected += result.rejected
        errors += result.errors
        for name in type(whole.counts).model_fields:
            setattr(whole.counts, name, getattr(whole.counts, name) + getattr(result.counts, name))
    whole.errors = list(dict.fromkeys(errors))[:MOST_ERRORS] or None
    return whole


def not_learned(message: str, reason: str) -> RejectedStatement:
    """A message that taught nothing as a whole, and why. What may hold a secret is not repeated."""
    shown = "[redacted]" if has_secret(message) else message[:_SHOWN_CHARS]
    return RejectedStatement(content=shown, reason=reason)


def _newest_claim(tension: KnowledgeTension) -> int:
    return max(tension.claim_a.timestamp, tension.claim_b.timestamp)
