"""The writers of each memory, in one queue: those that wait while one group is stored are the next group."""

import asyncio
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from activities.memory_service import Change, GroupKeeper, Outcome, Reply
from activities.store.errors import StoreError
from activities.store.records import Scope
from memory_engine import CognitiveMemory, MemoryEngineError
from worker.memory_service.clock import now_ms
from worker.memory_service.errors import unavailable
from worker.memory_service.metrics import Metrics

MOST_WAITING = 2_000
"""Writers that wait for one memory; one more is sent away."""
MOST_GROUPED = 256
MOST_TOUCHED = 5_000

Waiting = tuple[Change, "asyncio.Future[Outcome]"]


@dataclass(slots=True)
class _Queue:
    waiting: deque[Waiting] = field(default_factory=deque)
    touched: dict[str, None] = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None


class Writers:
    """Takes changes from any number of requests of one event loop."""

    def __init__(self, keeper: GroupKeeper, pool: Executor, metrics: Metrics) -> None:
        self._keeper = keeper
        self._pool = pool
        self._metrics = metrics
        self._queues: dict[Scope, _Queue] = {}

    async def submit(self, scope: Scope, change: Change) -> Reply:
        """Wait until the change is stored, and with it its answer.

        Raises:
            Refusal: the change is not made.
            ApiError: 503, too many wait already.
            Exception: what the change or the store raised.
        """
        queue = self._queues.setdefault(scope, _Queue())
        if len(queue.waiting) >= MOST_WAITING:
            raise unavailable("too many changes of this memory wait to be stored")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        queue.waiting.append((change, future))
        self._start(scope, queue)
        # A caller who goes away does not undo what others wait for.
        outcome = await asyncio.shield(future)
        if isinstance(outcome, Reply):
            return outcome
        raise outcome

    def touch(self, scope: Scope, ids: Iterable[str]) -> None:
        """Note that a served prompt showed these memories. Stored with the next change, or by `flush`."""
        touched = self._queues.setdefault(scope, _Queue()).touched
        for memory_id in ids:
            if len(touched) < MOST_TOUCHED:
                touched[memory_id] = None

    async def flush(self) -> None:
        """Store everything that waits, uses of memories included. What cannot be stored now is tried at the next time."""
        for scope, queue in list(self._queues.items()):
            if queue.touched:
                self._start(scope, queue)
        tasks = [queue.task for queue in self._queues.values() if queue.task]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, scope: Scope, queue: _Queue) -> None:
        if queue.task is None:
            queue.task = asyncio.get_running_loop().create_task(self._drain(scope, queue))

    async def _drain(self, scope: Scope, queue: _Queue) -> None:
        try:
            while queue.waiting or queue.touched:
                group = [queue.waiting.popleft() for _ in range(min(MOST_GROUPED, len(queue.waiting)))]
                touched = tuple(queue.touched)
                queue.touched.clear()
                await self._store(scope, group, touched)
        finally:
            queue.task = None
            if not queue.waiting and not queue.touched:
                self._queues.pop(scope, None)

    async def _store(self, scope: Scope, group: list[Waiting], touched: tuple[str, ...]) -> None:
        changes = [change for change, _ in group]
        try:
            outcomes = await self._commit(scope, [*changes, _touching(touched)] if touched else changes)
        except Exception as fault:
            # One of them may be the reason: alone, it cannot hinder the others.
            if len(group) > 1 and not isinstance(fault, StoreError | MemoryEngineError):
                for each in group:
                    await self._store(scope, [each], ())
                return
            for _, future in group:
                _fail(future, fault)
            return
        for (_, future), outcome in zip(group, outcomes, strict=False):
            if not future.done():
                future.set_result(outcome)

    async def _commit(self, scope: Scope, changes: list[Change]) -> list[Outcome]:
        loop = asyncio.get_running_loop()
        self._metrics.grouped.observe(len(changes))
        return await loop.run_in_executor(self._pool, self._keeper.commit, scope, changes, now_ms())


def _fail(future: "asyncio.Future[Outcome]", fault: Exception) -> None:
    if not future.done():
        future.set_exception(fault)
        # Its request may be gone, and then nobody asks for it.
        future.exception()


def _touching(ids: tuple[str, ...]) -> Change:
    def touch(engine: CognitiveMemory, now_ms: int) -> Reply:
        return Reply(200, "", changed=engine.touch(ids, now_ms) > 0)

    return Change(touch)
