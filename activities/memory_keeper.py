"""The memories of all scopes: loaded from the store, changed by compare-and-swap.

The engine is pure; this is where it meets the store. Engines are cached by scope and version, and one SELECT tells whether a
cached one is still the newest, so that what another worker learned shows without loading everything again.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from activities.contracts import MemoryPlan
from activities.store.errors import SnapshotConflict
from activities.store.memory_plans import MAX_LINES, KeptPlan, PlannedLine
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from activities.turn_input import TurnInput
from memory_engine import (
    SCHEMA_VERSION,
    CognitiveMemory,
    CognitiveMemoryOptions,
    KnowledgeTension,
    MemoryInjectionReport,
    PostTurn,
    PostTurnAnswers,
    PostTurnResult,
    SearchHit,
    Stage,
    parse_snapshot,
    run_fast_gate,
)

CACHED_ENGINES = 64
CONFLICT_TRIES = 10
DEFAULT_ORGANIZATION = "local"
MAX_HITS = 20
MAX_TENSIONS = 10
GIST_CHARS = 200
EMBEDDED_AT_ONCE = 32
EMBEDDING_SECONDS = 1.0
"""How long one search may make vectors, while others wait for the same memory."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


def scope_of(given: TurnInput, persona_id: str) -> Scope:
    """Whose memory a turn uses."""
    return Scope(given.organization_id or DEFAULT_ORGANIZATION, given.user_id, persona_id)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A finished turn as memory hears it: the user's words and the agent's. No text of a tool is in it.

    Without an id it cannot be recognised when it comes again.
    """

    turn_id: str | None
    said: str
    replied: str
    session_id: str | None
    now_ms: int


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
        report = self.read(scope, lambda engine: engine.plan_injection(message))
        return report.text, _kept_plan(report, message)

    def search(self, scope: Scope, query: str, limit: int) -> dict[str, list[dict[str, Any]]]:
        """What is remembered, best first, and the contradictions that nobody has decided yet."""

        def look(engine: CognitiveMemory) -> dict[str, list[dict[str, Any]]]:
            _embed(engine)
            found = {"memories": [_hit(hit) for hit in engine.search(query, max(1, min(limit, MAX_HITS)))]}
            if tensions := open_tensions(engine):
                found["tensions"] = [_tension(each) for each in tensions[:MAX_TENSIONS]]
            return found

        return self.read(scope, look)

    def ask(self, scope: Scope, exchange: Exchange, stages: tuple[Stage, ...], answers: PostTurnAnswers) -> PostTurn:
        """The learning of a turn with its next question worked out; what stages before answered is not asked again."""

        def begin(engine: CognitiveMemory) -> PostTurn:
            asking = _begin(engine, exchange, stages, answers)
            # Worked out here, under the lock: later the engine may be another.
            _ = asking.ask
            return asking

        return self.read(scope, begin)

    def learn(self, scope: Scope, exchange: Exchange, answers: PostTurnAnswers) -> tuple[PostTurnResult, int]:
        """Learn from one turn and save; the result, and the version that holds it.

        The engine remembers turn ids, so a turn that was learned before changes nothing.

        Raises:
            SnapshotConflict: others kept being faster.
        """

        def hear(engine: CognitiveMemory) -> PostTurnResult:
            return _begin(engine, exchange, (), answers).finish()

        return self.change(scope, exchange.now_ms, hear, look_first=False)

    def read(self, scope: Scope, look: Callable[[CognitiveMemory], T]) -> T:
        """What `look` sees in the newest engine, which it must not change or keep."""
        with self._newest(scope) as held:
            return look(held.engine)

    def change(
        self, scope: Scope, now_ms: int, work: Callable[[CognitiveMemory], T], *, look_first: bool = True
    ) -> tuple[T, int]:
        """Do `work` on the newest engine and save it; its result, and the version that holds it.

        Two writers of one scope both succeed: the later one loads what the first saved and does its work on top of it.
        What `work` raises passes through, and nothing is saved. Without `look_first` the first try is made on the engine
        that is at hand, which saves a question to the database: only for work that raises nothing for what it finds.

        Raises:
            SnapshotConflict: others kept being faster.
        """
        for attempt in range(CONFLICT_TRIES):
            with self._newest(scope, look=look_first) as held:
                try:
                    result = work(held.engine)
                    blob = held.engine.dump()
                    held.version = self._snapshots.save(scope, held.version, blob, SCHEMA_VERSION, now_ms)
                except SnapshotConflict as conflict:
                    held.version = -1
                    if conflict.newer_schema or attempt == CONFLICT_TRIES - 1:
                        raise
                except BaseException:
                    # The engine has changed and was not saved: it must not be taken for the stored state.
                    held.version = -1
                    raise
                else:
                    return result, held.version
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextmanager
    def _newest(self, scope: Scope, *, look: bool = True) -> Iterator[_Held]:
        """The scope's engine at the newest stored version, for this thread alone; without a `look` perhaps an older one."""
        held = self._held(scope)
        with held.lock:
            is_usable = not look and held.version >= 0
            if not is_usable and held.version != self._snapshots.version(scope):
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


def _embed(engine: CognitiveMemory) -> None:
    """Vectors for memories that have none yet, where there is an embedder. What takes too long waits for later searches."""
    until = time.monotonic() + EMBEDDING_SECONDS
    try:
        while engine.embed_memories(EMBEDDED_AT_ONCE) and time.monotonic() < until:
            pass
    except Exception as failure:
        # A search by words is worth more than none, whatever an embedder of somebody else raises.
        logger.warning("no vectors were made: %s", failure)


def open_tensions(engine: CognitiveMemory) -> list[KnowledgeTension]:
    """The contradictions that wait for somebody's decision, in the order in which they were raised."""
    return [tension for tension in engine.tensions() if tension.status != "resolved"]


def _begin(
    engine: CognitiveMemory, exchange: Exchange, stages: tuple[Stage, ...], answers: PostTurnAnswers
) -> PostTurn:
    return engine.begin_post_turn(
        exchange.said,
        exchange.replied,
        turn_id=exchange.turn_id,
        now=exchange.now_ms,
        session_id=exchange.session_id,
        asks=stages,
        answers=answers,
    )


def _kept_plan(report: MemoryInjectionReport, message: str) -> KeptPlan:
    lines = tuple(
        PlannedLine(
            id=entry.id, tier=entry.tier, reason=entry.reason, gist=entry.gist[:GIST_CHARS], tokens=entry.tokens
        )
        for entry in report.entries[:MAX_LINES]
    )
    return KeptPlan(
        entries=len(report.entries),
        tokens=report.total_tokens,
        truncated=report.truncated,
        caution=run_fast_gate(message).action == "inject_caution",
        lines=lines,
    )


def _hit(hit: SearchHit) -> dict[str, Any]:
    return {
        "id": hit.item.id,
        "content": hit.item.content,
        "relevance": round(hit.score, 4),
        "domains": hit.item.metadata.domains,
        "rememberedAtMs": hit.item.metadata.created_at,
    }


def _tension(tension: KnowledgeTension) -> dict[str, Any]:
    return {
        "id": tension.id,
        "claims": [tension.claim_a.statement, tension.claim_b.statement],
        "question": tension.actionable_question,
    }
