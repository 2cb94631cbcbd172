"""What an instance asks of its activities, and what they answer. Ids and small values; histories cross in bounded pages."""

from typing import Any

from pydantic import Field

from activities.contracts import Patience
from activities.conversation import ErrorDetails, GMIOutput, ModelUsage
from activities.history_messages import ConversationMessage
from activities.persona_character import MetaPrompt, Mood
from activities.personas import Persona
from activities.wire import Wire


class InstanceScope(Wire):
    """Whose instance it is: the owner of its conversations and of its memory."""

    user_id: str
    persona_id: str
    organization_id: str | None = None
    session_id: str | None = None


class OpenInstance(Wire):
    """Find the persona, or take the given one."""

    persona: Persona | None = None
    persona_id: str | None = None


class InstanceOpened(Wire):
    """The persona. `is_own`: it came with the start or from the database, so its turns must bring it along."""

    persona: Persona
    is_own: bool = False
    patience: Patience = Patience()


class ReadHistory(Wire):
    """A page of a conversation, the newest messages before `before`; of one turn alone when `turn_id` (its key) is given."""

    scope: InstanceScope
    conversation_id: str
    turn_id: str | None = None
    before: str | None = None


class HistoryPage(Wire):
    """Messages in order. `cursor` is what to ask for next, None when nothing older stands."""

    messages: tuple[ConversationMessage, ...] = ()
    cursor: str | None = None


class ReplaceHistory(Wire):
    """Make the messages the whole conversation, or its end with `append`. `key` is that of the request: done once."""

    scope: InstanceScope
    conversation_id: str
    key: str
    messages: tuple[ConversationMessage, ...]
    append: bool = False
    now_ms: int


class HistoryReplaced(Wire):
    """How many messages and turns were written."""

    messages: int
    turns: int


class SearchMemory(Wire):
    """Search the instance's memory, or only count it when there is no query."""

    scope: InstanceScope
    query: str | None = None
    limit: int = 5


class MemoryFound(Wire):
    """Counts by tier, and what was found, best first."""

    stats: dict[str, Any] = Field(default_factory=dict)
    memories: tuple[dict[str, Any], ...] = ()
    tensions: tuple[dict[str, Any], ...] = ()


class RememberFeedback(Wire):
    """Let memory keep what a user said about the agent. `key` is that of the request: learned once."""

    scope: InstanceScope
    key: str
    statements: tuple[str, ...]
    now_ms: int


class FeedbackRemembered(Wire):
    """How many memories it made."""

    stored: int = 0


class AnswerTurn(Wire):
    """Hand a host's answer on to a turn. `name` is the update's, `update_id` makes a repeated one the same."""

    workflow_id: str
    update_id: str
    name: str
    body: Any


class TurnAnswered(Wire):
    """The turn took it. `output` is set while it still waits for other calls."""

    waiting_for: tuple[str, ...] = ()
    output: GMIOutput | None = None


class LookAtTurn(Wire):
    """Ask the server how a turn stands that has not been heard of for long."""

    workflow_id: str


class TurnSeen(Wire):
    """`is_open` while it runs; else how it ended, as far as it can be told."""

    is_open: bool
    output: GMIOutput | None = None


class Reflect(Wire):
    """Ask the model about the instance itself, in the words of one of its persona's meta prompts."""

    gmi_id: str
    scope: InstanceScope
    conversation_id: str
    prompt: MetaPrompt
    persona: Persona
    mood: Mood
    traits: dict[str, float]
    working_memory: dict[str, Any]
    trace: tuple[dict[str, Any], ...] = ()


class Reflection(Wire):
    """What came of it: wishes that the instance grants within its bounds. `error` when the answer was not usable."""

    mood: str | None = None
    traits: dict[str, float] = Field(default_factory=dict)
    working_memory: dict[str, Any] = Field(default_factory=dict)
    skill_level: str | None = None
    task_complexity: str | None = None
    rationale: str | None = None
    error: ErrorDetails | None = None
    usage: ModelUsage | None = None
    model: str = ""
    provider: str = ""
