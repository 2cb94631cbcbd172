"""Where the chunks of a turn's output come from: the store, token by token, or the turn's workflow, reply by reply.

Both number the same way, from 1 without a gap, so that a reader goes on behind the last number it has seen.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol
from uuid import NAMESPACE_OID, uuid5

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.conversation import ErrorDetails, ModelUsage
from activities.streaming_chunks import GMIOutputChunk
from worker.chunks import ChunkReader, NoSuchChunk, NotStreamed
from workflows.transcript import Chunk, Page

FIRST_POLL, LONGEST_POLL = 0.05, 0.5


class ChunkSource(Protocol):
    """The chunks of one turn."""

    def read(self, after: int, until: "asyncio.Future[Any]") -> AsyncGenerator[GMIOutputChunk, None]:
        """Chunks behind number `after`, as they come, up to the terminal one, or to the last that stands once `until` is done.

        Raises:
            ChunksUnreadable: there is nothing to read.
        """
        ...


class StoredChunks:
    """Chunks of the store. A turn that does not stream is asked of its workflow instead."""

    def __init__(self, client: Client, reader: ChunkReader, key: str, workflow_id: str) -> None:
        self._handle = client.get_workflow_handle(workflow_id)
        self._reader = reader
        self._key = key
        self._fallback = PolledChunks(client, workflow_id)

    async def read(self, after: int, until: "asyncio.Future[Any]") -> AsyncGenerator[GMIOutputChunk, None]:
        """See `ChunkSource`."""
        try:
            reading = self._reader.read(self._key, after, is_running=self._is_running, until=until)
            async with aclosing(reading) as chunks:
                async for chunk in chunks:
                    yield chunk
        except NotStreamed:
            async with aclosing(self._fallback.read(after, until)) as polled:
                async for chunk in polled:
                    yield chunk

    async def _is_running(self) -> bool:
        try:
            return (await self._handle.describe()).status == WorkflowExecutionStatus.RUNNING
        except RPCError as fault:
            # One that waits in the instance's queue has no workflow yet.
            return fault.status == RPCStatusCode.NOT_FOUND


class PolledChunks:
    """Chunks asked of the turn's workflow, a reply's text in one piece. A turn that has not begun has none."""

    def __init__(self, client: Client, workflow_id: str) -> None:
        self._handle = client.get_workflow_handle(workflow_id)

    async def read(self, after: int, until: "asyncio.Future[Any]") -> AsyncGenerator[GMIOutputChunk, None]:
        """See `ChunkSource`."""
        pause, told = FIRST_POLL, after
        while True:
            is_last = until.done()
            for chunk in await self._behind(told):
                told, pause = chunk.sequence, FIRST_POLL
                yield chunk
                if chunk.is_final:
                    return
            if is_last:
                return
            await asyncio.wait({until}, timeout=pause)
            pause = min(pause * 1.5, LONGEST_POLL)

    async def _behind(self, number: int) -> list[GMIOutputChunk]:
        """What the turn has told behind this number, page by page from the newest."""
        found: list[GMIOutputChunk] = []
        before: int | None = None
        while True:
            try:
                page: Page = await self._handle.query("get_chunks", before, result_type=Page)
            except (RPCError, WorkflowQueryFailedError):
                return []
            if not 0 <= number <= page.total:
                raise NoSuchChunk(self._handle.id, number, page.total)
            chunks = [_numbered_from_one(Chunk.model_validate(entry)) for entry in page.entries]
            new = [chunk for chunk in chunks if chunk.sequence > number]
            found = new + found
            if page.cursor is None or len(new) < len(chunks) or not chunks:
                return found
            before = page.cursor


def _numbered_from_one(chunk: Chunk) -> GMIOutputChunk:
    """A chunk of the workflow in the form of the store's."""
    number, content = chunk.sequence + 1, chunk.content
    told = content if isinstance(content, dict) else {}
    is_error = chunk.type == "error"
    return GMIOutputChunk(
        sequence=number,
        type=chunk.type,
        chunk_id=f"gmi-chunk-{uuid5(NAMESPACE_OID, f'{chunk.interaction_id}#{number}')}",
        interaction_id=chunk.interaction_id,
        timestamp=chunk.timestamp,
        is_final=chunk.is_final,
        content=content,
        finish_reason=told.get("finishReason"),
        usage=ModelUsage.model_validate(content) if chunk.type == "usage_update" else None,
        error_details=ErrorDetails(code=str(chunk.metadata.get("code")), message=str(content)) if is_error else None,
        metadata=chunk.metadata,
    )
