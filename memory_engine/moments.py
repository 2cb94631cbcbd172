"""Points in time. The engine reads no clock: whoever calls it says when."""

from __future__ import annotations

from datetime import UTC, datetime

Instant = int | datetime
"""Milliseconds since 1970-01-01 UTC, or a datetime with a time zone."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(instant: Instant) -> int:
    """An instant in milliseconds, the same wherever the process runs. Raises `ValueError` without a time zone."""
    if not isinstance(instant, datetime):
        return instant
    if instant.tzinfo is None:
        raise ValueError(f"a moment needs a time zone, got {instant.isoformat()}")
    elapsed = instant - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
