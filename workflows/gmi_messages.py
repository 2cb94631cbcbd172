"""What the world may say to an instance and ask of it: how messages come in, are refused, and are answered.

Every member of the interface is an update or a query under its name. An update has a reader, which is pure and refuses, and an
act. The reader runs in the validator, where a refusal costs no history, and once more in the handler, since the state may have
changed in between.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.conversation import CostAggregator, GMIOutput
    from activities.errors import SYS_INVALID_STATE, SYS_NOT_INITIALIZED, SYS_VALIDATION_ERROR
    from activities.personas import Persona
    from workflows.contracts import PendingRequest
    from workflows.gmi_contracts import InstanceStatus, QueuedTurn, RejectedMessage, StartInstance, TurnNotice
    from workflows.gmi_display import instance_details
    from workflows.gmi_message import read_turn_id
    from workflows.gmi_refusal import Refused, read_model, read_object
    from workflows.gmi_start import read_start
    from workflows.gmi_state import InstanceState
    from workflows.gmi_turn_book import heard
    from workflows.names import TURN_STOPPED

# What a turn says is smaller; a stranger's notice must not fill the state.
NOTICE_BYTES = 600_000

R = TypeVar("R")
Reader = Callable[[Sequence[Any]], R]
Act = Callable[[R], Awaitable[Any]]


class InstanceMessages:
    """Handlers over the state of one instance."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        # Messages may be handled before the first step, so the state stands from the start.
        self._failure: Refused | None = None
        self._taken = 0
        self._state = self._first_state(arguments)

    def _first_state(self, arguments: Sequence[Any]) -> InstanceState:
        info = workflow.info()
        if info.continued_run_id is not None:
            return InstanceState.model_validate(arguments[0])
        try:
            start = read_start(arguments, info.workflow_id)
        except Refused as refused:
            self._failure, start = refused, StartInstance(gmi_id="invalid")
        return InstanceState.of(start, workflow.now())

    def _member(self, name: str, read: Reader[R], act: Act[R], *, always: bool = False) -> None:
        """An update of this name. One that is not for `always` is refused once the instance shuts down."""

        def check(*arguments: Any) -> None:
            try:
                self._check_alive(always)
                # Before the persona is known a reader could not say what is wrong: the handler waits, and says it.
                if self._state.persona is not None:
                    read(arguments)
            except Refused as refused:
                raise _failed(refused) from None

        async def handle(*arguments: Any) -> Any:
            self._taken += 1
            try:
                await workflow.wait_condition(lambda: self._state.persona is not None or self._failure is not None)
                self._check_alive(always)
                return await act(read(arguments))
            except Refused as refused:
                raise _failed(refused) from None

        workflow.set_update_handler(name, handle, validator=check)

    def _show(self) -> None:
        """Let people see where the instance stands."""
        workflow.set_current_details(instance_details(self._state, workflow.info().workflow_id))

    def _check_alive(self, always: bool) -> None:
        if self._failure is not None:
            raise self._failure
        if self._state.shutting_down and not always:
            raise Refused(f"the instance {self._state.gmi_id!r} is shut down", SYS_NOT_INITIALIZED)

    def _check_idle(self, what: str) -> None:
        """Refuse what must not happen in the middle of a turn."""
        turn = self._state.open or next(iter(self._state.queue), None)
        if turn is not None:
            raise Refused(
                f"{what}: the turn {turn.turn_id!r} is open; answer or cancel it first",
                SYS_INVALID_STATE,
                {"currentGMIState": self._state.prime_state, "turnId": turn.turn_id},
            )

    @workflow.update(dynamic=True)
    async def unknown_update(self, name: str, arguments: Sequence[RawValue]) -> None:
        """A method nobody has."""

    @unknown_update.validator
    def validate_unknown_update(self, name: str, arguments: Sequence[RawValue]) -> None:
        """Refuse it, at no cost."""
        raise _failed(Refused(f"an instance has no method {name[:100]!r}", SYS_VALIDATION_ERROR))

    @workflow.signal(name=TURN_STOPPED, description="A turn of this instance tells where it stands.")
    def turn_stopped(self, *arguments: Any) -> None:
        """Take the notice, or record why not."""
        now = workflow.now()
        try:
            notice = read_model(TurnNotice, read_object(arguments, TURN_STOPPED, NOTICE_BYTES), TURN_STOPPED)
        except Refused as refused:
            self._state.reject(TURN_STOPPED, str(refused), now)
            return
        if heard(self._state, notice, now):
            self._show()
        else:
            self._state.reject(TURN_STOPPED, f"no such turn is open: {notice.turn_id[:100]!r}", now)

    @workflow.signal(dynamic=True)
    def unknown_signal(self, name: str, arguments: Sequence[RawValue]) -> None:
        """A signal nobody knows is recorded, not lost."""
        self._state.reject(name, "an instance takes updates; this is no signal of it", workflow.now())

    @workflow.query(description="The persona as the instance holds it, with its present traits.")
    def get_persona(self, *arguments: Any) -> Persona | None:
        """The persona."""
        persona = self._state.persona
        return persona and persona.model_copy(
            update={"personality_traits": {**persona.personality_traits, **self._state.traits}}
        )

    @workflow.query(description="The id of the persona.")
    def get_current_primary_persona_id(self, *arguments: Any) -> str | None:
        """Its id."""
        return self._state.persona.id if self._state.persona else None

    @workflow.query(description="The id of the instance.")
    def get_gmi_id(self, *arguments: Any) -> str:
        """Its id."""
        return self._state.gmi_id

    @workflow.query(description="The state, as AgentOS names it: ready, processing, awaiting_tool_result …")
    def get_current_state(self, *arguments: Any) -> str:
        """Where it stands, in one word."""
        return self._state.prime_state

    @workflow.query(description="Where the instance stands: its open turn, its queue, its counters.")
    def get_status(self, *arguments: Any) -> InstanceStatus:
        """Where it stands."""
        return self._state.status()

    @workflow.query(description="When the instance was created.")
    def creation_timestamp(self, *arguments: Any) -> str:
        """An instant, ISO 8601."""
        return self._state.created_at.isoformat()

    @workflow.query(description="The reasoning trace, at most 256 KB of it, the newest entries last.")
    def get_reasoning_trace(self, *arguments: Any) -> dict[str, Any]:
        """A ReasoningTrace."""
        state = self._state
        told = {
            "gmiId": state.gmi_id,
            "personaId": state.persona.id if state.persona else None,
            "turnId": state.open.turn_id if state.open else None,
            "sessionId": state.session_id,
            "conversationId": state.conversation_id,
            "organizationId": state.organization_id,
        }
        entries = [entry.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in state.trace]
        return {**{name: value for name, value in told.items() if value is not None}, "entries": entries}

    @workflow.query(description="All that working memory holds.")
    def get_working_memory_snapshot(self, *arguments: Any) -> dict[str, Any]:
        """Keys and values."""
        return self._state.working_memory

    @workflow.query(description="Null: this host has no learning layer.")
    def get_learner_session(self, *arguments: Any) -> None:
        """None."""
        return

    @workflow.query(description="The open pause, or null.")
    def get_pending_request(self, *arguments: Any) -> PendingRequest | None:
        """The record of the pause, as the turn told it when it stopped."""
        return self._state.open.pending if self._state.open else None

    @workflow.query(description="The output of a turn that is named, or of the last one, as far as it is kept.")
    def get_output(self, *arguments: Any) -> GMIOutput | None:
        """A turn's output: of the pause while it waits, the final one after its end."""
        try:
            wanted = read_turn_id(arguments, "get_output")
        except Refused as refused:
            # Of a query that fails only the text arrives.
            raise ValueError(f"{refused.code}: {refused}") from None
        state = self._state
        found = state.open or next(reversed(state.outcomes), None) if wanted is None else state.find(wanted)
        return None if found is None or isinstance(found, QueuedTurn) else found.output

    @workflow.query(description="Tokens and cost of all turns and reflections.")
    def get_usage(self, *arguments: Any) -> CostAggregator:
        """The sum."""
        return self._state.usage

    @workflow.query(description="Signals that were not used, and why.")
    def get_rejected_messages(self, *arguments: Any) -> tuple[RejectedMessage, ...]:
        """The newest ones."""
        return tuple(self._state.rejected)


def _failed(refused: Refused) -> ApplicationError:
    details = () if refused.details is None else (refused.details,)
    return ApplicationError(str(refused), *details, type=refused.code, non_retryable=True)
