"""How a user feels: what a persona may ask to be watched for, and what one message says of it. Values only."""

from typing import Literal

from pydantic import Field

from activities.conversation import ErrorDetails, ModelUsage
from activities.wire import StrictWire, Wire

SentimentMethod = Literal["lexicon_based", "llm"]
SentimentPreset = Literal[
    "gmi_frustration_recovery",
    "gmi_confusion_clarification",
    "gmi_satisfaction_reinforcement",
    "gmi_error_recovery",
    "gmi_engagement_boost",
]
EXCERPT_CHARS = 2_000
# The key of working memory that has the window.
SENTIMENT_HISTORY = "gmi_sentiment_history"


class SentimentTracking(StrictWire):
    """Whether an instance watches how its user feels. Source: sentimentTracking of AgentOS.

    A message whose score passes a threshold raises an event when it is intense, or after so many in a row; the window has the
    last `history_window` messages. `presets` are built-in meta prompts that answer the events: None means all, an empty list
    none, and a meta prompt of the persona with the same id stands in its place.
    """

    enabled: bool = True
    method: SentimentMethod = "lexicon_based"
    model_id: str | None = Field(default=None, max_length=200)
    history_window: int = Field(default=10, ge=1, le=100)
    frustration_threshold: float = Field(default=-0.3, ge=-1, le=0)
    satisfaction_threshold: float = Field(default=0.3, ge=0, le=1)
    consecutive_turns_for_trigger: int = Field(default=2, ge=1, le=20)
    presets: tuple[SentimentPreset, ...] | None = None


class Sentiment(Wire):
    """What one message says of its user's feelings.

    `score` is from -1 to 1, `intensity` from 0 to 1. `is_known` is false where nothing can be told: another language, no words.
    `is_short` means that it has so few words that its user may have lost interest.
    """

    score: float = Field(default=0.0, ge=-1, le=1)
    intensity: float = Field(default=0.0, ge=0, le=1)
    is_confused: bool = False
    is_known: bool = True
    is_short: bool = False


class AssessMessage(Wire):
    """Say how the user feels who wrote this. `model` is asked where a model is; None means the settings' default."""

    text: str
    model: str | None = None


class MessageAssessed(Wire):
    """How they feel, and what it cost to tell. `error` when the model's answer was not usable."""

    sentiment: Sentiment = Sentiment(is_known=False)
    error: ErrorDetails | None = None
    usage: ModelUsage | None = None
    model: str = ""
    provider: str = ""
