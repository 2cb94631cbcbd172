"""Which rule decides over a call, and what happens where a predicate fails."""

import logging
from typing import Any

import pytest

from activities.controllers.policy import Action, FunctionFacts, Policy, Rule, policy_for
from activities.conversation import Arguments

READ = FunctionFacts("files", "folders_get", "http", method="GET", path="/folders", tags=("folders",))
ERASE = FunctionFacts(
    "files",
    "folders_eraseById",
    "http",
    method="DELETE",
    path="/folders/{id}",
    tags=("folders",),
    operation_id="dropFolder",
)
PAY = FunctionFacts("shop", "pay", "class")


def is_small(facts: FunctionFacts, arguments: Arguments) -> bool:
    return bool(arguments["amount"] < 10)


def is_far(facts: FunctionFacts, arguments: Arguments) -> bool:
    return arguments.get("country") != "NO"


PREDICATES = {"is_small": is_small, "is_far": is_far}


def policy(facts: FunctionFacts, *rules: Rule, default: Action = "run") -> Policy:
    return policy_for(facts, rules, PREDICATES, default)


@pytest.mark.parametrize(
    ("rule", "matched"),
    [
        (Rule("hidden"), [READ, ERASE, PAY]),
        (Rule("hidden", protocol="http"), [READ, ERASE]),
        (Rule("hidden", protocol="mcp"), []),
        (Rule("hidden", method="delete"), [ERASE]),
        (Rule("hidden", tag="folders"), [READ, ERASE]),
        (Rule("hidden", tag="folder"), []),
        (Rule("hidden", name="folders_*"), [READ, ERASE]),
        (Rule("hidden", name="Folders_*"), []),
        (Rule("hidden", path="/folders/*"), [ERASE]),
        (Rule("hidden", operation_id="drop*"), [ERASE]),
        (Rule("hidden", operation_id="*"), [ERASE]),
        (Rule("hidden", tag="folders", method="GET"), [READ]),
    ],
)
def test_a_rule_matches_all_that_it_gives(rule: Rule, matched: list[FunctionFacts]) -> None:
    assert [facts for facts in (READ, ERASE, PAY) if rule.fits(facts)] == matched


def test_the_first_rule_that_fits_decides_and_the_default_where_none_does() -> None:
    rules = (Rule("external", tag="folders", method="DELETE"), Rule("approve", protocol="http"), Rule("hidden"))
    assert policy(ERASE, *rules).decide({}) == "external"
    assert policy(READ, *rules).decide({}) == "approve"
    assert not policy(PAY, *rules).is_offered
    assert policy(PAY, Rule("hidden", protocol="mcp"), default="approve").decide({}) == "approve"


def test_a_predicate_decides_by_the_arguments_of_the_call() -> None:
    judged = policy(PAY, Rule("run", predicate="is_small"), Rule("approve"))
    assert judged.decide({"amount": 5}) == "run"
    assert judged.decide({"amount": 50}) == "approve"


def test_a_predicate_may_refuse_single_calls_of_a_function_that_is_offered() -> None:
    judged = policy(PAY, Rule("hidden", predicate="is_far"))
    assert judged.is_offered
    assert judged.decide({"country": "NO"}) == "run"
    assert judged.decide({"country": "SE"}) == "hidden"


def test_a_predicate_that_raises_leaves_the_call_to_a_person(caplog: pytest.LogCaptureFixture) -> None:
    judged = policy(PAY, Rule("run", predicate="is_small"))
    with caplog.at_level(logging.WARNING):
        assert judged.decide({"amount": "sk-secret"}) == "approve"
    assert "shop.pay raised TypeError" in caplog.text
    assert "sk-secret" not in caplog.text


def test_a_predicate_cannot_change_what_is_run() -> None:
    def meddle(facts: FunctionFacts, arguments: Arguments) -> bool:
        arguments["card"]["number"] = "mine"
        return False

    arguments = {"card": {"number": "yours"}}
    assert policy_for(PAY, [Rule("approve", predicate="meddle")], {"meddle": meddle}, "run").decide(arguments) == "run"
    assert arguments == {"card": {"number": "yours"}}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_a_predicate_that_would_have_to_be_awaited_lets_nothing_run() -> None:
    async def always(facts: FunctionFacts, arguments: Arguments) -> bool:
        return True

    rules: Any = {"always": always}
    assert policy_for(PAY, [Rule("run", predicate="always")], rules, "run").decide({}) == "approve"


@pytest.mark.parametrize(
    ("rules", "careful"),
    [
        ((), "run"),
        ((Rule("run", predicate="is_small"), Rule("approve")), "approve"),
        ((Rule("external", predicate="is_far"),), "external"),
        ((Rule("hidden", predicate="is_far"),), "run"),
    ],
)
def test_without_arguments_the_most_careful_action_counts(rules: tuple[Rule, ...], careful: Action) -> None:
    assert policy(PAY, *rules).decide(None) == careful


@pytest.mark.parametrize("wrong", [{"action": "allow"}, {"action": "run", "protocol": "grpc"}])
def test_a_rule_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is one of"):
        Rule(**wrong)
