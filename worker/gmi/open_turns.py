"""Turns of instances as the Temporal server knows them: answered by update, looked at when they are silent."""

import hashlib
from datetime import timedelta

from pydantic_core import to_json
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.conversation import ErrorDetails, GMIOutput
from activities.errors import GMI_PROCESSING_ERROR, SYS_RESOURCE_NOT_FOUND, SYS_VALIDATION_ERROR
from activities.instance_contracts import AnswerTurn, LookAtTurn, TurnAnswered, TurnSeen
from activities.model_failures import final
from workflows.contracts import AnswerAck

PATIENCE = timedelta(seconds=15)


class TemporalTurns:
    """The turns' executions, asked of the server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def answer(self, request: AnswerTurn) -> TurnAnswered:
        """Hand an answer on, once however often it is tried.

        Raises:
            ApplicationError: with the turn's own code and words when it refuses; SYS_RESOURCE_NOT_FOUND when it is over; one
                that may be tried again when it does not reply.
        """
        handle = self._client.get_workflow_handle(request.workflow_id)
        # With the body in it: a sender who uses one id for two answers means two answers.
        told = to_json([request.update_id, request.name, request.body])
        try:
            ack: AnswerAck = await handle.execute_update(
                request.name,
                request.body,
                id=hashlib.sha256(told).hexdigest()[:32],
                result_type=AnswerAck,
                rpc_timeout=PATIENCE,
            )
        except WorkflowUpdateFailedError as refusal:
            cause = refusal.cause
            code = cause.type if isinstance(cause, ApplicationError) and cause.type else SYS_VALIDATION_ERROR
            raise final(code, getattr(cause, "message", str(cause))) from None
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            raise ApplicationError("the turn did not take the answer in time", type=GMI_PROCESSING_ERROR) from None
        except RPCError as fault:
            if fault.status == RPCStatusCode.NOT_FOUND:
                raise final(SYS_RESOURCE_NOT_FOUND, "the turn is over; nothing waits any more") from None
            raise
        return TurnAnswered(
            waiting_for=ack.waiting_for, output=await self._paused_output(handle) if ack.waiting_for else None
        )

    async def look(self, request: LookAtTurn) -> TurnSeen:
        """Whether the turn runs, and how it ended if it does not."""
        handle = self._client.get_workflow_handle(request.workflow_id)
        try:
            status = (await handle.describe(rpc_timeout=PATIENCE)).status
        except RPCError as fault:
            if fault.status == RPCStatusCode.NOT_FOUND:
                return TurnSeen(is_open=False)
            raise
        if status == WorkflowExecutionStatus.RUNNING:
            return TurnSeen(is_open=True)
        try:
            return TurnSeen(is_open=False, output=GMIOutput.model_validate(await handle.result()))
        except WorkflowFailureError as failure:
            return TurnSeen(is_open=False, output=_failed(failure, status))

    async def _paused_output(self, handle: WorkflowHandle[object, object]) -> GMIOutput | None:
        """What the turn still waits for; None when it does not wait any more, or cannot be asked now."""
        try:
            output: GMIOutput = await handle.query("get_output", result_type=GMIOutput, rpc_timeout=PATIENCE)
        except (RPCError, WorkflowQueryFailedError):
            return None
        return output if output.tool_calls and not output.is_final else None


def _failed(failure: WorkflowFailureError, status: WorkflowExecutionStatus | None) -> GMIOutput:
    cause = failure.cause
    if isinstance(cause, ApplicationError) and cause.details:
        return GMIOutput.model_validate(cause.details[0])
    how = status.name.lower() if status else "over"
    return GMIOutput(
        is_final=True, error=ErrorDetails(code=GMI_PROCESSING_ERROR, message=f"the turn's workflow is {how}")
    )
