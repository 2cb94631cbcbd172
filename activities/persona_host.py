"""What a persona says that is for its host alone: kept and given back, without effect on a turn.

Source of the names: IPersonaDefinition of AgentOS.
"""

from typing import Any, Literal

from pydantic import Field

from activities.wire import Sparse, StrictWire


class HostFields(StrictWire):
    """How the persona is listed, sold, drawn and routed, as its host likes."""

    label: Sparse[str] = Field(default=None, max_length=200)
    default_provider_id: Sparse[str] = Field(default=None, max_length=200)
    model_target_preferences: Sparse[tuple[dict[str, Any], ...]] = Field(default=None, max_length=100)
    cost_saving_strategy: Sparse[
        Literal["always_cheapest", "balance_quality_cost", "prioritize_quality", "user_preference"]
    ] = None
    prompt_engine_config_overrides: Sparse[dict[str, Any]] = None
    allowed_capabilities: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)
    embedded_tools: Sparse[tuple[dict[str, Any], ...]] = Field(default=None, max_length=100)
    voice_config: Sparse[dict[str, Any]] = None
    avatar_config: Sparse[dict[str, Any]] = None
    default_language: Sparse[str] = Field(default=None, max_length=100)
    ui_interaction_style: Sparse[Literal["suggestive", "directive", "collaborative", "silent"]] = None
    cognitive_memory_config: Sparse[dict[str, Any]] = None
    is_creator_persona: Sparse[bool] = None
    is_public: Sparse[bool] = None
    activation_keywords: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)
    strengths: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)
    min_subscription_tier: Sparse[str] = Field(default=None, max_length=100)
