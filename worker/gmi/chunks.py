"""Where the chunks of a turn's output come from. One small object, so that another source can take its place."""

from typing import Protocol

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from workflows.transcript import Chunk, Page


class ChunkSource(Protocol):
    """The chunks of one turn, numbered from 0."""

    async def read(self, after: int) -> list[Chunk]:
        """Chunks with a number over `after`, in order; none while there are no new ones."""
        ...


class PolledChunks:
    """Chunks asked of the turn's workflow. A turn that has not begun has none."""

    def __init__(self, client: Client, workflow_id: str) -> None:
        self._handle = client.get_workflow_handle(workflow_id)

    async def read(self, after: int) -> list[Chunk]:
        """See `ChunkSource`."""
        found: list[Chunk] = []
        before: int | None = None
        while True:
            try:
                page: Page = await self._handle.query("get_chunks", before, result_type=Page)
            except (RPCError, WorkflowQueryFailedError):
                return []
            chunks = [Chunk.model_validate(entry) for entry in page.entries]
            new = [chunk for chunk in chunks if chunk.sequence > after]
            found = new + found
            if page.cursor is None or len(new) < len(chunks) or not chunks:
                return found
            before = page.cursor
