"""The service's clock."""

import time


def now_ms() -> int:
    """Milliseconds since 1970, UTC."""
    return int(time.time() * 1000)
