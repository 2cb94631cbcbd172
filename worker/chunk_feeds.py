"""The chunks of one turn as all its readers in a process share them: one of them asks the database, the others get it too."""

import asyncio
from collections import deque
from itertools import islice

from activities.store.chunk_store import ChunkStore
from activities.store.chunks import StreamStatus
from activities.streaming_chunks import GMIOutputChunk

PAGE = 500
# How many of the newest chunks are kept for readers that are not far behind.
KEPT = 1_000


class Feed:
    """One turn. `rings` counts how often there was reason to look again; `status` is set when a look found nothing new."""

    def __init__(self, store: ChunkStore, turn_id: str) -> None:
        self._store = store
        self._turn_id = turn_id
        self._kept: deque[GMIOutputChunk] = deque(maxlen=KEPT)
        self._looking = asyncio.Lock()
        # At which ring, and behind which number, a look found nothing.
        self._nothing_new: tuple[int, int] | None = None
        self._news = asyncio.Event()
        self.readers = 0
        self.rings = 0
        self.status: StreamStatus | None = None

    def ring(self) -> None:
        """There may be something new."""
        self.rings += 1
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait for a ring after number `seen`; False when none came in time."""
        if self.rings != seen:
            return True
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def after(self, number: int) -> list[GMIOutputChunk]:
        """Chunks behind this number, in order: a page of them at most, none when there is nothing new."""
        if found := self._kept_after(number):
            return found
        if self._kept and number < self._kept[0].sequence - 1:
            return await asyncio.to_thread(self._store.read, self._turn_id, number, PAGE)
        async with self._looking:
            if found := self._kept_after(number):
                return found
            if self._nothing_new == (self.rings, number):
                return []
            return await self._look(number)

    async def _look(self, number: int) -> list[GMIOutputChunk]:
        looked_at = self.rings
        found, self.status = await asyncio.to_thread(self._ask, number)
        self._nothing_new = None if found else (looked_at, number)
        if found:
            if self._kept and found[0].sequence != self._kept[-1].sequence + 1:
                self._kept.clear()
            self._kept.extend(found)
        return found

    def _ask(self, number: int) -> tuple[list[GMIOutputChunk], StreamStatus | None]:
        # The status first: what is told of an open turn afterwards may be missing, of a closed one it is all there.
        status = self._store.status(self._turn_id)
        return self._store.read(self._turn_id, number, PAGE), status

    def _kept_after(self, number: int) -> list[GMIOutputChunk]:
        """What is kept behind this number; nothing when it is too far behind, or there is no more."""
        if not self._kept or not self._kept[0].sequence - 1 <= number < self._kept[-1].sequence:
            return []
        start = number + 1 - self._kept[0].sequence
        return list(islice(self._kept, start, start + PAGE))
