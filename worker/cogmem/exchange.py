"""One call as a story of tries, told without I/O.

A story is a generator: it yields what is to be done (`Send`, `Pause`, `Run`, or a whole `Call`), gets back what came of it, and
returns its result. The two clients differ only in how they do these four things; what is decided here and in the helpers is
decided once.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar

import httpx

from activities.provider_errors import retry_after
from worker.cogmem.call import Call
from worker.cogmem.errors import error_of, parse_json, unreadable

T = TypeVar("T")

RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
# A try that got no answer may have been carried out: its idempotency key makes that one time with the next.
RETRIED_ERRORS = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one try, read to its end."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Send(Generic[T]):
    """One try. Comes back as an `Answer`."""

    call: Call[T]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pause:
    """Seconds to wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Run:
    """A function of the caller; with the async client it may return an awaitable. Comes back as what it returns."""

    function: Callable[[], Any]


Step: TypeAlias = "Send[Any] | Pause | Run | Call[Any]"
Story: TypeAlias = Generator[Step, Any, T]


def exchange(call: Call[T], retry: int) -> Story[T]:
    """Carry a call out, trying again up to `retry` times after what may pass.

    Raises:
        CognitiveMemoryError: the service answered with an error, or with something else than its answers.
        httpx.TransportError: no answer came; the last one, untouched.
    """
    # One key for all tries, which is what lets the service tell a second try from a second call.
    headers = {"idempotency-key": uuid.uuid4().hex} if call.method != "GET" else {}
    retry = retry if call.repeatable else 0
    for tries_left in range(retry, -1, -1):
        asked: float | None = None
        try:
            answer: Answer = yield Send(call, headers)
        except RETRIED_ERRORS:
            if not tries_left:
                raise
        else:
            if not tries_left or answer.status not in RETRIED_STATUSES:
                return _result(call, answer)
            asked = retry_after(answer.headers, datetime.now(UTC))
        yield Pause(asked or backoff(retry - tries_left, random.random()))
    raise AssertionError("the last try returns or raises")


def backoff(failures: int, chance: float) -> float:
    """Seconds before the next try after so many failures before this one; `chance`, 0 to 1, spreads clients apart."""
    return min(FIRST_PAUSE * 2.0**failures, LONGEST_PAUSE) * (0.5 + chance / 2)


def _result(call: Call[T], answer: Answer) -> T:
    if not 200 <= answer.status < 300:
        raise error_of(answer.status, answer.text)
    try:
        return call.read(parse_json(answer.text))
    except ValueError:
        raise unreadable(answer.status, "with something else than was asked for; does base_url lead to it?") from None
