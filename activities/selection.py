"""Choosing functions before they are called: what a conversation has chosen, and what is asked of a model that chooses.

The phases of a turn are `cancel` (drop what the user no longer wants), `select` (choose among all functions), `execute` (call
those that were chosen) and `describe` (say what came of it); `initialize` before them asks whether any function is wanted at
all. Source: the phases of the Nestia agent.
"""

from typing import Any, Literal

from pydantic import Field

from activities.contracts import Excerpt
from activities.conversation import CostAggregator, ErrorDetails, ModelUsage
from activities.guard_contracts import GuardNote
from activities.turn_input import TurnOptions
from activities.wire import Sparse, Wire

ChoicePhase = Literal["initialize", "cancel", "select"]
CallPhase = Literal["execute", "describe"]


class ChosenFunction(Wire):
    """A function that was chosen or cancelled, and why. `controller`, `function` and `protocol` as in `ToolFacts`."""

    name: str
    reason: str = ""
    controller: str | None = None
    function: str | None = None
    protocol: str | None = None


class StackEntry(ChosenFunction):
    """A function that waits to be called once. The same function may wait several times, each with an id of its own."""

    id: str


class Selection(Wire):
    """What a conversation keeps of its choices from turn to turn. `ready` is set once a model wanted functions at all."""

    ready: bool = False
    stack: tuple[StackEntry, ...] = ()
    usage: dict[str, CostAggregator] = Field(default_factory=dict)


class ChoiceRequest(Wire):
    """Ask the model to choose. The reply is stored as row `row`; `rows` of the turn stand before.

    `stack` is what waits now, where some of it may be dropped. `among` are the names to choose from, None for all; with
    `groups` over 1 this is question `group` of several, each about its share of them. `now_ms` is the turn's clock.
    """

    turn_id: str
    conversation_id: str
    phase: ChoicePhase
    call: int
    rows: int
    row: int
    stack: tuple[StackEntry, ...] = ()
    among: tuple[str, ...] | None = None
    group: int = 0
    groups: int = 1
    options: TurnOptions | None = None
    now_ms: int = 0


class ChoiceReply(Wire):
    """What the model chose. `wanted` says that it called the tool at all; `faults` what in its choice could not be used.

    `text` is what it said besides. `error` ends the turn with this error (refusal, filter). `guardrails` as in `ModelReply`.
    """

    row: int
    wanted: bool = False
    chosen: tuple[ChosenFunction, ...] = ()
    faults: tuple[str, ...] = ()
    text: Excerpt | None = None
    finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    usage: ModelUsage | None = None
    error: ErrorDetails | None = None
    hint: str | None = None
    guardrails: Sparse[tuple[GuardNote, ...]] = None


class ChoiceFacts(Wire):
    """What the row of a choice keeps beside its text: the same reply can be given again, and shown to the model again.

    `arguments` are the model's own, as it sent them; `call_id` is the id of its call.
    """

    phase: ChoicePhase
    call_id: str
    wanted: bool = False
    arguments: Any = None
    chosen: tuple[ChosenFunction, ...] = ()
    faults: tuple[str, ...] = ()
    group: int = 0
    groups: int = 1
