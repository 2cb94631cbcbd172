"""One turn of an agent, from the user's message to the output.

    begin -> ask the model -> no calls: end
                           -> calls: each is refused, run here, or waits for the host; then ask again

This file waits and calls. What a message means is decided in `inbox` and `pause`, what becomes of a call in `rounds`.
"""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    # Not `from workflows import rounds`: for a submodule of its own package the sandbox would make a second copy.
    import workflows.rounds as rounds
    import workflows.steps as steps
    from activities import errors
    from activities.contracts import (
        BeginTurn,
        CommitTurn,
        ModelReply,
        ModelRequest,
        SaveResults,
        ToolFacts,
        ToolRun,
    )
    from activities.conversation import ErrorDetails, GMIOutput
    from activities.json_values import encoded_size
    from activities.selection import CallPhase, ChoiceReply, ChoiceRequest
    from workflows.answers import Edit
    from workflows.choosing import ChoiceEnded, FunctionChoice
    from workflows.contracts import TurnPhase
    from workflows.display import end_details
    from workflows.failures import TurnStopped, failure_of, lost_tool
    from workflows.function_stack import FunctionStack
    from workflows.guarding import judge_input
    from workflows.learning import learn
    from workflows.messages import TurnMessages
    from workflows.names import TURN_WORKFLOW
    from workflows.parent import Parent
    from workflows.pause import FillReason, Pause, Slot
    from workflows.rounds import PlannedCall, Run, Wait
    from workflows.sources import find_sources
    from workflows.visibility import Visibility

T = TypeVar("T")

# Results over these sizes are saved to the store first, so that no activity's recorded input grows with them.
INLINE_ONE_BYTES = 8_000
INLINE_ALL_BYTES = 64_000


