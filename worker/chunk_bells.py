"""How readers of one process learn that there is something new, without asking the database about every turn all the time.

SQLite has no notifications, but a counter that moves when somebody else has committed; looking at it reads no table.
PostgreSQL notifies; for what gets lost there (a broken connection, a pooler that keeps none) everything is asked for anyway,
once a second.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Protocol

import psycopg
from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError

from activities.store.chunks import CHANNEL
from activities.store.database import Database

SHORTEST_LOOK, LONGEST_LOOK = 0.01, 0.25
# A database that was quiet for so many times the interval is looked at less often.
QUIET_LOOKS = 500
NET_SECONDS = 1.0
FIRST_RETRY, LONGEST_RETRY = 0.1, 5.0

# Called in the loop with the turn that has news; None: any may have.
Ring = Callable[[str | None], None]


class Bell(Protocol):
    """Rings from `start` to `stop`."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


def bell_for(database: Database, ring: Ring) -> Bell:
    """The bell for this kind of database."""
    if database.engine.dialect.name == "sqlite":
        return SqliteBell(database, ring)
    return PostgresBell(database.engine.url, ring)


class SqliteBell:
    """Looks at the file's counter, in a thread of its own: every 10 ms while there is news, seldom after a long quiet."""

    def __init__(self, database: Database, ring: Ring) -> None:
        self._database = database
        self._ring = ring
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        """Start looking."""
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._look, args=(loop,), name="chunk-bell", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Stop looking."""
        self._stopping.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        seen, changed_at = None, time.monotonic()
        while not self._stopping.is_set():
            try:
                connection = self._database.engine.raw_connection()
            except SQLAlchemyError:
                self._stopping.wait(LONGEST_LOOK)
                continue
            try:
                cursor = connection.cursor()
                while not self._stopping.wait(_interval(time.monotonic() - changed_at)):
                    cursor.execute("PRAGMA data_version")
                    version = cursor.fetchone()
                    if version != seen:
                        seen, changed_at = version, time.monotonic()
                        loop.call_soon_threadsafe(self._ring, None)
            except RuntimeError:
                return  # the loop is closed, and nobody listens
            except Exception:
                seen = None  # the file is away or locked for a moment: a new connection finds out
                connection.invalidate()
                self._stopping.wait(LONGEST_LOOK)
            finally:
                connection.close()


class PostgresBell:
    """Listens on a connection of its own, and connects again when that breaks."""

    def __init__(self, url: URL, ring: Ring) -> None:
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._ring = ring
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start listening."""
        self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _listen(self) -> None:
        retry = FIRST_RETRY
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._address, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}".encode())
                    retry = FIRST_RETRY
                    while True:
                        # What came while nobody listened, and what no notice tells.
                        self._ring(None)
                        async for notice in connection.notifies(timeout=NET_SECONDS):
                            self._ring(notice.payload)
            except (psycopg.Error, OSError):
                await asyncio.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
                self._ring(None)


def _interval(quiet: float) -> float:
    return min(LONGEST_LOOK, max(SHORTEST_LOOK, quiet / QUIET_LOOKS))
