"""Every call of the service, once: what it takes, where it goes, what comes back.

A request is given whole (its model, or a mapping in either spelling) or field by field. A value of the wrong type is a
`ValueError`; what a field may hold is the service's to judge, and comes back as `CognitiveMemoryError` with `issues`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from memory_engine import (
    AddTensionRequest,
    ContextReport,
    ContextRequest,
    DomainOutcomeRequest,
    Health,
    Impact,
    LearnResult,
    ListMemoriesParams,
    Memory,
    MemoryTier,
    RecallRequest,
    RecallResponse,
    RememberItem,
    RememberRequest,
    ResolveTensionRequest,
    SelfModel,
    Stats,
    Tension,
    TensionStatus,
    TurnRequest,
    plain,
)
from worker.cogmem.call import Call, post, reader, request_of, segment
from worker.memory_service.wire import MemoryDeleted

R = TypeVar("R")
Whole: TypeAlias = R | Mapping[str, Any]
Item: TypeAlias = str | RememberItem | Mapping[str, Any]

_memory = reader(Memory, "memory")
_memories = reader(list[Memory], "memories")
_deleted = reader(MemoryDeleted)
_learned = reader(LearnResult)
_report = reader(ContextReport)
_recalled = reader(RecallResponse)
_tension = reader(Tension, "tension")
_tensions = reader(list[Tension], "tensions")
_self_model = reader(SelfModel)
_stats = reader(Stats)
_health = reader(Health)


def list_memories(
    params: Whole[ListMemoriesParams] | None = None,
    *,
    limit: int | None = None,
    tier: MemoryTier | None = None,
    offset: int | None = None,
) -> Call[list[Memory]]:
    """Memories, the newest first: 100 of them unless `limit` (at most 500) says otherwise, `offset` of them left out."""
    request = request_of(ListMemoriesParams, "limit", params, limit=limit, tier=tier, offset=offset)
    return Call("GET", "/memories", _memories, query=plain(request))


def get_memory(id: str) -> Call[Memory]:  # noqa: A002 - the service's own word
    """One memory."""
    return Call("GET", f"/memories/{segment(id)}", _memory)


def create_memories(
    items: Whole[RememberRequest] | Iterable[Item],
    *,
    session_id: str | None = None,
    reconcile: bool | None = None,
) -> Call[LearnResult]:
    """Keep statements as they are. Those already held are `merged_into` what holds them, refused ones are in `rejected`."""
    given = items
    if not isinstance(items, RememberRequest | Mapping):
        if isinstance(items, str):
            raise ValueError("items must be a list of statements, got one text")
        given = [{"content": item} if isinstance(item, str) else item for item in items]
    return post(
        "/memories",
        request_of(RememberRequest, "items", given, session_id=session_id, reconcile=reconcile),
        _learned,
    )


def promote_memory(id: str, tier: MemoryTier) -> Call[Memory]:  # noqa: A002
    """Move a memory to a tier. What is in L1 has a line in every context."""
    return Call("PATCH", f"/memories/{segment(id)}", _memory, body={"tier": tier})


def remove_memory(id: str) -> Call[MemoryDeleted]:  # noqa: A002
    """Forget a memory; `deleted` is false when there was none."""
    return Call("DELETE", f"/memories/{segment(id)}", _deleted)


def build_context(
    user_message: str | Whole[ContextRequest] | None = None,
    *,
    force_full: Iterable[str] | None = None,
    max_tokens: int | None = None,
    session_id: str | None = None,
) -> Call[ContextReport]:
    """The block for a system prompt: a line for what is remembered, whole texts where the message asks for them.

    Args:
        user_message: The message about to be answered.
        force_full: Ids of memories whose whole text is wanted anyway.
        max_tokens: Ceiling on the block.
        session_id: The conversation.
    """
    request = request_of(
        ContextRequest,
        "user_message",
        user_message,
        force_full=None if force_full is None else list(force_full),
        max_tokens=max_tokens,
        session_id=session_id,
    )
    return post("/context", request, _report)


def search(query: str | Whole[RecallRequest], *, limit: int | None = None) -> Call[RecallResponse]:
    """What matches best, without a model: 8 hits unless `limit` (at most 50) says otherwise. `empty`: nothing was told."""
    return post("/recall", request_of(RecallRequest, "query", query, limit=limit), _recalled)


def learn(
    user_message: str | Whole[TurnRequest],
    assistant_response: str | None = None,
    *,
    session_id: str | None = None,
) -> Call[LearnResult]:
    """Learn from a finished exchange. Nothing is taken from a question; `rejected` says so."""
    request = request_of(
        TurnRequest, "user_message", user_message, assistant_response=assistant_response, session_id=session_id
    )
    return post("/turns", request, _learned)


def list_tensions(status: TensionStatus | None = None) -> Call[list[Tension]]:
    """Contradictions, the newest first; without a status all."""
    return Call("GET", "/tensions", _tensions, query={} if status is None else {"status": status})


def create_tension(
    claim_a: str | Whole[AddTensionRequest],
    claim_b: str | None = None,
    actionable_question: str | None = None,
    *,
    impact: Impact | None = None,
) -> Call[Tension]:
    """Note two claims that cannot both be true. They stand in every context until one is chosen."""
    request = request_of(
        AddTensionRequest,
        "claim_a",
        claim_a,
        claim_b=claim_b,
        actionable_question=actionable_question,
        impact=impact,
    )
    return post("/tensions", request, _tension)


def resolve_tension(
    id: str,  # noqa: A002
    resolved_by: str | Whole[ResolveTensionRequest],
    *,
    pattern: str | None = None,
) -> Call[Tension]:
    """Settle a contradiction; `pattern` is what can be reused of how it was settled."""
    request = request_of(ResolveTensionRequest, "resolved_by", resolved_by, pattern=pattern)
    return post(f"/tensions/{segment(id)}", request, _tension)


def get_self_model() -> Call[SelfModel]:
    """How reliable the agent has been, domain by domain; only recorded outcomes move it."""
    return Call("GET", "/self-model", _self_model)


def record_outcome(
    domain: str | Whole[DomainOutcomeRequest],
    success: bool | None = None,
    *,
    failure_pattern: str | None = None,
    strategy: str | None = None,
) -> Call[SelfModel]:
    """Record how a task went. A domain that keeps failing gets a warning into every context."""
    request = request_of(
        DomainOutcomeRequest,
        "domain",
        domain,
        success=success,
        failure_pattern=failure_pattern,
        strategy=strategy,
    )
    return post("/self-model/outcome", request, _self_model)


def get_stats() -> Call[Stats]:
    """An overview. `stats:read` is enough for it."""
    return Call("GET", "/stats", _stats)


def get_health() -> Call[Health]:
    """Whether the service is up, its limits, and the settings it could not use. Sent without a key."""
    return Call("GET", "/health", _health, needs_key=False)
