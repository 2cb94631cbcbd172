"""What a turn shows to its host: the pause, the acknowledgement of an answer, its state. Seed names are kept."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from activities.conversation import Arguments, ErrorDetails
from activities.turn_input import TurnLimits
from activities.wire import Wire

CallKind = Literal["external", "approval", "human", "budget"]
SlotState = Literal["open", "answered", "filled"]
TurnPhase = Literal["starting", "running", "waiting", "closing", "completed", "failed", "cancelled", "superseded"]


class PendingCall(Wire):
    """One call of a pause. `kind` says what the host is asked for: to run it, to approve that the worker runs it, or to give
    the part of its arguments that is a person's to give (`input_schema` is then the schema of that part). A `budget` call is the
    turn's own: it asks for more than a limit allows.

    `persona_id` is set for a call of a sub-agent: the persona that asks. With `arguments_cut` the arguments are
    {"preview": text}, and `arguments_ref` names the stored row that has them whole.
    """

    id: str
    name: str
    arguments: Arguments = Field(default_factory=dict)
    kind: CallKind = "external"
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    state: SlotState = "open"
    deadline: datetime | None = None
    arguments_cut: bool = False
    arguments_ref: str | None = None
    persona_id: str | None = None

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}


class PendingRequest(Wire):
    """The record of a pause. Source: AgentOSPendingExternalToolRequest, plus `pause_id` and `deadline`."""

    pause_id: str
    tool_calls: tuple[PendingCall, ...]
    rationale: str | None = None
    requested_at: datetime
    deadline: datetime
    conversation_id: str
    user_id: str
    persona_id: str
    session_id: str | None = None
    stream_id: str


class ItemReason(Wire):
    """Why one result of an answer was refused, in words that say what to send."""

    tool_call_id: str | None = None
    reason: str


class AnswerAck(Wire):
    """What an accepted answer did, and what the turn waits for now."""

    accepted: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    kept_for_later: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()


class RejectedAnswer(Wire):
    """An answer or a message that was not used. Kept so that nobody's work disappears in silence."""

    at: datetime
    channel: str
    reasons: tuple[ItemReason, ...]


class AgentStatus(Wire):
    """A sub-agent at work: the call that started it, the turn that it is, and the ids of the calls it waits for."""

    call_id: str
    persona_id: str
    workflow_id: str
    waiting_for: tuple[str, ...] = ()


class TurnStatus(Wire):
    """Where a turn stands. `state` is one of the AgentOS GMI states, `phase` ours; `limits` are as the host has raised them."""

    turn_id: str
    conversation_id: str | None
    persona_id: str | None
    user_id: str
    phase: TurnPhase
    state: str
    round: int
    model_calls: int
    waiting_for: tuple[str, ...] = ()
    error: ErrorDetails | None = None
    memory: dict[str, Any] | None = None
    rejected_answers: int = 0
    limits: TurnLimits | None = None
    agents: tuple[AgentStatus, ...] = ()
