"""What a conversation has chosen and not called yet: how it grows, shrinks, and how much of it there may be."""

from typing import Any

import pytest

from activities.contracts import TurnBegun
from activities.selection import ChosenFunction, Selection
from activities.turn_input import SelectionOptions
from workflows.function_stack import MAX_ENTRIES, MAX_GROUPS, MAX_NAMES, FunctionStack


def stack(functions: int = 20, kept: Selection | None = None, **options: Any) -> FunctionStack:
    selection = (kept or Selection()).model_dump(mode="json", by_alias=True, exclude_none=True)
    begun = TurnBegun(conversation_id="c", persona_id="p", rows=1, position=0, functions=functions, selection=selection)
    return FunctionStack.of(begun, SelectionOptions.model_validate(options))


def push(into: FunctionStack, *names: str, call: int = 0) -> None:
    into.push([ChosenFunction(name=name) for name in names], "t", call)


def names(of: FunctionStack) -> list[str]:
    return [entry.name for entry in of.entries]


def test_it_chooses_only_above_the_threshold_and_only_where_the_turn_chooses() -> None:
    assert stack(9, threshold=8).is_active
    assert not stack(8, threshold=8).is_active
    begun = TurnBegun(conversation_id="c", persona_id="p", rows=1, position=0)
    assert not FunctionStack.of(begun, SelectionOptions(threshold=0)).is_active
    assert FunctionStack.of(begun, SelectionOptions()).kept() is None


def test_each_entry_has_an_id_of_its_own_that_comes_out_the_same_again() -> None:
    first, again = stack(), stack()
    for each in (first, again):
        push(each, "a", "a", "b")
        push(each, "a", call=1)
    assert len({entry.id for entry in first.entries}) == 4
    assert first.entries == again.entries


def test_dropping_takes_one_entry_a_name_the_oldest_first() -> None:
    held = stack()
    push(held, "a", "b", "a")
    second = held.entries[2].id
    held.drop(["a", "nobody"])
    assert names(held) == ["b", "a"]
    assert held.entries[1].id == second


def test_the_next_turn_begins_with_what_is_left() -> None:
    held = stack()
    push(held, "a", "b", "a")
    held.ready = True
    held.drop(["a"])
    following = stack(kept=Selection.model_validate(held.kept()))
    assert (names(following), following.ready, following.names) == (["b", "a"], True, ("b", "a"))


def test_what_is_over_the_bounds_is_left_out() -> None:
    many = stack()
    push(many, *(f"f{number}" for number in range(MAX_NAMES + 5)), "f1")
    assert len(many.names) == MAX_NAMES
    assert names(many)[-1] == "f1"
    often = stack()
    push(often, *["a"] * (MAX_ENTRIES + 5))
    assert len(often.entries) == MAX_ENTRIES


@pytest.mark.parametrize(
    ("functions", "options", "groups"),
    [
        (20, {}, 1),
        (9, {"capacity": 4}, 3),
        (8, {"capacity": 4}, 2),
        (4, {"capacity": 4}, 1),
        (700, {"capacity": 10, "candidates": 25}, 3),
        (700, {"capacity": 1}, MAX_GROUPS),
    ],
)
def test_a_question_is_divided_into_as_few_as_its_capacity_allows(
    functions: int, options: dict[str, Any], groups: int
) -> None:
    assert stack(functions, **options).groups == groups
