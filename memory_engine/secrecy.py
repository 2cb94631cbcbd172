"""Finding credentials in a statement. Facts live longer and travel further than messages, so these are never kept."""

from __future__ import annotations

from .secret_shapes import has_secret_shape
from .spoken_secrets import has_spoken_secret

REDACTED = "[redacted]"


def has_secret(statement: str) -> bool:
    """Whether a statement holds the value of a credential. Talking about keys and passwords is no secret."""
    lowered = statement.lower()
    return has_secret_shape(statement, lowered) or has_spoken_secret(statement, lowered)
