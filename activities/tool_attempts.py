"""How long each attempt of a tool took and how it ended, for the record of its run."""

import time
from dataclasses import dataclass

from activities.conversation import ToolCallResult
from activities.store.records import ToolAttempt
from activities.transient import TransientError

MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """One attempt that runs."""

    attempt: int
    started_ms: int
    began: float

    @classmethod
    def started(cls, attempt: int) -> "Stopwatch":
        """An attempt that begins now."""
        return cls(attempt, int(time.time() * 1000), time.monotonic())

    def ended(self, result: ToolCallResult) -> ToolAttempt:
        """The attempt whose result stands."""
        details = result.error_details
        code = details.get("code") if result.is_error and isinstance(details, dict) else None
        message = details.get("message") if code and isinstance(details, dict) else None
        return self._made(str(code) if code else None, str(message) if message else None, _status(result.output))

    def failed(self, code: str, message: str, fault: BaseException | None) -> ToolAttempt:
        """An attempt that will be followed by another."""
        return self._made(code, message, _status(fault.value) if isinstance(fault, TransientError) else None)

    def _made(self, code: str | None, message: str | None, status: int | None) -> ToolAttempt:
        return ToolAttempt(
            attempt=self.attempt,
            started_ms=self.started_ms,
            took_ms=int((time.monotonic() - self.began) * 1000),
            code=code,
            message=message[:MESSAGE_CHARS] if message else None,
            status=status,
        )


def _status(output: object) -> int | None:
    status = output.get("status") if isinstance(output, dict) else None
    return status if isinstance(status, int) and not isinstance(status, bool) else None
