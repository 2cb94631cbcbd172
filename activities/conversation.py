"""Values of a conversation: messages, calls, results, usage, and the output of a turn. Both sides of Temporal speak them."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from activities.output_parts import AudioOutputConfig, ImageOutputConfig, OutputParts, UICommand
from activities.sources import RagRetrievedChunk
from activities.structured_contracts import StructuredOutput
from activities.wire import Sparse, Wire

Arguments = dict[str, Any]


class ErrorDetails(Wire):
    """Why something failed: a stable `code`, a `message` its reader can act on, and optional JSON `details`."""

    code: str
    message: str
    details: Any = None


class ToolCall(Wire):
    """One call the model asked for. `id` is ours (nine characters a-z0-9); `provider_id` is what the provider called it."""

    id: str
    name: str
    arguments: Arguments = Field(default_factory=dict)
    provider_id: str | None = None


class ToolCallResult(Wire):
    """The one result of one call: an `output` (any JSON, null included), or an error that says so.

    Source: ToolCallResult of AgentOS. A failed result has `is_error` and `error_details`. `parts` are for the user: the model
    reads none of them.
    """

    tool_call_id: str
    tool_name: str
    output: Any = None
    is_error: bool = False
    error_details: Any = None
    parts: Sparse[OutputParts] = None


class TextPart(Wire):
    """Text in a multimodal message."""

    type: Literal["text"] = "text"
    text: str


class ImageUrl(Wire):
    """Address (https or data URL) of an image."""

    url: str
    detail: str | None = None


class ImagePart(Wire):
    """An image in a multimodal message, in the form of the Chat Completions API."""

    type: Literal["image_url"] = "image_url"
    image_url: ImageUrl = Field(alias="image_url")

    @property
    def is_inline(self) -> bool:
        """Whether the image itself stands in its URL."""
        return self.image_url.url[:5].lower() == "data:"


class AudioData(Wire):
    """Base64 audio and its format."""

    data: str
    format: str


class AudioPart(Wire):
    """Audio in a multimodal message, in the form of the Chat Completions API."""

    type: Literal["input_audio"] = "input_audio"
    input_audio: AudioData = Field(alias="input_audio")


ContentPart = Annotated[TextPart | ImagePart | AudioPart, Field(discriminator="type")]
Content = str | tuple[ContentPart, ...]


class UserMessage(Wire):
    """What the user said. `meta` has the verdicts of guardrails where there are any (see `activities.guard_input`)."""

    role: Literal["user"] = "user"
    content: Content
    meta: Sparse[dict[str, Any]] = None


class AssistantMessage(Wire):
    """What the model said: text, calls, or both. `content` is None when there is no text.

    `meta` has the facts about the reply that are not part of the conversation (see `activities.completions.ReplyFacts`).
    """

    role: Literal["assistant"] = "assistant"
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    meta: dict[str, Any] | None = None

    @property
    def is_discarded(self) -> bool:
        """Whether this was a structured answer that did not fit: its own turn asks again, and nobody else reads it."""
        kept = (self.meta or {}).get("structured")
        return isinstance(kept, dict) and kept.get("discarded") is True

    @property
    def told_text(self) -> str | None:
        """The text, as far as anybody but the turn itself is told it."""
        return None if self.is_discarded else self.content


class ToolMessage(Wire):
    """The result of one call, at its place in the history."""

    role: Literal["tool"] = "tool"
    result: ToolCallResult


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ModelUsage(Wire):
    """Tokens of one model call. `cost_usd` is None when the model has no price in the settings."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = Field(default=None, alias="costUSD")


class CostEntry(Wire):
    """What one model of a turn used. Source: CostAggregator.breakdown of AgentOS."""

    provider_id: str
    model_id: str
    tokens: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None = Field(default=None, alias="costUSD")


class CostAggregator(Wire):
    """Everything a turn used so far. `total_cost_usd` is None as long as no priced call was made."""

    total_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_cost_usd: float | None = Field(default=None, alias="totalCostUSD")
    breakdown: tuple[CostEntry, ...] = ()
    # A provider that reports no usage leaves the sums too low; this says how many calls they miss.
    calls_without_usage: int = 0


class GMIOutput(Wire):
    """What a turn gives back. Source: GMIOutput of AgentOS.

    `is_final` false with `tool_calls` means the turn waits for its host to run exactly these. On a final output they are the
    calls the worker ran or refused. `text_ref` is set when `response_text` was too long for a history and was cut: it names
    the stored row that has the whole text. `model_calls` is set for the turn of a sub-agent: the calls that its caller counts.
    """

    is_final: bool
    response_text: str | None = None
    text_ref: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    ui_commands: tuple[UICommand, ...] | None = None
    audio_output: AudioOutputConfig | None = None
    image_output: ImageOutputConfig | None = None
    usage: CostAggregator | None = None
    reasoning_trace: tuple[dict[str, Any], ...] | None = None
    error: ErrorDetails | None = None
    rag_sources: tuple[RagRetrievedChunk, ...] | None = None
    structured_output: StructuredOutput | None = None
    conversation_id: str | None = None
    turn_id: str | None = None
    memory: dict[str, Any] | None = None
    model_calls: int | None = None

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The fields are optional in the seed: absent, not null.
        return {name: value for name, value in handler(self).items() if value is not None}
