"""A failure that asking again may heal."""

from typing import Any


class TransientError(Exception):
    """A run of a tool failed in a way that passes, and running it again is safe.

    `retry_after` is how many seconds the other side asks to wait, None when it does not say. `value` is clean JSON: the
    result when nobody asks again.
    """

    def __init__(self, message: str, retry_after: float | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.value = value
