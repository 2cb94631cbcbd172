"""An event loop in a thread of its own, for coroutines of others: what blocks it does not block the worker's own loop.

A loop that does not answer is left behind with what runs on it, and later work gets a new one.
"""

import asyncio
import logging
import threading

# How long the loop may take to answer before it counts as blocked, in seconds.
LOOP_PATIENCE = 1.0

logger = logging.getLogger(__name__)


class SideLoop:
    """One such loop, started when it is first needed. `whose` names what runs there: `tool`, `guardrail`."""

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._loop: asyncio.AbstractEventLoop | None = None

    async def responsive(self) -> asyncio.AbstractEventLoop:
        """A loop that answers."""
        loop = self._loop
        if loop is None or not await _answers(loop):
            if loop is not None:
                whose = self._whose
                logger.warning("an async %s blocks the event loop of the %ss; later calls get a new one", whose, whose)
            # Another caller may have replaced it while this one waited.
            if self._loop is loop:
                self._loop = _start(f"turnhold-{self._whose}-loop")
            loop = self._loop
        assert loop is not None
        return loop

    def close(self) -> None:
        """Stop the loop. Only when nothing runs any more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None


def _start(name: str) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def serve() -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=serve, name=name, daemon=True).start()
    return loop


async def _answers(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        async with asyncio.timeout(LOOP_PATIENCE):
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
    except TimeoutError:
        return False
    return True
