"""One turn as it is told: its chunks, and the output it comes to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from activities.conversation import GMIOutput
from worker.gmi.chunks import ChunkSource
from workflows.transcript import Chunk

FIRST_POLL, LONGEST_POLL = 0.05, 0.5


class TurnStream:
    """`async for chunk in stream`, then `await stream.output()`: what the generator of AgentOS yields and returns.

    It ends when the turn waits for its host or is over. Leaving it early stops nothing: the turn runs on.
    """

    def __init__(self, ask: Callable[[], Awaitable[GMIOutput]], source: Callable[[], Awaitable[ChunkSource]]) -> None:
        self._ask = ask
        self._source = source
        self._asked: asyncio.Task[GMIOutput] | None = None

    async def output(self) -> GMIOutput:
        """The output at the stop.

        Raises:
            GMIError: the message was not taken.
        """
        return await self._asking()

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        asked, source, seen, pause = self._asking(), await self._source(), -1, FIRST_POLL
        try:
            while not asked.done():
                for chunk in await source.read(seen):
                    seen, pause = chunk.sequence, FIRST_POLL
                    yield chunk
                await asyncio.wait({asked}, timeout=pause)
                pause = min(pause * 1.5, LONGEST_POLL)
            await asked
            for chunk in await source.read(seen):
                yield chunk
        finally:
            if not asked.done():
                asked.cancel()
                with suppress(asyncio.CancelledError):
                    await asked

    def _asking(self) -> "asyncio.Task[GMIOutput]":
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._ask())
        return self._asked
