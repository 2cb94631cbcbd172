"""Sub-agents of a turn: which calls start one, what each may use, and what its pauses ask of the turn's host. Pure.

A call that a sub-agent waits for is shown with the id `{callId}.{its id}`, where `callId` is that of the call that started
the agent; agents of agents add further parts. What the host says of it is passed on to the agent, which has the last word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from activities import errors
from activities.conversation import ErrorDetails, GMIOutput, ToolCallResult
from activities.turn_input import MAX_DEPTH, ExternalTool, TurnLimits
from workflows.answers import as_result
from workflows.contracts import PendingCall
from workflows.gmi_contracts import TurnNotice
from workflows.limits import Progress
from workflows.pause import FillReason, Pause, Slot, agent_of
from workflows.rounds import Delegate, PlannedCall, Refuse, failed

MAX_DELEGATIONS = 16
FILL_CALLS = "fill_calls"


@dataclass(slots=True)
class Agent:
    """One sub-agent at work. `pending` are the calls it waits for, `output` what it told last."""

    call_id: str
    workflow_id: str
    persona_id: str
    number: int = 0
    pending: tuple[PendingCall, ...] = ()
    deadline: datetime | None = None
    output: GMIOutput | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A signal to a sub-agent that is still to be sent."""

    workflow_id: str
    name: str
    body: dict[str, Any]


@dataclass(slots=True)
class Agents:
    """The sub-agents of one turn. `asked` are the ids of their calls that the host has seen."""

    handed_out: int = 0
    at_work: dict[str, Agent] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    outbox: list[Outgoing] = field(default_factory=list)
    pauses: int = 0
    _early: dict[str, TurnNotice] = field(default_factory=dict)

    def admit(
        self, planned: Sequence[PlannedCall], depth: int, limits: TurnLimits, progress: Progress
    ) -> tuple[tuple[PlannedCall, ...], TurnLimits]:
        """The round with every delegation refused that must not start, and what each of the others may use."""
        wanted = [each.call.id for each in planned if isinstance(each.disposition, Delegate)]
        if not wanted:
            return tuple(planned), limits
        room = MAX_DELEGATIONS - self.handed_out
        share = share_of(limits, progress, min(len(wanted), max(room, 1)))
        refusals = {call_id: _refusal(depth, place >= room, share) for place, call_id in enumerate(wanted)}
        self.handed_out += sum(refusal is None for refusal in refusals.values())
        admitted = tuple(_or_refused(each, refusals.get(each.call.id)) for each in planned)
        return admitted, share if isinstance(share, TurnLimits) else limits

    def start(self, call_id: str, persona_id: str, workflow_id: str, tools: Sequence[ExternalTool]) -> Agent:
        """An agent is about to start; what was heard of it before (by a run that was reset) is heard now."""
        agent = Agent(call_id, f"{workflow_id}.{call_id}", persona_id)
        self.at_work[call_id] = agent
        if (early := self._early.pop(call_id, None)) is not None:
            _take(agent, early, tools)
        return agent

    def end(self, agent: Agent) -> None:
        """The agent has ended."""
        self.at_work.pop(agent.call_id, None)

    def hear(self, notice: TurnNotice, workflow_id: str, tools: Sequence[ExternalTool]) -> bool:
        """An agent tells where it stands; False when it is none of this turn's."""
        prefix, dot, call_id = notice.workflow_id.rpartition(".")
        if not dot or prefix != workflow_id:
            return False
        agent = self.at_work.get(call_id)
        if agent is not None:
            _take(agent, notice, tools)
            return True
        if len(self._early) >= MAX_DELEGATIONS:
            return False
        self._early[call_id] = notice
        return True

    @property
    def new_calls(self) -> list[PendingCall]:
        """Calls that the agents wait for and the host has not been asked about."""
        return [call for agent in self.at_work.values() for call in agent.pending if call.id not in self.asked]

    @property
    def deadlines(self) -> list[datetime]:
        """When the agents that wait stop waiting."""
        return [agent.deadline for agent in self.at_work.values() if agent.deadline is not None]

    def gone(self, pause: Pause) -> list[str]:
        """Calls that are open in the pause, and that no agent waits for any more."""
        waiting = {call.id for agent in self.at_work.values() for call in agent.pending}
        return [call.id for call in pause.open_calls if agent_of(call.id) is not None and call.id not in waiting]

    def has_news(self, pause: Pause) -> bool:
        """Whether the pause is to be changed, or something is to be sent."""
        return bool(self.outbox or self.new_calls or self.gone(pause))

    def pass_on(self, slots: Iterable[Slot]) -> None:
        """Send the agents what the host said of their calls."""
        results: dict[str, list[dict[str, Any]]] = {}
        for slot in slots:
            parts = agent_of(slot.call.id)
            if parts is not None and slot.resolution is not None:
                results.setdefault(parts[0], []).append(as_result(parts[1], slot.resolution))
        for call_id, told in results.items():
            self._send(call_id, "handle_tool_results", {"results": told, "partial": "wait"})

    def pass_on_fills(self, calls: Iterable[PendingCall], reason: FillReason) -> None:
        """Tell the agents which of their calls nobody answers."""
        filled: dict[str, list[str]] = {}
        for call in calls:
            if (parts := agent_of(call.id)) is not None:
                filled.setdefault(parts[0], []).append(parts[1])
        for call_id, ids in filled.items():
            self._send(call_id, FILL_CALLS, {"toolCallIds": ids, "reason": reason})

    def _send(self, call_id: str, name: str, body: dict[str, Any]) -> None:
        if (agent := self.at_work.get(call_id)) is not None:
            self.outbox.append(Outgoing(agent.workflow_id, name, body))


