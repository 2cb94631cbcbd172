"""The host of the turns: it starts them, answers their pauses by signal, and goes on whatever is down at the moment."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from temporalio.service import RPCError

from activities.conversation import GMIOutput
from tests.chaos.moments import Moments
from tests.chaos.plans import EXTERNAL_TOOLS, Plan
from worker.client import Turn, TurnClient, TurnEnded, TurnError, TurnExists, TurnFailed
from workflows.names import turn_workflow_id

T = TypeVar("T")

PAUSE_BETWEEN_TRIES = 0.25
STOP_SECONDS = 5.0


class Host:
    """One host for all turns. `acknowledged` has each answer the server took: call id to output."""

    def __init__(self, turns: TurnClient, moments: Moments) -> None:
        self._turns = turns
        self._moments = moments
        self.acknowledged: dict[str, dict[str, Any]] = {}

    async def run(self, plan: Plan) -> GMIOutput | str:
        """Take a turn from its start to its end. The output, or why it failed."""
        turn = await self._start(plan)
        gates = list(plan.gates)
        answers = self.acknowledged.setdefault(plan.name, {})
        while True:
            try:
                stop = await self._trying(lambda: turn.next_stop(STOP_SECONDS))
            except TurnFailed as failed:
                return str(failed)
            if stop.is_final:
                return stop
            unanswered = [call.id for call in stop.tool_calls or () if call.id not in answers]
            if not unanswered:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
                continue
            self._moments.note("paused")
            if gates:
                await self._moments.passed(gates.pop(0))
            await self._answer(turn, unanswered, answers)

    async def say(self, plan: Plan, content: str) -> GMIOutput | str:
        """One more turn of the plan's conversation, without tools of the host."""
        turn = await self._turns.start(content, conversationId=plan.conversation_id, turn_id=f"{plan.name}-after")
        try:
            return await turn.next_stop(60)
        except TurnError as failed:
            return str(failed)

    async def _start(self, plan: Plan) -> Turn:
        async def start() -> Turn:
            try:
                return await self._turns.start(
                    plan.content,
                    turn_id=plan.name,
                    conversationId=plan.conversation_id,
                    externalTools=EXTERNAL_TOOLS,
                    limits={"maxToolRounds": len(plan.rounds) + 1},
                )
            except TurnExists:
                # An earlier try got through, and only its acknowledgement was lost.
                return self._turns.of(turn_workflow_id(plan.conversation_id, plan.name))

        return await self._trying(start)

    async def _answer(self, turn: Turn, call_ids: list[str], answers: dict[str, Any]) -> None:
        """One signal for each call: the turn waits for the rest."""
        for call_id in call_ids:
            output = f"the host's answer to {call_id}"
            result = {"toolCallId": call_id, "output": output}
            try:
                await self._trying(lambda result=result: turn.signal([result], partial="wait"))  # type: ignore[misc]
            except TurnEnded:
                return
            answers[call_id] = output
            self._moments.note("signalled")

    async def _trying(self, work: Callable[[], Awaitable[T]]) -> T:
        """The value of `work`, tried until the server and a worker are there for it."""
        while True:
            try:
                return await work()
            except (TurnFailed, TurnEnded):
                raise
            except (TurnError, RPCError, TimeoutError):
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
