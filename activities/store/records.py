"""What the stores hand out."""

from dataclasses import dataclass
from typing import Literal

from activities.contracts import MemoryPlan
from activities.conversation import CostAggregator, GMIOutput, Message, ToolCallResult
from activities.sources import RagRetrievedChunk
from activities.turn_input import TurnInput
from activities.wire import Wire

TurnState = Literal["open", "completed", "failed", "cancelled", "superseded", "abandoned"]

PlacedMessage = tuple[int, Message]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A turn that holds its conversation.

    `rows` of it stand already: one, its user message, unless an earlier run got further (`resumed`). `plan` is set when
    memory was planned before: it must not be planned again. `selection` is what the conversation has chosen, as JSON.
    """

    position: int
    rows: int
    resumed: bool
    plan: MemoryPlan | None
    selection: str | None = None


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn of the ledger. `output` and `usage` are set once it is closed by its own workflow; few readers need them.

    `sources` are None when it looked for none.
    """

    id: str
    conversation_id: str
    position: int
    workflow_id: str
    run_id: str
    first_run_id: str
    organization_id: str | None
    user_id: str
    persona_id: str
    state: TurnState
    input: TurnInput
    memory_text: str | None
    plan: MemoryPlan | None
    output_json: str | None
    usage_json: str | None
    created_ms: int
    ended_ms: int | None
    sources: tuple[RagRetrievedChunk, ...] | None = None

    @property
    def output(self) -> GMIOutput | None:
        """How the turn ended."""
        return GMIOutput.model_validate_json(self.output_json) if self.output_json else None

    @property
    def usage(self) -> CostAggregator | None:
        """What the turn used."""
        return CostAggregator.model_validate_json(self.usage_json) if self.usage_json else None


class ToolAttempt(Wire):
    """One attempt of a run: its number, when it began, how long it took (milliseconds), and how it ended.

    `code` is the error's, None for an attempt that gave a result; `status` that of an HTTP answer.
    """

    attempt: int
    started_ms: int
    took_ms: int
    code: str | None = None
    message: str | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRunRecord:
    """One run of a tool. `first` is true for the one caller that created it: only that one may start the tool freely."""

    key: str
    state: Literal["started", "finished"]
    result: ToolCallResult | None
    first: bool
    attempts: tuple[ToolAttempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is."""

    organization_id: str
    user_id: str
    persona_id: str


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """The memory of a scope. `version` is what the next save must expect, 0 when there is none yet.

    `restored_from` is set when the newest version was damaged and `blob` is an older one.
    """

    version: int
    blob: bytes | None
    restored_from: int | None = None
