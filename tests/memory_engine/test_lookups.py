from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_engine.lookups import Lookup

asked: list[str] = []


def keys(content: str) -> list[str]:
    asked.append(content)
    return content.split()


@pytest.fixture
def lookup() -> Lookup:
    asked.clear()
    return Lookup(keys, {"a": "red blue", "b": "red"})


def test_no_key_is_worked_out_before_the_first_question(lookup: Lookup) -> None:
    lookup.add("c", "blue")
    lookup.remove("b", "red")
    assert asked == []
    assert (lookup.of("red"), lookup.of("blue"), lookup.of("green")) == (["a"], ["a", "c"], [])
    assert sorted(asked) == ["blue", "red blue"]


def test_after_the_first_question_changes_are_entered_at_once(lookup: Lookup) -> None:
    assert lookup.count(["red", "blue"], 8) == {"b": 1, "a": 2}
    lookup.add("c", "red")
    lookup.remove("a", "red blue")
    assert lookup.count(["red", "blue"], 8) == {"b": 1, "c": 1}
    assert lookup.count(["red"], 1) == {"c": 1}


@pytest.mark.parametrize("is_asked_before", [False, True])
def test_a_fork_goes_its_own_way(lookup: Lookup, is_asked_before: bool) -> None:
    if is_asked_before:
        lookup.of("red")
    fork = lookup.fork()
    fork.remove("a", "red blue")
    lookup.add("c", "red")
    assert (lookup.of("red"), fork.of("red")) == (["a", "b", "c"], ["b"])


def test_threads_that_ask_first_together_see_all_of_it() -> None:
    for _ in range(20):
        lookup = Lookup(str.split, {f"m{at}": "red" for at in range(300)})
        with ThreadPoolExecutor(4) as pool:
            assert {len(found) for found in pool.map(lookup.of, ["red"] * 8)} == {300}
