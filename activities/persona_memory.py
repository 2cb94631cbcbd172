"""What a persona says of its memory, of earlier turns, and of what it looks up."""

from pydantic import Field

from activities.sources import MAX_SOURCES
from activities.wire import Wire


class MemoryLifecycle(Wire):
    """Whether the instance may object when the host's memory wants to drop something."""

    negotiation_enabled: bool = False


class RetrievalTriggers(Wire):
    """What makes a turn retrieve: every message of a user, or nothing."""

    on_user_query: bool = True


class RagConfig(Wire):
    """How the persona retrieves. `max_tokens` bounds what the passages may take of the prompt, in estimated tokens."""

    enabled: bool = True
    default_retrieval_top_k: int = Field(default=5, ge=1, le=MAX_SOURCES)
    max_tokens: int = Field(default=2_000, ge=100, le=16_000)
    retrieval_triggers: RetrievalTriggers = RetrievalTriggers()


class PersonaMemory(Wire):
    """What the persona says of its memory."""

    rag_config: RagConfig | None = None
    lifecycle_config: MemoryLifecycle = MemoryLifecycle()
