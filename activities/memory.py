"""Memory around a turn: the plan before it, the search within it, what is learned after it.

The engine is pure; this is where it meets the store. Engines are cached by scope and version, and one SELECT tells whether a
cached one is still the newest, so that what another worker learned shows without loading everything again.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import errors
from activities.contracts import MemoryPlan, PostTurn, PostTurnReport, ToolRan, ToolRun
from activities.conversation import AssistantMessage, Message, ToolCallResult, ToolMessage, UserMessage
from activities.heartbeat import heartbeats
from activities.outputs import preview
from activities.store.errors import SnapshotConflict, SnapshotDamaged, StoreError
from activities.store.records import Scope, StoredTurn
from activities.store.snapshots import SnapshotStore
from activities.store.turn_store import TurnStore
from activities.store_failures import store_failures
from activities.texts import text_of
from activities.turn_input import TurnInput
from memory_engine import (
    SCHEMA_VERSION,
    CognitiveMemory,
    CognitiveMemoryOptions,
    MemoryEngineError,
    PostTurnResult,
    dump_snapshot,
    parse_snapshot,
    run_fast_gate,
)

CACHED_ENGINES = 64
CONFLICT_TRIES = 10
DEFAULT_ORGANIZATION = "local"
MAX_HITS = 20


def scope_of(given: TurnInput, persona_id: str) -> Scope:
    """Whose memory a turn uses."""
    return Scope(given.organization_id or DEFAULT_ORGANIZATION, given.user_id, persona_id)


@dataclass(slots=True)
class _Held:
    """A scope's engine and the version of the snapshot it equals. Used under its lock only."""

    engine: CognitiveMemory
    version: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


