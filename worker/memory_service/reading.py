"""Looking into memories, from the loop: in a thread of the pool, a few at a time for each memory."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from activities.memory_keeper import MemoryKeeper
from activities.store.records import Scope
from memory_engine import CognitiveMemory
from worker.memory_service.turnstile import Turnstile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads memories for the requests of one loop."""

    keeper: MemoryKeeper
    turnstile: Turnstile
    pool: Executor

    async def read(self, scope: Scope, look: Callable[[CognitiveMemory], T]) -> T:
        """What `look` sees in a memory, which it must not change or keep."""
        async with self.turnstile.gate(scope):
            return await asyncio.get_running_loop().run_in_executor(self.pool, self.keeper.read, scope, look)
