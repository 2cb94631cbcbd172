"""What happens in a chaos run, as it happens: the kills wait for these moments, so that they fall where it hurts."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Literal

Moment = Literal["asked", "answered", "tool", "paused", "signalled"]
MOMENTS: tuple[Moment, ...] = ("asked", "answered", "tool", "paused", "signalled")


class Moments:
    """Counts of moments. For one event loop."""

    def __init__(self) -> None:
        self.counts: Counter[Moment] = Counter()
        self.kills = 0
        self._changed = asyncio.Condition()
        self._telling: set[asyncio.Task[None]] = set()

    def note(self, moment: Moment, times: int = 1) -> None:
        """It happened."""
        self.counts[moment] += times
        self._tell()

    def note_kill(self) -> None:
        """Something was killed."""
        self.kills += 1
        self._tell()

    async def next(self, moment: Moment, patience: float) -> bool:
        """Wait for the next one; false when none came in `patience` seconds."""
        before = self.counts[moment]
        return await self._until(lambda: self.counts[moment] > before, patience)

    async def passed(self, kills: int) -> None:
        """Wait until so many kills have been."""
        await self._until(lambda: self.kills >= kills, None)

    async def _until(self, condition: Callable[[], bool], patience: float | None) -> bool:
        try:
            async with asyncio.timeout(patience), self._changed:
                await self._changed.wait_for(condition)
        except TimeoutError:
            return False
        return True

    def _tell(self) -> None:
        task = asyncio.ensure_future(self._notify())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