class MemoryKeeper:
    """The memories of all scopes. Blocking; safe to share between threads."""

    def __init__(self, snapshots: SnapshotStore, options: CognitiveMemoryOptions | None = None) -> None:
        self._snapshots = snapshots
        self._options = options or CognitiveMemoryOptions()
        self._cache: OrderedDict[Scope, _Held] = OrderedDict()
        self._lock = threading.Lock()

    def plan(self, scope: Scope, message: str) -> tuple[str, MemoryPlan]:
        """The text for the prompt, and the account of it. Changes nothing."""
        with self._newest(scope) as held:
            report = held.engine.plan_injection(message)
        return report.text, MemoryPlan(
            entries=len(report.entries),
            tokens=report.total_tokens,
            truncated=report.truncated,
            caution=run_fast_gate(message).action == "inject_caution",
        )

    def search(self, scope: Scope, query: str, limit: int) -> list[dict[str, Any]]:
        """What is remembered, best first."""
        with self._newest(scope) as held:
            hits = held.engine.search(query, max(1, min(limit, MAX_HITS)))
        return [
            {
                "content": hit.item.content,
                "relevance": round(hit.score, 4),
                "domains": hit.item.metadata.domains,
                "rememberedAtMs": hit.item.metadata.created_at,
            }
            for hit in hits
        ]

    def learn(
        self, scope: Scope, turn_id: str, said: str, replied: str, now_ms: int, session_id: str | None
    ) -> tuple[PostTurnResult, int]:
        """Learn from one turn and save; the result, and the version that holds it.

        Two writers of one scope both succeed: the later one loads what the first saved and learns on top of it. The engine
        remembers turn ids, so a turn that was learned before changes nothing.

        Raises:
            SnapshotConflict: others kept being faster.
        """
        for attempt in range(CONFLICT_TRIES):
            with self._newest(scope) as held:
                try:
                    result = held.engine.post_turn(said, replied, turn_id=turn_id, now=now_ms, session_id=session_id)
                    blob = dump_snapshot(held.engine.get_snapshot())
                    held.version = self._snapshots.save(scope, held.version, blob, SCHEMA_VERSION, now_ms)
                except SnapshotConflict as conflict:
                    held.version = -1
                    if conflict.newer_schema or attempt == CONFLICT_TRIES - 1:
                        raise
                except BaseException:
                    # The engine has learned what was not saved: it must not be taken for the stored state.
                    held.version = -1
                    raise
                else:
                    return result, held.version
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextmanager
    def _newest(self, scope: Scope) -> Iterator[_Held]:
        """The scope's engine at the newest stored version, for this thread alone."""
        held = self._held(scope)
        with held.lock:
            if held.version != self._snapshots.version(scope):
                loaded = self._snapshots.read(scope)
                engine = CognitiveMemory(self._options)
                engine.load_snapshot(None if loaded.blob is None else parse_snapshot(loaded.blob))
                held.engine, held.version = engine, loaded.version
            yield held

    def _held(self, scope: Scope) -> _Held:
        with self._lock:
            held = self._cache.setdefault(scope, _Held(CognitiveMemory(self._options)))
            self._cache.move_to_end(scope)
            while len(self._cache) > CACHED_ENGINES:
                self._cache.popitem(last=False)
            return held


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
                turn = _found(await asyncio.to_thread(self._store.turn, run.turn_id), run.turn_id)
            arguments = run.arguments or {}
            query, limit = str(arguments.get("query", "")), arguments.get("limit", 5)
            scope = scope_of(turn.input, turn.persona_id)
            try:
                hits = await asyncio.to_thread(self._keeper.search, scope, query, int(limit))
                result = ToolCallResult(tool_call_id=run.call_id, tool_name=run.name, output={"memories": hits})
            except (StoreError, MemoryEngineError) as fault:
                result = _not_available(run, fault)
            with store_failures():
                await asyncio.to_thread(self._store.put_rows, run.turn_id, [(run.row, ToolMessage(result=result))])
            shown, cut = preview(result)
            return ToolRan(row=run.row, result=shown, cut=cut)

    @activity.defn
    async def post_turn(self, request: PostTurn) -> PostTurnReport:
        """Let memory learn from a committed turn: the user's words, beside what was answered."""
        with store_failures():
            try:
                return await asyncio.to_thread(self._learn, request)
            except (SnapshotDamaged, MemoryEngineError) as fault:
                return PostTurnReport(skipped="the stored memory cannot be used", problems=(str(fault)[:500],))

    def _learn(self, request: PostTurn) -> PostTurnReport:
        turn = _found(self._store.turn(request.turn_id), request.turn_id)
        rows = [message for _, message in self._store.rows(request.turn_id, None)]
        scope, session_id = scope_of(turn.input, turn.persona_id), turn.input.session_id
        result, version = self._keeper.learn(
            scope, request.turn_id, _said(rows), _replied(rows), request.now_ms, session_id
        )
        return PostTurnReport(
            stored=result.counts.stored,
            merged=result.counts.merged,
            rejected=result.counts.rejected,
            promoted=result.counts.promoted,
            version=version,
            skipped=result.learning_skipped,
            problems=tuple(result.errors),
        )


def _found(turn: StoredTurn | None, turn_id: str) -> StoredTurn:
    if turn is None:
        raise ApplicationError(f"there is no turn {turn_id!r}", type=errors.SYS_RESOURCE_NOT_FOUND, non_retryable=True)
    return turn


def _said(rows: Sequence[Message]) -> str:
    return "\n".join(text_of(row.content) for row in rows if isinstance(row, UserMessage))


def _replied(rows: Sequence[Message]) -> str:
    return "\n".join(row.content for row in rows if isinstance(row, AssistantMessage) and row.content)


def _not_available(run: ToolRun, fault: Exception) -> ToolCallResult:
    error = {"code": errors.TOOL_ERROR, "message": f"Memory is not available ({type(fault).__name__})."}
    return ToolCallResult(
        tool_call_id=run.call_id, tool_name=run.name, output=error, is_error=True, error_details=error
    )
