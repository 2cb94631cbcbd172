"""What a model chose, read from whatever it sent."""

import json
from typing import Any

import pytest

from activities.choices import MAX_CHOSEN, MAX_FAULTS, cancelled, read_choice
from activities.completions import Completion, RawCall
from activities.selection import ChosenFunction, StackEntry

KNOWN = {"read_order", "create_order"}


def completion(*calls: tuple[str, Any]) -> Completion:
    """A reply with these calls."""
    return Completion(None, tuple(RawCall(name, arguments) for name, arguments in calls), "tool_calls", "m", None)


def select(*names: str) -> tuple[str, str]:
    functions = [{"reason": "It is wanted.", "name": name} for name in names]
    return "selectFunctions", json.dumps({"functions": functions})


def test_names_are_taken_in_order_as_often_as_they_stand_over_all_calls() -> None:
    choice = read_choice(completion(select("read_order", "create_order"), select("read_order")), "select", KNOWN)
    assert [each.name for each in choice.chosen] == ["read_order", "create_order", "read_order"]
    assert (choice.wanted, choice.faults) == (True, ())


def test_a_reply_in_words_chooses_nothing_and_has_no_fault() -> None:
    choice = read_choice(completion(), "select", KNOWN)
    assert (choice.wanted, choice.chosen, choice.faults) == (False, (), ())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (select("read_orders"), "Did you mean read_order"),
        (select("qqqq"), "exactly as it is listed"),
        (select("READ_ORDER"), "There is no function"),
        (("selectFunctions", '{"functions": "read_order"}'), "arguments.functions"),
        (("selectFunctions", '{"functions": [{"name": "read_order"}]}'), "reason"),
        (("selectFunctions", '{"functions": [{"reason": "x", "na'), ""),
        (("selectFunctions", None), "functions"),
        (("selectFunctions", "[]"), ""),
        (("read_order", "{}"), "call selectFunctions"),
    ],
)
def test_what_cannot_be_used_is_told_and_never_chosen(call: tuple[str, Any], told: str) -> None:
    choice = read_choice(completion(call), "select", KNOWN)
    assert choice.chosen == ()
    assert told in choice.faults[0]


def test_faults_and_choices_are_bounded_however_much_a_model_rambles() -> None:
    names = [f"order_number_{number}" for number in range(5_000)]
    rambling = read_choice(completion(select(*names)), "select", {f"order_{number}" for number in range(700)})
    assert len(rambling.faults) == MAX_FAULTS
    many = read_choice(completion(select(*["read_order"] * 5_000)), "select", KNOWN)
    assert len(many.chosen) == MAX_CHOSEN
    assert "At most" in many.faults[0]


def test_names_are_cancelled_as_often_as_they_wait() -> None:
    stack = [StackEntry(id=str(place), name=name) for place, name in enumerate(["a", "b", "a"])]
    named = [ChosenFunction(name=name) for name in ["a", "c", "a", "a"]]
    dropped, missing = cancelled(named, stack)
    assert ([each.name for each in dropped], missing) == (["a", "a"], ["c", "a"])
