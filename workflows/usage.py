"""What model calls used, summed. Pure."""

from activities.conversation import CostAggregator, CostEntry, ModelUsage


def add_usage(total: CostAggregator, used: ModelUsage | None, provider: str, model: str) -> CostAggregator:
    """The sum after one more model call, which may not have said what it used."""
    if used is None:
        return total.model_copy(update={"calls_without_usage": total.calls_without_usage + 1})
    return total.model_copy(
        update={
            "total_tokens": total.total_tokens + used.total_tokens,
            "prompt_tokens": total.prompt_tokens + used.prompt_tokens,
            "completion_tokens": total.completion_tokens + used.completion_tokens,
            "total_cost_usd": add_cost(total.total_cost_usd, used.cost_usd),
            "breakdown": _add_to_breakdown(total.breakdown, used, provider, model),
        }
    )


def add_totals(total: CostAggregator, other: CostAggregator) -> CostAggregator:
    """The sum of what two have used, model by model: a turn and one it started, or the turns of an instance."""
    breakdown = total.breakdown
    for entry in other.breakdown:
        used = ModelUsage(
            prompt_tokens=entry.prompt_tokens,
            completion_tokens=entry.completion_tokens,
            total_tokens=entry.tokens,
            cost_usd=entry.cost_usd,
        )
        breakdown = _add_to_breakdown(breakdown, used, entry.provider_id, entry.model_id)
    return total.model_copy(
        update={
            "total_tokens": total.total_tokens + other.total_tokens,
            "prompt_tokens": total.prompt_tokens + other.prompt_tokens,
            "completion_tokens": total.completion_tokens + other.completion_tokens,
            "total_cost_usd": add_cost(total.total_cost_usd, other.total_cost_usd),
            "calls_without_usage": total.calls_without_usage + other.calls_without_usage,
            "breakdown": breakdown,
        }
    )


def add_cost(total: float | None, cost: float | None) -> float | None:
    """The sum of two costs in dollars, of which either may be unknown."""
    return total if cost is None else round((total or 0.0) + cost, 9)


def _add_to_breakdown(
    entries: tuple[CostEntry, ...], used: ModelUsage, provider: str, model: str
) -> tuple[CostEntry, ...]:
    key = (provider, model)
    held = next((entry for entry in entries if (entry.provider_id, entry.model_id) == key), None)
    if held is None:
        held = CostEntry(provider_id=provider, model_id=model, tokens=0, prompt_tokens=0, completion_tokens=0)
        entries = (*entries, held)
    grown = held.model_copy(
        update={
            "tokens": held.tokens + used.total_tokens,
            "prompt_tokens": held.prompt_tokens + used.prompt_tokens,
            "completion_tokens": held.completion_tokens + used.completion_tokens,
            "cost_usd": add_cost(held.cost_usd, used.cost_usd),
        }
    )
    return tuple(grown if entry is held else entry for entry in entries)
