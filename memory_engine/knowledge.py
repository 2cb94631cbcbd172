"""What the engine knows besides memories: open contradictions, and how well it does in each field."""

from __future__ import annotations

from pydantic import Field

from .wire import Count, Millis, Ratio, TensionImpact, TensionStatus, Text, WireModel


class Claim(WireModel):
    """One side of a contradiction; `source` is who said it, or the id of the memory that holds it."""

    source: Text
    statement: Text
    timestamp: Millis


class Resolution(WireModel):
    """How a contradiction ended. `pattern` is what can be reused, and may be empty."""

    resolved_at: Millis
    resolved_by: Text
    pattern: Text


class KnowledgeTension(WireModel):
    """Two claims that cannot both be true, kept in every prompt until somebody decides."""

    id: Text
    status: TensionStatus
    claim_a: Claim
    claim_b: Claim
    impact: TensionImpact
    task_relevance: Ratio
    actionable_question: Text
    resolution: Resolution | None = None


class DomainCapability(WireModel):
    """How reliable work in one domain has been: 0.0 to 1.0, three decimals."""

    reliability_score: Ratio
    sample_count: Count
    known_failure_patterns: list[Text]
    recommended_strategies: list[Text]


class ProprioceptiveSelfModel(WireModel):
    """The record per domain. `calibration_factor` is 1.0 when predictions were right, below 0.7 when overconfident."""

    domains: dict[Text, DomainCapability] = Field(default_factory=dict)
    calibration_factor: Ratio = 1.0
    active_domains: list[Text] = Field(default_factory=list)


class TrajectoryPrediction(WireModel):
    """What the next turn may be about."""

    predicted_domains: list[Text]
    predicted_files: list[Text]
    prefetch_memory_ids: list[Text]
    confidence: Ratio
