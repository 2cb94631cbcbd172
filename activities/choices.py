"""What a model chose, read from its reply. Pure.

A name nobody knows is no choice, and neither is one that only looks like a known one: it is told back, with the nearest that
there are.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from activities.arguments import BadArguments, read_arguments
from activities.completions import Completion, RawCall
from activities.json_schema import schema_fault
from activities.phases import CHOICE_SCHEMA, TOOL_OF_PHASE
from activities.selection import ChoicePhase, ChosenFunction, StackEntry

MAX_CHOSEN = 100
MAX_FAULTS = 20
REASON_CHARS = 1_000
NEAR_NAMES = 5
SHOWN_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reply chose. `wanted` says that the phase's tool was called; `arguments` are those of the first call."""

    wanted: bool
    chosen: tuple[ChosenFunction, ...] = ()
    faults: tuple[str, ...] = ()
    arguments: Any = None


def read_choice(completion: Completion, phase: ChoicePhase, known: Collection[str]) -> Choice:
    """The choice of a reply among the names it was shown."""
    calls = [call for call in completion.calls if call.name == TOOL_OF_PHASE[phase]]
    strangers = [call.name for call in completion.calls if call.name != TOOL_OF_PHASE[phase]]
    if phase == "initialize":
        return Choice(bool(calls))
    chosen: list[ChosenFunction] = []
    faults = [f"There is no tool {name[:SHOWN_NAME_CHARS]!r} here; call {TOOL_OF_PHASE[phase]}." for name in strangers]
    arguments = [_read(call, faults) for call in calls]
    for each in arguments:
        for item in each.get("functions", ()):
            _choose(item, known, chosen, faults)
    if len(chosen) > MAX_CHOSEN:
        faults.append(f"At most {MAX_CHOSEN} functions can be chosen at once.")
    return Choice(
        wanted=bool(calls),
        chosen=tuple(chosen[:MAX_CHOSEN]),
        faults=tuple(faults[:MAX_FAULTS]),
        arguments=arguments[0] if arguments else None,
    )


def cancelled(chosen: Sequence[ChosenFunction], stack: Sequence[StackEntry]) -> tuple[list[ChosenFunction], list[str]]:
    """Which of the named functions wait on the stack as often as they were named, and the names of those that do not."""
    waiting = Counter(entry.name for entry in stack)
    dropped, missing = [], []
    for each in chosen:
        if waiting[each.name] > 0:
            waiting[each.name] -= 1
            dropped.append(each)
        else:
            missing.append(each.name)
    return dropped, missing


def _read(call: RawCall, faults: list[str]) -> dict[str, Any]:
    arguments = read_arguments(call.arguments)
    if isinstance(arguments, BadArguments):
        faults.append(arguments.message)
        return {}
    if fault := schema_fault(CHOICE_SCHEMA, arguments, "arguments"):
        faults.append(fault)
        return {}
    return arguments


def _choose(item: Mapping[str, Any], known: Collection[str], chosen: list[ChosenFunction], faults: list[str]) -> None:
    name, reason = item["name"], item["reason"][:REASON_CHARS]
    if name in known:
        chosen.append(ChosenFunction(name=name, reason=reason))
        return
    if len(faults) >= MAX_FAULTS:
        # Looking for the nearest takes a while, and a model that rambles names hundreds.
        return
    near = get_close_matches(name[:SHOWN_NAME_CHARS], known, n=NEAR_NAMES, cutoff=0.4)
    hint = f" Did you mean {', '.join(near)}?" if near else " Use a name exactly as it is listed."
    faults.append(f"There is no function {name[:SHOWN_NAME_CHARS]!r}.{hint}")
