"""What must be true after the kills. Each check gives its breaches as sentences; none means that the promise was kept."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage, UserMessage
from activities.errors import TOOL_OUTCOME_UNKNOWN
from tests.chaos.chaos_app import ONCE, REPEATABLE
from tests.chaos.effects import Effect
from tests.chaos.plans import ASK, Plan


def row_breaches(plan: Plan, rows: Sequence[Message]) -> Iterator[str]:
    """The stored turn is the plan, step by step: no step is missing, none was made twice."""
    shape = [_shape(message) for message in rows]
    planned = ["user"]
    for calls in plan.rounds:
        planned += [" ".join(name for name, _ in calls), *(f"result of {name}" for name, _ in calls)]
    if shape != [*planned, "words"]:
        yield f"{plan.name}: its rows are {shape}, planned were {[*planned, 'words']}"


def answer_breaches(
    plan: Plan, rows: Sequence[Message], acknowledged: Mapping[str, Any], signalled: Sequence[Any]
) -> Iterator[str]:
    """Every answer that was acknowledged is in Temporal's history, and is what the model reads."""
    results = _results(rows)
    for call_id, output in acknowledged.items():
        if {"toolCallId": call_id, "output": output} not in signalled:
            yield f"{plan.name}: the acknowledged answer to {call_id} is not in the history"
        result = results.get(call_id)
        if result is None or result.output != output:
            yield f"{plan.name}: the acknowledged answer to {call_id} is not what the model reads"
    if len(acknowledged) != plan.calls(ASK):
        yield f"{plan.name}: {len(acknowledged)} answers were acknowledged, {plan.calls(ASK)} calls asked for one"


def effect_breaches(plan: Plan, rows: Sequence[Message], effects: Sequence[Effect]) -> Iterator[str]:
    """Effects of one turn: each of a repeatable tool once by its key, each of the other at most once."""
    results, calls = _results(rows), _calls(rows)
    for call in calls:
        runs = [effect for effect in effects if effect.call_id == call.id]
        if call.name == REPEATABLE:
            yield from _repeatable(plan, call, results.get(call.id), runs)
        elif call.name == ONCE:
            yield from _once(plan, call, results.get(call.id), runs)
    if strangers := {effect.call_id for effect in effects} - {call.id for call in calls}:
        yield f"{plan.name}: effects of calls that the turn does not have: {sorted(strangers)}"


def unknown_outcomes(rows: Sequence[Message]) -> int:
    """How many calls ended without anybody knowing whether they had their effect."""
    return sum(_error_code(result) == TOOL_OUTCOME_UNKNOWN for result in _results(rows).values())


def _repeatable(plan: Plan, call: ToolCall, result: ToolCallResult | None, runs: Sequence[Effect]) -> Iterator[str]:
    if result is None or result.is_error:
        yield f"{plan.name}: {call.name} {call.id} should have been run again, its result is {result}"
    if len({effect.key for effect in runs}) != 1:
        yield f"{plan.name}: {call.name} {call.id} has the keys {sorted({effect.key for effect in runs})}, not one"
    elif result is not None and not any(effect.finished for effect in runs):
        yield f"{plan.name}: {call.name} {call.id} has a result, but no run of it finished"


def _once(plan: Plan, call: ToolCall, result: ToolCallResult | None, runs: Sequence[Effect]) -> Iterator[str]:
    if len(runs) > 1:
        yield f"{plan.name}: {call.name} {call.id} ran {len(runs)} times"
    code = _error_code(result)
    if code not in (None, TOOL_OUTCOME_UNKNOWN):
        yield f"{plan.name}: {call.name} {call.id} ended in {code}"
    finished = any(effect.finished for effect in runs)
    if code is None and not finished:
        yield f"{plan.name}: {call.name} {call.id} has a result, but did not finish"


def _shape(message: Message) -> str:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage(tool_calls=calls) if calls:
            return " ".join(call.name for call in calls)
        case AssistantMessage():
            return "words"
        case ToolMessage(result=result):
            return f"result of {result.tool_name}"


def _results(rows: Sequence[Message]) -> dict[str, ToolCallResult]:
    return {row.result.tool_call_id: row.result for row in rows if isinstance(row, ToolMessage)}


def _calls(rows: Sequence[Message]) -> list[ToolCall]:
    return [call for row in rows if isinstance(row, AssistantMessage) for call in row.tool_calls]


def _error_code(result: ToolCallResult | None) -> str | None:
    if result is None:
        return "no result"
    return str(result.error_details["code"]) if result.is_error else None
