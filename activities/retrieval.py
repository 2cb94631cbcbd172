"""Finding passages that help to answer a message: among the documents of a persona, or wherever an app's retriever looks."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any, Protocol

from pydantic import ValidationError

from activities.documents import MAX_DOCUMENTS, Document, fingerprint, read_document
from activities.passages import passages_of
from activities.personas import Persona
from activities.sources import MAX_SOURCES, RagRetrievedChunk, may_be_shown
from memory_engine import Embedder, Passage, PassageIndex

DOCUMENTS = "documents"
CACHED_INDEXES = 32
EMBEDDED_AT_ONCE = 32
EMBEDDING_SECONDS = 1.0
"""How long one search may make vectors of passages; the rest waits for later ones, and is found by its words meanwhile."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """For whom and when. `limit` is how many passages are wanted; `groups` are those the host says the user is in."""

    persona: Persona
    user_id: str
    tenant: str
    now: datetime
    limit: int
    turn_id: str = ""
    conversation_id: str = ""
    session_id: str | None = None
    groups: tuple[str, ...] = ()

    def shows(self, source: Document | RagRetrievedChunk) -> bool:
        """Whether a document or passage may be shown to this user now."""
        return may_be_shown(
            source.tenant_id,
            source.acl_groups,
            source.status,
            source.effective_date,
            source.expires_at,
            tenant=self.tenant,
            groups=self.groups,
            now=self.now,
        )


class Retriever(Protocol):
    """Where an app looks things up. It may be asked again for the same turn."""

    async def retrieve(self, query: str, context: RetrievalContext) -> Sequence[RagRetrievedChunk | dict[str, Any]]:
        """Passages that help to answer the query, best first. One whose tenant, groups, status or dates are against it
        is left out afterwards all the same."""
        ...


def readable_chunks(found: Iterable[Any], context: RetrievalContext) -> list[RagRetrievedChunk]:
    """What a retriever gave, as far as it can be used: chunks, or their JSON, that this user may see. Never endless."""
    chunks = []
    for raw in islice(found, 10 * MAX_SOURCES):
        try:
            chunk = raw if isinstance(raw, RagRetrievedChunk) else RagRetrievedChunk.model_validate(raw)
        except ValidationError as wrong:
            logger.warning("a retrieved passage cannot be read: %s", wrong.errors(include_input=False)[0]["msg"])
            continue
        if context.shows(chunk):
            chunks.append(chunk)
    return chunks[: context.limit]


@dataclass(slots=True)
class _Held:
    """An index under its lock, None until somebody has made it."""

    index: "_DocumentIndex | None" = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class DocumentRetriever:
    """A `Retriever` over the documents of the persona. Indexes are made when first asked for, and kept by content."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[bytes, _Held] = OrderedDict()
        self._lock = threading.Lock()

    async def retrieve(self, query: str, context: RetrievalContext) -> list[RagRetrievedChunk]:
        """The best passages of the documents that may be shown, by words and, with an embedder, by meaning.

        Raises:
            DocumentUnreadable: a file is gone or too large.
        """
        return await asyncio.to_thread(self._search, query, context)

    def _search(self, query: str, context: RetrievalContext) -> list[RagRetrievedChunk]:
        documents = tuple(filter(context.shows, context.persona.documents[:MAX_DOCUMENTS]))
        if not documents or not query.strip():
            return []
        held = self._held(_key(documents))
        with held.lock:
            # Under the lock a vector may be added while nobody searches; a search takes a millisecond.
            if held.index is None:
                held.index = _DocumentIndex(documents, self._embedder)
            return held.index.search(query, context.limit)

    def _held(self, key: bytes) -> _Held:
        with self._lock:
            held = self._kept.setdefault(key, _Held())
            self._kept.move_to_end(key)
            while len(self._kept) > CACHED_INDEXES:
                self._kept.popitem(last=False)
            return held


class _DocumentIndex:
    """Documents and the index over their passages."""

    def __init__(self, documents: Sequence[Document], embedder: Embedder | None) -> None:
        self._passages: dict[str, tuple[Document, Passage]] = {}
        for document in documents:
            for passage in passages_of(document, read_document(document)):
                self._passages[passage.id] = document, passage
        self._index = PassageIndex((passage for _, passage in self._passages.values()), embedder)

    def search(self, query: str, limit: int) -> list[RagRetrievedChunk]:
        """The best passages."""
        try:
            self._embed()
            found = self._index.search(query, limit)
        except Exception as failure:
            # A search by words is worth more than none, whatever an embedder of somebody else raises.
            logger.warning("passages are not found by meaning: %s", failure)
            found = self._index.search(query, limit, by_meaning=False)
        return [_chunk(*self._passages[passage_id], score) for passage_id, score in found]

    def _embed(self) -> None:
        until = time.monotonic() + EMBEDDING_SECONDS
        while self._index.embed(EMBEDDED_AT_ONCE) and time.monotonic() < until:
            pass


def _key(documents: Iterable[Document]) -> bytes:
    """What tells the passages of these documents from others."""

    def parts() -> Iterator[bytes]:
        for document in documents:
            about = repr(document.model_dump(exclude={"text"}))
            yield from (about.encode("utf-8", "surrogatepass"), b"\0", fingerprint(document), b"\0")

    digest = blake2b(digest_size=16)
    for part in parts():
        digest.update(part)
    return digest.digest()


def _chunk(document: Document, passage: Passage, score: float) -> RagRetrievedChunk:
    names = {"title": document.title, "heading": passage.heading or None}
    metadata = {**(document.metadata or {}), **{key: value for key, value in names.items() if value}}
    return RagRetrievedChunk(
        id=passage.id,
        content=passage.text,
        original_document_id=document.id,
        data_source_id=DOCUMENTS,
        source=document.source or document.title or document.id,
        metadata=metadata or None,
        relevance_score=round(score, 4),
        tenant_id=document.tenant_id,
        acl_groups=document.acl_groups,
        classification=document.classification,
        status=document.status,
        effective_date=document.effective_date,
        expires_at=document.expires_at,
    )
