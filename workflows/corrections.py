"""Calls that failed for their arguments: how often the model may send better ones, and what a person already gave. Pure.

Calls of one reply are made before any of them has failed. So no more of one function run at once than may still fail: those
that come after wait, and are refused where the others used the limit up.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from activities import errors
from activities.contracts import RequestedCall
from activities.conversation import Arguments, ErrorDetails


@dataclass(frozen=True, slots=True)
class _Failed:
    """The newest failed call of a function: how many failed so far, the model's part of its arguments and the person's."""

    times: int
    arguments: Arguments
    human: Any
    is_last: bool


@dataclass(slots=True)
class Corrections:
    """The failures of a turn, by function. One that succeeds is forgiven."""

    _failed: dict[str, _Failed] = field(default_factory=dict)
    _running: Counter[str] = field(default_factory=Counter)

    def has_room(self, call: RequestedCall) -> bool:
        """Whether the call may run beside those of its function that run: all of them may fail."""
        failed = self._failed.get(call.name)
        return _may_follow(call, (failed.times if failed else 0) + self._running[call.name])

    @contextmanager
    def running(self, call: RequestedCall) -> Iterator[None]:
        """The time in which the call runs; it ends after `note`."""
        self._running[call.name] += 1
        try:
            yield
        finally:
            self._running[call.name] -= 1

    def note(self, call: RequestedCall, human: Any, *, correctable: bool) -> None:
        """A call has ended; `correctable` when better arguments could heal it."""
        if not correctable:
            self._failed.pop(call.name, None)
            return
        before = self._failed.get(call.name)
        times = before.times + 1 if before else 1
        self._failed[call.name] = _Failed(times, call.arguments, human, is_last=not _may_follow(call, times))

    def human_part(self, call: RequestedCall) -> Any:
        """What a person gave for the call that this one corrects, so that they are not asked again; None when there is none.

        A call with the same arguments corrects nothing: then it was the person's part that was wrong.
        """
        failed = self._failed.get(call.name)
        return failed.human if failed is not None and failed.arguments != call.arguments else None

    def refusal(self, call: RequestedCall) -> ErrorDetails | None:
        """Why the function must not be called again in this turn; None when it may."""
        failed = self._failed.get(call.name)
        if failed is None or not failed.is_last:
            return None
        message = (
            f"{call.name} was called {failed.times} times with arguments that it cannot use. It is not called again in this "
            "turn: go on without it, and say so."
        )
        return ErrorDetails(code=errors.TOOL_CALL_REJECTED, message=message)

    def awaits(self, name: str) -> bool:
        """Whether the newest call of the function failed and the model may still correct it."""
        failed = self._failed.get(name)
        return failed is not None and not failed.is_last


def _may_follow(call: RequestedCall, failures: int) -> bool:
    """Whether another call may come after so many failed ones."""
    if call.tool is None or failures == 0:
        return True
    return call.tool.correctable and (call.tool.corrections == 0 or failures <= call.tool.corrections)
