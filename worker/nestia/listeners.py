"""Telling events to listeners: in order, one event at a time, all listeners of an event at once.

A listener changes nothing: what it raises is logged, and one that takes too long is left behind.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from typing import Any, get_args

from worker.nestia.events import EventType, NestiaEvent, make_event

Listener = Callable[[Any], Any]
LISTENER_SECONDS = 30.0

logger = logging.getLogger(__name__)


class Listeners:
    """The listeners of one agent, and the queue of what they are to be told."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {kind: [] for kind in get_args(EventType)}
        self._queue: asyncio.Queue[NestiaEvent] = asyncio.Queue()
        self._number = 0

    def on(self, kind: EventType, listener: Listener) -> None:
        """Add a listener; one that is there already is not added again."""
        held = self._of(kind)
        if listener not in held:
            held.append(listener)

    def off(self, kind: EventType, listener: Listener) -> None:
        """Take a listener away; one that is not there is nothing."""
        held = self._of(kind)
        if listener in held:
            held.remove(listener)

    def wants(self, kind: EventType) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners[kind])

    def tell(self, kind: EventType, turn_id: str, fields: dict[str, Any]) -> None:
        """Queue an event. Everything is numbered, listened to or not."""
        self._number += 1
        if self.wants(kind):
            now_ms = int(time.time() * 1000)
            self._queue.put_nowait(make_event(kind, self._number, turn_id, now_ms, fields))

    async def told(self) -> None:
        """Wait until everything that is queued was told."""
        await self._queue.join()

    async def run(self) -> None:
        """Tell what is queued, until cancelled; nobody is told the rest, and nobody waits for it."""
        try:
            while True:
                event = await self._queue.get()
                try:
                    await asyncio.gather(*(_tell(listener, event) for listener in tuple(self._listeners[event.type])))
                finally:
                    self._queue.task_done()
        finally:
            while not self._queue.empty():
                self._queue.get_nowait()
                self._queue.task_done()

    def _of(self, kind: str) -> list[Listener]:
        if kind not in self._listeners:
            raise ValueError(f"there is no event {kind!r}; there are {', '.join(self._listeners)}")
        return self._listeners[kind]


async def _tell(listener: Listener, event: NestiaEvent) -> None:
    try:
        async with asyncio.timeout(LISTENER_SECONDS):
            said = listener(event)
            if inspect.isawaitable(said):
                await said
    except TimeoutError:
        logger.warning("a listener of %s took more than %g seconds and is left behind", event.type, LISTENER_SECONDS)
    except Exception:
        logger.warning("a listener of %s raised; nothing changes by it", event.type, exc_info=True)
