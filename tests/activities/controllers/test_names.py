"""Names for the model: legal, unique, and the same whatever else there is."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.controllers.names import aliases, fit_name, local_names, offered_names
from activities.tool import TOOL_NAME

# Names with dots, spaces, a digit first, other letters, more than 64 characters, and equal but for case.
AWKWARD = [
    *("x" * 62 + each for each in ("ListUsersByTeam", "ListUsersByRole")),
    *(
        "site_readNode.jsLogs",
        "List everything",
        "7qd3_run",
        "получитьСписок",
        "getUser",
        "getuser",
        "a.b",
        "a/b",
        "",
        "-",
    ),
]


def test_a_legal_name_stays_as_it_is() -> None:
    assert [fit_name(name) for name in ("find", "_x-1", "x" * 64)] == ["find", "_x-1", "x" * 64]
    assert fit_name("site_readNode.jsLogs") == "site_readNode_jsLogs"
    assert fit_name("7qd3_run") == "_7qd3_run"


@given(st.text(max_size=200))
def test_every_name_is_made_legal(text: str) -> None:
    assert TOOL_NAME.fullmatch(fit_name(text))


def test_names_of_one_controller_are_all_different_and_none_is_lost() -> None:
    names = local_names(AWKWARD)
    assert list(names) == AWKWARD
    assert len({name.casefold() for name in names.values()}) == len(AWKWARD)
    assert all(TOOL_NAME.fullmatch(name) for name in names.values())
    assert names["List everything"] == "List_everything"


def test_names_of_one_controller_do_not_depend_on_their_order() -> None:
    orders = itertools.islice(itertools.permutations(AWKWARD), 0, 5_000, 500)
    assert {tuple(sorted(local_names(order).items())) for order in orders} == {
        tuple(sorted(local_names(AWKWARD).items()))
    }


def test_the_name_that_needed_no_change_keeps_it() -> None:
    names = local_names(["a.b", "a_b"])
    assert names["a_b"] == "a_b"
    assert re.fullmatch(r"a_b_[0-9a-f]{6}", names["a.b"])


ONE = [("one", "get"), ("one", "only")]
TWO = [("two", "Get"), ("two", "put")]


def test_only_names_that_collide_get_the_name_of_their_controller() -> None:
    assert offered_names(ONE, []) == {("one", "get"): "get", ("one", "only"): "only"}
    expected = {
        ("one", "get"): "one_get",
        ("one", "only"): "only",
        ("two", "Get"): "two_Get",
        ("two", "put"): "put",
    }
    assert offered_names(ONE + TWO, []) == expected
    assert offered_names(TWO + ONE, []) == expected


def test_a_tool_that_no_controller_owns_keeps_its_name() -> None:
    assert offered_names(ONE, ["GET"])["one", "get"] == "one_get"


def test_prefixed_names_that_collide_again_or_are_too_long_end_in_a_hash() -> None:
    long = "f" * 64
    functions = [("a", "get"), ("b", "get"), ("c", "a_get"), ("d" * 40, long), ("e", long)]
    names = offered_names(functions, [])
    assert names["c", "a_get"] == "a_get"
    assert names["b", "get"] == "b_get"
    assert re.fullmatch(r"a_get_[0-9a-f]{6}", names["a", "get"])
    assert len({name.casefold() for name in names.values()}) == 5
    assert all(TOOL_NAME.fullmatch(name) for name in names.values())


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "a b", "й"]), st.sampled_from(["get", "Get", "a_get", "x"])), unique=True
    )
)
def test_offered_names_are_legal_and_different(functions: list[tuple[str, str]]) -> None:
    # Inside one controller no two names are equal but for case.
    functions = list({(controller, name.casefold()): (controller, name) for controller, name in functions}.values())
    names = offered_names(functions, ["search_memory"])
    assert set(names) == set(functions)
    assert len({name.casefold() for name in names.values()}) == len(functions)
    assert all(TOOL_NAME.fullmatch(name) for name in names.values())


def test_a_function_is_found_by_its_controller_and_by_the_index_of_its_controller() -> None:
    names = offered_names(ONE + TWO, [])
    found = aliases(["one", "two"], names)
    assert found == {
        "_0_get": "one_get",
        "_0_only": "only",
        "_1_Get": "two_Get",
        "_1_put": "put",
        "one_only": "only",
        "two_put": "put",
    }


def test_an_alias_never_hides_a_name_and_never_means_two_functions() -> None:
    names = offered_names([("a", "b_c"), ("a_b", "c"), ("a", "x"), ("b", "a_x")], [])
    found = aliases(["a", "a_b", "b"], names, taken=["_0_x"])
    assert "a_b_c" not in found
    assert "a_x" not in found
    assert "_0_x" not in found


@pytest.mark.parametrize("functions", [ONE, ONE + TWO])
def test_names_that_do_not_collide_stay_when_a_controller_is_added(functions: list[tuple[str, str]]) -> None:
    before, after = offered_names(functions, []), offered_names([*functions, ("new", "PUT")], [])
    assert {key: name for key, name in before.items() if key[1] != "put"} == {
        key: after[key] for key in before if key[1] != "put"
    }
