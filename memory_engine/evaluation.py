"""What an arbiter is shown, and what it may decide."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .knowledge import TrajectoryPrediction
from .wire import Ratio, ReconcileAction, SignalType, TensionImpact, Text, WireModel


class Promotion(WireModel):
    """Moves a memory into the index that every prompt shows."""

    memory_id: Text
    target_tier: Literal["L1"] = "L1"
    signal_type: SignalType
    urgency: Ratio


class Demotion(WireModel):
    """Takes a memory out of that index."""

    memory_id: Text
    target_tier: Literal["L2"] = "L2"
    reason: Text


class Pin(WireModel):
    """Keeps a memory in every prompt with its full text."""

    memory_id: Text
    target_tier: Literal["L0"] = "L0"
    reason: Text


class DetectedTension(WireModel):
    """Two statements seen to contradict each other."""

    claim_a: Text
    claim_b: Text
    impact: TensionImpact
    actionable_question: Text


class SelfModelUpdate(WireModel):
    """How a turn went in one domain; without `success` nothing is recorded."""

    domain: Text
    success: bool | None = None
    failure_pattern_observed: Text | None = None


class ArbiterEvaluationResult(WireModel):
    """Everything one evaluation changes, applied in the order of the fields."""

    promotions: list[Promotion] = Field(default_factory=list)
    demotions: list[Demotion] = Field(default_factory=list)
    pins: list[Pin] = Field(default_factory=list)
    detected_tensions: list[DetectedTension] = Field(default_factory=list)
    trajectory_prediction: TrajectoryPrediction | None = None
    self_model_update: SelfModelUpdate | None = None


class MemorySummary(WireModel):
    """A memory as an arbiter sees it."""

    id: Text
    bookmark: Text
    domains: list[Text]
    has_tension: bool | None = None


class ArbiterInput(WireModel):
    """One finished turn with the memories it may move."""

    turn_text: Text
    assistant_reply: Text
    l0_prompt: Text
    l1_summaries: list[MemorySummary]
    candidates: list[MemorySummary]


class MemoryReconciliation(WireModel):
    """The verdict on one candidate memory compared with what is held.

    Verdict i is about item i unless `index` says otherwise. `target_ids` are the held memories a merge or a replacement is
    about; without them it is the nearest one.
    """

    action: ReconcileAction
    content: Text | None = None
    reason: Text | None = None
    index: int | None = None
    target_ids: list[Text] = Field(default_factory=list)


class ReconcileItem(WireModel):
    """One candidate and the held statements it resembles, nearest first.

    `remember_hashes` are those of the held texts: a verdict counts only for what the reconciler has seen.
    """

    candidate: Text
    remember: list[Text]
    remember_ids: list[Text] = Field(default_factory=list)
    remember_hashes: list[Text] = Field(default_factory=list)
    index: int | None = None


class ReconcileInput(WireModel):
    """Every candidate of one turn, so that one call decides them all."""

    items: list[ReconcileItem]


class ExtractedMemory(WireModel):
    """A statement a model found in a turn."""

    content: Text
    domains: list[Text] = Field(default_factory=list)


class ExtractionResult(WireModel):
    """What a model found in a turn."""

    memories: list[ExtractedMemory]
    tensions: list[DetectedTension] | None = None
