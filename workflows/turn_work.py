"""The work of a turn that may be cut off: by its deadline, by a user who moves on, by a cancel."""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    import workflows.limits as limiting
    import workflows.rounds as rounds
    import workflows.steps as steps
    from activities import errors
    from activities.contracts import RequestedCall, TellPause, ToolFacts, ToolRun
    from activities.conversation import ErrorDetails, ToolCall
    from workflows.contracts import PendingCall
    from workflows.failures import TurnStopped, lost_tool
    from workflows.messages import TurnMessages
    from workflows.parent import Parent
    from workflows.rounds import PlannedCall
    from workflows.visibility import Visibility

T = TypeVar("T")
Running = dict[str, asyncio.Task[None]]


class TurnWork(TurnMessages):
    """Work over the state of one turn."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        super().__init__(arguments)
        self._visibility = Visibility()
        self._parent = Parent(self._state)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the turn's deadline passes or the user moves on: then the work is cancelled.

        Raises:
            TurnStopped: the work was not finished.
        """
        task = asyncio.create_task(work)
        deadline = self._state.stops_at
        timeout = None if deadline is None else max(timedelta(), deadline - workflow.now())
        try:
            await workflow.wait_condition(
                lambda: task.done() or self._state.superseded_by is not None,
                timeout=timeout,
                timeout_summary=None if timeout is None else "deadline of the turn",
            )
        except TimeoutError:
            # The turn's deadline passed with the work undone; it is stopped below, as for a user who moved on.
            pass
        except asyncio.CancelledError:
            await cancel({"work": task})
            raise
        if task.done():
            return task.result()
        await cancel({"work": task})
        self._stop_if_due()
        return task.result()

    @property
    def _is_stopped(self) -> bool:
        return self._state.superseded_by is not None or self._state.deadline_passed(workflow.now())

    def _stop_if_due(self) -> None:
        state = self._state
        if state.superseded_by is not None:
            message = f"The user moved on to turn {state.superseded_by}."
            raise TurnStopped(ErrorDetails(code=errors.TURN_SUPERSEDED, message=message), "superseded")
        if state.stops_at is not None and state.deadline_passed(workflow.now()):
            raise TurnStopped(limiting.deadline_reached(state.stops_at, workflow.now()).error, "turn_deadline")

    async def _tell_stream(self, calls: Sequence[PendingCall]) -> None:
        """Calls that stand in no reply of the model are told the stream on their own, where there is one."""
        state, request = self._state, self._state.request
        if request is None or not (state.options or state.given.options).stream:
            return
        told = tuple(ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in calls)
        await steps.tell_pause(TellPause(turn_id=state.key, pause_id=request.pause_id, calls=told))

    async def _run_tool(
        self, planned: PlannedCall, facts: ToolFacts, *, edited: dict[str, Any] | None = None, human: Any = None
    ) -> None:
        """Run one call in the worker. A run that cannot be finished is a result too."""
        state, call = self._state, planned.call
        state.note_own_call(planned, edited)
        if refusal := await self._refusal(call):
            state.set_result(planned, rounds.failed(call, refusal), workflow.now())
            return
        with state.corrections.running(call):
            await self._run_admitted(planned, facts, edited=edited, human=human)

    async def _refusal(self, call: RequestedCall) -> ErrorDetails | None:
        """Why the call must not run after those of its function that run now; None once it may."""
        corrections = self._state.corrections
        if corrections.has_room(call) or not workflow.patched("calls-of-one-reply-share-corrections"):
            return None
        while not corrections.has_room(call):
            if refusal := corrections.refusal(call):
                return refusal
            await workflow.wait_condition(lambda: corrections.has_room(call) or corrections.refusal(call) is not None)
        return None

    async def _run_admitted(
        self, planned: PlannedCall, facts: ToolFacts, *, edited: dict[str, Any] | None, human: Any
    ) -> None:
        state, call = self._state, planned.call
        request = ToolRun(
            turn_id=state.key,
            conversation_id=state.conversation_id,
            call_id=call.id,
            name=call.name,
            row=planned.row,
            call_row=state.round[0].row - 1,
            arguments=edited if edited is not None else None if call.arguments_cut else call.arguments,
            human=human,
        )
        try:
            ran = await steps.run_tool(request, facts)
        except ActivityError as fault:
            if is_cancelled_exception(fault):
                raise
            state.set_result(planned, rounds.failed(call, lost_tool(fault, facts)), workflow.now())
        else:
            state.corrections.note(call, human, correctable=ran.correctable)
            state.note_result(planned, ran.result, workflow.now())


async def all_of(tasks: Running) -> None:
    """Wait until every task has ended."""
    await asyncio.gather(*tasks.values())


async def cancel(tasks: dict[str, asyncio.Task[Any]]) -> None:
    """Cancel what still runs and see it end, so that no error of it is left unread."""
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
