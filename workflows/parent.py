"""A turn of an instance, or of a sub-agent, tells who started it where it stands: at every stop, and at its end."""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.conversation import GMIOutput
    from activities.json_values import encoded_size
    from workflows.agent_messages import told_output, told_pending
    from workflows.contracts import PendingRequest
    from workflows.gmi_contracts import TurnNotice
    from workflows.names import TURN_STOPPED
    from workflows.turn_report import current_output
    from workflows.turn_state import TurnState

CALLS_BYTES = 128_000
PENDING_BYTES = 64_000


class Parent:
    """The instance or the turn whose child this turn is, if it is one. A turn that was started alone tells nobody."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._number = 0

    async def tell(self) -> None:
        """Say where the turn stands now. A parent that is gone is not missed."""
        state, parent = self._state, workflow.info().parent
        # Both are needed: a field that a stranger sent must not make the turn signal a workflow of the stranger's choice.
        if (state.given.instance is None and state.given.delegation is None) or parent is None:
            return
        self._number += 1
        notice = TurnNotice(
            workflow_id=workflow.info().workflow_id,
            turn_id=state.turn_id,
            number=self._number,
            **(_for_instance(state) if state.given.delegation is None else _for_caller(state)),
        )
        handle: workflow.ExternalWorkflowHandle[Any] = workflow.get_external_workflow_handle(parent.workflow_id)
        try:
            await handle.signal(TURN_STOPPED, notice)
        except FailureError as gone:
            if is_cancelled_exception(gone):
                raise
            workflow.logger.info("the parent of this turn did not take its word: %s", gone)


def _for_instance(state: TurnState) -> dict[str, Any]:
    return {"output": _bounded(current_output(state)), "pending": _small(state.pending_request())}


def _for_caller(state: TurnState) -> dict[str, Any]:
    pending = told_pending(state.pending_request(), state.given.external_tools)
    return {"output": told_output(current_output(state)), "pending": pending}


def _small(pending: PendingRequest | None) -> PendingRequest | None:
    """The record as it fits: whole, without the schemas of its calls, or not at all; the turn itself has it."""
    if pending is None or encoded_size(pending) <= PENDING_BYTES:
        return pending
    bare = {"input_schema": None, "output_schema": None}
    calls = tuple(call.model_copy(update=bare) for call in pending.tool_calls)
    smaller = pending.model_copy(update={"tool_calls": calls})
    return smaller if encoded_size(smaller) <= PENDING_BYTES else None


def _bounded(output: GMIOutput) -> GMIOutput:
    """The output with the arguments of its calls left out where all together are too long; the turn itself has them."""
    calls = output.tool_calls
    if calls is None or encoded_size(calls) <= CALLS_BYTES:
        return output
    return output.model_copy(update={"tool_calls": tuple(call.model_copy(update={"arguments": {}}) for call in calls)})
