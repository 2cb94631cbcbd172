"""The model of a chaos run. It counts what would be billed: every request that arrived, by the step it asked for."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.moments import Moments
from tests.chaos.plans import follow
from worker.scripted_responses import Response, say

# From the last byte of an answer to the moment its row is committed, on a machine that has more to do, in seconds.
STORING_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request: when it arrived, and when its answer left."""

    asked: float
    answered: float


class Bill:
    """Requests by step."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._requests: defaultdict[str, list[Request]] = defaultdict(list)

    def answer(self, request: dict[str, Any]) -> Response:
        """What the model says; noted when it is asked and when it has answered."""
        step, saying, thinking = follow(request)
        loop = asyncio.get_running_loop()
        self._requests[step].append(Request(loop.time(), loop.time() + thinking))
        self._moments.note("asked")
        loop.call_later(thinking, self._moments.note, "answered")
        return say(request, saying, delay=thinking)

    def repeated(self, kills: Sequence[float]) -> tuple[int, list[str]]:
        """How many requests were made again because a kill fell before the answer was stored, and those made without one."""
        explained, unexplained = 0, []
        for step, requests in self._requests.items():
            if step == "follow-up":
                continue
            for earlier in requests[:-1]:
                if any(earlier.asked <= kill <= earlier.answered + STORING_SECONDS for kill in kills):
                    explained += 1
                else:
                    unexplained.append(step)
        return explained, unexplained

    @property
    def total(self) -> int:
        """All requests."""
        return sum(map(len, self._requests.values()))
