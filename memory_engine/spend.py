"""Spending a token budget on lines so that a larger budget never takes a line away.

Taking each line that still fits is not enough: with one token more a long line fits, and two short ones it pushes out are
gone. So the budget is spent in fixed stages, each four times as large as the one before. A stage keeps all that the earlier
ones took and adds, in order of importance, what fits into the stage; the last, partly paid stage adds a prefix of that. The
price is that a few short lines come in at a stage's end before longer ones of more importance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from .injection import MemoryInjectionEntry

LOOK_AHEAD = 32
"""How many lines that do not fit a stage are passed over before it ends."""

_FIRST_STAGE = 64
_LAST_STAGE = 10_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may be printed, with its entry; `quarters` is what the printed text costs in quarter tokens."""

    entry: MemoryInjectionEntry
    section: str
    text: str
    quarters: int
    is_l0: bool = False
    tokens: int = field(init=False)
    """What the entry costs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", self.entry.tokens)


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
        if self.tokens + line.tokens > budget:
            return False
        if line.is_l0 and self.l0_tokens + line.tokens > self.max_l0_tokens:
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
    source = iter(lines)
    read: list[Line] = []
    waiting: list[int] = []
    taken: list[int] = []
    for stage in _stages(budget):
        waiting, is_last = _spend_stage(source, read, waiting, taken, stage, budget, purse)
        if is_last:
            break
    has_more = len(taken) < len(read) or next(source, None) is not None
    return [read[place] for place in sorted(taken)], has_more


def _stages(budget: int) -> Iterator[int]:
    stage = _FIRST_STAGE
    while stage < budget and stage < _LAST_STAGE:
        yield stage
        stage *= 4
    yield stage


def _spend_stage(
    source: Iterator[Line],
    read: list[Line],
    waiting: list[int],
    taken: list[int],
    stage: int,
    budget: int,
    purse: Purse,
) -> tuple[list[int], bool]:
    """Spends one stage on the lines that wait and then on unread ones; places are indices into `read`.

    Returns the places that still wait, and whether the real budget ended the stage.
    """
    missed: list[int] = []
    affords, in_stage, spent = purse.affords, stage * 4, purse.quarters
    for at, place in enumerate(chain(waiting, _reading(source, read))):
        line = read[place]
        # The first test alone turns most lines away, and a plan asks it hundreds of times.
        if spent + line.quarters > in_stage or not affords(line, stage):
            missed.append(place)
            if len(missed) >= LOOK_AHEAD:
                return missed + waiting[at + 1 :], False
        elif affords(line, budget):
            purse.pay(line)
            spent = purse.quarters
            taken.append(place)
        else:
            return missed, True
    return missed, False


def _reading(source: Iterator[Line], read: list[Line]) -> Iterator[int]:
    for line in source:
        read.append(line)
        yield len(read) - 1
