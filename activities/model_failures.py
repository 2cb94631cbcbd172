"""How a failed model call reaches the workflow: an `ApplicationError` with a stable type, short, and without any key."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import LLM_PROVIDER_ERROR
from activities.provider_errors import ProviderFault, judge, readable


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
