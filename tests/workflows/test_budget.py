"""A limit that asks: what the host is shown, what answers it, and what a raise or a refusal leaves of the limits."""

from datetime import timedelta
from typing import Any

import pytest

from activities.conversation import CostAggregator, ErrorDetails
from activities.turn_input import TurnLimits
from tests.workflows.strategies import HOUR, NOW, give, one, pause_of, reasons
from workflows.answers import Approve
from workflows.budget import Budget, suggested_raise
from workflows.contracts import PendingCall
from workflows.limits import Progress

BEGAN = NOW - HOUR
SPENT = Progress(2, 4, usage=CostAggregator(total_tokens=120, total_cost_usd=0.6))
ALL: dict[str, Any] = {"maxToolRounds": 2, "maxModelCalls": 4, "maxTokens": 100, "maxCostUSD": 0.5, "deadline": NOW}
# What as much again as at first is.
AGAIN = {
    "maxToolRounds": 4,
    "maxModelCalls": 8,
    "maxTokens": 220,
    "maxCostUSD": 1.1,
    "deadline": (NOW + HOUR).isoformat(),
}


def limits(**given: Any) -> TurnLimits:
    return TurnLimits.model_validate({"onLimit": "ask", **given})


def asked(name: str, budget: Budget | None = None) -> tuple[Budget, PendingCall]:
    """The budget and the call of a turn that has only this limit."""
    budget = budget or Budget.of(limits(**{name: ALL[name]}))
    reached = budget.due(SPENT, NOW, for_tools=True)
    assert reached is not None
    assert reached.limit == name
    return budget, budget.ask(reached, SPENT, "c1/t1", BEGAN, NOW)


def verdict(call: PendingCall, **answer: Any) -> Any:
    return pause_of(call).judge(one(toolCallId=call.id, **answer))


@pytest.mark.parametrize("name", ALL)
def test_each_limit_asks_for_itself_and_says_what_would_raise_it(name: str) -> None:
    _, call = asked(name)
    assert (call.name, call.kind, len(call.id)) == ("raise_budget", "budget", 9)
    assert set(call.arguments) == {"limit", "used", "value", "message"}
    assert call.arguments["limit"] == name
    assert f"limits.{name}" in call.arguments["message"]
    assert (call.input_schema or {})["required"] == [name]
    assert suggested_raise(call) == {name: AGAIN[name]}
    give(pause_of(call), one(toolCallId=call.id, output=suggested_raise(call)))


@pytest.mark.parametrize("name", ALL)
def test_an_approval_gives_as_much_again_as_at_first(name: str) -> None:
    budget, call = asked(name)
    told = budget.take(call, Approve(), BEGAN, NOW)
    assert told == f"The host raised {name} to {AGAIN[name]}"
    assert budget.due(SPENT, NOW, for_tools=True) is None
    assert budget.limits.on_limit == "ask"


def test_ids_are_stable_and_never_two_alike() -> None:
    (budget, first), (_, again) = asked("maxTokens"), asked("maxTokens")
    _, second = asked("maxTokens", budget)
    assert first.id == again.id
    assert second.id != first.id


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"output": {"maxTokens": 120}}, 'send output {"maxTokens": 220}'),
        ({"output": {"maxTokens": -1}}, "another value above 120"),
        ({"output": {"maxTokens": "many"}}, "output.maxTokens"),
        ({"output": {"maxTokens": 120.5}}, "output.maxTokens"),
        ({"output": {"maxTokens": True}}, "output.maxTokens"),
        ({"output": {}}, "maxTokens"),
        ({"output": None}, "object"),
        ({"output": [200]}, "object"),
        ({"output": {"maxModelCalls": 9}}, "maxTokens"),
        ({"output": {"maxTokens": 200, "maxToolRounds": 2}}, "output.maxToolRounds"),
        ({"output": {"maxTokens": 200, "maxToolRounds": 201}}, "output.maxToolRounds"),
        # The turn has no such limit: none is added to it.
        ({"output": {"maxTokens": 200, "maxCostUSD": 1}}, "maxCostUSD"),
        ({"output": {"maxTokens": 200, "onLimit": "stop"}}, "onLimit"),
        ({"decision": "edit", "arguments": {"maxTokens": 200}}, "asks for a limit, not for arguments"),
    ],
)
def test_what_raises_too_little_is_refused_with_words_that_say_what_to_send(answer: dict[str, Any], words: str) -> None:
    _, call = asked("maxTokens")
    assert words in reasons(verdict(call, **answer))[call.id]


