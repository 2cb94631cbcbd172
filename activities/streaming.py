"""What one attempt of a model call shows of its reply while it comes, and how that ends: finished, or withdrawn.

Text is written in small batches, the first at once: whoever waits for the first word gets it, and the store is asked some
twenty times a second however fast the model talks. Trouble with the store fails no reply under way: what readers miss they
get at the end, since the finished reply is stored with all of its text in one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from activities.conversation import AssistantMessage
from activities.json_values import clean_text
from activities.store.chunk_store import ReplyPlace
from activities.store.errors import ReplyTaken, StoreError, StoreUnavailable
from activities.streaming_chunks import Draft

BATCH_SECONDS = 0.05
BATCH_CHARS = 2_000
RETRY_SECONDS = 0.5
# A reply this long is not shown further before its end; the store refuses answers of more than eight megabytes anyway.
SHOWN_CHARS = 1_000_000


class Chunks(Protocol):
    """The store's side of a stream, blocking: see `activities.store.chunk_store.ChunkStore`."""

    def show(self, place: ReplyPlace, attempt: int | None, text: str) -> int: ...
    def withdraw(self, place: ReplyPlace, attempt: int) -> None: ...
    def finish(
        self,
        place: ReplyPlace,
        attempt: int | None,
        message: AssistantMessage | None,
        text: str,
        drafts: Sequence[Draft],
        *,
        anew: bool = False,
    ) -> None: ...


class ReplyStream:
    """One attempt. `say` takes text as it comes; made by `reply_stream`."""

    def __init__(self, store: Chunks, place: ReplyPlace) -> None:
        self._store = store
        self._place = place
        self._attempt: int | None = None
        self._waiting: list[str] = []
        self._waiting_chars = 0
        self._shown = ""
        self._has_begun = False
        self._is_taken = False
        self._over = asyncio.Event()
        self._more = asyncio.Event()
        self._full = asyncio.Event()
        self._writing = asyncio.create_task(self._write())

    def say(self, text: str) -> None:
        """Show more text, soon.

        Raises:
            ReplyTaken: nobody reads this attempt any more.
        """
        if self._is_taken:
            raise ReplyTaken(self._place.turn_id, self._place.row)
        if len(self._shown) + self._waiting_chars > SHOWN_CHARS:
            return
        self._waiting.append(text)
        self._waiting_chars += len(text)
        # Nothing but spaces is no reply, and another may be asked for.
        self._has_begun = self._has_begun or bool(text.strip())
        if self._has_begun:
            self._more.set()
        if self._waiting_chars >= BATCH_CHARS:
            self._full.set()

    async def finish(self, message: AssistantMessage | None, drafts: Sequence[Draft]) -> None:
        """Store the reply, and tell what readers do not have of it yet. None: it says nothing, and is not stored.

        Raises:
            ReplyTaken: another attempt writes this reply, or has written it.
            StoreUnavailable, TurnClosed, TurnNotFound.
        """
        await self.stop()
        text = (message.told_text or "") if message is not None else ""
        # Normally what was shown is how the text begins. It is not when a refused request had begun to answer before.
        anew = not text.startswith(self._shown)
        rest = text if anew else text[len(self._shown) :]
        await asyncio.to_thread(self._store.finish, self._place, self._attempt, message, rest, drafts, anew=anew)

    async def withdraw(self) -> None:
        """Take back what was shown. Best effort: the next attempt, or the end of the turn, does it otherwise."""
        # Whatever goes wrong here must not hide why the attempt was given up.
        with suppress(Exception):
            await self.stop()
            if self._attempt is not None and not self._is_taken:
                await asyncio.to_thread(self._store.withdraw, self._place, self._attempt)

    async def stop(self) -> None:
        """Write no further batch. One under way is seen to its end: a late one would stand behind the reply's end."""
        self._over.set()
        self._more.set()
        self._full.set()
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        while True:
            await self._more.wait()
            if self._over.is_set() or self._is_taken:
                return
            if await self._write_batch():
                await _wait(self._full, BATCH_SECONDS)
            else:
                await _wait(self._over, RETRY_SECONDS)

    async def _write_batch(self) -> bool:
        """Write what is there; whether the store took it."""
        batch = self._next_batch()
        if not batch:
            return True
        try:
            self._attempt = await asyncio.to_thread(self._store.show, self._place, self._attempt, batch)
            self._shown += batch
        except StoreUnavailable:
            # Nobody knows whether it is stored. A new attempt shows all of it again, and withdraws what stands.
            self._attempt = None
            self._wait_again(self._shown + batch)
            return False
        except StoreError:
            self._is_taken = True
        return True

    def _next_batch(self) -> str:
        text = "".join(self._waiting)
        # Half of a pair waits for its other half, which may come with the next piece.
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._waiting, self._waiting_chars = [half] if half else [], len(half)
        self._more.clear()
        self._full.clear()
        return clean_text(text.removesuffix(half))

    def _wait_again(self, text: str) -> None:
        self._shown = ""
        self._waiting.insert(0, text)
        self._waiting_chars += len(text)
        self._more.set()


@asynccontextmanager
async def reply_stream(store: Chunks, place: ReplyPlace) -> AsyncIterator[ReplyStream]:
    """The stream of one attempt. A block that raises has given the attempt up, and what it showed is withdrawn."""
    stream = ReplyStream(store, place)
    try:
        yield stream
    except BaseException:
        await stream.withdraw()
        raise
    else:
        await stream.stop()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
