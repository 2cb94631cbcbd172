"""What a persona is like, and how that may change: traits, moods, questions to itself, what it knows from the start."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from activities.wire import Sparse, StrictWire

# Source: GMIMood of AgentOS.
Mood = Literal["neutral", "focused", "empathetic", "curious", "assertive", "analytical", "frustrated", "creative"]
# A number may be adapted; words are told as they are.
TraitValue = Annotated[float, Field(ge=0, le=1)] | Annotated[str, Field(max_length=500)]


class MoodAdaptation(StrictWire):
    """Which moods an instance may take, and what each adds to the prompt. Without `allowed_moods` it may take any."""

    enabled: bool = True
    sensitivity_factor: Sparse[float] = None
    default_mood: Mood = "neutral"
    allowed_moods: tuple[Mood, ...] | None = None
    mood_prompts: dict[str, str] = Field(default_factory=dict)


class MetaPromptTrigger(StrictWire):
    """When a meta prompt is due: every so many turns, at an event, or when somebody asks for it."""

    type: Literal["turn_interval", "event_based", "manual"] = "manual"
    interval_turns: int = Field(default=10, ge=1, le=1_000_000)
    event_name: str | None = Field(default=None, max_length=100)


class MetaPrompt(StrictWire):
    """A question an instance asks the model about itself. Its answer is JSON; see `activities.reflection`."""

    id: str = Field(min_length=1, max_length=100)
    description: str = ""
    prompt_template: str = Field(max_length=20_000)
    model_id: str | None = None
    provider_id: Sparse[str] = None
    output_schema: Sparse[dict[str, Any]] = None
    max_output_tokens: int = Field(default=512, ge=1, le=8_192)
    temperature: float = Field(default=0.3, ge=0, le=2)
    trigger: MetaPromptTrigger = MetaPromptTrigger()

    @field_validator("prompt_template", mode="before")
    @classmethod
    def _template_alone(cls, given: Any) -> Any:
        # AgentOS also writes {"template", "variables"}. The question is asked as it stands.
        return given["template"] if isinstance(given, dict) and set(given) <= {"template", "variables"} else given


class TraceLimits(StrictWire):
    """Bounds of the reasoning trace. Values that are no positive integers are ignored, and said to be."""

    max_entries: Any = None
    max_message_length: Any = None


class MemoryImprint(StrictWire):
    """What working memory holds from the start."""

    key: str = Field(min_length=1, max_length=200)
    value: Any = None
    description: str | None = None
