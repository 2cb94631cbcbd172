from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from memory_engine.injection import MemoryInjectionEntry
from memory_engine.spend import Line, Purse, spend


def line_of(at: int, tokens: int, is_l0: bool = False) -> Line:
    entry = MemoryInjectionEntry(id=f"m{at}", tier="L1", reason="index", gist="g", tokens=tokens)
    return Line(entry, "s", "- g", tokens * 4, is_l0)


def lines_of(sizes: list[int]) -> list[Line]:
    return [line_of(at, size) for at, size in enumerate(sizes)]


def spent(sizes: list[int], budget: int, heading: int = 0) -> list[str]:
    taken, _ = spend(lines_of(sizes), budget, Purse(0, {"s": heading}, 10_000))
    return [line.entry.id for line in taken]


def test_lines_are_taken_in_order_until_the_budget_is_used() -> None:
    assert spent([10, 10, 10, 10], 30) == ["m0", "m1", "m2"]


def test_a_line_that_is_too_long_is_passed_over() -> None:
    assert spent([500, 10, 10], 30) == ["m1", "m2"]


def test_what_is_left_out_is_disclosed() -> None:
    assert spend(lines_of([10, 10]), 20, Purse(0, {"s": 0}, 100))[1] is False
    assert spend(lines_of([10, 11]), 20, Purse(0, {"s": 0}, 100))[1] is True


def test_a_heading_is_paid_once() -> None:
    assert spent([10, 10], 25, heading=20) == ["m0", "m1"]
    assert spent([10, 10], 24, heading=20) == ["m0"]


def test_l0_lines_have_a_ceiling_of_their_own() -> None:
    lines = [line_of(0, 10, True), line_of(1, 10, True), line_of(2, 10)]
    taken, _ = spend(lines, 100, Purse(0, {"s": 0}, 15))
    assert [line.entry.id for line in taken] == ["m0", "m2"]


def test_lines_are_read_only_as_far_as_needed() -> None:
    read = 0

    def source() -> Iterator[Line]:
        nonlocal read
        for line in lines_of([10] * 10_000):
            read += 1
            yield line

    spend(source(), 100, Purse(0, {"s": 0}, 100))
    assert read < 1_000


@given(st.lists(st.integers(1, 90), max_size=30), st.integers(0, 400), st.integers(0, 200), st.integers(0, 60))
def test_a_larger_budget_takes_nothing_away(sizes: list[int], budget: int, more: int, heading: int) -> None:
    assert set(spent(sizes, budget, heading)) <= set(spent(sizes, budget + more, heading))


@given(st.lists(st.integers(1, 90), max_size=30), st.integers(0, 400))
def test_no_more_is_spent_than_there_is(sizes: list[int], budget: int) -> None:
    assert sum(sizes[int(line_id[1:])] for line_id in spent(sizes, budget)) <= budget
