"""What a persona says of its memory, of earlier turns, of what it looks up, and of how its model is asked."""

from typing import Any, Literal

from pydantic import Field

from activities.sources import MAX_SOURCES
from activities.wire import Sparse, StrictWire


class MemoryLifecycle(StrictWire):
    """Whether the instance may object when the host's memory wants to drop something."""

    negotiation_enabled: bool = False


class RetrievalTriggers(StrictWire):
    """What makes a turn retrieve: every message of a user, or nothing. The other triggers are kept, and trigger nothing."""

    on_user_query: bool = True
    on_intent_detected: Sparse[tuple[str, ...]] = None
    on_tool_failure: Sparse[tuple[str, ...]] = None
    on_missing_context_keywords: Sparse[tuple[str, ...]] = None
    custom_logic_function_name: Sparse[str] = None


class RagConfig(StrictWire):
    """How the persona retrieves. `max_tokens` bounds what the passages may take of the prompt, in estimated tokens.

    The fields after the triggers are kept for the app's retriever, which is given the persona.
    """

    enabled: bool = True
    default_retrieval_strategy: Sparse[Literal["similarity", "mmr", "hybrid_search"]] = None
    default_retrieval_top_k: int = Field(default=5, ge=1, le=MAX_SOURCES)
    max_tokens: int = Field(default=2_000, ge=100, le=16_000)
    retrieval_triggers: RetrievalTriggers = RetrievalTriggers()
    data_sources: Sparse[tuple[dict[str, Any], ...]] = Field(default=None, max_length=100)
    reranker_config: Sparse[dict[str, Any]] = None
    query_augmentation_prompt_name: Sparse[str] = None
    result_synthesizer_prompt_name: Sparse[str] = None
    retrieved_context_processing: Sparse[dict[str, Any]] = None
    ingestion_triggers: Sparse[dict[str, Any]] = None
    ingestion_processing: Sparse[dict[str, Any]] = None
    default_ingestion_data_source_id: Sparse[str] = None


class ConversationContext(StrictWire):
    """What earlier turns may take of a prompt: the newest messages, and estimated tokens. The other fields are kept for hosts."""

    max_messages: int | None = Field(default=None, ge=0, le=2_000)
    max_tokens: int | None = Field(default=None, ge=0, le=10_000_000)
    overflow_strategy: Sparse[Literal["truncate", "summarize", "hybrid"]] = None
    summarization_trigger_tokens: Sparse[int] = None
    include_tool_results: Sparse[bool] = None
    include_system_messages: Sparse[bool] = None


class CompletionOptions(StrictWire):
    """How a model is asked, with the names of the Chat Completions API in camelCase."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    top_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    stop: tuple[str, ...] | None = Field(default=None, max_length=4)
    seed: int | None = None


class PersonaMemory(StrictWire):
    """What the persona says of its memory. Without `enabled` nothing is remembered, and nothing of it stands in a prompt."""

    enabled: bool = True
    conversation_context: Sparse[ConversationContext] = None
    working_memory_processing: Sparse[dict[str, Any]] = None
    rag_config: RagConfig | None = None
    lifecycle_config: MemoryLifecycle = MemoryLifecycle()
