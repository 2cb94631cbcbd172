"""What a model call costs, by prices from the settings. Nobody else's price list is believed."""

from collections.abc import Mapping

from pydantic import Field

from activities.conversation import ModelUsage
from activities.wire import Wire

TOKENS_PER_PRICE = 1_000_000
# A name goes on after its family only behind one of these: gpt-4 is the family of gpt-4-0613, not of gpt-4o.
BOUNDARIES = "-:@/."


class Price(Wire):
    """US dollars for a million tokens."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)


class Prices:
    """Prices by model name. A name without its own price has that of the longest name it begins with."""

    def __init__(self, by_model: Mapping[str, Price] | None = None) -> None:
        self._longest_first = sorted((by_model or {}).items(), key=lambda item: (-len(item[0]), item[0]))

    def find(self, model: str) -> Price | None:
        """The price of a model, or None when the settings have none."""
        return next((price for name, price in self._longest_first if _covers(name, model)), None)

    def cost(self, usage: ModelUsage, *models: str) -> float | None:
        """US dollars of one call, by the first of its names that has a price; None when none has."""
        price = next(filter(None, map(self.find, models)), None)
        if price is None:
            return None
        return (usage.prompt_tokens * price.prompt + usage.completion_tokens * price.completion) / TOKENS_PER_PRICE

    def priced(self, usage: ModelUsage | None, *models: str) -> ModelUsage | None:
        """The usage with its cost, as `cost` finds it. A call whose usage is unknown has none."""
        return usage and usage.model_copy(update={"cost_usd": self.cost(usage, *models)})


def _covers(name: str, model: str) -> bool:
    if not model.startswith(name):
        return False
    return name in ("", model) or name[-1] in BOUNDARIES or model[len(name)] in BOUNDARIES
