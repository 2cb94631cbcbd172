"""A cognitive memory for agents: what to put into a prompt, what to find on request, what to learn from a turn.

Pure: no input or output, no clock, no randomness, no model. `CognitiveMemory` is the engine; the functions beside it are
the rules it works by, each usable alone.
"""

from __future__ import annotations

from .answer_schemas import EVALUATION_SCHEMA, EXTRACTION_SCHEMA, VERDICTS_SCHEMA
from .answers import parse_evaluation, parse_extraction, parse_verdicts
from .arbiter import PROMOTE_THRESHOLD
from .asks import (
    STAGES,
    Arbitrate,
    Arbitrated,
    Ask,
    Extract,
    Extracted,
    PostTurnAnswers,
    Reconcile,
    Reconciled,
    Stage,
)
from .domains import DOMAIN_KEYWORDS, Keywords, extract_domains
from .engine import CognitiveMemory
from .errors import MemoryEngineError, SnapshotCorruptError, SnapshotVersionError
from .estimate import estimate_tokens
from .evaluation import (
    ArbiterEvaluationResult,
    ArbiterInput,
    Demotion,
    DetectedTension,
    ExtractedMemory,
    ExtractionResult,
    MemoryReconciliation,
    MemorySummary,
    Pin,
    Promotion,
    ReconcileInput,
    ReconcileItem,
    SelfModelUpdate,
)
from .extraction import MAX_RULE_MEMORIES, extract_deterministic
from .gate import run_fast_gate
from .gist import bookmark_of, gist_of
from .grounding import ungrounded
from .identifiers import extract_identifiers
from .injection import MemoryInjectionEntry, MemoryInjectionReport
from .interaction import interaction_reason, is_interaction_scoped
from .knowledge import (
    Claim,
    DomainCapability,
    KnowledgeTension,
    ProprioceptiveSelfModel,
    Resolution,
    TrajectoryPrediction,
)
from .lossy import CANDIDATE_FLOOR, COLLAPSE_THRESHOLD, MAX_CANDIDATES, atoms, is_lossy_rewrite, similarity
from .migrations import SCHEMA_VERSION
from .moments import Instant, milliseconds
from .options import ENGINE_HEADING, SERVICE_HEADING, CognitiveMemoryOptions
from .passages import Passage, PassageIndex
from .post_turn import PostTurn
from .profile import Profile
from .records import MemoryItem, MemoryMetadata, SearchHit, new_item
from .rendering import render_safe
from .reports import (
    DeterministicMemory,
    FastGateResult,
    LearnCounts,
    LearnedFact,
    LearnResult,
    Memory,
    PostTurnResult,
    RejectedStatement,
    memory_of_item,
)
from .salvage import whole_values
from .screening import screen_injection
from .secrecy import has_secret
from .self_model import WEAK_BELOW, domain_key, weak_domains
from .service_types import (
    AddTensionRequest,
    CognitiveMemoryErrorBody,
    ContextEntry,
    ContextReport,
    ContextRequest,
    DomainOutcomeRequest,
    Health,
    Limits,
    ListMemoriesParams,
    MemoryTotals,
    RecallHit,
    RecallRequest,
    RecallResponse,
    RememberItem,
    RememberRequest,
    ResolveTensionRequest,
    SelfModel,
    Stats,
    Tension,
    TensionTotals,
    TurnRequest,
    WeakDomain,
)
from .snapshot import (
    CognitiveMemoryStateSnapshot,
    MemoryStats,
    Snapshot,
    dump_snapshot,
    parse_snapshot,
)
from .state import LoadReport
from .tensions import new_tension, tension_key
from .text import normalise
from .tokens import distinctive_tokens, overlap_score, relevance_tokens
from .vectors import Embedder, embedded
from .wire import (
    CognitiveMemoryTier,
    ExtractorMode,
    GateAction,
    Impact,
    InclusionReason,
    MemoryInclusionReason,
    MemorySource,
    MemoryTier,
    ReconcileAction,
    Scope,
    SignalType,
    TensionImpact,
    TensionStatus,
    plain,
)

