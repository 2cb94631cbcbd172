"""What becomes of each call of a reply. Pure.

A round is one reply of the model with calls in it, and the results that answer them. Calls keep the model's order whatever
order their results come in; each has one result before the model is asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activities import errors
from activities.contracts import ModelReply, RequestedCall, ToolFacts
from activities.conversation import ErrorDetails, ToolCallResult
from activities.output_parts import UICommand
from activities.turn_input import ExternalTool
from activities.ui_commands import command_of
from workflows.contracts import CallKind
from workflows.corrections import Corrections


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call does not run; the model reads why."""

    result: ToolCallResult


@dataclass(frozen=True, slots=True)
class Run:
    """The worker runs the call now, with what a person gave for the call that this one corrects."""

    facts: ToolFacts
    human: Any = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The call waits for the host: to run it, to approve that the worker does, or to give the person's part for it."""

    facts: ToolFacts
    kind: CallKind
    external: ExternalTool | None = None
    human: Any = None


@dataclass(frozen=True, slots=True)
class Show:
    """The call is a command for the host's user interface: the turn tells it, and the model reads that it was sent."""

    command: UICommand
    result: ToolCallResult


@dataclass(frozen=True, slots=True)
class Delegate:
    """The call is a task for another persona: a turn of it gives the result."""

    persona_id: str
    task: str


Disposition = Refuse | Run | Wait | Show | Delegate


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call, the row its result belongs to, and what becomes of it."""

    call: RequestedCall
    row: int
    disposition: Disposition


def plan_round(
    reply: ModelReply, external: Sequence[ExternalTool], corrections: Corrections
) -> tuple[PlannedCall, ...]:
    """What becomes of each call of a reply, in its order. The result of call i belongs to row `reply.row + 1 + i`."""
    by_name = {tool.name: tool for tool in external}
    return tuple(
        PlannedCall(call, reply.row + 1 + place, judge_call(call, by_name.get(call.name), corrections))
        for place, call in enumerate(reply.calls)
    )


def judge_call(call: RequestedCall, external: ExternalTool | None, corrections: Corrections) -> Disposition:
    """Whether a call is refused, run here, or waits. Decided by facts of the tool alone, never by what the model says.

    A person who gives their part of the arguments lets the call run by that; where they gave it before, an approval is
    asked for as for any other call.
    """
    if call.problem is not None:
        return Refuse(failed(call, call.problem))
    if call.tool is None:
        return Refuse(failed(call, ErrorDetails(code=errors.TOOL_NOT_FOUND, message=f"There is no tool {call.name}.")))
    if refusal := corrections.refusal(call):
        return Refuse(failed(call, refusal))
    if call.tool.kind == "ui":
        sent = ToolCallResult(tool_call_id=call.id, tool_name=call.name, output="sent")
        return Show(command_of(call.id, call.arguments), sent)
    if call.tool.kind == "agent":
        return _delegation(call)
    if call.tool.kind == "external" or call.tool.external:
        return Wait(call.tool, "external", external)
    human = corrections.human_part(call)
    if call.tool.human_schema is not None and human is None:
        return Wait(call.tool, "human")
    return Wait(call.tool, "approval", human=human) if call.tool.needs_approval else Run(call.tool, human)


def _delegation(call: RequestedCall) -> Disposition:
    if call.arguments_cut:
        # A reply with very many calls shortens what crosses the history, and half a task is none.
        message = "The task did not fit beside the other calls of the reply: call again with it alone."
        return Refuse(failed(call, ErrorDetails(code=errors.TOOL_CALL_CUT, message=message)))
    return Delegate(call.arguments["persona"], call.arguments["task"])


def failed(call: RequestedCall, error: ErrorDetails) -> ToolCallResult:
    """The result of a call that ended in this error."""
    said = {"code": error.code, "message": error.message}
    return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=said, is_error=True, error_details=error)
