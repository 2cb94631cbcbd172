"""Memory as steps of a turn: the agent's own use of it, and what is learned at the end."""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import PostTurn, PostTurnReport, ToolRan, ToolRun
from activities.conversation import Arguments, ToolCallResult, ToolMessage
from activities.exchanges import exchange_of, said_in_conversation, stored_turn
from activities.function_schema import ArgumentsInvalidError
from activities.heartbeat import heartbeats
from activities.memory_answers import read_answers
from activities.memory_changes import ChangeRefusedError, Grounds, make_change
from activities.memory_keeper import MemoryKeeper as MemoryKeeper
from activities.memory_keeper import scope_of
from activities.memory_tools import CHANGE_TOOLS, MemoryChange, search_memory
from activities.outputs import failed_result, preview
from activities.store.errors import SnapshotDamaged, StoreError, StoreUnavailable, TurnClosed
from activities.store.records import StoredTurn
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from activities.tool import Tool
from memory_engine import MemoryEngineError

MOST_PROBLEMS = 20
PROBLEM_CHARS = 500

_CHANGES = {each.name: each for each in CHANGE_TOOLS}


class MemoryActivities:
    """Memory as steps of a turn."""

    def __init__(self, store: TurnStore, keeper: MemoryKeeper) -> None:
        self._store = store
        self._keeper = keeper

    @activity.defn
    async def recall(self, run: ToolRun) -> ToolRan:
        """The model searches memory: `search_memory` with `query` and `limit`."""
        async with heartbeats():
            with store_failures():
                turn = await asyncio.to_thread(stored_turn, self._store, run.turn_id)
            result = await asyncio.to_thread(self._search, run, turn)
            with store_failures():
                await asyncio.to_thread(self._store.put_rows, run.turn_id, [(run.row, ToolMessage(result=result))])
            return _ran(run, result)

    @activity.defn
    async def change_memory(self, run: ToolRun) -> ToolRan:
        """The model changes memory with one of its other tools, once: a run that is repeated has no further effect.

        Raises:
            ApplicationError: `SYS_DATABASE_ERROR`; `TURN_CLOSED` or `SYS_RESOURCE_NOT_FOUND`, never retried, for a turn that
                takes no results.
        """
        async with heartbeats():
            with _store_refusals():
                return await asyncio.to_thread(self._change, run)

    @activity.defn
    async def post_turn(self, request: PostTurn) -> PostTurnReport:
        """Let memory learn from a committed turn: the user's words, beside what was answered."""
        with store_failures():
            try:
                return await asyncio.to_thread(self._learn, request)
            except (SnapshotDamaged, MemoryEngineError) as fault:
                return PostTurnReport(skipped="the stored memory cannot be used", problems=(str(fault)[:500],))

    def _search(self, run: ToolRun, turn: StoredTurn) -> ToolCallResult:
        try:
            wanted = _wanted(search_memory, run.arguments or {})
            found = self._keeper.search(scope_of(turn.input, turn.persona_id), wanted.query, wanted.limit)
        except ArgumentsInvalidError as fault:
            return _failed(run, errors.TOOL_ARGUMENTS_INVALID, str(fault))
        except (StoreError, MemoryEngineError) as fault:
            return _failed(run, errors.TOOL_ERROR, f"Memory is not available ({type(fault).__name__}).")
        return ToolCallResult(tool_call_id=run.call_id, tool_name=run.name, output=found)

    def _change(self, run: ToolRun) -> ToolRan:
        turn = stored_turn(self._store, run.turn_id)
        record = self._store.start_tool_run(run.turn_id, run.call_id, _digest(run.arguments))
        result = record.result or self._changed(run, turn, record.key, may_have_run=not record.first)
        return _ran(run, self._store.finish_tool_run(record.key, result, run.row))

    def _changed(self, run: ToolRun, turn: StoredTurn, key: str, *, may_have_run: bool) -> ToolCallResult:
        tool = _CHANGES.get(run.name)
        if tool is None:
            return _failed(run, errors.TOOL_NOT_FOUND, f"This worker has no tool {run.name[:100]}.")
        if may_have_run and not tool.repeatable:
            return _failed(run, errors.TOOL_OUTCOME_UNKNOWN, _UNKNOWN_OUTCOME)
        now_ms = int(time.time() * 1000)
        said = said_in_conversation(self._store, turn)
        grounds = Grounds(said, key, now_ms, turn.input.session_id, may_have_run)
        try:
            change: MemoryChange = _wanted(tool, run.arguments or {})
            output, _ = self._keeper.change(
                scope_of(turn.input, turn.persona_id), now_ms, lambda engine: make_change(engine, change, grounds)
            )
        except ArgumentsInvalidError as fault:
            return _failed(run, errors.TOOL_ARGUMENTS_INVALID, str(fault))
        except ChangeRefusedError as refused:
            return _failed(run, errors.TOOL_ERROR, str(refused))
        except StoreUnavailable:
            raise
        except (StoreError, MemoryEngineError) as fault:
            return _failed(run, errors.TOOL_ERROR, f"Nothing was changed: {type(fault).__name__}.")
        return ToolCallResult(tool_call_id=run.call_id, tool_name=run.name, output=output)

    def _learn(self, request: PostTurn) -> PostTurnReport:
        answers = read_answers(request.answers)
        turn, exchange = exchange_of(self._store, request.turn_id, request.now_ms)
        result, version = self._keeper.learn(scope_of(turn.input, turn.persona_id), exchange, answers)
        return PostTurnReport(
            stored=result.counts.stored,
            merged=result.counts.merged,
            rejected=result.counts.rejected,
            promoted=result.counts.promoted,
            version=version,
            skipped=result.learning_skipped,
            problems=tuple(problem[:PROBLEM_CHARS] for problem in result.errors[:MOST_PROBLEMS]),
        )


_UNKNOWN_OUTCOME = (
    "Recording this outcome was cut off before it was known whether it counts. It was not recorded again."
)


@contextmanager
def _store_refusals() -> Iterator[None]:
    try:
        with store_failures():
            yield
    except TurnClosed as closed:
        raise ApplicationError(str(closed), type=errors.TURN_CLOSED, non_retryable=True) from None
    except StoreError as refused:
        raise ApplicationError(str(refused), type=errors.SYS_RESOURCE_NOT_FOUND, non_retryable=True) from None


def _wanted(tool: Tool, arguments: Arguments) -> Any:
    """What a call asks for; the type is that of the tool's function."""
    return tool.bind(arguments)(None)  # type: ignore[arg-type]  # memory tools take no context


def _ran(run: ToolRun, result: ToolCallResult) -> ToolRan:
    shown, cut = preview(result)
    return ToolRan(row=run.row, result=shown, cut=cut)


def _failed(run: ToolRun, code: str, message: str) -> ToolCallResult:
    return failed_result(run.call_id, run.name, code, message)


def _digest(arguments: Arguments | None) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
