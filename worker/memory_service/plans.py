"""What the last served prompt blocks had in them, and why. Kept by each process for a while, for people who ask."""

from collections import OrderedDict, deque
from dataclasses import dataclass

from activities.store.records import Scope
from memory_engine import MemoryInjectionReport

KEPT_PLANS = 10
KEPT_SCOPES = 256
KEPT_LINES = 100


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One line of a block."""

    id: str
    tier: str
    reason: str
    gist: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ServedPlan:
    """One block. The message it was made for is not kept."""

    at_ms: int
    tokens: int
    truncated: bool
    lines: tuple[PlanLine, ...]


class Plans:
    """The last blocks of each memory."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Scope, deque[ServedPlan]] = OrderedDict()

    def note(self, scope: Scope, report: MemoryInjectionReport, now_ms: int) -> None:
        """Keep the account of a block that was served."""
        lines = tuple(
            PlanLine(entry.id, entry.tier, entry.reason, entry.gist, entry.tokens)
            for entry in report.entries[:KEPT_LINES]
        )
        served = ServedPlan(now_ms, report.total_tokens, report.truncated, lines)
        self._plans.setdefault(scope, deque(maxlen=KEPT_PLANS)).appendleft(served)
        self._plans.move_to_end(scope)
        while len(self._plans) > KEPT_SCOPES:
            self._plans.popitem(last=False)

    def last(self, scope: Scope) -> list[ServedPlan]:
        """The last ones, the newest first."""
        return list(self._plans.get(scope, ()))

    def forget(self, scope: Scope) -> None:
        """Drop them: something that may stand in them was removed."""
        self._plans.pop(scope, None)
