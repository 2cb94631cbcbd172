"""The life of a turn in the store: claimed, written to, closed. Every step may run twice."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import (
    BeginTurn,
    CommitTurn,
    MemoryPlan,
    ResultsSaved,
    SaveResults,
    TurnBegun,
    TurnCommitted,
)
from activities.conversation import ToolMessage
from activities.guard_input import awaiting
from activities.guards import Guards
from activities.memory_keeper import MemoryKeeper, scope_of
from activities.personas import Persona
from activities.registry import ToolRegistry
from activities.retrieving import retrieves
from activities.selection import Selection
from activities.store.errors import ConversationBusy, Holder, NotOwner, TurnAlreadyRan, TurnClosed
from activities.store.histories import HistoryStore
from activities.store.records import Claimed
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from activities.stored_personas import StoredPersonas
from activities.texts import text_of
from activities.turn_checks import check_input
from activities.turn_input import TurnInput
from activities.turn_settings import TurnSettings

CLOSING_POLL = timedelta(milliseconds=250)


class Executions(Protocol):
    """What Temporal says of other turns."""

    async def is_open(self, holder: Holder) -> bool:
        """Whether the execution that holds a conversation still runs, a reset of it included."""
        ...

    async def supersede(self, holder: Holder, by: str) -> None:
        """Tell it that the user moved on to turn `by`."""
        ...

    async def search_attributes(self) -> tuple[str, ...]:
        """Those of ours that the namespace has registered."""
        ...


class TurnActivities:
    """Store steps of a turn."""

    def __init__(
        self,
        store: TurnStore,
        histories: HistoryStore,
        stored: StoredPersonas,
        tools: ToolRegistry,
        memory: MemoryKeeper,
        executions: Executions,
        settings: TurnSettings,
        guards: Guards | None = None,
    ) -> None:
        self._store = store
        self._histories = histories
        self._stored = stored
        self._personas = stored.personas
        self._tools = tools
        self._memory = memory
        self._executions = executions
        self._settings = settings
        self._guards = guards or Guards()

    @activity.defn
    async def begin_turn(self, request: BeginTurn) -> TurnBegun:
        """Claim the conversation and prepare the turn: persona, memory plan, what the namespace can show."""
        request = await self._stored.with_persona(request)
        persona = self._persona_of(request.input)
        model = request.input.options.model or persona.model or self._settings.default_model
        check_input(request.input, persona, model, self._tools, self._settings)
        guards = self._guards.of_turn(request.turn_id, request.conversation_id, persona, request.input)
        guard_seconds = guards.seconds("input")
        request = await self._with_stored_history(request)
        claimed, took_over = await self._claim(request, persona, is_judged=guard_seconds > 0)
        return TurnBegun(
            conversation_id=request.conversation_id,
            persona_id=persona.id,
            model=model,
            # Not the rows that stand: a run that was reset goes its way from the user's message again, row by row.
            rows=1,
            position=claimed.position,
            memory=claimed.plan or MemoryPlan(),
            search_attributes=await self._executions.search_attributes(),
            patience=self._settings.patience,
            took_over=took_over,
            memory_model=self._settings.memory_model,
            remembers=persona.remembers,
            retrieves=retrieves(persona, request.input, has_retriever=self._settings.has_retriever),
            input_guard_seconds=guard_seconds or None,
            **self._functions(request.input, persona, claimed),
        )

    @activity.defn
    async def save_results(self, request: SaveResults) -> ResultsSaved:
        """Store results at their rows."""
        rows = [(placed.row, ToolMessage(result=placed.result)) for placed in request.results]
        with store_failures():
            await asyncio.to_thread(self._store.put_rows, request.turn_id, rows)
            return ResultsSaved(rows=await asyncio.to_thread(self._store.row_count, request.turn_id))

    @activity.defn
    async def commit_turn(self, request: CommitTurn) -> TurnCommitted:
        """Close the turn: its rows are the conversation's from now on."""
        with store_failures():
            return await asyncio.to_thread(self._store.commit, request)

    def _persona_of(self, given: TurnInput) -> Persona:
        persona = self._personas.of_turn(given.persona_id, given.instance)
        if persona is None:
            known = ", ".join(self._personas.ids)
            raise _refused(
                errors.GMI_PERSONA_NOT_FOUND, f"there is no persona {given.persona_id!r}; there are: {known}"
            )
        return persona

    def _functions(self, given: TurnInput, persona: Persona, claimed: Claimed) -> dict[str, Any]:
        """What there is to choose from and what was chosen before, where functions are chosen.

        A function that was chosen and is not there any more does not wait any longer.
        """
        if given.options.tool_selection != "select":
            return {}
        names = {each.name for each in self._tools.listed(persona, given.external_tools)}
        kept = Selection.model_validate_json(claimed.selection) if claimed.selection else Selection()
        standing = kept.model_copy(update={"stack": tuple(entry for entry in kept.stack if entry.name in names)})
        return {
            "functions": len(names),
            "selection": standing.model_dump(mode="json", by_alias=True, exclude_none=True),
        }

    async def _with_stored_history(self, request: BeginTurn) -> BeginTurn:
        """The request with the history that its `historyRef` names; the owner's own ones only."""
        given = request.input
        if given.history_ref is None:
            return request
        with store_failures():
            found = await asyncio.to_thread(
                self._histories.get, given.history_ref, given.organization_id, given.user_id
            )
        if found is None:
            raise _refused(errors.SYS_VALIDATION_ERROR, "historyRef: this user has no stored history of this name")
        return request.model_copy(update={"input": given.model_copy(update={"histories": found})})

    async def _claim(self, request: BeginTurn, persona: Persona, *, is_judged: bool) -> tuple[Claimed, str | None]:
        """Claim the conversation, taking it over from a holder that is gone."""
        took_over = None
        # Two tries: after a takeover somebody else may have been faster, and is then the holder that is named.
        for _ in range(2):
            try:
                with store_failures():
                    return await asyncio.to_thread(self._claim_and_plan, request, persona, is_judged), took_over
            except NotOwner:
                message = f"there is no conversation {request.conversation_id!r} for this user"
                raise _refused(errors.SYS_RESOURCE_NOT_FOUND, message) from None
            except TurnAlreadyRan as ran:
                raise _refused(errors.TURN_ALREADY_RAN, str(ran)) from None
            except TurnClosed as closed:
                raise _refused(errors.TURN_CLOSED, str(closed)) from None
            except ValueError as wrong:
                raise _refused(errors.SYS_VALIDATION_ERROR, str(wrong)) from None
            except ConversationBusy as busy:
                took_over = await self._free(request, busy.holder)
        raise self._closing(request.conversation_id)

    async def _free(self, request: BeginTurn, holder: Holder) -> str:
        """Take the conversation from a holder that is gone; ask one that runs to go, or say that it is busy."""
        if not await self._executions.is_open(holder):
            with store_failures():
                await asyncio.to_thread(
                    self._store.take_over,
                    request.conversation_id,
                    holder.turn_id,
                    holder.run_id,
                    request.now_ms,
                    "The turn that made this call ended before it was run.",
                )
            return holder.turn_id
        if request.input.on_busy == "refuse":
            raise _refused(
                errors.CONVERSATION_BUSY,
                f"conversation {request.conversation_id!r} has the open turn {holder.turn_id!r} "
                f"(workflow id {holder.workflow_id!r}); answer or cancel it, or start with onBusy: supersede",
                {"turnId": holder.turn_id, "workflowId": holder.workflow_id},
            )
        await self._executions.supersede(holder, request.turn_id)
        raise self._closing(request.conversation_id)

    def _closing(self, conversation_id: str) -> ApplicationError:
        return ApplicationError(
            f"conversation {conversation_id!r} is being closed by its open turn",
            type=errors.CONVERSATION_BUSY,
            next_retry_delay=CLOSING_POLL,
        )

    def _claim_and_plan(self, request: BeginTurn, persona: Persona, is_judged: bool) -> Claimed:
        """The claimed turn with what memory puts into its prompt. Without memory a turn is poorer, not broken."""
        claimed = self._store.claim(request, persona.id, awaiting() if is_judged else None)
        if claimed.plan is not None:
            return claimed
        if not persona.remembers:
            return replace(claimed, plan=MemoryPlan())
        try:
            text, plan = self._memory.plan(scope_of(request.input, persona.id), text_of(request.input.content))
        except Exception as fault:
            activity.logger.warning("memory is not available to turn %s: %s", request.turn_id, type(fault).__name__)
            text, plan = "", MemoryPlan(degraded=f"memory is not available ({type(fault).__name__})")
        if text:
            self._store.save_plan(request.turn_id, text, plan)
        return replace(claimed, plan=plan)


def _refused(code: str, message: str, details: Mapping[str, Any] | None = None) -> ApplicationError:
    return ApplicationError(message, *([dict(details)] if details else []), type=code, non_retryable=True)