@pytest.mark.parametrize(
    "deadline",
    ["tomorrow", "2026-01-03", "2026-01-03T00:00:00", NOW.isoformat(), (NOW - HOUR).isoformat(), 1_800_000_000, None],
)
def test_a_deadline_must_be_an_instant_that_is_still_to_come(deadline: Any) -> None:
    _, call = asked("deadline")
    assert "deadline" in reasons(verdict(call, output={"deadline": deadline}))[call.id]


def test_rounds_that_cannot_grow_are_not_approved() -> None:
    budget = Budget.of(limits(maxToolRounds=200))
    progress = Progress(tool_rounds=200)
    reached = budget.due(progress, NOW, for_tools=True)
    assert reached is not None
    call = budget.ask(reached, progress, "k", BEGAN, NOW)
    assert "cannot be raised over 200" in reasons(verdict(call, decision="approve"))[call.id]


def test_a_raise_may_name_other_limits_of_the_turn_too_and_holds_for_the_rest() -> None:
    budget = Budget.of(limits(**ALL))
    reached = budget.due(SPENT, NOW, for_tools=True)
    assert reached is not None
    call = budget.ask(reached, SPENT, "k", BEGAN, NOW)
    later = NOW + timedelta(days=1)
    output = {"deadline": later.isoformat(), "maxModelCalls": 9, "maxTokens": 900, "maxCostUSD": 9}
    pause = pause_of(call)
    give(pause, one(toolCallId=call.id, output=output))
    budget.take(call, pause.slot(call.id).resolution, BEGAN, NOW)
    assert budget.limits == limits(**{**ALL, **output})
    _, next_call = asked("maxToolRounds", budget)
    assert next_call.arguments["value"] == 2
    assert budget.first.max_tokens == 100


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"decision": "reject", "reason": "enough is enough"}, "enough is enough"),
        ({"decision": "reject"}, None),
        ({"errorDetails": {"code": "NO_MONEY", "message": "the account is empty"}}, "the account is empty"),
    ],
)
def test_a_refusal_makes_it_a_turn_that_stops(answer: dict[str, Any], reason: str | None) -> None:
    budget, call = asked("maxTokens")
    pause = pause_of(call)
    give(pause, one(toolCallId=call.id, **answer))
    budget.take(call, pause.slot(call.id).resolution, BEGAN, NOW)
    assert budget.limits == TurnLimits(max_tokens=100)
    reached = budget.due(SPENT, NOW, for_tools=True)
    assert reached is not None
    explained = budget.explained(reached.error)
    assert explained is not None
    assert (reason or "limits.maxTokens is 100") in explained.message


def test_only_the_error_of_a_limit_is_explained() -> None:
    budget = Budget.of(limits(maxTokens=1))
    budget.refusal = "no"
    other = ErrorDetails(code="MODEL_REFUSAL", message="x")
    assert (budget.explained(other), budget.explained(None)) == (other, None)


@pytest.mark.parametrize(
    ("on_limit", "for_tools", "due"), [("stop", True, False), ("ask", True, True), ("ask", False, False)]
)
def test_rounds_used_up_are_asked_about_only_where_tools_come_next(on_limit: str, for_tools: bool, due: bool) -> None:
    budget = Budget.of(limits(onLimit=on_limit, maxToolRounds=2))
    assert (budget.due(SPENT, NOW, for_tools=for_tools) is not None) is due


def test_a_turn_that_never_asks_carries_no_word_of_it() -> None:
    assert "onLimit" not in TurnLimits().model_dump(by_alias=True)
