"""The decisions of a turn, without Temporal: what becomes of each call, when to ask the model again, when to stop.

A round is one reply of the model with calls in it, and the results that answer them. Calls keep the model's order whatever
order their results come in; each has one result before the model is asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from activities import errors
from activities.contracts import ModelReply, RequestedCall, ToolFacts
from activities.conversation import CostAggregator, CostEntry, ErrorDetails, ModelUsage, ToolCallResult
from activities.output_parts import UICommand
from activities.turn_input import ExternalTool, TurnLimits
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


Disposition = Refuse | Run | Wait | Show


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call, the row its result belongs to, and what becomes of it."""

    call: RequestedCall
    row: int
    disposition: Disposition


@dataclass(slots=True)
class Progress:
    """How far a turn has come; what limits are measured against."""

    tool_rounds: int = 0
    model_calls: int = 0
    usage: CostAggregator = field(default_factory=CostAggregator)


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
    if call.tool.kind == "external" or call.tool.external:
        return Wait(call.tool, "external", external)
    human = corrections.human_part(call)
    if call.tool.human_schema is not None and human is None:
        return Wait(call.tool, "human")
    return Wait(call.tool, "approval", human=human) if call.tool.needs_approval else Run(call.tool, human)


def failed(call: RequestedCall, error: ErrorDetails) -> ToolCallResult:
    """The result of a call that ended in this error."""
    said = {"code": error.code, "message": error.message}
    return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=said, is_error=True, error_details=error)


def may_call_tools(limits: TurnLimits, progress: Progress) -> bool:
    """Whether the next model call is offered tools. The last one allowed is not, so that the turn ends in words."""
    calls_left = None if limits.max_model_calls is None else limits.max_model_calls - progress.model_calls
    return progress.tool_rounds < limits.max_tool_rounds and (calls_left is None or calls_left > 1)


def limit_reached(limits: TurnLimits, progress: Progress, now: datetime) -> ErrorDetails | None:
    """The limit that forbids another model call, or None."""
    usage = progress.usage
    if limits.deadline is not None and now >= limits.deadline:
        return deadline_reached(limits.deadline)
    if limits.max_model_calls is not None and progress.model_calls >= limits.max_model_calls:
        return _limit(
            errors.LIMIT_MODEL_CALLS, f"all {limits.max_model_calls} model calls of limits.maxModelCalls are used"
        )
    if limits.max_tokens is not None and usage.total_tokens >= limits.max_tokens:
        return _limit(
            errors.LIMIT_TOKENS, f"{usage.total_tokens} tokens are used, limits.maxTokens is {limits.max_tokens}"
        )
    spent = usage.total_cost_usd
    if limits.max_cost_usd is not None and spent is not None and spent >= limits.max_cost_usd:
        return _limit(errors.LIMIT_COST, f"${spent:.6f} is spent, limits.maxCostUSD is {limits.max_cost_usd}")
    return None


def deadline_reached(deadline: datetime) -> ErrorDetails:
    """The error of a turn that ran into its own deadline."""
    return _limit(errors.LIMIT_DEADLINE, f"limits.deadline {deadline.isoformat()} has passed")


def forced_answer(limits: TurnLimits, progress: Progress) -> ErrorDetails:
    """Why the last model call was made without tools."""
    if progress.tool_rounds >= limits.max_tool_rounds:
        return _limit(
            errors.LIMIT_TOOL_ROUNDS, f"the turn used all {limits.max_tool_rounds} rounds of limits.maxToolRounds"
        )
    return _limit(errors.LIMIT_MODEL_CALLS, f"the last of {limits.max_model_calls} model calls was made without tools")


def add_usage(total: CostAggregator, used: ModelUsage | None, provider: str, model: str) -> CostAggregator:
    """The sum after one more model call, which may not have said what it used."""
    if used is None:
        return total.model_copy(update={"calls_without_usage": total.calls_without_usage + 1})
    return total.model_copy(
        update={
            "total_tokens": total.total_tokens + used.total_tokens,
            "prompt_tokens": total.prompt_tokens + used.prompt_tokens,
            "completion_tokens": total.completion_tokens + used.completion_tokens,
            "total_cost_usd": add_cost(total.total_cost_usd, used.cost_usd),
            "breakdown": _add_to_breakdown(total.breakdown, used, provider, model),
        }
    )


def add_cost(total: float | None, cost: float | None) -> float | None:
    """The sum of two costs in dollars, of which either may be unknown."""
    return total if cost is None else round((total or 0.0) + cost, 9)


def _add_to_breakdown(
    entries: tuple[CostEntry, ...], used: ModelUsage, provider: str, model: str
) -> tuple[CostEntry, ...]:
    key = (provider, model)
    held = next((entry for entry in entries if (entry.provider_id, entry.model_id) == key), None)
    if held is None:
        held = CostEntry(provider_id=provider, model_id=model, tokens=0, prompt_tokens=0, completion_tokens=0)
        entries = (*entries, held)
    grown = held.model_copy(
        update={
            "tokens": held.tokens + used.total_tokens,
            "prompt_tokens": held.prompt_tokens + used.prompt_tokens,
            "completion_tokens": held.completion_tokens + used.completion_tokens,
            "cost_usd": add_cost(held.cost_usd, used.cost_usd),
        }
    )
    return tuple(grown if entry is held else entry for entry in entries)


def _limit(code: str, what: str) -> ErrorDetails:
    return ErrorDetails(code=code, message=f"The turn stopped at a limit: {what}.")
