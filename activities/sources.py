"""What a turn's answer may rest on: passages that were retrieved for it, who may see them, and their bounds. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from activities.json_values import clean_json, clean_text, encoded_size
from activities.wire import Wire

MAX_SOURCES = 20
# As a history carries them: the beginning of each, and all together.
EXCERPT_CHARS = 2_000
SHORTEST_EXCERPT = 200
SOURCES_BYTES = 32_000
METADATA_BYTES = 1_000
NAME_CHARS = 300
BYTES_PER_TOKEN = 4
# Less of a passage than this says nothing.
LEAST_TOKENS = 50

Classification = Literal["public", "internal", "confidential", "restricted"]
Status = Literal["active", "draft", "archived", "deprecated"]


class RagRetrievedChunk(Wire):
    """One passage. Source: RagRetrievedChunk of AgentOS. `metadata.cut` says that only the beginning of `content` is here."""

    id: str
    content: str = ""
    original_document_id: str = ""
    data_source_id: str | None = None
    source: str | None = None
    metadata: dict[str, Any] | None = None
    relevance_score: float | None = None
    embedding: tuple[float, ...] | None = None
    tenant_id: str | None = None
    acl_groups: tuple[str, ...] | None = Field(default=None, max_length=100)
    classification: Classification | None = None
    status: Status | None = None
    effective_date: datetime | None = None
    expires_at: datetime | None = None

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}

    @property
    def title(self) -> str:
        """What a reader calls it."""
        title = (self.metadata or {}).get("title")
        return str(title) if title else self.source or self.original_document_id or self.id


class Sources(Wire):
    """The sources of a turn as the store keeps them: those that stand in its prompts."""

    sources: tuple[RagRetrievedChunk, ...] = ()


def may_be_shown(
    tenant_id: str | None,
    acl_groups: Sequence[str] | None,
    status: Status | None,
    effective_date: datetime | None,
    expires_at: datetime | None,
    *,
    tenant: str,
    groups: Iterable[str],
    now: datetime,
) -> bool:
    """Whether a document or passage may be shown to this tenant and these groups now: its own, active, and in force."""
    return (
        tenant_id in (None, tenant)
        and (not acl_groups or not set(acl_groups).isdisjoint(groups))
        and status in (None, "active")
        and (effective_date is None or _aware(effective_date) <= now)
        and (expires_at is None or now < _aware(expires_at))
    )


def interleaved(rankings: Sequence[Sequence[RagRetrievedChunk]], limit: int) -> list[RagRetrievedChunk]:
    """The best of several rankings, taken in turns, since their scores do not compare; each id once."""
    taken: dict[tuple[str, str], RagRetrievedChunk] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                source = ranking[place]
                taken.setdefault((source.data_source_id or "", source.id), source)
    return list(taken.values())[: min(limit, MAX_SOURCES)]


def within_tokens(sources: Sequence[RagRetrievedChunk], most: int) -> tuple[RagRetrievedChunk, ...]:
    """The sources as a prompt shows them: in order while there is room, the last one cut to it, without embeddings."""
    kept: list[RagRetrievedChunk] = []
    room = most * BYTES_PER_TOKEN
    for source in sources:
        if room < LEAST_TOKENS * BYTES_PER_TOKEN:
            break
        content = clean_text(source.content).strip()
        shown = content.encode()[:room].decode("utf-8", "ignore")
        if not shown:
            continue
        room -= len(shown.encode())
        kept.append(_with_content(_tidied(source), shown, is_cut=len(shown) < len(content)))
    return tuple(kept)


def excerpts(sources: Sequence[RagRetrievedChunk], most_bytes: int = SOURCES_BYTES) -> tuple[RagRetrievedChunk, ...]:
    """The sources as a history or a chunk carries them: small enough together, the last ones left out if need be."""
    chars = EXCERPT_CHARS
    kept = [_excerpt(source, chars) for source in sources[:MAX_SOURCES]]
    while encoded_size(kept) > most_bytes and chars > SHORTEST_EXCERPT:
        chars //= 2
        kept = [_excerpt(source, chars) for source in kept]
    while encoded_size(kept) > most_bytes:
        kept.pop()
    return tuple(kept)


def numbered(sources: Sequence[RagRetrievedChunk]) -> str:
    """The text that a prompt quotes: each passage numbered, under its title."""
    return "\n\n".join(f"[{number}] {source.title}\n{source.content}" for number, source in enumerate(sources, start=1))


def _excerpt(source: RagRetrievedChunk, chars: int) -> RagRetrievedChunk:
    if len(source.content) <= chars:
        return source
    return _with_content(source, source.content[:chars], is_cut=True)


def _with_content(source: RagRetrievedChunk, content: str, *, is_cut: bool) -> RagRetrievedChunk:
    metadata = {**(source.metadata or {}), "cut": True} if is_cut else source.metadata
    return source.model_copy(update={"content": content, "metadata": metadata})


def _tidied(source: RagRetrievedChunk) -> RagRetrievedChunk:
    """The source with every other field clean and bounded."""
    metadata = clean_json(source.metadata) if source.metadata else None
    if metadata is not None and encoded_size(metadata) > METADATA_BYTES:
        title = str(metadata.get("title", ""))[:NAME_CHARS]
        metadata = {"title": title} if title else None
    return source.model_copy(
        update={
            "id": _name(source.id),
            "original_document_id": _name(source.original_document_id),
            "data_source_id": _name(source.data_source_id),
            "source": _name(source.source),
            "tenant_id": _name(source.tenant_id),
            "acl_groups": tuple(map(_name, source.acl_groups[:20])) if source.acl_groups else None,
            "metadata": metadata,
            "embedding": None,
        }
    )


def _name(text: str | None) -> str | None:
    return None if text is None else " ".join(clean_text(text).split())[:NAME_CHARS]


def _aware(instant: datetime) -> datetime:
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
