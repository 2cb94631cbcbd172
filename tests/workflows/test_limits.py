"""When the model may use tools, and where a turn stops."""

from datetime import timedelta

import pytest

from activities.conversation import CostAggregator
from activities.turn_input import TurnLimits
from tests.workflows.strategies import HOUR, NOW
from workflows.limits import Progress, deadline_reached, forced_answer, limit_reached, may_call_tools


@pytest.mark.parametrize(
    ("rounds", "calls", "limits", "allowed"),
    [
        (0, 0, TurnLimits(), True),
        (4, 4, TurnLimits(), True),
        (5, 5, TurnLimits(), False),
        (0, 0, TurnLimits(max_model_calls=2), True),
        (1, 1, TurnLimits(max_model_calls=2), False),
        (0, 0, TurnLimits(max_model_calls=1), False),
        (200, 200, TurnLimits(max_tool_rounds=200), False),
    ],
)
def test_the_last_call_allowed_is_offered_no_tools(rounds: int, calls: int, limits: TurnLimits, allowed: bool) -> None:
    """So that a turn never ends without words."""
    assert may_call_tools(limits, Progress(tool_rounds=rounds, model_calls=calls)) is allowed


def used(tokens: int = 0, cost: float | None = None, calls: int = 0) -> Progress:
    return Progress(model_calls=calls, usage=CostAggregator(total_tokens=tokens, total_cost_usd=cost))


@pytest.mark.parametrize(
    ("limits", "progress", "code"),
    [
        (TurnLimits(), used(10**9, 10.0**6, 10**4), None),
        (TurnLimits(max_tokens=100), used(99), None),
        (TurnLimits(max_tokens=100), used(100), "LIMIT_TOKENS"),
        (TurnLimits(max_cost_usd=0.5), used(cost=0.49), None),
        (TurnLimits(max_cost_usd=0.5), used(cost=0.5), "LIMIT_COST"),
        (TurnLimits(max_cost_usd=0.5), used(cost=None), None),
        (TurnLimits(max_model_calls=2), used(calls=1), None),
        (TurnLimits(max_model_calls=2), used(calls=2), "LIMIT_MODEL_CALLS"),
        (TurnLimits(deadline=NOW + HOUR), used(), None),
        (TurnLimits(deadline=NOW), used(), "LIMIT_DEADLINE"),
        (TurnLimits(deadline=NOW - HOUR, max_tokens=1), used(5), "LIMIT_DEADLINE"),
    ],
)
def test_a_limit_that_is_reached_forbids_another_call(limits: TurnLimits, progress: Progress, code: str | None) -> None:
    reached = limit_reached(limits, progress, NOW)
    assert (reached.error.code if reached else None) == code


def test_a_limit_is_named_as_the_host_wrote_it() -> None:
    told = limit_reached(TurnLimits(max_cost_usd=0.5), used(cost=0.75), NOW)
    assert told is not None
    assert "limits.maxCostUSD is 0.5" in told.error.message
    assert "$0.750000" in told.error.message
    assert (NOW + timedelta(seconds=1)).isoformat() in deadline_reached(NOW + timedelta(seconds=1), NOW).error.message


def test_a_forced_answer_says_which_limit_forced_it() -> None:
    assert forced_answer(TurnLimits(), Progress(tool_rounds=5, model_calls=5)).code == "LIMIT_TOOL_ROUNDS"
    assert forced_answer(TurnLimits(max_model_calls=1), Progress()).code == "LIMIT_MODEL_CALLS"


def test_no_call_is_the_last_one_where_the_host_may_allow_more() -> None:
    limits = TurnLimits(max_model_calls=2, on_limit="ask")
    assert may_call_tools(limits, Progress(tool_rounds=1, model_calls=1))
    assert not may_call_tools(limits, Progress(tool_rounds=5, model_calls=1))
