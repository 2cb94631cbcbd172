"""The rounds of a turn: tools of the worker run, and the turn is paused while its host has calls to answer."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    import workflows.agent_book as booking
    from activities import errors
    from activities.contracts import ModelReply
    from activities.conversation import ErrorDetails
    from workflows.answers import Edit
    from workflows.pause import FillReason, Pause, Slot
    from workflows.rounds import Delegate, Run, Wait
    from workflows.turn_agents import TurnAgents
    from workflows.turn_work import Running, all_of, cancel


class TurnRounds(TurnAgents):
    """Rounds over the state of one turn."""

    async def _run_round(self, reply: ModelReply) -> None:
        """Give each call of the reply its one result. Tools of the worker run while the turn is paused."""
        self._state.open_round(reply, workflow.now())
        running = {
            planned.call.id: asyncio.create_task(
                self._run_tool(planned, planned.disposition.facts, human=planned.disposition.human)
            )
            for planned in self._state.round
            if isinstance(planned.disposition, Run)
        }
        agents = {
            planned.call.id: asyncio.create_task(self._run_agent(planned, planned.disposition))
            for planned in self._state.round
            if isinstance(planned.disposition, Delegate)
        }
        running |= agents
        try:
            if self._state.waiting:
                pause = self._state.open_pause(reply, workflow.info().workflow_id, workflow.now())
                await self._wait_for_host(pause, running)
            if agents:
                await self._attend(agents, running)
            await self._unless_stopped(all_of(running))
        except (asyncio.CancelledError, Exception):
            # Not `finally`: an evicted workflow is closed with GeneratorExit, and must not await anything then.
            await cancel(running)
            raise

    async def _attend(self, agents: Running, running: Running) -> None:
        """Put what sub-agents ask before the host, until all have ended."""
        state = self._state

        def is_called() -> bool:
            return bool(state.agents.new_calls or state.agents.outbox) or all(task.done() for task in agents.values())

        while not all(task.done() for task in agents.values()):
            await self._unless_stopped(workflow.wait_condition(is_called))
            await self._send_to_agents()
            if state.agents.new_calls:
                pause = booking.open_agents_pause(state, workflow.info().workflow_id, workflow.now())
                await self._tell_stream(pause.calls)
                await self._wait_for_host(pause, running)

    async def _over_budget(self, *, for_tools: bool = True) -> ErrorDetails | None:
        """The limit that ends the turn here, or None. Where limits ask, the host may raise it first."""
        state, info = self._state, workflow.info()
        while reached := state.budget.due(state.progress, workflow.now(), for_tools=for_tools):
            if state.limits.on_limit == "stop":
                return reached.error
            pause = state.open_budget_pause(reached, info.workflow_id, info.start_time, workflow.now())
            await self._tell_stream(pause.calls)
            await self._wait_for_host(pause, {})
            state.settle_budget(pause, info.start_time, workflow.now())
        return None

    async def _wait_for_host(self, pause: Pause, running: Running) -> None:
        """The pause: show it, wait until each of its calls is closed; approved ones start to run at once."""
        state = self._state
        self._visibility.waiting(pause.calls, pause.deadline)
        self._show_pause()
        self._take_early()
        if not pause.is_settled:
            await self._parent.tell()
        while True:
            await self._serve_agents(pause)
            running |= {slot.call.id: self._run_approved(slot) for slot in _unstarted(pause, running)}
            if pause.is_settled or self._is_stopped:
                break
            await self._next_event(pause, running)
        reason: FillReason = "superseded" if state.superseded_by else "turn_deadline"
        state.close_pause(pause, reason, workflow.now())
        self._visibility.running()
        self._show_pause()
        self._stop_if_due()

    async def _next_event(self, pause: Pause, running: Running) -> None:
        """Wait until something is to be done for the pause; close what is late."""
        state, now = self._state, workflow.now()
        due = min(filter(None, (pause.next_deadline, state.stops_at)))
        try:
            await workflow.wait_condition(
                lambda: (
                    pause.is_settled
                    or self._is_stopped
                    or state.settle_asked
                    or bool(_unstarted(pause, running))
                    or state.agents.has_news(pause)
                ),
                timeout=max(timedelta(), due - now),
                timeout_summary="deadline of the pause",
            )
        except TimeoutError:
            if workflow.now() >= pause.deadline and self._fails_late(pause):
                raise _pause_timed_out(pause) from None
            if not state.deadline_passed(workflow.now()):
                state.note_filled(pause.expire(workflow.now()), workflow.now())
        if state.settle_asked:
            state.settle_asked = False
            state.note_filled(pause.fill("settled"), workflow.now())
        self._show_pause()

    def _fails_late(self, pause: Pause) -> bool:
        """Whether the turn fails when nobody answers. One that asks for more budget does not: it ends at its limit."""
        return self._state.given.pause.on_timeout == "fail" and not pause.asks_for_budget

    def _run_approved(self, slot: Slot) -> asyncio.Task[None]:
        planned = self._state.planned(slot.call.id)
        assert isinstance(planned.disposition, Wait)
        edited = slot.resolution.arguments if isinstance(slot.resolution, Edit) else None
        human = slot.human_part.value if slot.human_part is not None else planned.disposition.human
        return asyncio.create_task(self._run_tool(planned, planned.disposition.facts, edited=edited, human=human))


def _unstarted(pause: Pause, running: Running) -> list[Slot]:
    """Approved calls that do not run yet."""
    return [slot for slot in pause.slots if slot.runs_in_worker and slot.call.id not in running]


def _pause_timed_out(pause: Pause) -> ApplicationError:
    names = ", ".join(call.name for call in pause.open_calls)
    message = f"no answer came before the deadline of the pause: {names}"
    return ApplicationError(message, type=errors.PAUSE_TIMED_OUT, non_retryable=True)
