"""Sub-agents of a turn at work: each is a turn of another persona, started as a child and heard of by signal."""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import ValidationError

    import workflows.agent_book as booking
    import workflows.gmi_steps as gmi_steps
    from activities import errors
    from activities.conversation import ErrorDetails, GMIOutput
    from workflows.agents import Agent
    from workflows.gmi_refusal import Refused
    from workflows.names import SUMMARY_CHARS, TURN_WORKFLOW
    from workflows.pause import Pause
    from workflows.rounds import Delegate, PlannedCall
    from workflows.turn_work import TurnWork

FIRST_LOOK, LONGEST_LOOK = timedelta(seconds=5), timedelta(minutes=10)


class TurnAgents(TurnWork):
    """Sub-agents over the state of one turn."""

    async def _run_agent(self, planned: PlannedCall, task: Delegate) -> None:
        """Have another persona do the task. An agent that fails is a result too."""
        state = self._state
        agent, body = booking.start_agent(state, planned, task, workflow.info().workflow_id)
        try:
            output = await self._agent_output(agent, body)
        except (asyncio.CancelledError, FailureError):
            # It was stopped with its caller. What it used is known: it told its end before it ended.
            booking.lose_agent(state, agent)
            raise
        booking.end_agent(state, planned, agent, output, workflow.now())

    async def _agent_output(self, agent: Agent, body: dict[str, Any]) -> GMIOutput:
        try:
            child = await workflow.start_child_workflow(
                TURN_WORKFLOW,
                body,
                id=agent.workflow_id,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                # An agent whose caller is gone cleans up and ends: nobody would answer it, nobody would read it.
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                static_summary=" ".join(f"{agent.persona_id}: {body['content']}".split())[:SUMMARY_CHARS],
            )
            return GMIOutput.model_validate(await child)
        except WorkflowAlreadyStartedError:
            return await self._started_before(agent)
        except ChildWorkflowError as fault:
            task = asyncio.current_task()
            if is_cancelled_exception(fault) and task is not None and task.cancelling():
                raise
            return _failed(fault, agent)

    async def _started_before(self, agent: Agent) -> GMIOutput:
        """A run of this turn that was reset started the agent: its end is waited for, and it is started no second time."""
        wait = FIRST_LOOK
        while True:
            try:
                seen = await gmi_steps.look_at_turn(agent.workflow_id)
            except Refused as fault:
                return _ended(
                    errors.TOOL_OUTCOME_UNKNOWN, f"The agent ran before, and cannot be asked about: {fault}", agent
                )
            if not seen.is_open:
                lost = "The agent ran before, and ended without a word."
                return seen.output or _ended(errors.TOOL_OUTCOME_UNKNOWN, lost, agent)
            await workflow.sleep(wait)
            wait = min(wait * 2, LONGEST_LOOK)

    async def _serve_agents(self, pause: Pause) -> None:
        """Bring the pause up to date with what the agents wait for, and send them what the host said."""
        state = self._state
        if not state.agents.has_news(pause):
            return
        added = booking.join_pause(state, pause, workflow.now())
        if added:
            self._visibility.waiting(pause.calls, pause.deadline)
            self._take_early()
        self._show_pause()
        await self._send_to_agents()
        if added and not pause.is_settled:
            await self._tell_stream(added)
            await self._parent.tell()

    async def _send_to_agents(self) -> None:
        outbox = self._state.agents.outbox
        while outbox:
            message = outbox.pop(0)
            handle: workflow.ExternalWorkflowHandle[Any] = workflow.get_external_workflow_handle(message.workflow_id)
            try:
                await handle.signal(message.name, message.body)
            except FailureError as gone:
                if is_cancelled_exception(gone):
                    raise
                workflow.logger.info("a sub-agent did not take its answer: %s", gone)


def _failed(fault: ChildWorkflowError, agent: Agent) -> GMIOutput:
    """The output of an agent's turn that did not complete, as far as it came."""
    cause = fault.cause
    if not isinstance(cause, ApplicationError):
        how = "was cancelled" if is_cancelled_exception(fault) else "was ended from outside"
        return _ended(
            errors.TOOL_CANCELLED, f"The agent's turn {how}; its effects may or may not have happened.", agent
        )
    error = ErrorDetails(code=cause.type or errors.GMI_PROCESSING_ERROR, message=cause.message)
    try:
        output = GMIOutput.model_validate(cause.details[0])
    except (IndexError, ValidationError):
        return _ended(error.code, error.message, agent)
    return output.model_copy(update={"error": output.error or error})


def _ended(code: str, message: str, agent: Agent) -> GMIOutput:
    known = agent.output or GMIOutput(is_final=True)
    return known.model_copy(update={"is_final": True, "error": ErrorDetails(code=code, message=message)})
