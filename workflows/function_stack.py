"""The functions a conversation has chosen and not called yet. Pure.

A function stands on the stack as often as it is to run, each time with an id of its own; a call that came to its end takes
one of them away.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from activities.call_ids import mint_call_id
from activities.contracts import TurnBegun
from activities.conversation import CostAggregator, ModelUsage
from activities.selection import ChosenFunction, Selection, StackEntry
from activities.turn_input import SelectionOptions
from workflows.usage import add_usage

MAX_ENTRIES = 200
# Each is offered with its whole schema, beside the tools of memory; providers take 128 tools in all.
MAX_NAMES = 100
MAX_GROUPS = 32


@dataclass(slots=True)
class FunctionStack:
    """The stack of one conversation while a turn of it runs. Not `is_active`: all functions are offered at once."""

    options: SelectionOptions = field(default_factory=SelectionOptions)
    is_active: bool = False
    functions: int = 0
    ready: bool = False
    entries: list[StackEntry] = field(default_factory=list)
    usage: dict[str, CostAggregator] = field(default_factory=dict)

    @classmethod
    def of(cls, begun: TurnBegun, options: SelectionOptions) -> "FunctionStack":
        """As the last turn left it."""
        if begun.selection is None:
            return cls()
        kept = Selection.model_validate(begun.selection)
        is_active = begun.functions > options.threshold
        return cls(options, is_active, begun.functions, kept.ready, list(kept.stack), dict(kept.usage))

    @property
    def names(self) -> tuple[str, ...]:
        """The functions that wait, each once, in order."""
        return tuple(dict.fromkeys(entry.name for entry in self.entries))

    @property
    def groups(self) -> int:
        """How many questions a choice among all functions takes, at most `MAX_GROUPS`."""
        offered = min(self.functions, self.options.candidates or self.functions)
        return min(ceil(offered / self.options.capacity), MAX_GROUPS) if self.options.capacity else 1

    def push(self, chosen: Iterable[ChosenFunction], turn_id: str, call: int) -> None:
        """Choose functions; what is over the bound is left out."""
        for place, each in enumerate(chosen):
            is_new = each.name not in self.names
            if len(self.entries) < MAX_ENTRIES and not (is_new and len(self.names) >= MAX_NAMES):
                entry_id = mint_call_id(f"{turn_id}/stack", call, place)
                self.entries.append(StackEntry(id=entry_id, **each.model_dump()))

    def drop(self, names: Iterable[str]) -> None:
        """Take one entry away for each name, the oldest first; a name that does not wait is nothing."""
        for name in names:
            held = next((entry for entry in self.entries if entry.name == name), None)
            if held is not None:
                self.entries.remove(held)

    def note_usage(self, phase: str, used: ModelUsage | None, provider: str, model: str) -> None:
        """Add what one model call of a phase used."""
        self.usage[phase] = add_usage(self.usage.get(phase, CostAggregator()), used, provider, model)

    def kept(self) -> dict[str, Any] | None:
        """What the next turn begins with; None where functions are not chosen."""
        if not self.functions:
            return None
        kept = Selection(ready=self.ready, stack=tuple(self.entries), usage=self.usage)
        return kept.model_dump(mode="json", by_alias=True, exclude_none=True)


def winners(replies: Sequence[Sequence[ChosenFunction]]) -> tuple[ChosenFunction, ...]:
    """What the groups of a divided question chose, in the groups' order."""
    return tuple(each for chosen in replies for each in chosen)
