"""How models are asked, as one value that the worker makes from its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from activities.modalities import Kind
from activities.prices import Prices
from activities.prompt import ContentForm


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`timeout` in seconds bounds one attempt; `turn_tokens` bounds what the running turn may take of a prompt.

    `secrets` are API keys by the names that `options.userApiKeys` may use. `tool_only_content` is for servers that refuse the
    default; a refusal that complains about it is answered once with another form, which is then kept for that model.
    """

    model: str
    provider: str = "openai"
    timeout: float = 300.0
    prices: Prices = field(default_factory=Prices)
    tool_only_content: ContentForm = "null"
    turn_tokens: int = 100_000
    modalities: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
