"""Spending a token budget on lines so that a larger budget never takes a line away.

Taking each line that still fits is not enough: with one token more a long line fits, and two short ones it pushes out are
gone. So the budget is spent in fixed stages, each twice as large as the one before. A stage keeps all that the earlier
ones took and adds, in order of importance, what fits into the stage; the last, partly paid stage adds a prefix of that. The
price is that a few short lines come in at a stage's end before longer ones of more importance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .reports import MemoryInjectionEntry

LOOK_AHEAD = 64
"""How many lines that do not fit a stage are passed over before it ends."""

_FIRST_STAGE = 32
_LAST_STAGE = 10_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may be printed, with its entry; `quarters` is what the printed text costs in quarter tokens."""

    entry: MemoryInjectionEntry
    section: str
    text: str
    quarters: int
    is_l0: bool = False

    @property
    def tokens(self) -> int:
        """What the entry costs."""
        return self.entry.tokens


@dataclass(slots=True)
class Purse:
    """What was spent so far, in entry tokens, in quarter tokens of text, and on L0 lines."""

    base_quarters: int
    heading_quarters: dict[str, int]
    max_l0_tokens: int
    tokens: int = 0
    quarters: int = 0
    l0_tokens: int = 0
    opened: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.quarters = self.base_quarters

    def affords(self, line: Line, budget: int) -> bool:
        """Whether a line fits into `budget` on top of what was spent."""
        tokens = line.entry.tokens
        if self.tokens + tokens > budget:
            return False
        if line.is_l0 and self.l0_tokens + tokens > self.max_l0_tokens:
            return False
        heading = 0 if line.section in self.opened else self.heading_quarters[line.section]
        return self.quarters + heading + line.quarters <= budget * 4

    def pay(self, line: Line) -> None:
        """Takes the price of a line, and of its section's heading if it is the first there."""
        if line.section not in self.opened:
            self.opened.add(line.section)
            self.quarters += self.heading_quarters[line.section]
        self.tokens += line.tokens
        self.quarters += line.quarters
        if line.is_l0:
            self.l0_tokens += line.tokens


def spend(lines: Iterable[Line], budget: int, purse: Purse) -> tuple[list[Line], bool]:
    """The lines that fit, in their given order of importance, and whether any was left out.

    `lines` is read only as far as needed.
    """
    queue = _Queue(lines)
    taken: list[tuple[int, Line]] = []
    for stage in _stages(budget):
        if not _spend_stage(queue, stage, budget, purse, taken):
            break
    return [line for _, line in sorted(taken, key=lambda pair: pair[0])], queue.has_more()


def _stages(budget: int) -> Iterator[int]:
    stage = _FIRST_STAGE
    while stage < budget and stage < _LAST_STAGE:
        yield stage
        stage *= 2
    yield stage


def _spend_stage(queue: _Queue, stage: int, budget: int, purse: Purse, taken: list[tuple[int, Line]]) -> bool:
    missed = 0
    for place, line in queue.waiting():
        if not purse.affords(line, stage):
            missed += 1
            if missed >= LOOK_AHEAD:
                break
            continue
        if not purse.affords(line, budget):
            return False
        purse.pay(line)
        queue.take(place)
        taken.append((place, line))
    return True


class _Queue:
    """Lines in order, read from their source when first needed, passed over any number of times, taken once."""

    def __init__(self, source: Iterable[Line]) -> None:
        self._source = iter(source)
        self._waiting: dict[int, Line] = {}
        self._read = 0

    def waiting(self) -> Iterator[tuple[int, Line]]:
        yield from list(self._waiting.items())
        for line in self._source:
            place = self._read
            self._read += 1
            self._waiting[place] = line
            yield place, line

    def take(self, place: int) -> None:
        del self._waiting[place]

    def has_more(self) -> bool:
        return bool(self._waiting) or next(self._source, None) is not None
