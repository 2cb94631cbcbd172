"""What becomes of each call, when the model may use tools, and where a turn stops."""

from datetime import timedelta

import pytest

from activities.contracts import RequestedCall, ToolFacts
from activities.conversation import CostAggregator, CostEntry, ErrorDetails, ModelUsage
from activities.turn_input import ExternalTool, TurnLimits
from tests.workflows.strategies import EXTERNAL, GUARDED, HOUR, NOW, WORKER, broken, reply, requested
from workflows.corrections import Corrections
from workflows.rounds import (
    Disposition,
    Progress,
    Refuse,
    Run,
    Wait,
    add_cost,
    add_usage,
    deadline_reached,
    forced_answer,
    judge_call,
    limit_reached,
    may_call_tools,
    plan_round,
)

BOOK = ExternalTool(name="book")
# A function of the worker that the host runs, and one of which a person fills a part.
LENT = ToolFacts(kind="worker", external=True)
ASKING = ToolFacts(kind="worker", needs_approval=True, human_schema={"type": "object"})


@pytest.mark.parametrize(
    ("call", "external", "meant"),
    [
        (requested("a", tool=WORKER), None, Run(WORKER)),
        (requested("a", tool=ToolFacts(kind="memory")), None, Run(ToolFacts(kind="memory"))),
        (requested("a", tool=EXTERNAL), BOOK, Wait(EXTERNAL, "external", BOOK)),
        (requested("a", tool=GUARDED), None, Wait(GUARDED, "approval")),
        # A tool of the worker stays the worker's, even if the host has one of that name.
        (requested("a", tool=GUARDED), BOOK, Wait(GUARDED, "approval")),
        (requested("a", tool=WORKER), BOOK, Run(WORKER)),
        (requested("a", tool=LENT), None, Wait(LENT, "external")),
        (requested("a", tool=ASKING), None, Wait(ASKING, "human")),
    ],
)
def test_a_call_runs_here_or_waits_by_the_facts_of_its_tool(
    call: RequestedCall, external: ExternalTool | None, meant: Disposition
) -> None:
    assert judge_call(call, external, Corrections()) == meant


@pytest.mark.parametrize("tool", [None, WORKER, EXTERNAL, GUARDED])
def test_a_call_with_a_problem_never_runs_and_never_waits(tool: ToolFacts | None) -> None:
    problem = ErrorDetails(code="TOOL_ARGUMENTS_INVALID", message="n is missing")
    disposition = judge_call(requested("a", tool=tool, problem=problem), BOOK, Corrections())
    assert isinstance(disposition, Refuse)
    assert disposition.result.error_details == problem
    assert disposition.result.output == {"code": problem.code, "message": problem.message}
    assert (disposition.result.is_error, disposition.result.tool_call_id) == (True, "a")


def test_a_call_to_a_tool_nobody_has_is_answered_with_its_name() -> None:
    disposition = judge_call(requested("a", "teleport", None), None, Corrections())
    assert isinstance(disposition, Refuse)
    assert disposition.result.output["code"] == "TOOL_NOT_FOUND"
    assert "teleport" in disposition.result.output["message"]


def test_each_call_has_its_row_after_the_reply_in_the_models_order() -> None:
    planned = plan_round(
        reply(requested("c1", tool=WORKER), broken("c2"), requested("c3"), row=7), [BOOK], Corrections()
    )
    assert [(each.call.id, each.row) for each in planned] == [("c1", 8), ("c2", 9), ("c3", 10)]
    assert [type(each.disposition) for each in planned] == [Run, Refuse, Wait]


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
    assert (reached.code if reached else None) == code


def test_a_limit_is_named_as_the_host_wrote_it() -> None:
    told = limit_reached(TurnLimits(max_cost_usd=0.5), used(cost=0.75), NOW)
    assert told is not None
    assert "limits.maxCostUSD is 0.5" in told.message
    assert "$0.750000" in told.message
    assert (NOW + timedelta(seconds=1)).isoformat() in deadline_reached(NOW + timedelta(seconds=1)).message


def test_a_forced_answer_says_which_limit_forced_it() -> None:
    assert forced_answer(TurnLimits(), Progress(tool_rounds=5, model_calls=5)).code == "LIMIT_TOOL_ROUNDS"
    assert forced_answer(TurnLimits(max_model_calls=1), Progress()).code == "LIMIT_MODEL_CALLS"


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
