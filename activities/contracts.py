"""What workflows and activities say to each other: one request and one reply per activity.

They carry ids, deltas and small values. Text over `PREVIEW_CHARS` crosses a history as a preview with the number of its row;
whole rows stand in the store, keyed by (turn id, row).
"""

from typing import Any, Literal

from pydantic import Field

from activities.conversation import (
    Arguments,
    CostAggregator,
    ErrorDetails,
    GMIOutput,
    ModelUsage,
    ToolCall,
    ToolCallResult,
)
from activities.guard_contracts import GuardNote
from activities.output_parts import OutputParts
from activities.sources import RagRetrievedChunk
from activities.structured_contracts import StructuredReading
from activities.turn_input import TurnInput, TurnOptions
from activities.wire import Sparse, Wire

PREVIEW_CHARS = 8_000
# A memory step that takes longer is given up: nobody waits for it, and rules do without it.
MEMORY_MODEL_TIMEOUT = 60.0

MemoryStage = Literal["extract", "reconcile", "arbitrate"]


class Excerpt(Wire):
    """Text as a history carries it: whole, or its first `PREVIEW_CHARS` characters with `cut` set."""

    text: str
    length: int
    cut: bool = False

    @classmethod
    def of(cls, text: str) -> "Excerpt":
        """The excerpt of a text."""
        return cls(text=text[:PREVIEW_CHARS], length=len(text), cut=len(text) > PREVIEW_CHARS)


class BeginTurn(Wire):
    """Claim the conversation for a turn and store everything that its later steps need.

    `turn_id` here and below is the turn's key: unique in the whole store, stable when the turn is retried or reset.
    """

    turn_id: str
    workflow_id: str
    run_id: str
    first_run_id: str
    conversation_id: str
    input: TurnInput
    now_ms: int


class MemoryPlan(Wire):
    """What memory put into this turn's prompt. `degraded` says why there is none."""

    entries: int = 0
    tokens: int = 0
    truncated: bool = False
    caution: bool = False
    degraded: str | None = None


class Patience(Wire):
    """How long this turn's model calls may take, from the worker's settings. Times in seconds."""

    model_timeout: float = 300.0
    model_attempts: int = 8


class TurnBegun(Wire):
    """The claimed turn. `rows` of it stand in the store: its user message. `search_attributes` are those registered.

    `memory_model` says whether a model helps memory to learn from this turn.
    """

    conversation_id: str
    persona_id: str
    model: str = ""
    rows: int
    position: int
    memory: MemoryPlan = MemoryPlan()
    search_attributes: tuple[str, ...] = ()
    patience: Patience = Patience()
    took_over: str | None = None
    memory_model: bool = False
    # How many functions this turn may call, and what the conversation chose before; only where functions are chosen.
    functions: int = 0
    selection: dict[str, Any] | None = None
    # How long the guardrails may take that judge the user's message; None where there are none.
    input_guard_seconds: Sparse[float] = None
    remembers: bool = Field(default=True, exclude_if=lambda value: value)
    # Whether the turn looks up what its answer may rest on.
    retrieves: bool = Field(default=False, exclude_if=lambda value: not value)


class RetrieveSources(Wire):
    """Look up, for a turn, what its answer may rest on. The message is read from the store."""

    turn_id: str
    now_ms: int


class SourcesRetrieved(Wire):
    """What stands in the turn's prompts, in excerpts of 32 KB together. `failures` say which look-ups gave nothing."""

    sources: tuple[RagRetrievedChunk, ...] = ()
    failures: tuple[str, ...] = ()


class PlacedResult(Wire):
    """A result and the row of the turn where it belongs."""

    row: int
    result: ToolCallResult


class SaveResults(Wire):
    """Store results that are too large for an activity's recorded input. Runs as a local activity."""

    turn_id: str
    results: tuple[PlacedResult, ...]


class ResultsSaved(Wire):
    """How many rows stand after the save."""

    rows: int


class TellPause(Wire):
    """Tell those who read the turn's stream of calls that wait and stand in no reply of its model. Runs as a local activity."""

    turn_id: str
    pause_id: str
    calls: tuple[ToolCall, ...]


class PauseTold(Wire):
    """Whether there is anybody to tell: a turn that does not stream has no chunks."""

    streams: bool


class ModelRequest(Wire):
    """Ask the model once.

    `rows` of the turn stand before the reply, `results` among them: those the workflow itself made and has not saved.
    `options` of an answer override those of the turn. With `tools_allowed` false the model must answer in words. `functions`
    are the names of the tools that were chosen for this call, None when all are offered; `phase` says which prompt goes with
    it.
    """

    turn_id: str
    conversation_id: str
    round: int
    rows: int
    results: tuple[PlacedResult, ...] = ()
    options: TurnOptions | None = None
    tools_allowed: bool = True
    functions: tuple[str, ...] | None = None
    phase: Literal["execute", "describe"] | None = None
    now_ms: int = 0


