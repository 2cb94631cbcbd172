"""One turn of an agent, from the user's message to the output.

    begin -> ask the model -> no calls: end
                           -> calls: each is refused, run here, or waits for the host; then ask again

This file and those under it (`turn_rounds`, `turn_work`, `messages`) wait and call. What a message means is decided in `inbox`
and `pause`, what becomes of a call in `rounds`, where the turn stops in `limits` and `budget`.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    # Not `from workflows import steps`: for a submodule of its own package the sandbox would make a second copy.
    import workflows.limits as limiting
    import workflows.steps as steps
    from activities import errors
    from activities.contracts import BeginTurn, CommitTurn, ModelReply, ModelRequest, SaveResults
    from activities.conversation import ErrorDetails, GMIOutput
    from activities.json_values import encoded_size
    from activities.selection import CallPhase, ChoiceReply, ChoiceRequest
    from workflows.choosing import ChoiceEnded, FunctionChoice
    from workflows.contracts import TurnPhase
    from workflows.display import end_details
    from workflows.failures import TurnStopped, failure_of
    from workflows.function_stack import FunctionStack
    from workflows.guarding import judge_input
    from workflows.learning import learn
    from workflows.names import TURN_WORKFLOW
    from workflows.pause import FillReason
    from workflows.sources import find_sources
    from workflows.structured import asks_again, structured_fault
    from workflows.turn_report import final_output, published_output
    from workflows.turn_rounds import TurnRounds

# Results over these sizes are saved to the store first, so that no activity's recorded input grows with them.
INLINE_ONE_BYTES = 8_000
INLINE_ALL_BYTES = 64_000


@workflow.defn(name=TURN_WORKFLOW)
class TurnWorkflow(TurnRounds):
    """A turn. Its input is a `TurnInput`, its result a `GMIOutput`; answers come by `handle_tool_results`."""

    @workflow.init
    def __init__(self, *arguments: Any) -> None:
        super().__init__(arguments)

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
            error = self._state.budget.explained(await self._converse())
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
        state, progress = self._state, self._state.progress
        wanted = state.given.options.structured_reply
        try:
            if state.claimed.input_guard_seconds:
                blocked = await self._unless_stopped(judge_input(state))
                if blocked is not None:
                    return blocked
            if state.claimed.retrieves:
                await self._unless_stopped(find_sources(state))
            goes_on = not state.stack.is_active or await self._choose_functions()
            if not goes_on and wanted is None:
                return None
            while True:
                if limit := await self._over_budget():
                    return limit
                tools_allowed = limiting.may_call_tools(state.limits, progress)
                reply = await self._unless_stopped(self._ask_model(tools_allowed))
                if reply.error is not None:
                    return reply.error
                if asks_again(wanted, reply):
                    continue
                if not reply.calls:
                    fault = structured_fault(wanted, reply)
                    return fault or (None if tools_allowed else limiting.forced_answer(state.limits, progress))
                if not tools_allowed:
                    forced = limiting.forced_answer(state.limits, progress)
                    state.refuse_round(reply, forced, workflow.now())
                    return forced
                await self._run_round(reply)
                if state.note_called() and wanted is None:
                    error = await self._over_budget(for_tools=False) or await self._describe()
                    if error is not None or not state.stack.entries:
                        return error
        except ChoiceEnded as ended:
            return ended.error
        except TurnStopped as stopped:
            state.abandon_round(stopped.fill, workflow.now())
            return stopped.error

    async def _describe(self) -> ErrorDetails | None:
        """Have the results of the functions put into words. The error that ends the turn, or None."""
        return (await self._unless_stopped(self._ask_model(False, "describe"))).error

    async def _choose_functions(self) -> bool:
        """Have the model choose what it will call. Whether the turn goes on."""
        return await FunctionChoice(self._state, self._ask_choice, self._over_budget).make()

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
        state.phase, state.output = "closing", final_output(state, error)
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
        self._state.output = published_output(self._state)
        self._visibility.ended(phase)
        workflow.set_current_details(end_details(output, phase))

    async def _end_early(self, phase: TurnPhase, error: ErrorDetails, fill: FillReason) -> None:
        """A cancelled or failed turn leaves a conversation in which every call has its result."""
        state = self._state
        state.abandon_round(fill, workflow.now())
        state.output = final_output(state, error)
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
        report = await learn(state.key, _ms(workflow.now()), begun)
        told = {"planned": begun.memory, "learned": report}
        memory = {name: part.model_dump(by_alias=True, exclude_none=True) for name, part in told.items()}
        state.output = state.output.model_copy(update={"memory": memory})

    def _result(self) -> GMIOutput:
        assert self._state.output is not None
        return steps.measured(self._state.output)

    def _failed(self, error: ErrorDetails) -> ApplicationError:
        state = self._state
        state.output = state.output or final_output(state, error)
        state.phase = "failed"
        return ApplicationError(error.message, state.output, type=error.code, non_retryable=True)


def _ms(instant: datetime) -> int:
    return int(instant.astimezone(UTC).timestamp() * 1000)