@workflow.defn(name=TURN_WORKFLOW)
class TurnWorkflow(TurnMessages):
    """A turn. Its input is a `TurnInput`, its result a `GMIOutput`; answers come by `handle_tool_results`."""

    @workflow.init
    def __init__(self, *arguments: Any) -> None:
        super().__init__(arguments)
        self._visibility = Visibility()
        self._parent = Parent(self._state)

    @workflow.run
    async def run(self, *arguments: Any) -> GMIOutput:
        """The life of the turn."""
        if self._invalid is not None:
            self._visibility.ended("failed")
            failure = self._failed(self._invalid)
            await self._parent.tell()
            raise failure
        try:
            await self._begin()
            error = await self._converse()
            await self._commit("superseded" if self._state.superseded_by else "completed", error)
        except asyncio.CancelledError:
            await self._end_early("cancelled", failure_of(asyncio.CancelledError()), "cancelled")
            await self._parent.tell()
            raise
        except Exception as fault:
            if is_cancelled_exception(fault):
                await self._end_early("cancelled", failure_of(fault), "cancelled")
                await self._parent.tell()
                raise
            error = failure_of(fault)
            await self._end_early("failed", error, "deadline" if error.code == errors.PAUSE_TIMED_OUT else "failed")
            failure = self._failed(error)
            await self._parent.tell()
            raise failure from fault
        await self._learn()
        await self._parent.tell()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._result()

    async def _begin(self) -> None:
        state, info = self._state, workflow.info()
        state.transcript.user_said(state.given.content, workflow.now())
        state.begun = await steps.begin_turn(
            BeginTurn(
                turn_id=state.key,
                workflow_id=info.workflow_id,
                run_id=info.run_id,
                first_run_id=info.first_execution_run_id,
                conversation_id=state.conversation_id,
                input=state.given,
                now_ms=_ms(workflow.now()),
            )
        )
        state.rows, state.phase = state.begun.rows, "running"
        state.stack = FunctionStack.of(state.begun, state.given.options.selection)
        self._visibility.begin(state.begun, state.given)

    async def _converse(self) -> ErrorDetails | None:
        """Ask, act on the calls, ask again. The error to report beside the text, or None."""
        limits, progress = self._state.given.limits, self._state.progress
        try:
            if self._state.claimed.input_guard_seconds:
                blocked = await self._unless_stopped(judge_input(self._state))
                if blocked is not None:
                    return blocked
            if self._state.claimed.retrieves:
                await self._unless_stopped(find_sources(self._state))
            if self._state.stack.is_active and not await FunctionChoice(self._state, self._ask_choice).make():
                return None
            while True:
                if limit := rounds.limit_reached(limits, progress, workflow.now()):
                    return limit
                tools_allowed = rounds.may_call_tools(limits, progress)
                reply = await self._unless_stopped(self._ask_model(tools_allowed))
                if reply.error is not None:
                    return reply.error
                if not reply.calls:
                    return None if tools_allowed else rounds.forced_answer(limits, progress)
                if not tools_allowed:
                    forced = rounds.forced_answer(limits, progress)
                    self._state.refuse_round(reply, forced, workflow.now())
                    return forced
                await self._run_round(reply)
                if self._state.note_called():
                    error = rounds.limit_reached(limits, progress, workflow.now()) or await self._describe()
                    if error is not None or not self._state.stack.entries:
                        return error
        except ChoiceEnded as ended:
            return ended.error
        except TurnStopped as stopped:
            self._state.abandon_round(stopped.fill, workflow.now())
            return stopped.error

    async def _describe(self) -> ErrorDetails | None:
        """Have the results of the functions put into words. The error that ends the turn, or None."""
        return (await self._unless_stopped(self._ask_model(False, "describe"))).error

    async def _ask_choice(self, request: ChoiceRequest) -> ChoiceReply:
        state = self._state
        asked = steps.choose_functions(request, state.claimed.patience)
        return await self._unless_stopped(asked)

    async def _ask_model(self, tools_allowed: bool, phase: CallPhase = "execute") -> ModelReply:
        state, stack = self._state, self._state.stack
        await self._save_large_results()
        request = ModelRequest(
            turn_id=state.key,
            conversation_id=state.conversation_id,
            round=state.progress.model_calls,
            rows=state.rows,
            results=tuple(state.unsaved),
            options=state.options,
            tools_allowed=tools_allowed,
            functions=stack.names if stack.is_active else None,
            phase=phase if stack.is_active else None,
            now_ms=_ms(workflow.now()) if stack.is_active else 0,
        )
        model = state.options.model if state.options and state.options.model else state.claimed.model
        reply = await steps.ask_model(request, state.claimed.patience, model)
        state.take_reply(reply, workflow.now())
        if stack.is_active:
            stack.note_usage(phase, reply.usage, reply.provider, reply.model)
        return reply

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
        try:
            if self._state.waiting:
                await self._wait_for_host(reply, running)
            await self._unless_stopped(_all(running))
        except (asyncio.CancelledError, Exception):
            # Not `finally`: an evicted workflow is closed with GeneratorExit, and must not await anything then.
            await _cancel(running)
            raise

    async def _run_tool(
        self, planned: PlannedCall, facts: ToolFacts, *, edited: dict[str, Any] | None = None, human: Any = None
    ) -> None:
        """Run one call in the worker. A run that cannot be finished is a result too."""
        state, call = self._state, planned.call
        state.note_own_call(planned, edited)
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

    async def _wait_for_host(self, reply: ModelReply, running: dict[str, asyncio.Task[None]]) -> None:
        """The pause: open it, show it, wait until each of its calls is closed; approved ones start to run at once."""
        state = self._state
        pause = state.open_pause(reply, workflow.info().workflow_id, workflow.now())
        self._visibility.waiting(pause.calls, pause.deadline)
        self._show_pause()
        self._take_early()
        if not pause.is_settled:
            await self._parent.tell()
        while True:
            running |= {slot.call.id: self._run_approved(slot) for slot in _unstarted(pause, running)}
            if pause.is_settled or self._is_stopped:
                break
            await self._next_event(pause, running)
        reason: FillReason = "superseded" if state.superseded_by else "turn_deadline"
        state.close_pause(pause, reason, workflow.now())
        self._visibility.running()
        self._show_pause()
        self._stop_if_due()

    async def _next_event(self, pause: Pause, running: dict[str, asyncio.Task[None]]) -> None:
        """Wait until something is to be done for the pause; close what is late."""
        state, now = self._state, workflow.now()
        due = min(filter(None, (pause.next_deadline, state.given.limits.deadline)))
        try:
            await workflow.wait_condition(
                lambda: pause.is_settled or self._is_stopped or state.settle_asked or bool(_unstarted(pause, running)),
                timeout=max(timedelta(), due - now),
                timeout_summary="deadline of the pause",
            )
        except TimeoutError:
            if workflow.now() >= pause.deadline and state.given.pause.on_timeout == "fail":
                raise _pause_timed_out(pause) from None
            if not state.deadline_passed(workflow.now()):
                state.note_filled(pause.expire(workflow.now()), workflow.now())
        if state.settle_asked:
            state.settle_asked = False
            state.note_filled(pause.fill("settled"), workflow.now())
        self._show_pause()

    def _run_approved(self, slot: Slot) -> asyncio.Task[None]:
        planned = self._state.planned(slot.call.id)
        assert isinstance(planned.disposition, Wait)
        edited = slot.resolution.arguments if isinstance(slot.resolution, Edit) else None
        human = slot.human_part.value if slot.human_part is not None else planned.disposition.human
        return asyncio.create_task(self._run_tool(planned, planned.disposition.facts, edited=edited, human=human))

    async def _save_large_results(self) -> None:
        state = self._state
        large = [placed for placed in state.unsaved if encoded_size(placed) > INLINE_ONE_BYTES]
        if encoded_size(state.unsaved) > INLINE_ALL_BYTES:
            large = list(state.unsaved)
        if large:
            await steps.save_results(SaveResults(turn_id=state.key, results=tuple(large)))
            state.unsaved = [placed for placed in state.unsaved if placed not in large]

    async def _commit(self, phase: TurnPhase, error: ErrorDetails | None) -> None:
        """Close the turn in the store, then publish its output."""
        state = self._state
        state.phase, state.output = "closing", state.make_output(error)
        await self._save_large_results()
        await steps.commit_turn(
            CommitTurn(
                turn_id=state.key,
                conversation_id=state.conversation_id,
                rows=state.rows,
                results=tuple(state.unsaved),
                state=phase,
                output=state.output,
                usage=state.progress.usage,
                now_ms=_ms(workflow.now()),
                selection=state.stack.kept(),
            )
        )
        self._publish(phase)

    def _publish(self, phase: TurnPhase) -> None:
        output = self._state.output
        assert output is not None
        self._state.end(phase, workflow.now())
        self._visibility.ended(phase)
        workflow.set_current_details(end_details(output, phase))

    async def _end_early(self, phase: TurnPhase, error: ErrorDetails, fill: FillReason) -> None:
        """A cancelled or failed turn leaves a conversation in which every call has its result."""
        state = self._state
        state.abandon_round(fill, workflow.now())
        state.output = state.make_output(error)
        try:
            if state.begun is not None:
                await self._commit(phase, error)
                return
        except FailureError as lost:
            if is_cancelled_exception(lost):
                raise
            # The store is away. The next turn of the conversation finds this one ended and closes it.
            workflow.logger.warning("the turn could not be committed: %s", lost.cause or lost)
        self._publish(phase)

    async def _learn(self) -> None:
        """Memory learns from the committed turn. Its failure is told in the output and fails nothing."""
        state = self._state
        assert state.output is not None
        begun = state.claimed
        report = await learn(state.key, _ms(workflow.now()), begun.patience, asks_model=begun.memory_model)
        told = {"planned": begun.memory, "learned": report}
        memory = {name: part.model_dump(by_alias=True, exclude_none=True) for name, part in told.items()}
        state.output = state.output.model_copy(update={"memory": memory})

    def _result(self) -> GMIOutput:
        assert self._state.output is not None
        return steps.measured(self._state.output)

    def _failed(self, error: ErrorDetails) -> ApplicationError:
        state = self._state
        state.output = state.output or state.make_output(error)
        state.phase = "failed"
        return ApplicationError(error.message, state.output, type=error.code, non_retryable=True)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the turn's deadline passes or the user moves on: then the work is cancelled.

        Raises:
            TurnStopped: the work was not finished.
        """
        task = asyncio.create_task(work)
        deadline = self._state.given.limits.deadline
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
            await _cancel({"work": task})
            raise
        if task.done():
            return task.result()
        await _cancel({"work": task})
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
        if state.given.limits.deadline is not None and state.deadline_passed(workflow.now()):
            raise TurnStopped(rounds.deadline_reached(state.given.limits.deadline), "turn_deadline")


def _unstarted(pause: Pause, running: dict[str, asyncio.Task[None]]) -> list[Slot]:
    """Approved calls that do not run yet."""
    return [slot for slot in pause.slots if slot.runs_in_worker and slot.call.id not in running]


async def _all(tasks: dict[str, asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks.values())


async def _cancel(tasks: dict[str, asyncio.Task[Any]]) -> None:
    """Cancel what still runs and see it end, so that no error of it is left unread."""
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)


def _pause_timed_out(pause: Pause) -> ApplicationError:
    names = ", ".join(call.name for call in pause.open_calls)
    message = f"no answer came before the deadline of the pause: {names}"
    return ApplicationError(message, type=errors.PAUSE_TIMED_OUT, non_retryable=True)


def _ms(instant: datetime) -> int:
    return int(instant.astimezone(UTC).timestamp() * 1000)
