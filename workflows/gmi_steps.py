"""Each effect of an instance as one awaitable step: the activity, how long it may take, how often it is tried."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities import errors
    from activities.contracts import Patience
    from activities.conversation import ErrorDetails
    from activities.errors import PAYLOAD_ERROR_TYPES
    from activities.instance_contracts import (
        AnswerTurn,
        InstanceOpened,
        LookAtTurn,
        OpenInstance,
        Reflect,
        Reflection,
        TurnAnswered,
        TurnSeen,
    )
    from activities.instances import InstanceActivities
    from activities.reflection import ReflectionActivities
    from activities.sentiment import AssessMessage, MessageAssessed
    from activities.sentiment_assessment import SentimentActivities
    from activities.wire import Wire
    from workflows.failures import failure_of
    from workflows.gmi_refusal import Refused
    from workflows.names import SUMMARY_CHARS
    from workflows.steps import HEARTBEAT, STORE_CALL, measured

T = TypeVar("T", bound=Wire)
R = TypeVar("R", bound=Wire)

STORE_PATIENCE = timedelta(seconds=30)
ANSWER_PATIENCE = timedelta(seconds=60)
THOUGHT_ATTEMPTS = 3

_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    maximum_interval=timedelta(seconds=5),
    non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
)


async def open_instance(request: OpenInstance) -> InstanceOpened:
    """Find the persona."""
    return await in_store(InstanceActivities.open_instance, request)


async def look_at_turn(workflow_id: str) -> TurnSeen:
    """Ask the server about a turn."""
    return await in_store(InstanceActivities.look_at_turn, LookAtTurn(workflow_id=workflow_id))


async def in_store(method: Callable[[Any, T], Awaitable[R]], request: T) -> R:
    """A bounded call to the store, as a local activity.

    Raises:
        Refused: with the code of what went wrong.
    """
    try:
        return await workflow.execute_local_activity_method(
            method,
            measured(request),
            start_to_close_timeout=timedelta(seconds=10),
            schedule_to_close_timeout=STORE_PATIENCE,
            local_retry_threshold=STORE_CALL,
            retry_policy=_RETRY,
        )
    except FailureError as fault:
        raise _refused(fault) from None


async def answer_turn(request: AnswerTurn) -> TurnAnswered:
    """Hand an answer on to the open turn.

    Raises:
        Refused: the turn did not take it, or is over.
    """
    try:
        return await workflow.execute_activity_method(
            InstanceActivities.answer_turn,
            measured(request),
            start_to_close_timeout=timedelta(seconds=20),
            schedule_to_close_timeout=ANSWER_PATIENCE,
            retry_policy=_RETRY,
            summary=request.name,
        )
    except FailureError as fault:
        raise _refused(fault) from None


async def reflect(request: Reflect, patience: Patience) -> Reflection:
    """One question to the model about the instance. Its failure is told in the reflection."""
    asked = await _asked(ReflectionActivities.reflect, request, patience, f"reflection {request.prompt.id}")
    return asked if isinstance(asked, Reflection) else Reflection(error=asked)


async def ask_sentiment(request: AssessMessage, patience: Patience) -> MessageAssessed:
    """One question to the model about a message. Its failure is told in what comes back."""
    asked = await _asked(SentimentActivities.ask_sentiment, request, patience, "how the user feels")
    return asked if isinstance(asked, MessageAssessed) else MessageAssessed(error=asked)


async def look_up(request: AssessMessage) -> MessageAssessed:
    """How the user feels, by the lexicon."""
    try:
        return await in_store(SentimentActivities.look_up_sentiment, request)
    except Refused as fault:
        return MessageAssessed(error=ErrorDetails(code=fault.code, message=str(fault)))


async def _asked(
    method: Callable[[Any, T], Awaitable[R]], request: T, patience: Patience, summary: str
) -> R | ErrorDetails:
    """What a model says, after few tries, or why it does not."""
    attempt = timedelta(seconds=patience.model_timeout)
    try:
        return await workflow.execute_activity_method(
            method,
            measured(request),
            start_to_close_timeout=attempt + timedelta(seconds=30),
            schedule_to_close_timeout=attempt * THOUGHT_ATTEMPTS + timedelta(minutes=5),
            heartbeat_timeout=HEARTBEAT,
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1),
                maximum_interval=timedelta(seconds=30),
                maximum_attempts=THOUGHT_ATTEMPTS,
                non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
            ),
            summary=summary[:SUMMARY_CHARS],
        )
    except FailureError as fault:
        if is_cancelled_exception(fault):
            raise
        return failure_of(fault)


def refusal_of(error: ErrorDetails) -> Refused:
    """A failure as what the sender of a message is told."""
    details = error.details if isinstance(error.details, dict) else None
    return Refused(error.message, error.code, details)


def _refused(fault: FailureError) -> Refused:
    """What a failed step is to the sender. A local activity's failure comes bare, another's within an ActivityError."""
    if is_cancelled_exception(fault):
        raise fault
    cause = fault.cause if isinstance(fault, ActivityError) else fault
    told = failure_of(fault)
    return refusal_of(
        told if isinstance(cause, ApplicationError) else told.model_copy(update={"code": errors.SYS_DATABASE_ERROR})
    )
