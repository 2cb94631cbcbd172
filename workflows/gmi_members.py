"""What an instance does when its members are called, the turns aside."""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    import workflows.gmi_adaptation as adaptation
    import workflows.gmi_steps as steps
    import workflows.gmi_turn_book as book
    from activities.conversation import ErrorDetails
    from activities.instance_contracts import (
        HistoryPage,
        HistoryReplaced,
        MemoryFound,
        ReadHistory,
        RememberFeedback,
        ReplaceHistory,
        SearchMemory,
    )
    from activities.instances import InstanceActivities
    from activities.json_values import encoded_size
    from activities.personas import Persona
    from workflows.gmi_character import read_trait
    from workflows.gmi_context import (
        NewHistory,
        apply_context,
        read_context,
        read_cursor,
        read_history,
        request_key,
    )
    from workflows.gmi_contracts import Feedback, InstanceStatus, StartInstance
    from workflows.gmi_feedback import read_feedback, statements
    from workflows.gmi_health import memory_health, overall_health
    from workflows.gmi_lifecycle import (
        LifecycleActionResponse,
        MemoryLifecycleEvent,
        answer_event,
        negotiates,
        read_event,
    )
    from workflows.gmi_messages import InstanceMessages
    from workflows.gmi_refusal import Refused, only, read_object, read_text
    from workflows.gmi_sentiment import forget_excerpts
    from workflows.gmi_start import already_started, read_start, same_start

MAX_QUERY_CHARS, MAX_LIMIT = 2_000, 20
# No turn has this key: asks the store something, and gets nothing.
NO_TURN = "-"


