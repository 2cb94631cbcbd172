"""One turn as it is told: its chunks, and the output it comes to.

    stream = gmi.process_turn_stream("Where is my order?")
    async for chunk in stream: ...                       # up to the pause, or the end
    while not (stop := await stream.output()).is_final:
        stream.answer(results_of(stop.tool_calls), "ren")
        async for chunk in stream: ...                   # the same sequence goes on

A stream that was lost is taken up again, in any process, by `GMI.continue_stream` with the number of the last chunk.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from activities.conversation import ErrorDetails, GMIOutput
from activities.errors import GMI_PROCESSING_ERROR, SYS_DATABASE_ERROR, SYS_RESOURCE_NOT_FOUND, SYS_VALIDATION_ERROR
from activities.store.errors import StoreUnavailable
from activities.streaming_chunks import GMIOutputChunk, ended_drafts
from worker.chunks import ChunksUnreadable, NoSuchChunk, TurnBroken
from worker.gmi.chunks import ChunkSource
from worker.gmi.errors import GMIError

Json = Mapping[str, Any]
Ask = Callable[[], Awaitable[GMIOutput]]
Answer = Callable[[Sequence[Json], str, Sequence[str] | None, Json | None], Awaitable[GMIOutput]]


@contextmanager
def _read_errors() -> Iterator[None]:
    """Why chunks cannot be read, as codes of AgentOS."""
    try:
        yield
    except StoreUnavailable as away:
        raise GMIError(SYS_DATABASE_ERROR, str(away)) from away
    except ChunksUnreadable as wrong:
        code = SYS_VALIDATION_ERROR if isinstance(wrong, NoSuchChunk) else SYS_RESOURCE_NOT_FOUND
        raise GMIError(code, str(wrong)) from wrong


class TurnStream:
    """`async for chunk in stream`, then `await stream.output()`: what the generator of AgentOS yields and returns.

    It ends when the turn waits for its host or is over; a turn that is over has told exactly one final chunk. Leaving it early
    stops nothing: the turn runs on. `turn_id` and `sequence`, the number of the last chunk read, are what it takes to go on.
    """

    def __init__(
        self,
        turn_id: str,
        ask: Ask,
        answer: Answer,
        source: Callable[[], Awaitable[ChunkSource]],
        after: int = 0,
    ) -> None:
        self.turn_id = turn_id
        self.sequence = after
        self._ask = ask
        self._answer = answer
        self._source = source
        self._asked: asyncio.Task[GMIOutput] | None = None
        self._has_ended = False

    async def output(self) -> GMIOutput:
        """The output at the stop.

        Raises:
            GMIError: the message or the answer was not taken.
        """
        return await asyncio.shield(self._asking())

    def answer(
        self,
        tool_results: Sequence[Json],
        user_id: str,
        user_api_keys: Sequence[str] | None = None,
        options: Json | None = None,
    ) -> None:
        """Answer the pause, as `GMI.handle_tool_results` does. The stream goes on behind its last chunk."""
        self._ask = lambda: self._answer(tool_results, user_id, user_api_keys, options)
        self._asked = None

    async def __aiter__(self) -> AsyncIterator[GMIOutputChunk]:
        if self._has_ended:
            return
        asked, source = self._asking(), await self._source()
        with _read_errors():
            try:
                async with aclosing(source.read(self.sequence, asked)) as chunks:
                    async for chunk in chunks:
                        yield self._told(chunk)
                output = await asyncio.shield(asked)
                error, is_over = output.error, output.is_final and not await self._was_last(source, asked)
            except TurnBroken as broken:
                error, is_over = ErrorDetails(code=GMI_PROCESSING_ERROR, message=str(broken)), True
        for chunk in _end(error, self.turn_id, self.sequence) if is_over else ():
            yield self._told(chunk)

    def _told(self, chunk: GMIOutputChunk) -> GMIOutputChunk:
        self.sequence, self._has_ended = chunk.sequence, chunk.is_final
        return chunk

    async def _was_last(self, source: ChunkSource, asked: "asyncio.Task[GMIOutput]") -> bool:
        """Whether the last chunk read is the final one, now or before the stream was taken up again."""
        if not self._has_ended and self.sequence > 0:
            async with aclosing(source.read(self.sequence - 1, asked)) as chunks:
                async for chunk in chunks:
                    self._has_ended = chunk.is_final
                    break
        return self._has_ended

    def _asking(self) -> "asyncio.Task[GMIOutput]":
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._ask())
            # Whoever left the stream does not hear of its failure.
            self._asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._asked


def _end(error: ErrorDetails | None, turn_id: str, after: int) -> list[GMIOutputChunk]:
    """The last chunks of a turn that could not tell them: it never began, or was terminated."""
    drafts = ended_drafts("completed" if error is None else "failed", error)
    return [
        GMIOutputChunk(
            sequence=number,
            type=draft.type,
            chunk_id=f"gmi-chunk-{uuid5(NAMESPACE_OID, f'{turn_id}#{number}')}",
            interaction_id=turn_id,
            timestamp=datetime.now(UTC),
            is_final=draft.type == "final_response_marker",
            **dict(draft.body),
        )
        for number, draft in enumerate(drafts, after + 1)
    ]
