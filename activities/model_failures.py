"""How a failed model call reaches the workflow: an `ApplicationError` with a stable type, short, and without any key."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.asking import UnknownSecretError
from activities.errors import LLM_PROVIDER_ERROR, SYS_VALIDATION_ERROR
from activities.heartbeat import heartbeats
from activities.provider_errors import ProviderFault, judge, readable

T = TypeVar("T")


def final(code: str, message: str) -> ApplicationError:
    """A failure that no retry would mend."""
    return ApplicationError(message, type=code, non_retryable=True)


def provider_failure(fault: ProviderFault, provider: str, secrets: Iterable[str]) -> ApplicationError:
    """LLM_PROVIDER_ERROR with {"status", "code", "message", "provider"} as its details, and when to try again if at all."""
    attempt = activity.info().attempt if activity.in_activity() else 1
    verdict = judge(fault, attempt, datetime.now(UTC))
    text = readable(fault.text, secrets)
    return ApplicationError(
        f"{provider}: {' '.join(str(part) for part in (fault.status, fault.code, text) if part)}",
        {"status": fault.status, "code": fault.code, "message": text, "provider": provider},
        type=LLM_PROVIDER_ERROR,
        non_retryable=not verdict.retry,
        next_retry_delay=None if verdict.delay is None else timedelta(seconds=verdict.delay),
    )


async def answered(work: Awaitable[T], provider: str, secrets: Callable[[], Iterable[str]]) -> T:
    """What `work` gives, which asks a model; heartbeats tell meanwhile that it runs. A fault of the provider is a failure.

    Raises:
        ApplicationError: as `provider_failure`; SYS_VALIDATION_ERROR, not retryable, for a secret the worker does not hold.
    """
    async with heartbeats():
        try:
            return await work
        except ProviderFault as fault:
            failure = provider_failure(fault, provider, secrets())
        except UnknownSecretError as error:
            failure = final(SYS_VALIDATION_ERROR, str(error))
    # Raised out here, the failure has no cause and a short stack: there is nothing in it that a reader must not see.
    raise failure
