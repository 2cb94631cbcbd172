"""What an instance is started with, keeps, and says. Seed names are kept."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from activities.conversation import CostAggregator, ErrorDetails, GMIOutput
from activities.personas import Persona
from activities.sentiment import Sentiment
from activities.turn_input import ExternalTool, PauseOptions, TurnLimits, TurnOptions
from activities.wire import StrictWire, Wire
from workflows.contracts import PendingRequest

GMI_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]*$"
OnBusy = Literal["wait", "refuse", "supersede"]
PrimeState = Literal[
    "initializing", "ready", "processing", "awaiting_tool_result", "reflecting", "errored", "shutting_down", "shutdown"
]


class InstanceConfig(StrictWire):
    """What holds for all turns of an instance. Source: GMIBaseConfig of AgentOS, where a worker does not decide it.

    `turns_per_run` and `messages_per_run` bound the history of one run: past either the instance continues as new.
    `shutdown_timeout_ms` bounds how long a shutdown waits for the open turn.
    """

    user_id: str = Field(default="local", min_length=1, max_length=200)
    organization_id: str | None = Field(default=None, max_length=200)
    session_id: str | None = Field(default=None, max_length=200)
    conversation_id: str | None = Field(default=None, min_length=1, max_length=150)
    default_llm_model_id: str | None = Field(default=None, max_length=200)
    max_tool_loop_iterations: int | None = Field(default=None, ge=1, le=200)
    default_reasoning_trace_max_entries: Any = None
    default_reasoning_trace_max_message_length: Any = None
    shutdown_timeout_ms: int = Field(default=8_000, ge=0, le=600_000)
    external_tools: tuple[ExternalTool, ...] = Field(default=(), max_length=128)
    options: TurnOptions | None = None
    pause: PauseOptions | None = None
    limits: TurnLimits | None = None
    on_busy: OnBusy = "wait"
    custom_settings: dict[str, Any] = Field(default_factory=dict)
    turns_per_run: int = Field(default=200, ge=1, le=1_000)
    messages_per_run: int = Field(default=1_000, ge=10, le=1_500)


class StartInstance(StrictWire):
    """The input of an instance: `persona` as data or the `persona_id` of the app's; neither means the app's default."""

    gmi_id: str | None = Field(default=None, min_length=1, max_length=200, pattern=GMI_ID)
    persona: Persona | None = None
    persona_id: str | None = Field(default=None, min_length=1, max_length=200)
    config: InstanceConfig = InstanceConfig()


class QueuedTurn(Wire):
    """A turn that waits for its place. `body` is its input as JSON, `digest` tells a repeat from another message."""

    turn_id: str
    conversation_id: str
    workflow_id: str
    body: dict[str, Any]
    digest: str
    superseding: bool = False


class OpenTurn(Wire):
    """The turn that runs or waits for its host. `number` is that of its last notice; `output` is set while it is paused."""

    turn_id: str
    conversation_id: str
    workflow_id: str
    key: str
    digest: str
    started_at: datetime
    number: int = 0
    output: GMIOutput | None = None
    pending: PendingRequest | None = None
    superseded: bool = False

    @property
    def is_paused(self) -> bool:
        """Whether it waits for its host."""
        return self.output is not None


class TurnOutcome(Wire):
    """How a turn ended. The newest ones are kept, so that a message that comes twice is answered twice alike."""

    turn_id: str
    conversation_id: str
    digest: str
    output: GMIOutput


class LastTurn(Wire):
    """The turn that began last; `key` is what the store calls it."""

    turn_id: str
    conversation_id: str
    key: str
    said: str
    is_user_turn: bool = True


class TurnNotice(Wire):
    """What a turn tells its instance: that it waits (`output.is_final` false), or how it ended. Numbered from 1."""

    workflow_id: str
    turn_id: str
    number: int = Field(ge=1)
    output: GMIOutput
    pending: PendingRequest | None = None


class UnassessedMessage(Wire):
    """The beginning of a user's message, of which nobody has said yet how they feel."""

    turn_id: str
    text: str


class SentimentRecord(Wire):
    """How a user felt at one message, and the events it raised. `excerpt` goes when the history loses the message."""

    turn_id: str
    at: datetime
    sentiment: Sentiment
    events: tuple[str, ...] = ()
    excerpt: str | None = None


class TraceEntry(Wire):
    """One entry of the reasoning trace. Source: ReasoningTraceEntry of AgentOS. `turn_id` is that of the turn it is about."""

    timestamp: datetime
    type: str
    message: str
    details: Any = None
    turn_id: str | None = None


class Feedback(Wire):
    """What a user said about the agent. Source: NormalizedUserFeedback of AgentOS, and when it was said."""

    polarity: Literal["positive", "negative", "neutral"]
    user_id: str
    score: float | None = None
    text: str | None = None
    corrected_content: str | None = None
    target_message_id: str | None = None
    tags: tuple[str, ...] | None = None
    at: datetime | None = None


class RejectedMessage(Wire):
    """A signal that was not used, and why."""

    at: datetime
    name: str
    reason: str


class InstanceStatus(Wire):
    """Where an instance stands."""

    gmi_id: str
    state: PrimeState
    persona_id: str | None
    mood: str | None = None
    conversation_id: str
    user_id: str
    open_turn: dict[str, Any] | None = None
    queued: tuple[str, ...] = ()
    turns: int = 0
    failed: int = 0
    usage: CostAggregator = CostAggregator()
    error: ErrorDetails | None = None
