"""Following one turn while it runs: rows become events as they appear, a pause becomes one too."""

import asyncio
import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from activities.conversation import ErrorDetails, GMIOutput
from activities.guard_input import is_awaiting
from activities.store.turn_store import TurnStore
from worker.client import Turn, TurnError
from worker.nestia.errors import AgentNotRunning
from worker.nestia.listeners import Listeners
from worker.nestia.prompts import Prompt
from worker.nestia.telling import Told, TurnTeller
from workflows.contracts import PendingRequest

FIRST_LOOK, LONGEST_LOOK = 0.05, 1.0
# While a pause is open somebody else has to act; what they set off wakes us besides.
LOOK_WHILE_PAUSED = 3.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class FollowedTurn:
    """One turn of the agent. `key` is what the store calls it; `returned` entries of it were given to the caller."""

    turn: Turn
    key: str
    teller: TurnTeller
    store: TurnStore
    listeners: Listeners
    happened: asyncio.Event
    returned: int = 0
    prompts: list[Prompt] = field(default_factory=list)
    pending: PendingRequest | None = None
    _rows: int = 0
    _paused: bool = False

    async def until_end(self, is_closed: Callable[[], bool], *, stops_at_pause: bool) -> GMIOutput | None:
        """The turn's output; None when it waits and that is to be returned.

        Raises:
            TurnFailed: it failed, was cancelled or terminated.
            AgentNotRunning: the agent is closed.
        """
        result = asyncio.create_task(self.turn.result())
        try:
            await self._look_until(result, is_closed, stops_at_pause)
            return await result if result.done() else None
        finally:
            result.cancel()

    async def close(self, prompts: Sequence[Prompt] | None, error: ErrorDetails | None) -> None:
        """The turn is over: tell the rest. `prompts` are its entries as they stand now, None where it left none."""
        await self.read_rows(is_over=True)
        self._tell(self.teller.close(error))
        if prompts is not None:
            self.prompts = list(prompts)

    async def read_rows(self, *, is_over: bool = False) -> None:
        """Tell what the rows tell that have come since. A message that guardrails still judge is told as they leave it."""
        rows = dict(await asyncio.to_thread(self.store.rows, self.key))
        # Nothing is awaited from here on: who reads at the same time finds these rows told.
        while self._rows in rows and (is_over or not is_awaiting(rows[self._rows])):
            self._tell(self.teller.take(rows[self._rows]))
            self._rows += 1

    def take_new(self) -> list[Prompt]:
        """The entries that were not taken before."""
        fresh = self.prompts[self.returned :]
        self.returned = len(self.prompts)
        return copy.deepcopy(fresh)

    async def _look_until(
        self, result: asyncio.Task[GMIOutput], is_closed: Callable[[], bool], stops_at_pause: bool
    ) -> None:
        pause, is_quiet = FIRST_LOOK, False
        while not result.done():
            if is_closed():
                raise AgentNotRunning("the agent was closed; its turn goes on when an agent of this conversation runs")
            self.happened.clear()
            await self.read_rows()
            # A turn whose worker does something is asked nothing: a question is a task for the worker too.
            if is_quiet:
                await self._look_for_pause()
                if self._paused and stops_at_pause:
                    return
            woken = asyncio.create_task(self.happened.wait())
            try:
                await asyncio.wait({result, woken}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            finally:
                woken.cancel()
            is_quiet = not self.happened.is_set()
            longest = LOOK_WHILE_PAUSED if self._paused else LONGEST_LOOK
            pause = min(pause * 1.5, longest) if is_quiet else FIRST_LOOK

    async def _look_for_pause(self) -> None:
        try:
            found = await self.turn.pending()
        except TurnError as fault:
            # It is over, or its worker is busy; the next look will tell.
            logger.debug("turn %s cannot be asked for its pause: %s", self.key, fault)
            return
        self._paused = found is not None and any(call.state == "open" for call in found.tool_calls)
        if found is not None and (self.pending is None or found.pause_id != self.pending.pause_id):
            self.listeners.tell("pause", self.key, {"pending": found})
        self.pending = found

    def _tell(self, told: list[Told]) -> None:
        for each in told:
            for kind, fields in each.events:
                self.listeners.tell(kind, self.key, fields)
            if each.prompt is not None:
                self.prompts.append(each.prompt)
