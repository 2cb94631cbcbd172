"""What an instance does outside its workflow: its persona, its conversations, its memory, its open turn. Each may run twice."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import Patience
from activities.conversation import AssistantMessage
from activities.history_messages import ConversationMessage, read_messages, shown, split_turns
from activities.instance_contracts import (
    AnswerTurn,
    FeedbackRemembered,
    HistoryPage,
    HistoryReplaced,
    InstanceOpened,
    InstanceScope,
    LookAtTurn,
    MemoryFound,
    OpenInstance,
    ReadHistory,
    RememberFeedback,
    ReplaceHistory,
    SearchMemory,
    TurnAnswered,
    TurnSeen,
)
from activities.json_values import encoded_size
from activities.memory_keeper import DEFAULT_ORGANIZATION, MemoryKeeper
from activities.model_failures import final
from activities.personas import Persona, Personas
from activities.registry import ToolRegistry
from activities.store.errors import ConversationBusy, NotOwner, SnapshotDamaged
from activities.store.instance_histories import FIRST, PAGE_ROWS, InstanceHistories, Owner
from activities.store.records import Scope
from activities.store_failures import store_failures
from activities.stored_personas import StoredPersonas
from memory_engine import CognitiveMemory, MemoryEngineError

PAGE_BYTES = 256_000
MAX_HITS = 20
_TIERS = {"pinned": "L0", "hot": "L1", "warm": "L2", "archived": "L3"}


class OpenTurns(Protocol):
    """Turns as the Temporal server knows them."""

    async def answer(self, request: AnswerTurn) -> TurnAnswered:
        """Hand an answer on. Raises an ApplicationError with a code when the turn does not take it or is over."""
        ...

    async def look(self, request: LookAtTurn) -> TurnSeen:
        """How the turn stands."""
        ...


class InstanceActivities:
    """Steps of an instance."""

    def __init__(
        self,
        histories: InstanceHistories,
        stored: StoredPersonas,
        tools: ToolRegistry,
        memory: MemoryKeeper,
        turns: OpenTurns,
        patience: Patience,
    ) -> None:
        self._histories = histories
        self._stored = stored
        self._personas = stored.personas
        self._tools = tools
        self._memory = memory
        self._turns = turns
        self._patience = patience

    @activity.defn
    async def open_instance(self, request: OpenInstance) -> InstanceOpened:
        """The instance's persona.

        Raises:
            ApplicationError: GMI_PERSONA_NOT_FOUND; GMI_INITIALIZATION_ERROR for a given one that names unknown tools.
        """
        own = request.persona or await self._stored.find(request.persona_id)
        persona = own or self._personas.get(request.persona_id)
        if persona is None:
            known = ", ".join(self._personas.ids)
            raise final(
                errors.GMI_PERSONA_NOT_FOUND, f"there is no persona {request.persona_id!r}; there are: {known}"[:1_000]
            )
        if own is not None:
            self._check(own)
        return InstanceOpened(
            # Their documents stay with the worker: what is retrieved for a turn is found there.
            persona=persona if own is not None else persona.model_copy(update={"documents": ()}),
            # One that equals the app's needs not be sent along with every turn.
            is_own=own is not None and self._personas.get(persona.id) != persona,
            patience=self._patience,
        )

    @activity.defn
    async def read_history(self, request: ReadHistory) -> HistoryPage:
        """A page of a conversation, the newest messages that fit."""
        before = _place(request.before)
        with _refusals(request.conversation_id), store_failures():
            rows = await asyncio.to_thread(
                self._histories.page, request.conversation_id, _owner(request.scope), before, request.turn_id
            )
        page: list[ConversationMessage] = []
        room, last = PAGE_BYTES, None
        for row in rows:
            if isinstance(row.message, AssistantMessage) and row.message.is_discarded:
                last = row
                continue
            message = shown(row.message, f"{row.turn_id}/{row.row}", row.created_ms)
            room -= encoded_size(message)
            if room < 0 and page:
                break
            page.append(message)
            last = row
        more = len(rows) == PAGE_ROWS or last is not rows[-1] if rows else False
        return HistoryPage(
            messages=tuple(reversed(page)), cursor=f"{last.position}/{last.row}" if last and more else None
        )

    @activity.defn
    async def replace_instance_history(self, request: ReplaceHistory) -> HistoryReplaced:
        """Write a conversation anew. What it held is kept aside; see `activities.store.instance_histories`."""
        try:
            messages = read_messages([each.model_dump(by_alias=True) for each in request.messages])
        except ValueError as wrong:
            raise final(errors.SYS_VALIDATION_ERROR, str(wrong)) from None
        said = split_turns(messages)
        with _refusals(request.conversation_id), store_failures():
            await asyncio.to_thread(
                lambda: self._histories.replace(
                    request.conversation_id,
                    _owner(request.scope),
                    said,
                    request.key,
                    request.now_ms,
                    append=request.append,
                )
            )
        return HistoryReplaced(messages=len(messages), turns=len(said))

    @activity.defn
    async def look_into_memory(self, request: SearchMemory) -> MemoryFound:
        """Count the memory of the instance's scope, and search it when asked to.

        Raises:
            ApplicationError: SYS_DATABASE_ERROR; never retried when the stored memory is damaged.
        """
        with store_failures():
            try:
                return await asyncio.to_thread(self._look, request)
            except (SnapshotDamaged, MemoryEngineError) as fault:
                raise final(errors.SYS_DATABASE_ERROR, str(fault)[:500]) from None

    @activity.defn
    async def remember_feedback(self, request: RememberFeedback) -> FeedbackRemembered:
        """Keep what the user said of the agent, once for a key."""
        with store_failures():
            try:
                return await asyncio.to_thread(self._remember, request)
            except (SnapshotDamaged, MemoryEngineError) as fault:
                raise final(errors.SYS_DATABASE_ERROR, str(fault)[:500]) from None

    @activity.defn
    async def answer_turn(self, request: AnswerTurn) -> TurnAnswered:
        """Hand a host's answer on to the open turn."""
        return await self._turns.answer(request)

    @activity.defn
    async def look_at_turn(self, request: LookAtTurn) -> TurnSeen:
        """How a turn stands that has not been heard of for long."""
        return await self._turns.look(request)

    def _check(self, persona: Persona) -> None:
        try:
            self._tools.validate(Personas([persona]))
        except ValueError as wrong:
            raise final(errors.GMI_INITIALIZATION_ERROR, str(wrong)[:1_000]) from None
        granted = self._personas.granted_tools
        if foreign := [name for name in persona.tool_ids or () if granted is not None and name not in granted]:
            message = f"persona {persona.id} names tools that no persona of the app may use: {', '.join(foreign)}"
            raise final(errors.GMI_INITIALIZATION_ERROR, message[:1_000])

    def _look(self, request: SearchMemory) -> MemoryFound:
        scope = _scope(request.scope)

        def count(engine: CognitiveMemory) -> dict[str, int]:
            tiers = {name: len(engine.memories(tier)) for name, tier in _TIERS.items()}  # type: ignore[arg-type]
            return {"memories": len(engine), **tiers, "turnsLearned": engine.stats.total_turns_processed}

        stats = self._memory.read(scope, count)
        found = self._memory.search(scope, request.query, min(request.limit, MAX_HITS)) if request.query else {}
        return MemoryFound(
            stats=stats, memories=tuple(found.get("memories", ())), tensions=tuple(found.get("tensions", ()))
        )

    def _remember(self, request: RememberFeedback) -> FeedbackRemembered:
        def learn(engine: CognitiveMemory) -> int:
            return len(engine.remember(request.statements, tier="L2", turn_id=request.key, now=request.now_ms).stored)

        stored, _ = self._memory.change(_scope(request.scope), request.now_ms, learn)
        return FeedbackRemembered(stored=stored)


def _owner(scope: InstanceScope) -> Owner:
    return Owner(scope.organization_id, scope.user_id, scope.persona_id, scope.session_id)


def _scope(scope: InstanceScope) -> Scope:
    return Scope(scope.organization_id or DEFAULT_ORGANIZATION, scope.user_id, scope.persona_id)


def _place(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return FIRST
    position, _, row = cursor.partition("/")
    if not (position.isascii() and position.isdigit() and row.isascii() and row.isdigit()) or len(cursor) > 20:
        raise final(errors.SYS_VALIDATION_ERROR, "before: is the cursor of an earlier page, and nothing else")
    return min(int(position), FIRST[0]), min(int(row), FIRST[1])


@contextmanager
def _refusals(conversation_id: str) -> Iterator[None]:
    """What a store refuses on purpose, with its code."""
    try:
        yield
    except NotOwner:
        raise final(
            errors.SYS_RESOURCE_NOT_FOUND, f"there is no conversation {conversation_id!r} for this user"
        ) from None
    except ConversationBusy as busy:
        raise ApplicationError(
            f"{busy}; its history stays as it is until that turn has ended",
            {"turnId": busy.holder.turn_id},
            type=errors.SYS_INVALID_STATE,
            non_retryable=True,
        ) from None
