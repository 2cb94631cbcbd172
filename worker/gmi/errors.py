"""What an instance refuses or fails at, as its caller sees it."""

from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from activities.errors import GMI_PROCESSING_ERROR


class GMIError(Exception):
    """`code` is one of AgentOS' (see `activities.errors`), `details` what a program may need besides the words."""

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details


def error_of(fault: WorkflowUpdateFailedError | WorkflowFailureError) -> GMIError:
    """The error that an update or the instance itself ended with."""
    cause = fault.cause
    if isinstance(cause, ApplicationError):
        details = cause.details[0] if cause.details else None
        return GMIError(cause.type or GMI_PROCESSING_ERROR, cause.message, details)
    return GMIError(GMI_PROCESSING_ERROR, str(cause))
