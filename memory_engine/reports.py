"""What the engine answers: what it found in a message, and what became of each statement of a turn."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .records import MemoryItem, Record
from .wire import FrozenModel, GateAction, MemoryTier, Text, WireModel

LearnedAction = Literal["added", "merged", "replaced", "quarantined", "rejected"]


class DeterministicMemory(FrozenModel):
    """A statement that rules found in a message."""

    content: Text
    domains: list[Text]


class FastGateResult(FrozenModel):
    """Whether the message seems to correct an earlier premise; `matched` is the piece of text that says so."""

    action: GateAction
    caution_note: Text | None = None
    detected_domains: list[Text] | None = None
    matched: Text | None = None


class Memory(FrozenModel):
    """A memory as the service shows it. Times are milliseconds."""

    id: Text
    content: Text
    gist: Text | None = None
    tier: MemoryTier
    domains: list[Text]
    access_count: int
    source: Text | None = None
    session_id: Text | None = None
    created_at: int
    last_accessed_at: int


class RejectedStatement(FrozenModel):
    """A statement that was not kept, and why. A secret is never repeated here."""

    content: Text
    reason: Text


class LearnCounts(WireModel):
    """How many statements went which way."""

    stored: int = 0
    merged: int = 0
    rejected: int = 0
    tensions: int = 0
    promoted: int = 0


class LearnResult(WireModel):
    """What learning did. Nothing is silent: each statement is in one of the lists."""

    stored: list[Memory] = Field(default_factory=list)
    merged_into: list[Memory] = Field(default_factory=list)
    counts: LearnCounts = Field(default_factory=LearnCounts)
    rejected: list[RejectedStatement] = Field(default_factory=list)


class LearnedFact(WireModel):
    """What became of one statement; `target_ids` are the memories it was merged into or took the place of."""

    content: Text
    action: LearnedAction
    id: Text | None = None
    target_ids: list[Text] = Field(default_factory=list)
    reason: Text | None = None


class PostTurnResult(LearnResult):
    """`LearnResult` with one line per statement, why nothing was learned, and which stages failed."""

    facts: list[LearnedFact] = Field(default_factory=list)
    learning_skipped: Text | None = None
    errors: list[Text] = Field(default_factory=list)


def memory_of(record: Record) -> Memory:
    """A row as the service shows it."""
    return Memory.model_construct(
        id=record.id,
        content=record.content,
        gist=record.gist,
        tier=record.tier,
        domains=list(record.domains),
        access_count=record.access_count,
        source=record.source,
        session_id=record.source_session_id,
        created_at=record.created_at,
        last_accessed_at=record.last_accessed_at,
    )


def memory_of_item(item: MemoryItem) -> Memory:
    """An item as the service shows it."""
    return Memory.model_construct(
        id=item.id,
        content=item.content,
        gist=item.gist,
        tier=item.tier,
        domains=list(item.metadata.domains),
        access_count=item.metadata.access_count,
        source=item.source,
        session_id=item.metadata.source_session_id,
        created_at=item.metadata.created_at,
        last_accessed_at=item.metadata.last_accessed_at,
    )
