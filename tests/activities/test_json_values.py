"""Only JSON crosses Temporal: what is ours is cleaned, what is a stranger's is refused by the place that is wrong."""

import json
import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from activities.conversation import ToolCall
from activities.json_values import MAX_DEPTH, Undecodable, clean_json, clean_text, encoded_size, json_fault
from tests.workflows.strategies import json_values, nested

WHOLE_TEXTS = [
    "",
    "plain",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 family",
    "日本語テスト",
    "שלום עולם",
    "e\u0301 decomposed",
    "NUL: \x00",
    "\ufffd \ufeff \u2028",
]


@pytest.mark.parametrize("text", WHOLE_TEXTS)
def test_whole_text_is_the_same_object_after_cleaning(text: str) -> None:
    assert clean_text(text) is text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("bad \ud83d end", "bad \ufffd end"),
        ("\ude00 end", "\ufffd end"),
        ("\ud83d", "\ufffd"),
        ("two \ud83d\ud83d", "two \ufffd\ufffd"),
        ("日本 \ud83d 語", "日本 \ufffd 語"),
    ],
)
def test_only_half_a_surrogate_pair_is_replaced(text: str, clean: str) -> None:
    assert clean_text(text) == clean


def test_two_halves_that_belong_together_become_their_character() -> None:
    assert clean_text("\ud83d\ude00") == "\U0001f600"


class Colour(Enum):
    RED = "red"


class Word(str):
    pass


@dataclass
class Point:
    x: int
    y: Any


class Thing:
    def __str__(self) -> str:
        return "a thing \ud83d"


def count() -> Iterator[int]:
    yield from range(3)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (None, None),
        (True, True),
        (3.5, 3.5),
        ({"id": 1, "name": "Žofie"}, {"id": 1, "name": "Žofie"}),
        ([], []),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset("ba"), ["a", "b"]),
        (count(), [0, 1, 2]),
        (math.nan, None),
        ({"a": [math.inf, -math.inf]}, {"a": [None, None]}),
        (b"\xff\x00", {"bytes": 2, "base64": "/wA="}),
        (bytearray(b"ab"), {"bytes": 2, "base64": "YWI="}),
        (memoryview(b"ab"), {"bytes": 2, "base64": "YWI="}),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=2), 120.0),
        (Decimal("1.10"), "1.10"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Colour.RED, "red"),
        (Word("text"), "text"),
        (Point(1, {2}), {"x": 1, "y": [2]}),
        (ToolCall(id="a", name="b"), {"id": "a", "name": "b", "arguments": {}, "providerId": None}),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
        ({"\ud83d": "x\udc00"}, {"\ufffd": "x\ufffd"}),
        (Thing(), "a thing \ufffd"),
        (10**1_000, "[cut: an integer of 3322 bits]"),
        (10**999, 10**999),
        (nested(300), nested(MAX_DEPTH - 1)),
    ],
)
def test_a_value_of_ours_becomes_the_nearest_json(value: Any, clean: Any) -> None:
    if isinstance(value, list) and value and value[0] and isinstance(value[0], list):
        assert "cut: nested too deeply" in str(clean_json(value))
        return
    assert clean_json(value) == clean


def test_a_value_that_holds_itself_is_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "cut: nested too deeply" in str(clean_json(loop))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=9) | st.dates()
    | st.text(st.characters(codec=None), max_size=9) | st.decimals() | st.uuids(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(codec=None), max_size=5) | st.integers(), inner, max_size=3)
    | st.tuples(inner, inner),
    max_leaves=10,
)  # fmt: skip


@given(anything)
def test_whatever_is_cleaned_is_json_that_everyone_reads(value: Any) -> None:
    clean = clean_json(value)
    assert json_fault(clean) is None
    assert json.loads(json.dumps(clean, allow_nan=False)) == clean
    assert clean_json(clean) == clean


@given(json_values)
def test_json_is_unchanged_by_cleaning_and_has_no_fault(value: Any) -> None:
    assert clean_json(value) == value
    assert json_fault(value) is None
    assert encoded_size(value) == len(to_json(value))


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": [1, {"b": math.nan}]}, "answer.a[1].b is nan, which JSON does not have"),
        ([math.inf], "answer[0] is inf, which JSON does not have"),
        ({"a": "x\ud83d"}, "answer.a has half of a surrogate pair"),
        ({"a": {"\udc00": 1}}, "answer.a has a key that is not text"),
        ({"a": {1: 1}}, "answer.a has a key that is not text"),
        ({"a": b"x"}, "answer.a is a bytes, which JSON does not have"),
        ({"a": {1, 2}}, "answer.a is a set, which JSON does not have"),
        (10**1_000, "answer is an integer of more than 1000 digits"),
        (-(10**1_000), "answer is an integer of more than 1000 digits"),
        (Undecodable("no JSON"), "answer: no JSON"),
    ],
)
def test_what_is_no_json_is_refused_by_its_place(value: Any, fault: str) -> None:
    assert json_fault(value, "answer") == fault


def test_depth_is_bounded_and_a_deep_value_needs_no_recursion() -> None:
    assert json_fault(nested(MAX_DEPTH)) is None
    assert "nested more than 100 levels deep" in (json_fault(nested(MAX_DEPTH + 1)) or "")
    assert "nested more than 100 levels deep" in (json_fault(nested(100_000)) or "")


def test_checking_needs_no_more_memory_than_a_few_times_the_value() -> None:
    """A key of half a megabyte over many values: paths that repeat it would take the worker's memory."""
    hostile = {"k" * 200_000: dict.fromkeys(map(str, range(2_000)), 1)}
    tracemalloc.start()
    try:
        assert json_fault(hostile) is None
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_fault_under_a_huge_key_is_told_in_few_words() -> None:
    assert len(json_fault({"k" * 500_000: {"a": math.nan}}) or "") < 2_000


def test_the_size_is_that_of_the_bytes_on_the_wire() -> None:
    assert encoded_size({"a": "Žofie"}) == len('{"a":"Žofie"}'.encode())
    assert encoded_size(ToolCall(id="a", name="b")) == len(ToolCall(id="a", name="b").model_dump_json(by_alias=True))


@given(json_values)
def test_what_we_write_we_read(value: Any) -> None:
    assert from_json(to_json(value)) == value
