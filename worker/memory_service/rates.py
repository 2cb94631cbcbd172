"""How many requests a caller may send: a bucket of tokens for each, refilled evenly."""

import math
import time
from collections import OrderedDict
from dataclasses import dataclass

from worker.memory_service.errors import rate_limited

MOST_CALLERS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Rates:
    """Token buckets by caller. `rate` tokens come back each second; a full bucket has `burst`."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def spend(self, caller: str) -> None:
        """Take one token.

        Raises:
            ApiError: 429, with the time at which there will be one.
        """
        wait = self.wait(caller, time.monotonic())
        if wait > 0:
            raise rate_limited(math.ceil(wait))

    def wait(self, caller: str, now: float) -> float:
        """Take one token; 0 when there was one, else in how many seconds there will be. `now` in seconds."""
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(float(self._burst), now)
            # The one that was idle longest has a full bucket, or nearly.
            while len(self._buckets) > MOST_CALLERS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(caller)
        bucket.tokens = min(self._burst, bucket.tokens + max(0.0, now - bucket.seen) * self._rate)
        bucket.seen = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self._rate
