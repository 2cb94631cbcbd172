"""Telling a turn's stream of calls that wait for its host and stand in no reply of its model."""

import asyncio

from temporalio import activity

from activities.contracts import PauseTold, TellPause
from activities.store.chunk_store import ChunkStore
from activities.store.errors import TurnClosed, TurnNotFound
from activities.store_failures import store_failures


class PauseActivities:
    """The store step of a pause."""

    def __init__(self, chunks: ChunkStore) -> None:
        self._chunks = chunks

    @activity.defn
    async def tell_pause(self, request: TellPause) -> PauseTold:
        """Write a chunk with the calls that are not told yet; nothing for a turn that has ended or does not stream."""
        try:
            with store_failures():
                told = await asyncio.to_thread(
                    self._chunks.tell_pause, request.turn_id, request.pause_id, request.calls
                )
        except (TurnNotFound, TurnClosed):
            told = False
        return PauseTold(streams=told)
