"""The turns of one conversation while its agent runs: one at a time, each followed to its end."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from activities.turn_input import PauseOptions, SelectionOptions, TurnLimits
from worker.client import Turn, TurnEnded, TurnFailed
from worker.nestia.following import FollowedTurn
from worker.nestia.listeners import Listeners
from worker.nestia.observing import Watch
from worker.nestia.prompts import Prompt
from worker.nestia.running import Place, Running
from worker.nestia.telling import Resolve, TurnTeller
from workflows.contracts import AnswerAck, PendingRequest
from workflows.names import turn_workflow_id
from workflows.turn_state import turn_key

# Makes the options of a turn; the function it gets gives the histories before the turn.
SelectionMaker = Callable[[Callable[[], list[Prompt]]], Awaitable[SelectionOptions]]


@dataclass(frozen=True, slots=True)
class Manner:
    """How turns are run: what every turn's input says, and whether a caller gets control back at a pause."""

    limits: TurnLimits
    pause: PauseOptions
    returns_at_pause: bool

    def fields(self, selection: SelectionOptions) -> dict[str, Any]:
        """These parts of a turn's input."""
        chosen = selection.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {
            "options": {"toolSelection": "select", "selection": chosen},
            "limits": self.limits.model_dump(mode="json", by_alias=True, exclude_none=True),
            "pause": self.pause.model_dump(mode="json", by_alias=True),
        }


@dataclass(slots=True)
class Conversation:
    """One conversation, whose agent's worker is seen through `watch`."""

    run: Running
    place: Place
    manner: Manner
    listeners: Listeners
    resolve: Resolve
    watch: Watch
    is_closed: bool = False
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _followed: FollowedTurn | None = None

    def __post_init__(self) -> None:
        self.watch.catch_up = self._catch_up

    async def take_up(self) -> None:
        """Follow the turn that an earlier process left open."""
        left_open = self.run.left_open
        turn = await asyncio.to_thread(self.run.log.turns.turn, left_open.id) if left_open is not None else None
        if left_open is not None and turn is not None:
            options = turn.input.options.selection
            self._followed = self._follow(self.run.turns.of(left_open.workflow_id), left_open.id, options)

    async def say(self, content: str, selection: SelectionMaker) -> list[Prompt]:
        """One turn; its entries. What is to be said to the model is made when its time has come."""
        async with self._one_at_a_time:
            moves_on = await self._finish_earlier()
            options = await selection(self.run.log.copy)
            followed = await self._start(content, options, moves_on)
            return await self._until_stop(followed)

    async def resume(self) -> list[Prompt]:
        """Go on with the open turn; the entries that were not returned yet."""
        async with self._one_at_a_time:
            return [] if self._followed is None else await self._until_stop(self._followed)

    async def pending(self) -> PendingRequest | None:
        """What the open turn waits for."""
        return None if self._followed is None else await self._followed.turn.pending()

    async def answer(self, results: Sequence[Mapping[str, Any]], partial: Literal["fill", "wait"]) -> AnswerAck:
        """Answer the pause of the open turn."""
        if self._followed is None:
            raise TurnEnded("no turn of this conversation is open")
        return await self._followed.turn.answer(results, partial=partial, user_id=self.place.user_id)

    def close(self) -> None:
        """Let go of the open turn: nobody works for it here any more."""
        self.is_closed = True
        self.watch.happened.set()

    async def _finish_earlier(self) -> bool:
        """Bring an earlier turn to its end; whether there is one that waits, and is given up for the next."""
        if self._followed is None:
            return False
        if self.manner.returns_at_pause and await self._followed.turn.pending() is not None:
            return True
        # How it ended was its own caller's to know.
        with contextlib.suppress(TurnFailed):
            await self._until_stop(self._followed)
        return self._followed is not None

    async def _start(self, content: str, options: SelectionOptions, moves_on: bool) -> FollowedTurn:
        """Start a turn, followed from its first row on."""
        turn_id, log = uuid.uuid4().hex[:12], self.run.log
        fields = {
            **self.manner.fields(options),
            "conversationId": self.place.conversation_id,
            "userId": self.place.user_id,
            "onBusy": "supersede" if moves_on else "refuse",
            **({"historyRef": log.history_ref} if log.history_ref is not None and not log.ended else {}),
        }
        workflow_id = turn_workflow_id(self.place.conversation_id, turn_id)
        key = turn_key(self.place.conversation_id, turn_id, workflow_id)
        before, followed = self._followed, self._follow(self.run.turns.of(workflow_id), key, options)
        self._followed = followed
        starting = asyncio.ensure_future(self.run.turns.start(content, turn_id=turn_id, **fields))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # It may have been started all the same, and nobody would wait for it.
            with contextlib.suppress(Exception):
                await starting
                await followed.turn.cancel()
            raise
        except Exception:
            self._followed = before
            raise
        return followed

    async def _until_stop(self, followed: FollowedTurn) -> list[Prompt]:
        """Follow a turn to its end, or to a pause where that is asked for; the entries that were not returned yet."""
        try:
            output = await followed.until_end(lambda: self.is_closed, stops_at_pause=self.manner.returns_at_pause)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.shield(followed.turn.cancel())
            raise
        except TurnFailed:
            await self._end(followed)
            await self.listeners.told()
            raise
        if output is not None:
            await self._end(followed)
        await self.listeners.told()
        return followed.take_new()

    async def _end(self, followed: FollowedTurn) -> None:
        """A turn is over: read it once more, as it was closed."""
        self._followed = None
        log = self.run.log
        await asyncio.to_thread(log.refresh)
        told = log.turn(followed.key)
        await followed.close(told.prompts if told is not None else None, told.error if told is not None else None)

    async def _catch_up(self) -> None:
        if self._followed is not None:
            await self._followed.read_rows()

    def _follow(self, turn: Turn, key: str, options: SelectionOptions) -> FollowedTurn:
        teller = TurnTeller(options, self.resolve)
        return FollowedTurn(turn, key, teller, self.run.log.turns, self.listeners, self.watch.happened)
