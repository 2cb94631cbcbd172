"""Reading what a turn says while it says it: its chunks, from any number on, by any number of readers.

    async with ChunkReader("postgresql://…") as reader:
        async for chunk in reader.read(turn_id):
            ...

A reader that was cut off goes on behind the last number it has seen, and misses nothing. What a failed attempt of the model
had said is withdrawn by a later chunk (`metadata.replaces`): `TextView` puts the text together.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from activities.store.chunk_store import ChunkStore
from activities.store.database import Database, open_database
from activities.store.errors import StoreUnavailable
from activities.store.tables import storable
from activities.streaming_chunks import GMIOutputChunk as GMIOutputChunk
from activities.streaming_chunks import TextView as TextView
from activities.streaming_chunks import text_of_chunks as text_of_chunks
from worker.chunk_bells import Bell, bell_for
from worker.chunk_feeds import Feed

# How long a turn may be unknown: between its start and its first step a worker has to take it.
START_SECONDS = 10.0
ASK_SECONDS, LONGEST_ASK_SECONDS = 1.0, 60.0
FIRST_RETRY, LONGEST_RETRY = 0.1, 5.0
MOST_RETRIES = 8
LARGEST_NUMBER = 2**31 - 1

IsRunning = Callable[[], Awaitable[bool]]


class ChunksUnreadable(Exception):
    """Why there is nothing to read."""


class TurnUnknown(ChunksUnreadable):
    """The store has no such turn, or it never began."""


class NotStreamed(ChunksUnreadable):
    """The turn was not asked to stream."""


class NoSuchChunk(ChunksUnreadable):
    """The turn has never told a chunk of that number. `last` is its newest, None for a number that no chunk can have."""

    def __init__(self, turn_id: str, number: Any, last: int | None) -> None:
        newest = "" if last is None else f"; its newest is {last}"
        super().__init__(f"turn {turn_id!r} has no chunk {number!r:.40}{newest}")
        self.number = number
        self.last = last


class ChunksGone(ChunksUnreadable):
    """The turn ended long ago, and its chunks are not kept any more; its messages are."""


class TurnBroken(ChunksUnreadable):
    """The turn is over on its server, but nobody could close it in the store: it was terminated, or the store was away."""


class ChunkReader:
    """Reads chunks from the database of the workers. One object serves a whole process; it belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._database: Database | None = None
        self._bell: Bell | None = None
        self._feeds: dict[str, Feed] = {}
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database. Readers still at work end with `ChunksUnreadable`."""
        self._is_closed = True
        self._ring(None)
        async with self._opening:
            if self._bell is not None:
                await self._bell.stop()
            if self._database is not None:
                await asyncio.to_thread(self._database.close)
            self._bell = self._database = None

    async def read(
        self,
        turn_id: str,
        after: int = 0,
        *,
        is_running: IsRunning | None = None,
        until: "asyncio.Future[Any] | None" = None,
    ) -> AsyncGenerator[GMIOutputChunk, None]:
        """Chunks behind number `after`, as they come, up to and with the terminal one.

        `turn_id` is the store's key of the turn. `is_running` says whether its workflow still runs; it is asked when the turn
        has been silent for some seconds. Without it a turn that was terminated is waited for as long as its reader likes. Once
        `until` is done, what stands by then is told, and reading ends: a turn that waits for its host tells nothing more.

        Raises:
            TurnUnknown, NotStreamed, NoSuchChunk, ChunksGone, TurnBroken.
            StoreUnavailable: the database was away for too long.
        """
        if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after <= LARGEST_NUMBER:
            raise NoSuchChunk(turn_id, after, None)
        key = storable(turn_id)
        async with self._feed(key, until) as feed:
            wait = _Patience(key, is_running)
            while True:
                if self._is_closed:
                    raise ChunksUnreadable("the reader of chunks is closed")
                seen, is_last = feed.rings, until is not None and until.done()
                found = await wait.for_store(feed, after)
                for chunk in found:
                    after = chunk.sequence
                    yield chunk
                    if chunk.is_final:
                        return
                if not found and await wait.is_over(feed, after, seen, is_last=is_last):
                    return

    @asynccontextmanager
    async def _feed(self, key: str, until: "asyncio.Future[Any] | None") -> AsyncIterator[Feed]:
        store = ChunkStore(await self._opened())
        feed = self._feeds.setdefault(key, Feed(store, key))
        feed.readers += 1

        def ring(_: Any) -> None:
            feed.ring()

        if until is not None:
            until.add_done_callback(ring)
        try:
            yield feed
        finally:
            if until is not None:
                until.remove_done_callback(ring)
            feed.readers -= 1
            if not feed.readers and self._feeds.get(key) is feed:
                del self._feeds[key]

    async def _opened(self) -> Database:
        async with self._opening:
            if self._is_closed:
                raise ChunksUnreadable("the reader of chunks is closed")
            if self._database is None:
                self._database = await asyncio.to_thread(open_database, self._url)
                self._bell = bell_for(self._database, self._ring)
                await self._bell.start()
            return self._database

    def _ring(self, turn_id: str | None) -> None:
        if turn_id is None:
            for feed in self._feeds.values():
                feed.ring()
        elif turn_id in self._feeds:
            self._feeds[turn_id].ring()


class _Patience:
    """What one reader waits for, and until when."""

    def __init__(self, turn_id: str, is_running: IsRunning | None) -> None:
        self._turn_id = turn_id
        self._is_running = is_running
        self._began = asyncio.get_running_loop().time()
        self._is_last_look = False
        self._ask_after = ASK_SECONDS

    async def for_store(self, feed: Feed, after: int) -> list[GMIOutputChunk]:
        """The next chunks. A database that is away for a moment is waited for.

        Raises:
            StoreUnavailable.
        """
        retry = FIRST_RETRY
        for _ in range(MOST_RETRIES):
            try:
                return await feed.after(after)
            except StoreUnavailable as fault:
                if not fault.retryable:
                    raise
                await asyncio.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
        return await feed.after(after)

    async def is_over(self, feed: Feed, after: int, seen: int, *, is_last: bool) -> bool:
        """There is nothing new: wait until there may be, or say that there is nothing to come, or none that is waited for.

        Raises:
            ChunksUnreadable: there is nothing to wait for, and there should be.
        """
        status = feed.status
        if status is None:
            if not is_last:
                await self._for_start()
        elif not status.streams:
            raise NotStreamed(f"turn {self._turn_id!r} was not started with options.stream")
        elif not status.is_open and not status.last:
            raise ChunksGone(f"turn {self._turn_id!r} ended long ago; its chunks are not kept any more")
        elif after > status.last:
            raise NoSuchChunk(self._turn_id, after, status.last)
        elif not status.is_open and after == status.last:
            return True
        if is_last:
            return True
        if not await feed.wait(seen, self._ask_after):
            await self._for_silence(feed)
        return False

    async def _for_start(self) -> None:
        waited = asyncio.get_running_loop().time() - self._began
        if self._is_last_look or (self._is_running is None and waited > START_SECONDS):
            raise TurnUnknown(f"there is no turn {self._turn_id!r}")

    async def _for_silence(self, feed: Feed) -> None:
        if self._is_last_look:
            raise TurnBroken(f"turn {self._turn_id!r} is over without an end in the store")
        # One more look: it may have ended between the last one and the question.
        self._is_last_look = self._is_running is not None and not await self._is_running()
        self._ask_after = ASK_SECONDS if self._is_last_look else min(2 * self._ask_after, LONGEST_ASK_SECONDS)
        feed.ring()
