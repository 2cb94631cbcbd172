"""What the memory service and its clients say to each other. Requests have defaults; answers have all values filled."""

from __future__ import annotations

from pydantic import Field

from .injection import MemoryInjectionEntry, MemoryInjectionReport
from .knowledge import Claim, DomainCapability
from .reports import Memory
from .wire import ExtractorMode, FrozenModel, Impact, MemoryTier, TensionStatus, Text, WireModel

ContextEntry = MemoryInjectionEntry
ContextReport = MemoryInjectionReport


class RecallHit(FrozenModel):
    """A memory that matched, with its share of common words, rounded to four decimals."""

    memory: Memory
    score: float


class RecallResponse(FrozenModel):
    """What was found; `empty` tells a model to admit that it was not told."""

    results: list[RecallHit]
    empty: bool


class Tension(FrozenModel):
    """A contradiction, with its resolution laid flat."""

    id: Text
    status: TensionStatus
    claim_a: Claim
    claim_b: Claim
    impact: Impact
    actionable_question: Text
    resolved_by: Text | None = None
    pattern: Text | None = None


class SelfModel(FrozenModel):
    """Reliability by domain; `weak_domains` are those under 0.75."""

    calibration_factor: float
    active_domains: list[Text]
    domains: dict[Text, DomainCapability]
    weak_domains: list[Text]


class Limits(FrozenModel):
    """The ceilings of a service."""

    max_total_tokens: int
    max_index_items: int
    default_recall_limit: int


class Health(FrozenModel):
    """Whether a service is up, how it extracts, and which settings it could not use."""

    ok: bool
    service: Text
    version: Text
    extractor: ExtractorMode
    limits: Limits
    problems: list[Text] = Field(default_factory=list)


class MemoryTotals(FrozenModel):
    """How much is held. Times are milliseconds."""

    total: int
    by_tier: dict[MemoryTier, int]
    sessions: int
    first_stored_at: int
    last_accessed_at: int


class TensionTotals(FrozenModel):
    """How many contradictions are undecided."""

    active: int


class WeakDomain(FrozenModel):
    """A domain under 0.75."""

    domain: Text
    reliability_score: float
    sample_count: int


class Stats(FrozenModel):
    """An overview, with the five newest memories."""

    memories: MemoryTotals
    tensions: TensionTotals
    weak_domains: list[WeakDomain]
    recent: list[Memory]
    active_tensions: list[Tension]


class RememberItem(WireModel):
    """A statement to keep."""

    content: Text
    domains: list[Text] | None = None
    tier: MemoryTier | None = None


class RememberRequest(WireModel):
    """Statements to keep as they are."""

    items: list[RememberItem]
    session_id: Text | None = None
    reconcile: bool | None = None


class ListMemoriesParams(WireModel):
    """Which memories to list."""

    limit: int | None = None
    tier: MemoryTier | None = None


class RecallRequest(WireModel):
    """What to look for."""

    query: Text
    limit: int | None = None


class TurnRequest(WireModel):
    """A finished exchange to learn from."""

    user_message: Text
    assistant_response: Text
    session_id: Text | None = None


class ContextRequest(WireModel):
    """The message about to be answered, and ids whose body is wanted anyway."""

    user_message: Text | None = None
    force_full: list[Text] | None = None
    max_tokens: int | None = None
    session_id: Text | None = None


class AddTensionRequest(WireModel):
    """Two claims that contradict each other."""

    claim_a: Text
    claim_b: Text
    impact: Impact | None = None
    actionable_question: Text


class ResolveTensionRequest(WireModel):
    """Who decided, and what can be learned from it."""

    resolved_by: Text
    pattern: Text | None = None


class DomainOutcomeRequest(WireModel):
    """How a task in a domain went."""

    domain: Text
    success: bool
    failure_pattern: Text | None = None
    strategy: Text | None = None


class CognitiveMemoryErrorBody(FrozenModel):
    """The one shape of every error answer."""

    error: Text
    message: Text
    required_scope: Text | None = None
    resource: Text | None = None
    id: Text | None = None
    issues: list[Text] | None = None
