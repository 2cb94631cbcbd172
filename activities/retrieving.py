"""The step of a turn that looks up what its answer may rest on, once. What it finds stands with the turn from then on."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contracts import RetrieveSources, SourcesRetrieved
from activities.errors import GMI_PERSONA_NOT_FOUND, RETRIEVAL_FAILED, SYS_RESOURCE_NOT_FOUND
from activities.heartbeat import heartbeats
from activities.memory_keeper import DEFAULT_ORGANIZATION
from activities.model_failures import final
from activities.persona_memory import RagConfig
from activities.personas import Persona, Personas
from activities.retrieval import RetrievalContext, Retriever, readable_chunks
from activities.sources import RagRetrievedChunk, excerpts, interleaved, within_tokens
from activities.store_failures import store_failures
from activities.texts import text_of
from activities.turn_input import TurnInput

ATTEMPTS = 2
QUERY_CHARS = 8_000

logger = logging.getLogger(__name__)


class StoredTurn(Protocol):
    """What this step needs of a stored turn. `sources` are those found before, None when nobody looked yet."""

    @property
    def input(self) -> TurnInput: ...
    @property
    def persona_id(self) -> str: ...
    @property
    def conversation_id(self) -> str: ...
    @property
    def sources(self) -> tuple[RagRetrievedChunk, ...] | None: ...


class Store(Protocol):
    """Turns with their sources, blocking. `save_sources` gives those that stand, which are the first that were saved."""

    def turn(self, turn_id: str) -> StoredTurn | None: ...
    def save_sources(self, turn_id: str, sources: Sequence[RagRetrievedChunk]) -> tuple[RagRetrievedChunk, ...]: ...


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """`timeout` in seconds bounds one look-up of one retriever."""

    timeout: float = 10.0


def retrieves(persona: Persona, given: TurnInput, *, has_retriever: bool) -> bool:
    """Whether a turn looks up sources: its persona has documents or wants the app's retriever, or the host gave it some."""
    if given.instance is not None and given.instance.rag_sources:
        return True
    if given.type not in ("text", "multimodal_content"):
        return False
    rag = persona.rag
    if rag is not None and not (rag.enabled and rag.retrieval_triggers.on_user_query):
        return False
    return bool(persona.documents) or (has_retriever and rag is not None)


class RetrievalActivities:
    """The activity that retrieves. `documents` looks through those of the persona, `retriever` is the app's."""

    def __init__(
        self,
        store: Store,
        personas: Personas,
        documents: Retriever,
        retriever: Retriever | None,
        settings: RetrievalSettings | None = None,
    ) -> None:
        self._store = store
        self._personas = personas
        self._documents = documents
        self._retriever = retriever
        self._settings = settings or RetrievalSettings()

    @activity.defn
    async def retrieve_sources(self, request: RetrieveSources) -> SourcesRetrieved:
        """Find the turn's sources and keep them with it. Run again, it gives what it kept.

        Raises:
            ApplicationError: RETRIEVAL_FAILED, to be tried again; SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND.
        """
        async with heartbeats():
            with store_failures():
                turn = await asyncio.to_thread(self._store.turn, request.turn_id)
            if turn is None:
                raise final(SYS_RESOURCE_NOT_FOUND, f"there is no turn {request.turn_id}")
            failures: tuple[str, ...] = ()
            sources = turn.sources
            if sources is None:
                persona = self._personas.of_turn(turn.persona_id, turn.input.instance)
                if persona is None:
                    raise final(GMI_PERSONA_NOT_FOUND, f"there is no persona {turn.persona_id}")
                found, failures = await self._find(turn, persona, request)
                with store_failures():
                    sources = await asyncio.to_thread(self._store.save_sources, request.turn_id, found)
        return SourcesRetrieved(sources=excerpts(sources), failures=failures)

    async def _find(
        self, turn: StoredTurn, persona: Persona, request: RetrieveSources
    ) -> tuple[tuple[RagRetrievedChunk, ...], tuple[str, ...]]:
        rag, context = persona.rag or RagConfig(), _context(turn, persona, request)
        if turn.input.instance is not None and turn.input.instance.rag_sources:
            given = readable_chunks(turn.input.instance.rag_sources, context)
            return within_tokens(given, rag.max_tokens), ()
        query = text_of(turn.input.content)[:QUERY_CHARS]
        rankings, failures = await self._ask(query, context)
        if failures and activity.in_activity() and activity.info().attempt < ATTEMPTS:
            raise ApplicationError("; ".join(failures), type=RETRIEVAL_FAILED)
        return within_tokens(interleaved(rankings, context.limit), rag.max_tokens), failures

    async def _ask(
        self, query: str, context: RetrievalContext
    ) -> tuple[list[list[RagRetrievedChunk]], tuple[str, ...]]:
        """What each retriever found, and which of them failed."""
        asked: list[tuple[str, Retriever]] = []
        if context.persona.documents:
            asked.append(("the documents", self._documents))
        if self._retriever is not None and context.persona.rag is not None:
            asked.append(("the app's retriever", self._retriever))
        answers = await asyncio.gather(
            *(self._ask_one(retriever, query, context) for _, retriever in asked), return_exceptions=True
        )
        rankings, failures = [], []
        for (name, _), answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                # Only the kind goes into the history: the text of a stranger's error may hold an address with a key.
                # A cancellation among them is the retriever's own: one of this step would have left the gathering.
                logger.warning("%s failed (%s)", name, type(answer).__name__)
                logger.debug("%s failed", name, exc_info=answer)
                failures.append(f"{name} failed ({type(answer).__name__})")
            else:
                rankings.append(answer)
        return rankings, tuple(failures)

    async def _ask_one(self, retriever: Retriever, query: str, context: RetrievalContext) -> list[RagRetrievedChunk]:
        async with asyncio.timeout(self._settings.timeout):
            found = await retriever.retrieve(query, context)
        return readable_chunks(found, context)


def _context(turn: StoredTurn, persona: Persona, request: RetrieveSources) -> RetrievalContext:
    given, rag = turn.input, persona.rag or RagConfig()
    groups = given.metadata.get("aclGroups")
    return RetrievalContext(
        persona=persona,
        user_id=given.user_id,
        tenant=given.organization_id or DEFAULT_ORGANIZATION,
        now=datetime.fromtimestamp(request.now_ms / 1000, UTC),
        limit=rag.default_retrieval_top_k,
        turn_id=request.turn_id,
        conversation_id=turn.conversation_id,
        session_id=given.session_id,
        groups=tuple(map(str, groups[:100])) if isinstance(groups, list) else (),
    )
