"""What starts a turn. One JSON object; a bare string is its `content`."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from activities.conversation import Content
from activities.input_parts import read_parts
from activities.personas import InstanceTurn, Modality
from activities.structured_contracts import StructuredReply
from activities.wire import Sparse, StrictWire

PROMPT_CHARS = 20_000
MAX_TOOL_ROUNDS = 200
# How deep sub-agents may have sub-agents.
MAX_DEPTH = 3
SECRET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class ExternalTool(StrictWire):
    """A tool the host runs itself. `timeout` (ISO 8601 duration) fills that call alone when it passes."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    output_schema: dict[str, Any] | None = None
    timeout: str | None = None


class SystemPrompts(StrictWire):
    """Texts in place of the built-in ones, one for each phase. `${locale}`, `${timezone}` and `${datetime}` are filled in.

    `common` stands before the prompt of every phase.
    """

    common: str | None = Field(default=None, max_length=PROMPT_CHARS)
    initialize: str | None = Field(default=None, max_length=PROMPT_CHARS)
    select: str | None = Field(default=None, max_length=PROMPT_CHARS)
    cancel: str | None = Field(default=None, max_length=PROMPT_CHARS)
    execute: str | None = Field(default=None, max_length=PROMPT_CHARS)
    describe: str | None = Field(default=None, max_length=PROMPT_CHARS)


class SelectionOptions(StrictWire):
    """How functions are chosen when `toolSelection` is `select`. Source: INestiaAgentConfig, `eliticism` spelled as there.

    With at most `threshold` functions all are offered at once and nothing is chosen. `candidates` cuts the list before the
    model sees it, to those the message is likely about. More than `capacity` functions are divided into groups, each asked
    about by itself; with `eliticism` the winners are asked about once more. `retry` bounds how often a choice that cannot be
    used is asked for again. `describe` says when results are put into words: after each round of calls, once at the end, or
    by the model as it likes.
    """

    threshold: int = Field(default=8, ge=0, le=100)
    candidates: int | None = Field(default=None, ge=1, le=1_000)
    capacity: int | None = Field(default=None, ge=1, le=10_000)
    eliticism: bool = True
    retry: int = Field(default=3, ge=0, le=10)
    initialize: bool = False
    describe: Literal["each", "end", "off"] = "each"
    locale: str | None = Field(default=None, max_length=100)
    timezone: str | None = Field(default=None, max_length=100)
    system_prompt: SystemPrompts = SystemPrompts()


class AudioOptions(StrictWire):
    """The voice and the format of an answer that is spoken. With `options.stream` providers give `pcm16` only."""

    voice: str = Field(min_length=1, max_length=100)
    format: Literal["wav", "mp3", "flac", "opus", "aac", "pcm16"]


class TurnOptions(StrictWire):
    """How the model is asked, and what the output has. `user_api_keys` are names of secrets the worker holds, never the secrets.

    `modalities` are what the model is asked to answer with; `audio` goes with that of this name. With `reasoning_trace` the
    final output carries the newest of the trace into the history of the turn.
    """

    model: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    tool_choice: Literal["auto", "none", "required"] | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    structured_reply: Sparse[StructuredReply] = None
    stream: bool = False
    tool_selection: Literal["all", "select"] = "all"
    selection: SelectionOptions = SelectionOptions()
    user_api_keys: tuple[str, ...] = ()
    modalities: Sparse[tuple[Modality, ...]] = Field(default=None, min_length=1, max_length=3)
    audio: Sparse[AudioOptions] = None
    reasoning_trace: Annotated[bool, Field(exclude_if=lambda asked: not asked)] = False

    @field_validator("user_api_keys")
    @classmethod
    def _names_only(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        # Whoever puts a key where its name belongs must not find it in a history.
        if any(SECRET_NAME.fullmatch(name) is None for name in given):
            raise PydanticCustomError("secret_name", "holds names of the worker's secrets, never keys")
        return given

    @model_validator(mode="after")
    def _voice_for_audio(self) -> Self:
        if ("audio" in (self.modalities or ())) != (self.audio is not None):
            raise PydanticCustomError("audio", "modality `audio` and the options `audio` {voice, format} go together")
        return self


class PauseOptions(StrictWire):
    """How long a pause waits (ISO 8601 duration) and what happens then."""

    timeout: str = "P7D"
    on_timeout: Literal["continue", "fail"] = "continue"


class TurnLimits(StrictWire):
    """Where a turn stops by itself. `deadline` is an instant with a time zone; time spent paused counts.

    With `on_limit: ask` a limit that is reached is first put before the host, who may raise it.
    """

    max_tool_rounds: int = Field(default=5, ge=1, le=MAX_TOOL_ROUNDS)
    max_model_calls: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0, alias="maxCostUSD")
    deadline: datetime | None = None
    # Left out where it is the default: most turns never ask, and each carries its limits.
    on_limit: Literal["stop", "ask"] = Field(default="stop", exclude_if=lambda value: value == "stop")


class Delegation(StrictWire):
    """What the turn of a sub-agent is told of the turn that handed it its task. `depth` counts from 1."""

    depth: int = Field(ge=1, le=MAX_DEPTH)


class TurnInput(StrictWire):
    """One user message and everything that decides how its turn runs.

    A worker that lacks one of `required_guardrails` refuses the turn.
    """

    content: Content
    conversation_id: str | None = Field(default=None, min_length=1, max_length=200)
    user_id: str = Field(default="local", min_length=1, max_length=200)
    session_id: str | None = Field(default=None, max_length=200)
    organization_id: str | None = Field(default=None, max_length=200)
    interaction_id: str | None = Field(default=None, min_length=1, max_length=200)
    persona_id: str | None = Field(default=None, min_length=1, max_length=200)
    type: Literal["text", "multimodal_content", "system_message", "lifecycle_event"] = "text"
    metadata: dict[str, Any] = Field(default_factory=dict)
    timestamp: datetime | None = None
    user_context_override: dict[str, Any] | None = None
    task_context_override: dict[str, Any] | None = None
    external_tools: tuple[ExternalTool, ...] = Field(default=(), max_length=128)
    options: TurnOptions = TurnOptions()
    pause: PauseOptions = PauseOptions()
    on_busy: Literal["refuse", "supersede"] = "refuse"
    limits: TurnLimits = TurnLimits()
    histories: tuple[dict[str, Any], ...] | None = None
    history_ref: str | None = Field(default=None, max_length=200)
    instance: InstanceTurn | None = None
    delegation: Sparse[Delegation] = None
    required_guardrails: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)

    @field_validator("content", mode="before")
    @classmethod
    def _in_our_form(cls, given: Any) -> Any:
        return read_parts(given)