class ToolFacts(Wire):
    """What the gate and the retry policy need to know of a tool. Times in seconds.

    A call of kind `ui` is run by nobody: the turn tells it to the host. One of kind `agent` is a turn of another persona.
    With `external` the host runs a function the worker knows: its call waits as one to a tool of the host does, and
    `input_schema` describes its arguments. `human_schema` is the part of the arguments that a person fills, None when there
    is none. `controller`, `function` and `protocol` (`http`, `class`, `mcp`) say which controller's function it is;
    `function` is its name there, which may differ from the one the model calls it by. After a failure that better arguments
    could heal the model may call again if `correctable`, `corrections` times in a turn (0: as often as the turn allows).
    """

    kind: Literal["worker", "external", "memory", "ui", "agent"]
    needs_approval: bool = False
    repeatable: bool = False
    timeout: float = 60.0
    retries: int = 0
    input_schema: dict[str, Any] | None = None
    external: bool = False
    human_schema: dict[str, Any] | None = None
    controller: str | None = None
    function: str | None = None
    protocol: str | None = None
    correctable: bool = True
    corrections: int = 0


class RequestedCall(Wire):
    """A call as the model's reply has it, made safe.

    `problem` is set when it must not run (unknown tool, arguments that are no JSON object or break the schema, a reply cut in
    the middle): it is the error the model gets. `arguments_cut` means `arguments` is {"preview": text} and the whole stands
    in the assistant's row.
    """

    id: str
    name: str
    arguments: Arguments = Field(default_factory=dict)
    arguments_cut: bool = False
    provider_id: str | None = None
    problem: ErrorDetails | None = None
    tool: ToolFacts | None = None


class ModelReply(Wire):
    """One reply of the model, already stored as row `row`.

    `error` ends the turn with this error after the text is kept (refusal, filter, nothing said); `hint` is for the log;
    `guardrails` are their verdicts on this reply, and on the results that it would have answered; `structured` is set for an
    answer without calls in a turn that wants a structured one.
    `stored` is false when there was nothing to store: a reply with neither text nor calls.
    """

    row: int
    stored: bool = True
    text: Excerpt | None = None
    calls: tuple[RequestedCall, ...] = ()
    finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    usage: ModelUsage | None = None
    error: ErrorDetails | None = None
    hint: str | None = None
    parts: Sparse[OutputParts] = None
    guardrails: Sparse[tuple[GuardNote, ...]] = None
    structured: Sparse[StructuredReading] = None


class ToolRun(Wire):
    """Run one tool of the worker. `row` is where its result belongs; absent `arguments` are read from row `call_row`.

    `human` is the part of the arguments that a person gave. It is joined to the model's and stands in no row.
    """

    turn_id: str
    conversation_id: str
    call_id: str
    name: str
    row: int
    call_row: int
    arguments: Arguments | None = None
    human: Any = None


class ToolRan(Wire):
    """The stored result. With `cut` its output is {"preview": text}: the whole stands in the row.

    `correctable` says that the call failed in a way that better arguments could heal.
    """

    row: int
    result: ToolCallResult
    cut: bool = False
    correctable: bool = False


class CommitTurn(Wire):
    """Close the turn: its rows become the conversation's. `results` fill calls that are still open."""

    turn_id: str
    conversation_id: str
    rows: int
    results: tuple[PlacedResult, ...] = ()
    state: Literal["completed", "failed", "cancelled", "superseded"]
    output: GMIOutput
    usage: CostAggregator
    now_ms: int
    # What the next turn of the conversation begins with, where functions are chosen.
    selection: dict[str, Any] | None = None


class TurnCommitted(Wire):
    """The closed turn: its place in the conversation and the number of its rows."""

    position: int
    rows: int


class MemoryAsk(Wire):
    """Ask a model about a committed turn, so that memory learns more from it. The turn's text is read from the store.

    `answers` are those of the stages before: the engine's `PostTurnAnswers` as JSON, at most some ten kilobytes a stage.
    """

    turn_id: str
    now_ms: int
    answers: dict[str, Any] = Field(default_factory=dict)


class MemoryAnswered(Wire):
    """All answers so far. `next_stage` is the next one with something to ask, None when there is none.

    `asked` is false for a stage that had nothing to ask; then there was no model call, and `usage` is None.
    """

    answers: dict[str, Any] = Field(default_factory=dict)
    next_stage: MemoryStage | None = None
    asked: bool = False
    usage: ModelUsage | None = None
    model: str = ""
    provider: str = ""


class PostTurn(Wire):
    """Let the memory learn from a committed turn. Text is read from the store; `answers` as in `MemoryAsk`."""

    turn_id: str
    now_ms: int
    answers: dict[str, Any] = Field(default_factory=dict)


class PostTurnReport(Wire):
    """What the memory learned. `skipped` says why it learned nothing, `problems` what went wrong; neither fails a turn.

    `usage` is that of the models that were asked about the turn, apart from the turn's own; None when none was.
    """

    stored: int = 0
    merged: int = 0
    rejected: int = 0
    promoted: int = 0
    version: int = 0
    skipped: str | None = None
    problems: tuple[str, ...] = ()
    usage: CostAggregator | None = None