class InstanceMembers(InstanceMessages):
    """Updates over the state of one instance."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        super().__init__(arguments)
        # While it is held no turn begins: it would read half of one history and half of another.
        self._editing = asyncio.Lock()
        for name in ("hydrate_conversation_history", "replace_history"):
            forgets = name == "replace_history"
            self._member(name, self._reading(read_history, name), self._replacing(forgets=forgets))
        self._member("clear_history", self._nothing("clear_history"), self._clear_history)
        for name, act in (
            ("get_conversation_history", self._get_conversation_history),
            ("get_last_turn_history", self._get_last_turn_history),
        ):
            self._member(name, self._reading(read_cursor, name), act)
        self._member(
            "hydrate_turn_context", self._reading(read_context, "hydrate_turn_context"), self._hydrate_turn_context
        )
        self._member("initialize", self._read_start, self._initialize)
        self._member("record_user_feedback", self._read_feedback, self._record_user_feedback)
        self._member("set_personality_trait", self._read_trait, self._set_personality_trait)
        self._member("on_memory_lifecycle_event", self._read_event, self._on_memory_lifecycle_event)
        self._member("get_cognitive_memory_manager", _read_search, self._get_cognitive_memory_manager)
        for name, ask in (
            ("analyze_and_report_memory_health", self._analyze_and_report_memory_health),
            ("get_overall_health", self._get_overall_health),
        ):
            self._member(name, self._nothing(name), ask)

    def _reading(self, read: Any, name: str) -> Any:
        return lambda arguments: read(arguments, name)

    def _nothing(self, name: str) -> Any:
        return lambda arguments: only(read_object(arguments, name), name)

    @property
    def _persona(self) -> Persona:
        return self._state.own_persona

    def _read_start(self, arguments: Sequence[Any]) -> StartInstance:
        return read_start(arguments, workflow.info().workflow_id)

    async def _initialize(self, start: StartInstance) -> InstanceStatus:
        """The same persona and config again change nothing."""
        state = self._state
        same_persona = start.persona == state.persona and start.config == state.start.config
        if same_start(start) != state.digest and not same_persona:
            raise already_started()
        return state.status()

    def _replacing(self, *, forgets: bool) -> Any:
        async def replace(history: NewHistory) -> HistoryReplaced:
            return await self._replace(history, forgets=forgets and not history.append)

        return replace

    async def _clear_history(self, nothing: dict[str, Any]) -> HistoryReplaced:
        return await self._replace(NewHistory(()), forgets=True)

    async def _replace(self, history: NewHistory, *, forgets: bool) -> HistoryReplaced:
        state, update = self._state, _update_id()
        request = ReplaceHistory(
            scope=state.scope,
            conversation_id=state.conversation_id,
            key=request_key(workflow.info().first_execution_run_id, update),
            messages=history.messages,
            append=history.append,
            now_ms=_now_ms(),
        )
        async with self._editing:
            self._check_idle("the history stays as it is")
            replaced = await steps.in_store(InstanceActivities.replace_instance_history, request)
        if forgets:
            book.forget_turns(state, history.inputs)
            forget_excerpts(state, state.held, workflow.now())
        elif not history.append:
            state.last_turn = None
        verb = "grew by" if history.append else "is now"
        state.note("STATE_CHANGE", f"The history {verb} {replaced.messages} messages", workflow.now())
        return replaced

    async def _get_conversation_history(self, before: str | None) -> HistoryPage:
        return await self._page(before, self._state.conversation_id, None)

    async def _get_last_turn_history(self, before: str | None) -> HistoryPage:
        last = self._state.last_turn
        return HistoryPage() if last is None else await self._page(before, last.conversation_id, last.key)

    async def _page(self, before: str | None, conversation_id: str, turn_id: str | None) -> HistoryPage:
        request = ReadHistory(scope=self._state.scope, conversation_id=conversation_id, turn_id=turn_id, before=before)
        return await steps.in_store(InstanceActivities.read_history, request)

    async def _hydrate_turn_context(self, given: dict[str, Any]) -> InstanceStatus:
        if self._state.open is not None and given.get("conversationId") not in (None, "", self._state.conversation_id):
            self._check_idle("hydrate_turn_context")
        apply_context(self._state, given)
        return self._state.status()

    def _read_feedback(self, arguments: Sequence[Any]) -> Feedback:
        return read_feedback(read_object(arguments, "feedback"), self._state.user_id, workflow.now())

    async def _record_user_feedback(self, feedback: Feedback) -> dict[str, Any]:
        """Record it, and let memory keep its words. Memory's failure is told in the trace and fails nothing."""
        state = self._state
        adaptation.take_feedback(state, feedback, workflow.now())
        learned = 0
        if state.own_persona.remembers and (told := statements(feedback)):
            key = request_key(workflow.info().first_execution_run_id, _update_id())
            request = RememberFeedback(scope=state.scope, key=f"feedback {key}", statements=told, now_ms=_now_ms())
            try:
                learned = (await steps.in_store(InstanceActivities.remember_feedback, request)).stored
            except Refused as fault:
                state.note("WARNING", f"Memory did not keep the feedback: {fault}", workflow.now())
        return {"feedback": feedback.model_dump(mode="json", by_alias=True, exclude_none=True), "remembered": learned}

    def _read_trait(self, arguments: Sequence[Any]) -> tuple[str, float]:
        return read_trait(read_object(arguments, "set_personality_trait"), self._persona)

    async def _set_personality_trait(self, wanted: tuple[str, float]) -> dict[str, float]:
        trait, value = wanted
        state = self._state
        before = state.traits.get(trait)
        state.traits = {**state.traits, trait: value}
        state.note("STATE_CHANGE", f"Trait {trait}: {value:g}", workflow.now(), {"from": before, "to": value})
        return state.traits

    def _read_event(self, arguments: Sequence[Any]) -> MemoryLifecycleEvent:
        return read_event(read_object(arguments, "event"), self._state.gmi_id)

    async def _on_memory_lifecycle_event(self, event: MemoryLifecycleEvent) -> LifecycleActionResponse:
        state, now = self._state, workflow.now()
        known = next((each for each in state.answered_events if each.event_id == event.event_id), None)
        if known is not None:
            return known
        state.note("MEMORY_LIFECYCLE_EVENT_RECEIVED", f"{event.type} for {event.item_id}", now)
        if negotiates(event, self._persona):
            state.note("MEMORY_LIFECYCLE_NEGOTIATION_START", f"{event.proposed_action} is proposed", now)
        response = answer_event(event, self._persona)
        state.keep_event(response)
        state.note("MEMORY_LIFECYCLE_RESPONSE_SENT", f"{response.action_taken} for {event.item_id}", now)
        return response

    async def _get_cognitive_memory_manager(self, wanted: tuple[str | None, int]) -> dict[str, Any]:
        query, limit = wanted
        request = SearchMemory(scope=self._state.scope, query=query, limit=limit)
        found = await steps.in_store(InstanceActivities.look_into_memory, request)
        scope = self._state.scope.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"scope": scope, **found.model_dump(mode="json", by_alias=True)}

    async def _analyze_and_report_memory_health(self, nothing: dict[str, Any]) -> dict[str, Any]:
        self._state.note("HEALTH_CHECK_REQUESTED", "Memory", workflow.now())
        report = await self._memory_health()
        self._state.note("HEALTH_CHECK_RESULT", f"Memory: {report['overallStatus']}", workflow.now())
        return report

    async def _memory_health(self) -> dict[str, Any]:
        found: MemoryFound | ErrorDetails
        try:
            found = await steps.in_store(InstanceActivities.look_into_memory, SearchMemory(scope=self._state.scope))
        except Refused as fault:
            found = ErrorDetails(code=fault.code, message=str(fault))
        held = self._state.working_memory
        return memory_health(len(held), encoded_size(held), found, len(self._state.answered_events))

    async def _get_overall_health(self, nothing: dict[str, Any]) -> dict[str, Any]:
        memory = await self._memory_health()
        store: ErrorDetails | None = None
        try:
            await self._page(None, self._state.conversation_id, NO_TURN)
        except Refused as fault:
            store = ErrorDetails(code=fault.code, message=str(fault))
        state = self._state
        return overall_health(
            gmi_id=state.gmi_id,
            persona_id=self._persona.id,
            state=state.prime_state,
            memory=memory,
            trace=state.trace,
            created_at=state.created_at,
            now=workflow.now(),
            turns=state.turns,
            dependencies={"ConversationStore": store},
        )


def _read_search(arguments: Sequence[Any]) -> tuple[str | None, int]:
    what = "get_cognitive_memory_manager"
    given = only(read_object(arguments, what), what, "query", "limit")
    query = read_text(given, "query", what, MAX_QUERY_CHARS) if given.get("query") is not None else None
    limit = given.get("limit", 5)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise Refused(f"{what}: limit must be a number from 1 to {MAX_LIMIT}")
    return query, limit


def _update_id() -> str:
    update = workflow.current_update_info()
    return update.id if update is not None else ""


def _now_ms() -> int:
    return int(workflow.now().timestamp() * 1000)
