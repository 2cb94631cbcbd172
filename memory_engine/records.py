"""One memory: the model that travels, and the slotted row the engine works on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from .gist import bookmark_of
from .spend import Line
from .wire import Count, FrozenModel, MemoryTier, Millis, Number, Text, WireModel


class MemoryMetadata(WireModel):
    """When and how a memory came to be. Times are milliseconds since 1970-01-01 UTC."""

    domains: list[Text]
    is_failure_pattern: bool | None = None
    is_successful_strategy: bool | None = None
    is_guardrail: bool | None = None
    source_session_id: Text | None = None
    created_at: Millis
    last_accessed_at: Millis
    access_count: Count


class MemoryItem(WireModel):
    """One remembered statement with its tier. Keys below `metadata` in this list survive a trip through a TS peer."""

    id: Text
    content: Text
    bookmark: Text
    gist: Text | None = None
    embedding: list[Number] | None = None
    tier: MemoryTier
    metadata: MemoryMetadata
    source: Text | None = None
    superseded_by: Text | None = None
    supersedes: list[Text] | None = None
    valid_from: Millis | None = None
    turn_id: Text | None = None
    quarantined: bool | None = None


class SearchHit(FrozenModel):
    """A memory found by `search`; `score` is the share of words in common, in [0, 1]."""

    item: MemoryItem
    score: float


@dataclass(slots=True)
class Record:
    """A memory inside the engine. `placed` orders the rows of a tier.

    `line` caches what the index prints and `encoded` what a snapshot writes: whoever changes a row clears them.
    """

    id: str
    content: str
    bookmark: str
    tier: MemoryTier
    domains: tuple[str, ...]
    created_at: int
    last_accessed_at: int
    access_count: int
    gist: str | None = None
    embedding: list[float] | None = None
    is_failure_pattern: bool | None = None
    is_successful_strategy: bool | None = None
    is_guardrail: bool | None = None
    source_session_id: str | None = None
    source: str | None = None
    superseded_by: str | None = None
    supersedes: list[str] | None = None
    valid_from: int | None = None
    turn_id: str | None = None
    quarantined: bool | None = None
    item_extra: dict[str, Any] | None = None
    metadata_extra: dict[str, Any] | None = None
    placed: int = 0
    line: Line | None = None
    encoded: str | None = None

    def clone(self) -> Record:
        """A row of its own; nested values are shared, and never changed in place."""
        return Record(*_all_fields(self))

    @property
    def is_injectable(self) -> bool:
        """Whether a plan may print it without being asked."""
        return self.superseded_by is None and not self.quarantined


_all_fields = attrgetter(*(field.name for field in fields(Record)))

_SHARED = (
    "id",
    "content",
    "bookmark",
    "gist",
    "tier",
    "source",
    "superseded_by",
    "valid_from",
    "turn_id",
    "quarantined",
)
_SHARED_METADATA = (
    "is_failure_pattern",
    "is_successful_strategy",
    "is_guardrail",
    "source_session_id",
    "created_at",
    "last_accessed_at",
    "access_count",
)


def record_of(item: MemoryItem) -> Record:
    """A row of its own: nothing in it is shared with `item`."""
    metadata = item.metadata
    return Record(
        **{name: getattr(item, name) for name in _SHARED},
        **{name: getattr(metadata, name) for name in _SHARED_METADATA},
        domains=tuple(metadata.domains),
        embedding=None if item.embedding is None else list(item.embedding),
        supersedes=None if item.supersedes is None else list(item.supersedes),
        item_extra=_copied(item.model_extra) or None,
        metadata_extra=_copied(metadata.model_extra) or None,
    )


def item_of(record: Record) -> MemoryItem:
    """The travelling form; nothing in it is shared with the row."""
    metadata = dict(zip(_SHARED_METADATA, _metadata_fields(record), strict=True)) | _copied(record.metadata_extra)
    metadata["domains"] = list(record.domains)
    item = dict(zip(_SHARED, _item_fields(record), strict=True)) | _copied(record.item_extra)
    # Several times faster than constructing without validation, which pydantic does in Python.
    return MemoryItem.model_validate(
        item | {"metadata": metadata, "embedding": record.embedding, "supersedes": record.supersedes}, by_name=True
    )


_item_fields, _metadata_fields = attrgetter(*_SHARED), attrgetter(*_SHARED_METADATA)


def _copied(extra: dict[str, Any] | None) -> dict[str, Any]:
    return copy.deepcopy(extra) if extra else {}


def new_item(
    content: str,
    *,
    id: str,  # noqa: A002 - the name it has on the wire
    now: int,
    domains: tuple[str, ...] | list[str] = (),
    tier: MemoryTier = "L2",
    gist: str | None = None,
) -> MemoryItem:
    """A fresh memory with its bookmark filled in; `now` is in milliseconds."""
    metadata = MemoryMetadata(domains=list(domains), created_at=now, last_accessed_at=now, access_count=0)
    return MemoryItem(id=id, content=content, bookmark=bookmark_of(content), gist=gist, tier=tier, metadata=metadata)
