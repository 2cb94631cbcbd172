"""Everything a turn knows while it runs, and how each step changes it. Pure; time is a parameter.

The workflow waits and calls, handlers judge and answer; both read and write this one object.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from activities import errors
from activities.contracts import Excerpt, ModelReply, PlacedResult, SourcesRetrieved, TurnBegun
from activities.conversation import ErrorDetails, GMIOutput, ToolCall, ToolCallResult
from activities.durations import parse_duration
from activities.json_values import encoded_size
from activities.output_parts import OutputParts, UICommand
from activities.selection import ChoicePhase, ChoiceReply
from activities.sources import RagRetrievedChunk
from activities.structured_contracts import StructuredOutput
from activities.turn_input import TurnInput, TurnLimits, TurnOptions
from workflows import rounds
from workflows.agent_input import depth_of
from workflows.agents import Agents
from workflows.answers import Reject
from workflows.budget import Budget
from workflows.collected_parts import CollectedParts
from workflows.contracts import PendingCall, PendingRequest, TurnPhase
from workflows.corrections import Corrections
from workflows.function_stack import FunctionStack
from workflows.inbox import Inbox
from workflows.limits import Progress, Reached
from workflows.pause import FillReason, Pause, not_run
from workflows.pending import pending_call
from workflows.rounds import Delegate, PlannedCall, Refuse, Show, Wait
from workflows.structured import structured_output
from workflows.transcript import Transcript
from workflows.usage import add_usage

SHOWN_RESULT_BYTES = 8_000
# Why a call of a sub-agent is filled, where the agent lives on and has to hear of it.
PASSED_ON: tuple[FillReason, ...] = ("left_out", "deadline", "call_timeout", "settled")
FINAL_TEXT_CHARS = 64_000
OVER: tuple[TurnPhase, ...] = ("closing", "completed", "failed", "cancelled", "superseded")


@dataclass(slots=True)
class TurnState:
    """One turn. `rows` counts the rows of its history that stand or are about to; `unsaved` of them are only here.

    `turn_id` is what its caller calls it, unique in the conversation; `key` is what the store calls it, unique everywhere.
    """

    given: TurnInput
    turn_id: str
    key: str
    conversation_id: str
    inbox: Inbox
    transcript: Transcript
    budget: Budget
    begun: TurnBegun | None = None
    phase: TurnPhase = "starting"
    progress: Progress = field(default_factory=Progress)
    request: PendingRequest | None = None
    options: TurnOptions | None = None
    sources: tuple[RagRetrievedChunk, ...] | None = None
    rows: int = 0
    round: tuple[PlannedCall, ...] = ()
    results: dict[str, ToolCallResult] = field(default_factory=dict)
    unsaved: list[PlacedResult] = field(default_factory=list)
    corrections: Corrections = field(default_factory=Corrections)
    stack: FunctionStack = field(default_factory=FunctionStack)
    round_noted: bool = False
    text: str = ""
    text_ref: str | None = None
    own_calls: dict[str, ToolCall] = field(default_factory=dict)
    agents: Agents = field(default_factory=Agents)
    share: TurnLimits = field(default_factory=TurnLimits)
    parts: CollectedParts = field(default_factory=CollectedParts)
    structured: StructuredOutput | None = None
    output: GMIOutput | None = None
    settle_asked: bool = False
    superseded_by: str | None = None

    @classmethod
    def of(cls, given: TurnInput, workflow_id: str) -> "TurnState":
        """The state of a turn that has not begun."""
        turn_id = given.interaction_id or workflow_id
        conversation_id = given.conversation_id or workflow_id
        key = turn_key(conversation_id, turn_id, workflow_id)
        inbox, transcript = Inbox(owner=given.user_id), Transcript(turn_id)
        return cls(given, turn_id, key, conversation_id, inbox, transcript, Budget.of(given.limits))

    @property
    def claimed(self) -> TurnBegun:
        """What the begin step gave; only after it."""
        assert self.begun is not None
        return self.begun

    @property
    def is_over(self) -> bool:
        """Whether no answer can change the turn any more."""
        return self.phase in OVER

    @property
    def limits(self) -> TurnLimits:
        """The limits as they stand, with what the host has raised."""
        return self.budget.limits

    @property
    def stops_at(self) -> datetime | None:
        """When the turn is stopped in the midst of its work. One that asks is not: it asks before its next model call."""
        return self.limits.deadline if self.limits.on_limit == "stop" else None

    def deadline_passed(self, now: datetime) -> bool:
        """Whether the turn is to be stopped for its own deadline."""
        return self.stops_at is not None and now >= self.stops_at

    def take_sources(self, found: SourcesRetrieved, now: datetime) -> None:
        """The sources of the turn, which every round of it keeps."""
        self.sources = found.sources
        self.transcript.retrieved(found, now)

    def take_reply(self, reply: ModelReply, now: datetime) -> None:
        """The model replied: what went before is stored, a new round begins."""
        self.progress.model_calls += 1
        self.progress.usage = add_usage(self.progress.usage, reply.usage, reply.provider, reply.model)
        self.unsaved, self.round, self.results = [], (), {}
        if reply.stored:
            self.rows = reply.row + 1
        if reply.structured is not None and self.given.options.structured_reply is not None:
            ref = f"{self.key}/{reply.row}"
            self.structured = structured_output(self.given.options.structured_reply, reply.structured, ref)
        if reply.structured is None or not reply.structured.discarded:
            self._add_text(reply.text, reply.row)
        self.transcript.model_replied(reply, self.progress.model_calls - 1, now)
        self.take_parts(reply.parts, now)

    def take_choice(self, phase: ChoicePhase, reply: ChoiceReply, now: datetime) -> None:
        """The model chose functions: its reply is stored, and no call of it is to be answered."""
        self.progress.model_calls += 1
        self.progress.usage = add_usage(self.progress.usage, reply.usage, reply.provider, reply.model)
        self.stack.note_usage(phase, reply.usage, reply.provider, reply.model)
        self.rows = max(self.rows, reply.row + 1)
        self._add_text(reply.text, reply.row)
        self.transcript.chose(phase, reply, self.progress.model_calls - 1, now)

    def _add_text(self, text: Excerpt | None, row: int) -> None:
        if text is None:
            return
        self.text = "\n".join(filter(None, (self.text, text.text)))[:FINAL_TEXT_CHARS]
        if text.cut:
            self.text_ref = f"{self.key}/{row}"

    def note_called(self) -> bool:
        """Take the called functions of the round from the stack, but for those that the model may still correct.

        Says whether it is time to put the results into words.
        """
        self.round_noted = True
        names = [planned.call.name for planned in self.round]
        waited = len(self.stack.entries)
        self.stack.drop(name for name in names if not self.corrections.awaits(name))
        if not self.stack.is_active or any(map(self.corrections.awaits, names)):
            return False
        if waited and len(self.stack.entries) == waited:
            # Nothing that was chosen has run: the model called what it does not have, or looked something up first.
            return False
        when = self.stack.options.describe
        return when == "each" or (when == "end" and not self.stack.entries)

    def open_round(self, reply: ModelReply, now: datetime) -> None:
        """Plan the calls of a reply; refused ones have their result at once."""
        plan = rounds.plan_round(reply, self.given.external_tools, self.corrections)
        self.round, self.share = self.agents.admit(plan, depth_of(self.given), self.limits, self.progress)
        self.round_noted = False
        self.rows = reply.row + 1 + len(self.round)
        self.progress.tool_rounds += 1
        for planned in self.round:
            if isinstance(planned.disposition, Refuse):
                self.note_own_call(planned)
                self.set_result(planned, planned.disposition.result, now)
                if planned.call.problem is not None and planned.call.problem.code in errors.MENDABLE:
                    self.corrections.note(planned.call, self.corrections.human_part(planned.call), correctable=True)
            elif isinstance(planned.disposition, Show):
                self.note_own_call(planned)
                self.set_result(planned, planned.disposition.result, now)
                self.show((planned.disposition.command,), now)

    def refuse_round(self, reply: ModelReply, why: ErrorDetails, now: datetime) -> None:
        """Calls of a reply that was asked for words: none runs, each is answered."""
        self.round = rounds.plan_round(reply, self.given.external_tools, self.corrections)
        self.rows = reply.row + 1 + len(self.round)
        for planned in self.round:
            self.note_own_call(planned)
            self.set_result(planned, rounds.failed(planned.call, why), now)

    @property
    def waiting(self) -> list[PlannedCall]:
        """Calls of the round that are the host's to answer."""
        return [planned for planned in self.round if isinstance(planned.disposition, Wait)]

    def planned(self, call_id: str) -> PlannedCall:
        """A call of the round."""
        return next(planned for planned in self.round if planned.call.id == call_id)

    def note_own_call(self, planned: PlannedCall, edited: dict[str, Any] | None = None) -> None:
        """The worker ran or refused this call: the final output names it."""
        call = planned.call
        arguments = call.arguments if edited is None else edited
        self.own_calls[call.id] = ToolCall(
            id=call.id, name=call.name, arguments=arguments, provider_id=call.provider_id
        )

    def set_result(self, planned: PlannedCall, result: ToolCallResult, now: datetime) -> None:
        """A result the workflow itself made: kept here until the store has it."""
        self.unsaved.append(PlacedResult(row=planned.row, result=result))
        self.unsaved.sort(key=lambda placed: placed.row)
        self.note_result(planned, result, now)

    def take_parts(self, parts: OutputParts | None, now: datetime) -> None:
        """What a result or a reply adds to the output."""
        if parts is not None:
            self.parts.take(parts)
            self.show(parts.ui_commands, now)

    def show(self, commands: Sequence[UICommand], now: datetime) -> None:
        """Tell the host's user interface what to do."""
        if not commands:
            return
        self.transcript.showed(commands, now)
        if left_out := self.parts.show(commands):
            self.transcript.note("WARNING", f"The output has no room for {left_out} more UI commands", now)

    def note_result(self, planned: PlannedCall, result: ToolCallResult, now: datetime) -> None:
        """A call has its result."""
        self.results[planned.call.id] = result
        by_host = isinstance(planned.disposition, Wait) and planned.call.id not in self.own_calls
        self.transcript.got_result(_shown(result), now, by_host=by_host)
        self.take_parts(result.parts, now)

    def open_pause(self, reply: ModelReply, workflow_id: str, now: datetime) -> Pause:
        """The round's waiting calls become a pause."""
        calls = [pending_call(planned, f"{self.key}/{reply.row}", now) for planned in self.waiting]
        own = {planned.call.id for planned in self.round} - {call.id for call in calls}
        rationale = reply.text.text if reply.text else None
        return self.pause_for(f"{self.progress.model_calls - 1}", calls, own, rationale, workflow_id, now)

    def open_budget_pause(self, reached: Reached, workflow_id: str, began: datetime, now: datetime) -> Pause:
        """A limit is reached: the host is asked for more."""
        call = self.budget.ask(reached, self.progress, self.key, began, now)
        return self.pause_for(f"budget-{self.budget.asked}", [call], set(), None, workflow_id, now)

    def pause_for(
        self,
        name: str,
        calls: list[PendingCall],
        worker_calls: set[str],
        rationale: str | None,
        workflow_id: str,
        now: datetime,
        *deadlines: datetime,
    ) -> Pause:
        """A pause opens for these calls. `worker_calls` are those of the same round that are not the host's to answer."""
        deadline = min([now + parse_duration(self.given.pause.timeout), *deadlines])
        pause = Pause.of(f"{self.turn_id}/{name}", calls, deadline)
        self.inbox.open(pause, worker_calls)
        self.phase, self.settle_asked = "waiting", False
        self.request = PendingRequest(
            pause_id=pause.pause_id,
            tool_calls=pause.calls,
            rationale=rationale,
            requested_at=now,
            deadline=deadline,
            conversation_id=self.conversation_id,
            user_id=self.given.user_id,
            persona_id=self.claimed.persona_id,
            session_id=self.given.session_id,
            stream_id=workflow_id,
        )
        self.transcript.pause_opened(self.request, now)
        return pause

    def pending_request(self) -> PendingRequest | None:
        """The record of the open pause as it stands now."""
        pause = self.inbox.pause
        if pause is None or self.request is None:
            return None
        return self.request.model_copy(update={"tool_calls": pause.calls})

    def close_pause(self, pause: Pause, reason: FillReason, now: datetime) -> None:
        """Every call of the pause has its result; what is still open is filled with `reason`."""
        self.note_filled(pause.fill(reason), now)
        for result in pause.results():
            self.set_result(self.planned(result.tool_call_id), result, now)
        for planned in (each for each in self.waiting if pause.knows(each.call.id)):
            slot = pause.slot(planned.call.id)
            if slot.call.kind != "external" and isinstance(slot.resolution, Reject):
                # A tool of the worker that a person refused: run or refused, the final output names it.
                self.note_own_call(planned)
        self.inbox.close()
        self.request, self.phase = None, "running"

    def settle_budget(self, pause: Pause, began: datetime, now: datetime) -> None:
        """The host was asked for more, and has said what it gives."""
        [slot] = pause.slots
        self.transcript.note("STATE_CHANGE", self.budget.take(slot.call, slot.resolution, began, now), now)

    def abandon_round(self, reason: FillReason, now: datetime) -> None:
        """The turn ends in the middle of a round: every call still gets a result, and no answer is lost."""
        if self.inbox.pause is not None:
            self.close_pause(self.inbox.pause, reason, now)
        for planned in self.round:
            if planned.call.id in self.results:
                continue
            if isinstance(planned.disposition, Wait) and planned.call.id not in self.own_calls:
                self.set_result(planned, not_run(planned.call.id, planned.call.name, reason), now)
            else:
                what = (
                    "agent was at work; it was stopped"
                    if isinstance(planned.disposition, Delegate)
                    else "tool was running"
                )
                message = f"The turn ended while the {what}; its effect may or may not have happened."
                error = ErrorDetails(code=errors.TOOL_CANCELLED, message=message)
                self.set_result(planned, rounds.failed(planned.call, error), now)
        if not self.round_noted:
            # Whatever was called waits no longer: it ran, or was given up with its turn.
            self.note_called()

    def note_filled(self, calls: Sequence[PendingCall], now: datetime) -> None:
        """Tell in the trace which calls nobody ran, and the sub-agents that made some of them."""
        pause = self.inbox.pause
        for call in calls:
            if pause is not None and (reason := pause.slot(call.id).filled) in PASSED_ON:
                self.agents.pass_on_fills([call], reason)
        if calls:
            self.transcript.note("WARNING", f"Filled as not run: {', '.join(call.name for call in calls)}", now)

    def end(self, phase: TurnPhase, now: datetime) -> None:
        """The turn is over; its output is set."""
        assert self.output is not None
        self.phase, self.request = phase, None
        self.inbox.close()
        self.inbox.reject_unused(now)
        self.transcript.ended(self.output, now)


def turn_key(conversation_id: str, turn_id: str, workflow_id: str) -> str:
    """What the store calls a turn: different for different turns, whatever characters their ids have."""
    if turn_id == workflow_id:
        return _without_slash(workflow_id)
    return f"{_without_slash(conversation_id)}/{turn_id}"


def _without_slash(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")


def _shown(result: ToolCallResult) -> ToolCallResult:
    # What the parts are is told by chunks of their own and by the output.
    result = result if result.parts is None else result.model_copy(update={"parts": None})
    if encoded_size(result) <= SHOWN_RESULT_BYTES:
        return result
    small = {"output": _preview(result.output), "error_details": _preview(result.error_details)}
    return result.model_copy(update=small)


def _preview(value: Any) -> Any:
    return value if encoded_size(value) <= SHOWN_RESULT_BYTES // 4 else {"preview": str(value)[:1_000], "cut": True}
