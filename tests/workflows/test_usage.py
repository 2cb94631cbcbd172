"""What model calls used, summed."""

import pytest

from activities.conversation import CostAggregator, CostEntry, ModelUsage
from workflows.usage import add_cost, add_usage


def test_usage_is_summed_by_model() -> None:
    first = ModelUsage(prompt_tokens=10, completion_tokens=2, total_tokens=12, cost_usd=0.1)
    second = ModelUsage(prompt_tokens=20, completion_tokens=3, total_tokens=23, cost_usd=0.2)
    total = CostAggregator()
    for usage, model in ((first, "small"), (second, "large"), (first, "small")):
        total = add_usage(total, usage, "openai", model)
    assert (total.prompt_tokens, total.completion_tokens, total.total_tokens) == (40, 7, 47)
    assert total.total_cost_usd == 0.4
    assert total.breakdown == (
        CostEntry(
            provider_id="openai", model_id="small", tokens=24, prompt_tokens=20, completion_tokens=4, cost_usd=0.2
        ),
        CostEntry(
            provider_id="openai", model_id="large", tokens=23, prompt_tokens=20, completion_tokens=3, cost_usd=0.2
        ),
    )


def test_a_call_that_reports_no_usage_is_counted_as_missing() -> None:
    total = add_usage(CostAggregator(total_tokens=5), None, "p", "m")
    assert (total.total_tokens, total.calls_without_usage, total.breakdown) == (5, 1, ())


@pytest.mark.parametrize(
    ("total", "cost", "meant"),
    [(None, None, None), (None, 0.5, 0.5), (0.5, None, 0.5), (0.1, 0.2, 0.3), (None, 0.0, 0.0)],
)
def test_an_unknown_cost_stays_unknown_until_a_priced_call(
    total: float | None, cost: float | None, meant: float | None
) -> None:
    assert add_cost(total, cost) == meant