__all__ = [
    "CANDIDATE_FLOOR",
    "COLLAPSE_THRESHOLD",
    "DOMAIN_KEYWORDS",
    "ENGINE_HEADING",
    "EVALUATION_SCHEMA",
    "EXTRACTION_SCHEMA",
    "MAX_CANDIDATES",
    "MAX_RULE_MEMORIES",
    "PROMOTE_THRESHOLD",
    "SCHEMA_VERSION",
    "SERVICE_HEADING",
    "STAGES",
    "VERDICTS_SCHEMA",
    "WEAK_BELOW",
    "AddTensionRequest",
    "ArbiterEvaluationResult",
    "ArbiterInput",
    "Arbitrate",
    "Arbitrated",
    "Ask",
    "Claim",
    "CognitiveMemory",
    "CognitiveMemoryErrorBody",
    "CognitiveMemoryOptions",
    "CognitiveMemoryStateSnapshot",
    "CognitiveMemoryTier",
    "ContextEntry",
    "ContextReport",
    "ContextRequest",
    "Demotion",
    "DetectedTension",
    "DeterministicMemory",
    "DomainCapability",
    "DomainOutcomeRequest",
    "Embedder",
    "Extract",
    "Extracted",
    "ExtractedMemory",
    "ExtractionResult",
    "ExtractorMode",
    "FastGateResult",
    "GateAction",
    "Health",
    "Impact",
    "InclusionReason",
    "Instant",
    "Keywords",
    "KnowledgeTension",
    "LearnCounts",
    "LearnResult",
    "LearnedFact",
    "Limits",
    "ListMemoriesParams",
    "LoadReport",
    "Memory",
    "MemoryEngineError",
    "MemoryInclusionReason",
    "MemoryInjectionEntry",
    "MemoryInjectionReport",
    "MemoryItem",
    "MemoryMetadata",
    "MemoryReconciliation",
    "MemorySource",
    "MemoryStats",
    "MemorySummary",
    "MemoryTier",
    "MemoryTotals",
    "Passage",
    "PassageIndex",
    "Pin",
    "PostTurn",
    "PostTurnAnswers",
    "PostTurnResult",
    "Profile",
    "Promotion",
    "ProprioceptiveSelfModel",
    "RecallHit",
    "RecallRequest",
    "RecallResponse",
    "Reconcile",
    "ReconcileAction",
    "ReconcileInput",
    "ReconcileItem",
    "Reconciled",
    "RejectedStatement",
    "RememberItem",
    "RememberRequest",
    "Resolution",
    "ResolveTensionRequest",
    "Scope",
    "SearchHit",
    "SelfModel",
    "SelfModelUpdate",
    "SignalType",
    "Snapshot",
    "SnapshotCorruptError",
    "SnapshotVersionError",
    "Stage",
    "Stats",
    "Tension",
    "TensionImpact",
    "TensionStatus",
    "TensionTotals",
    "TrajectoryPrediction",
    "TurnRequest",
    "WeakDomain",
    "atoms",
    "bookmark_of",
    "distinctive_tokens",
    "domain_key",
    "dump_snapshot",
    "embedded",
    "estimate_tokens",
    "extract_deterministic",
    "extract_domains",
    "extract_identifiers",
    "gist_of",
    "has_secret",
    "interaction_reason",
    "is_interaction_scoped",
    "is_lossy_rewrite",
    "memory_of_item",
    "milliseconds",
    "new_item",
    "new_tension",
    "normalise",
    "overlap_score",
    "parse_evaluation",
    "parse_extraction",
    "parse_snapshot",
    "parse_verdicts",
    "plain",
    "relevance_tokens",
    "render_safe",
    "run_fast_gate",
    "screen_injection",
    "similarity",
    "tension_key",
    "ungrounded",
    "weak_domains",
    "whole_values",
]
