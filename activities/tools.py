"""Runs the worker's tools: each call once, or again only where that is safe.

A ledger in the store is written before a tool starts and after it ended. An attempt that finds its call finished returns the
stored result; one that finds it started, and may not repeat it, says that the outcome is unknown.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import ToolRan, ToolRun
from activities.conversation import Arguments, AssistantMessage, ToolCallResult
from activities.function_schema import ArgumentsInvalidError
from activities.heartbeat import heartbeats
from activities.openapi.separation import merge_parts
from activities.outputs import MAX_ERROR_CHARS, error_text, failed_result, preview
from activities.personas import Persona, Personas
from activities.presenting import Presented
from activities.registry import ToolRegistry, invalid_arguments
from activities.store.errors import MediaFull, StoreError, TurnClosed
from activities.store.records import StoredTurn, ToolAttempt, ToolRunRecord
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from activities.tool import BoundCall, Tool, ToolContext
from activities.tool_attempts import Stopwatch
from activities.tool_executor import ToolExecutor, ToolRaisedError, ToolTimedOutError
from activities.tool_results import Outcome, answered, is_correctable, presented, without_human_part
from activities.transient import TransientError

LONGEST_RETRY_DELAY = 300.0


class ToolActivities:
    """Running tools of the worker."""

    def __init__(
        self,
        store: TurnStore,
        registry: ToolRegistry,
        executor: ToolExecutor | None = None,
        personas: Personas | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._executor = executor or ToolExecutor()
        self._personas = personas

    @activity.defn
    async def run_tool(self, run: ToolRun) -> ToolRan:
        """Run one call and store its result. A tool that fails is a result, which the model reads.

        Raises:
            ApplicationError: `TOOL_ERROR` or `TOOL_TIMED_OUT` while the tool has retries left; `SYS_DATABASE_ERROR`;
                `TURN_CLOSED` or `SYS_RESOURCE_NOT_FOUND`, never retried, for a turn that takes no results.
        """
        async with heartbeats():
            turn = await self._turn(run.turn_id)
            arguments = run.arguments if run.arguments is not None else await self._stored_arguments(run)
            record = await self._start(run, arguments)
            if record.result is not None:
                # A finished run is finished again: a reset may have taken its row away.
                return _ran(run, await self._finish(run, record.key, Outcome(record.result), None))
            context = _context(run, turn, record.key)
            watch = Stopwatch.started(context.attempt)
            outcome = await self._outcome(run, turn, arguments, context, watch, may_have_run=not record.first)
            return _ran(run, await self._finish(run, record.key, outcome, watch.ended(outcome.result)))

    async def _outcome(
        self,
        run: ToolRun,
        turn: StoredTurn,
        arguments: Arguments,
        context: ToolContext,
        watch: Stopwatch,
        *,
        may_have_run: bool,
    ) -> Outcome:
        tool = self._registry.get(run.name)
        # Asked first: the code that the cut-off attempt ran may have been another than this.
        if may_have_run and (tool is None or not tool.repeatable):
            return Outcome(_failed(run, errors.TOOL_OUTCOME_UNKNOWN, _unknown_outcome(run.name)))
        if tool is None:
            return Outcome(_failed(run, errors.TOOL_NOT_FOUND, f"This worker has no tool {run.name}."))
        try:
            call = tool.bind(merge_parts(arguments, run.human))
        except ArgumentsInvalidError as fault:
            failed = _failed(run, errors.TOOL_ARGUMENTS_INVALID, invalid_arguments(tool.name, str(fault)).message)
            return Outcome(without_human_part(failed, run.human))
        output = await self._run(run, tool, call, context, watch)
        if isinstance(output, Presented):
            outcome = presented(run.call_id, tool, output, self._persona(turn))
            return replace(outcome, result=without_human_part(outcome.result, run.human))
        result = output if isinstance(output, ToolCallResult) else answered(run.call_id, tool, output)
        return Outcome(without_human_part(result, run.human))

    def _persona(self, turn: StoredTurn) -> Persona | None:
        return None if self._personas is None else self._personas.of_turn(turn.persona_id, turn.input.instance)

    async def _run(self, run: ToolRun, tool: Tool, call: BoundCall, context: ToolContext, watch: Stopwatch) -> Any:
        """What the tool gave, or the result of its failure."""
        try:
            return await self._executor.run(tool, call, context)
        except ToolRaisedError as raised:
            fault, code, message = raised.error, errors.TOOL_ERROR, error_text(raised.error)
        except ToolTimedOutError as late:
            fault, code, message = None, errors.TOOL_TIMED_OUT, _overrun(tool, late.started)
        if context.attempt <= tool.retries:
            # Temporal repeats it, so that each attempt is seen where people look. The cause is left out: its stack
            # trace would stand in the history.
            shown = without_human_part(message[:MAX_ERROR_CHARS], run.human)
            await self._note(context.idempotency_key, watch.failed(code, shown, fault))
            raise ApplicationError(shown, type=code, next_retry_delay=_asked_delay(fault)) from None
        if isinstance(fault, TransientError) and fault.value is not None:
            return fault.value
        return _failed(run, code, message)

    async def _turn(self, turn_id: str) -> StoredTurn:
        with _store_refusals():
            turn = await asyncio.to_thread(self._store.turn, turn_id)
        if turn is None:
            raise _missing(f"there is no turn {turn_id!r}")
        return turn

    async def _stored_arguments(self, run: ToolRun) -> Arguments:
        with _store_refusals():
            rows = await asyncio.to_thread(self._store.rows, run.turn_id, run.call_row + 1)
        for row, message in rows:
            if row == run.call_row and isinstance(message, AssistantMessage):
                for call in message.tool_calls:
                    if call.id == run.call_id:
                        return call.arguments
        raise _missing(f"row {run.call_row} of turn {run.turn_id!r} does not have the call {run.call_id!r}")

    async def _start(self, run: ToolRun, arguments: Arguments) -> ToolRunRecord:
        with _store_refusals():
            return await asyncio.to_thread(self._store.start_tool_run, run.turn_id, run.call_id, _digest(arguments))

    async def _note(self, key: str, attempt: ToolAttempt) -> None:
        with _store_refusals():
            await asyncio.to_thread(self._store.note_tool_attempt, key, attempt)

    async def _finish(self, run: ToolRun, key: str, outcome: Outcome, attempt: ToolAttempt | None) -> ToolCallResult:
        """Keep the result; one whose bytes find no room any more becomes an error that the model reads."""
        with _store_refusals():
            finish = partial(self._store.finish_tool_run, key, row=run.row, attempt=attempt)
            try:
                return await asyncio.to_thread(finish, result=outcome.result, media=outcome.media)
            except MediaFull as full:
                message = f"The tool ran, but the user gets nothing of what it made: {full}."
                return await asyncio.to_thread(finish, result=_failed(run, errors.MEDIA_TOO_LARGE, message))


@contextmanager
def _store_refusals() -> Iterator[None]:
    try:
        with store_failures():
            yield
    except TurnClosed as closed:
        raise ApplicationError(str(closed), type=errors.TURN_CLOSED, non_retryable=True) from None
    except StoreError as refused:
        raise _missing(str(refused)) from None


def _context(run: ToolRun, turn: StoredTurn, key: str) -> ToolContext:
    return ToolContext(
        turn_id=run.turn_id,
        conversation_id=turn.conversation_id,
        user_id=turn.user_id,
        organization_id=turn.organization_id,
        persona_id=turn.persona_id,
        call_id=run.call_id,
        idempotency_key=key,
        attempt=activity.info().attempt if activity.in_activity() else 1,
    )


def _ran(run: ToolRun, result: ToolCallResult) -> ToolRan:
    shown, cut = preview(result)
    return ToolRan(row=run.row, result=shown, cut=cut, correctable=is_correctable(result))


def _asked_delay(fault: BaseException | None) -> timedelta | None:
    """How long the other side asks to wait before the next attempt; never so long that the turn seems dead."""
    if not isinstance(fault, TransientError) or fault.retry_after is None:
        return None
    return timedelta(seconds=min(max(fault.retry_after, 0.0), LONGEST_RETRY_DELAY))


def _failed(run: ToolRun, code: str, message: str) -> ToolCallResult:
    return failed_result(run.call_id, run.name, code, message)


def _unknown_outcome(name: str) -> str:
    return (
        f"A run of {name} was cut off before its result was known. What it does may or may not have happened; it was "
        "not run again. Find out before calling it again."
    )


def _overrun(tool: Tool, started: bool) -> str:
    if not started:
        return f"{tool.name} was not started within {tool.timeout:g} seconds: the worker is busy. Nothing happened."
    over = f"{tool.name} did not end within {tool.timeout:g} seconds."
    return over if tool.repeatable else f"{over} What it does may or may not have happened."


def _digest(arguments: Arguments) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def _missing(message: str) -> ApplicationError:
    return ApplicationError(message, type=errors.SYS_RESOURCE_NOT_FOUND, non_retryable=True)
