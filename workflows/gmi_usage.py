"""What the turns of an instance used, together. Pure."""

from activities.conversation import CostAggregator, CostEntry, ModelUsage
from workflows.usage import add_usage


def add_total(total: CostAggregator, more: CostAggregator | None) -> CostAggregator:
    """Both together, model by model."""
    if more is None:
        return total
    for entry in more.breakdown:
        total = add_usage(total, _as_usage(entry), entry.provider_id, entry.model_id)
    missing = total.calls_without_usage + more.calls_without_usage
    return total.model_copy(update={"calls_without_usage": missing})


def _as_usage(entry: CostEntry) -> ModelUsage:
    return ModelUsage(
        prompt_tokens=entry.prompt_tokens,
        completion_tokens=entry.completion_tokens,
        total_tokens=entry.tokens,
        cost_usd=entry.cost_usd,
    )
