"""What the project knows of a conversation beyond the entries of its history: when, how long, how often, at what cost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from activities.conversation import AssistantMessage, ErrorDetails, Message, ToolCallResult, ToolMessage
from activities.store.records import StoredTurn, ToolAttempt, ToolRunRecord
from activities.wire import Wire
from worker.nestia.functions import NestiaApp
from worker.nestia.log import ConversationLog, ToldTurn
from worker.nestia.prompts import Operation, Prompt
from worker.nestia.restoring import unavailable
from worker.nestia.telling import functions_of
from worker.nestia.usage import TokenUsage


class ExecutionRecord(Wire):
    """One call the model made, corrected ones too. Times in milliseconds; `code` is the error's.

    `is_available` is false when the function is gone by now. Calls that did not run have no attempts.
    """

    id: str
    name: str
    controller: str | None = None
    function: str | None = None
    protocol: str | None = None
    is_available: bool = True
    arguments: dict[str, Any]
    success: bool
    code: str | None = None
    attempts: tuple[ToolAttempt, ...] = ()
    latency_ms: int | None = None


class TurnRecord(Wire):
    """One turn. Times in milliseconds, those of pauses included; `error` is how it ended, if not well."""

    type: Literal["turn"] = "turn"
    turn_id: str
    position: int
    state: str
    created_ms: int
    ended_ms: int | None = None
    latency_ms: int | None = None
    error: ErrorDetails | None = None
    usage: TokenUsage
    usage_by_phase: dict[str, TokenUsage]
    prompts: tuple[Prompt, ...]
    executions: tuple[ExecutionRecord, ...] = ()


class RestoredRecord(Wire):
    """What the conversation began with. `unavailable` are controller and function of everything in it that is gone."""

    type: Literal["restored"] = "restored"
    prompts: tuple[Prompt, ...]
    unavailable: tuple[tuple[str, str], ...] = ()


Record = RestoredRecord | TurnRecord


def records_of(log: ConversationLog, app: NestiaApp) -> list[Record]:
    """The records of a conversation, oldest first. Blocking."""
    records: list[Record] = []
    if log.restored:
        gone = unavailable(log.restored, app.find)
        records.append(RestoredRecord(prompts=tuple(log.restored), unavailable=gone))
    for told in log.ended:
        turn, placed = log.turns.turn_and_rows(told.place.id)
        if turn is not None:
            executions = _executions([message for _, message in placed], log.conversations.tool_runs(turn.id), app)
            records.append(_record(told, turn, executions))
    return records


def _record(told: ToldTurn, turn: StoredTurn, executions: Iterable[ExecutionRecord]) -> TurnRecord:
    return TurnRecord(
        turn_id=turn.id,
        position=turn.position,
        state=turn.state,
        created_ms=turn.created_ms,
        ended_ms=turn.ended_ms,
        latency_ms=None if turn.ended_ms is None else turn.ended_ms - turn.created_ms,
        error=turn.output.error if turn.output else None,
        usage=told.usage,
        usage_by_phase=told.usage_by_phase,
        prompts=told.prompts,
        executions=tuple(executions),
    )


def _executions(
    rows: Sequence[Message], runs: Mapping[str, ToolRunRecord], app: NestiaApp
) -> Iterator[ExecutionRecord]:
    results = {row.result.tool_call_id: row.result for row in rows if isinstance(row, ToolMessage)}
    for row in (each for each in rows if isinstance(each, AssistantMessage)):
        for call in row.tool_calls:
            kept = functions_of(row).get(call.id) or _today(app.named(call.name))
            run, result = runs.get(call.id), results.get(call.id)
            attempts = run.attempts if run is not None else ()
            yield ExecutionRecord(
                id=call.id,
                name=call.name,
                **kept,
                is_available=not kept or app.find(kept["controller"], kept["function"]) is not None,
                arguments=call.arguments,
                success=result is not None and not result.is_error,
                code=_code(result),
                attempts=attempts,
                latency_ms=sum(each.took_ms for each in attempts) if attempts else None,
            )


def _today(operation: Operation | None) -> dict[str, Any]:
    return operation.model_dump(include={"controller", "function", "protocol"}) if operation is not None else {}


def _code(result: ToolCallResult | None) -> str | None:
    details = result.error_details if result is not None and result.is_error else None
    return str(details.get("code")) if isinstance(details, dict) else None