def share_of(limits: TurnLimits, progress: Progress, among: int) -> TurnLimits | ErrorDetails:
    """What is left of the limits, divided; or why nothing can be handed out. One model call is kept for the turn's own words."""
    usage, share = progress.usage, {}
    if limits.max_model_calls is not None:
        share["max_model_calls"] = (limits.max_model_calls - progress.calls - 1) // among
    if limits.max_tokens is not None:
        share["max_tokens"] = (limits.max_tokens - usage.total_tokens) // among
    if [name for name, left in share.items() if left < 1]:
        return _too_little("maxModelCalls" if share.get("max_model_calls", 1) < 1 else "maxTokens", among)
    if limits.max_cost_usd is None:
        return limits.model_copy(update=share)
    dollars = (limits.max_cost_usd - (usage.total_cost_usd or 0.0)) / among
    return (
        _too_little("maxCostUSD", among)
        if dollars <= 0
        else limits.model_copy(update={**share, "max_cost_usd": round(dollars, 9)})
    )


def agent_result(planned: PlannedCall, output: GMIOutput) -> ToolCallResult:
    """What the model reads of a sub-agent that has ended: its words; an error is told beside them."""
    call, text, error = planned.call, output.response_text, output.error
    if error is None:
        said: Any = text or "The agent has ended without words."
        if output.text_ref is not None:
            said = {"text": said, "cut": True}
        return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=said)
    told = {"code": error.code, "message": error.message} | ({"text": text} if text else {})
    return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=told, is_error=True, error_details=error)


def _take(agent: Agent, notice: TurnNotice, tools: Sequence[ExternalTool]) -> None:
    if notice.number <= agent.number:
        return
    pending = notice.pending
    agent.number, agent.output = notice.number, notice.output
    agent.deadline = pending.deadline if pending else None
    calls = pending.tool_calls if pending else ()
    agent.pending = tuple(_qualified(agent, call, tools) for call in calls if call.state == "open")


def _qualified(agent: Agent, call: PendingCall, tools: Sequence[ExternalTool]) -> PendingCall:
    """The call as the turn's host sees it. The schemas of the host's own tools do not travel: the turn has them."""
    tool = next((each for each in tools if each.name == call.name), None) if call.kind == "external" else None
    schemas = {} if tool is None else {"input_schema": tool.input_schema, "output_schema": tool.output_schema}
    return call.model_copy(
        update={"id": f"{agent.call_id}.{call.id}", "persona_id": call.persona_id or agent.persona_id, **schemas}
    )


def _refusal(depth: int, is_over: bool, share: TurnLimits | ErrorDetails) -> ErrorDetails | None:
    if depth >= MAX_DEPTH:
        message = (
            f"Agents may be {MAX_DEPTH} deep, and you are at the bottom: do the task yourself, or say what is missing."
        )
    elif is_over:
        message = f"A turn hands out {MAX_DELEGATIONS} tasks at most, and all are used: do the task yourself."
    else:
        return share if isinstance(share, ErrorDetails) else None
    return ErrorDetails(code=errors.TOOL_CALL_REJECTED, message=message)


def _too_little(limit: str, among: int) -> ErrorDetails:
    message = (
        f"Too little is left of limits.{limit} to hand out {among} task{'s' if among > 1 else ''}: hand out fewer, or go on "
        "without."
    )
    return ErrorDetails(code=errors.TOOL_CALL_REJECTED, message=message)


def _or_refused(planned: PlannedCall, refusal: ErrorDetails | None) -> PlannedCall:
    if refusal is None:
        return planned
    return PlannedCall(planned.call, planned.row, Refuse(failed(planned.call, refusal)))
