"""How a turn ends early, and what its caller is told. Pure but for the names of Temporal's exceptions."""

import asyncio

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities import errors
    from activities.contracts import ToolFacts
    from activities.conversation import ErrorDetails
    from workflows.pause import FillReason

MESSAGE_CHARS = 2_000


class TurnStopped(Exception):
    """The turn ends before the model is done: its own deadline, or the user moved on. `fill` is told for open calls."""

    def __init__(self, error: ErrorDetails, fill: FillReason) -> None:
        super().__init__(error.message)
        self.error = error
        self.fill: FillReason = fill


def failure_of(fault: BaseException) -> ErrorDetails:
    """The code and words of an exception that ended a turn. Never a stack trace."""
    if is_cancelled_exception(fault) or isinstance(fault, asyncio.CancelledError):
        return ErrorDetails(code="TURN_CANCELLED", message="The turn was cancelled.")
    cause = fault.cause if isinstance(fault, ActivityError) and fault.cause is not None else fault
    if isinstance(cause, ApplicationError):
        details = cause.details[0] if cause.details else None
        code = cause.type or errors.GMI_PROCESSING_ERROR
        return ErrorDetails(code=code, message=cause.message[:MESSAGE_CHARS], details=details)
    if isinstance(fault, ActivityError):
        step = fault.activity_type
        what = "took too long" if isinstance(cause, exceptions.TimeoutError) else "failed"
        return ErrorDetails(code=_CODES.get(step, errors.GMI_PROCESSING_ERROR), message=f"the step {step} {what}")
    return ErrorDetails(code=errors.GMI_PROCESSING_ERROR, message=f"{type(fault).__name__}: {fault}"[:MESSAGE_CHARS])


def lost_tool(fault: ActivityError, facts: ToolFacts) -> ErrorDetails:
    """The result of a tool whose run could not be finished or recorded."""
    told = failure_of(fault).message
    if facts.repeatable:
        return ErrorDetails(code=errors.TOOL_ERROR, message=f"The tool could not be run: {told}.")
    message = f"The run was cut off ({told}); its effect may or may not have happened. It was not repeated."
    return ErrorDetails(code=errors.TOOL_OUTCOME_UNKNOWN, message=message)


_CODES = {
    "call_model": errors.LLM_PROVIDER_ERROR,
    "begin_turn": errors.SYS_DATABASE_ERROR,
    "commit_turn": errors.SYS_DATABASE_ERROR,
    "save_results": errors.SYS_DATABASE_ERROR,
    "judge_input": errors.SYS_DATABASE_ERROR,
}
