"""Whatever a tool returns becomes clean JSON of bounded size."""

import dataclasses
import itertools
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from activities.contracts import PREVIEW_CHARS
from activities.conversation import ToolCallResult
from activities.json_values import json_fault
from activities.outputs import MAX_ERROR_CHARS, error_text, failed_result, json_text, preview, tool_output


class Order(BaseModel):
    id: int
    due: datetime


@dataclasses.dataclass
class Point:
    x: float
    tags: set[str]


class Plain:
    pass


class Broken:
    def __str__(self) -> str:
        raise KeyError("no text")


def endless() -> Iterator[dict[str, int]]:
    return ({"n": n} for n in itertools.count())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": 1, "name": "Žofie"}, {"id": 1, "name": "Žofie"}),
        (None, None),
        ([], []),
        (True, True),
        (3.5, 3.5),
        (float("nan"), None),
        (b"\xff\x00", {"bytes": 2, "base64": "/wA="}),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (Decimal("1.10"), "1.10"),
        ({3, 1, 2}, [1, 2, 3]),
        (("a", 1), ["a", 1]),
        ({1: {(1, 2): "x"}}, {"1": {"(1, 2)": "x"}}),
        ((n * n for n in range(3)), [0, 1, 4]),
        (Order(id=1, due=datetime(2026, 1, 2, tzinfo=UTC)), {"id": 1, "due": "2026-01-02T00:00:00+00:00"}),
        (Point(float("inf"), {"b", "a"}), {"x": None, "tags": ["a", "b"]}),
        (ValueError("no such order"), "ValueError: no such order"),
        ([np.int64(3), np.float32(1.5), np.arange(2)], [3, 1.5, [0, 1]]),
        ("bad \ud83d end", "bad � end"),
        ("👩‍👩‍👧 שלום e\u0301", "👩‍👩‍👧 שלום e\u0301"),
    ],
)
def test_value_becomes_the_nearest_json(value: Any, expected: Any) -> None:
    assert tool_output(value) == expected


def test_text_of_an_object_is_the_same_in_every_process() -> None:
    assert tool_output([Plain(), len]) == [f"<{__name__}.Plain object>", "<built-in function len>"]


def test_non_ascii_stays_readable_in_the_text() -> None:
    assert json_text({"name": "Žofie"}) == '{"name":"Žofie"}'
    assert json_text("Žofie") == "Žofie"


def test_long_text_is_cut_with_a_note_that_says_how_much() -> None:
    cut = tool_output("é" * 5_000_000)
    assert cut == "é" * 256_000 + "\n[cut: the first 256,000 of 5,000,000 characters are shown]"


def test_long_structure_is_cut_as_text() -> None:
    cut = tool_output([1] * 100, limit=50)
    assert cut == "[" + "1," * 24 + "1" + "\n[cut: the first 50 of 201 characters are shown]"


def test_output_at_the_limit_is_whole() -> None:
    assert tool_output("x" * 50, limit=50) == "x" * 50
    assert tool_output([1, 2], limit=5) == [1, 2]


def test_large_result_of_many_objects_takes_a_moment_only() -> None:
    started = time.monotonic()
    cut = tool_output([{"id": n, "name": f"n{n}"} for n in range(60_000)])
    assert time.monotonic() - started < 5
    assert "characters are shown]" in cut


@pytest.mark.parametrize(
    "value",
    [endless(), {"rows": endless()}, itertools.repeat(""), range(10**12), (("x" * 100_000) for _ in itertools.count())],
    ids=["generator", "inside", "empty items", "range", "large items"],
)
def test_what_has_no_end_is_read_up_to_the_cap(value: Any) -> None:
    cut = tool_output(value)
    assert len(cut) < 257_000
    assert cut.endswith("characters are shown]")
    assert "of more than" in cut


def test_structure_that_multiplies_itself_is_cut() -> None:
    circle: list[Any] = []
    circle += [circle, circle]
    laughs: Any = "lol"
    for _ in range(30):
        laughs = [laughs] * 10
    for value in (circle, laughs):
        assert "of more than" in tool_output(value)


def test_nesting_beyond_sense_is_cut() -> None:
    deep: Any = "bottom"
    for _ in range(300):
        deep = [deep]
    text = json_text(tool_output(deep))
    assert "nested too deeply" in text
    assert "bottom" not in text


def test_value_that_cannot_be_printed_raises_its_own_error() -> None:
    with pytest.raises(KeyError, match="no text"):
        tool_output({"a": [Broken()]})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner) | st.tuples(inner, inner),
        max_leaves=20,
    )
)
def test_every_output_is_json_within_the_limit(value: Any) -> None:
    made = tool_output(value, limit=200)
    assert json_fault(made) is None
    assert len(json_text(made)) < 300


def result(output: Any) -> ToolCallResult:
    return ToolCallResult(tool_call_id="c", tool_name="t", output=output)


def test_small_result_crosses_as_it_is() -> None:
    small = result({"a": "x" * (PREVIEW_CHARS - 8)})
    assert preview(small) == (small, False)


def test_large_result_crosses_as_a_preview() -> None:
    shown, cut = preview(result({"a": "x" * PREVIEW_CHARS}))
    assert cut
    assert shown.output == {"preview": ('{"a":"' + "x" * PREVIEW_CHARS)[:PREVIEW_CHARS]}
    assert preview(result("y" * 9_000))[0].output == {"preview": "y" * PREVIEW_CHARS}


def test_failed_result_says_why_in_output_and_error() -> None:
    failed = failed_result("c", "t", "TOOL_ERROR", "bad \ud83d" + "x" * 5_000)
    assert failed.is_error
    assert failed.output == failed.error_details
    assert failed.error_details["code"] == "TOOL_ERROR"
    assert failed.error_details["message"].startswith("bad �xxx")
    assert len(failed.error_details["message"]) < MAX_ERROR_CHARS + 50
    assert ToolCallResult.model_validate_json(failed.model_dump_json()) == failed


def test_error_text_names_type_and_members_of_a_group() -> None:
    assert error_text(KeyError("id")) == "KeyError: 'id'"
    assert error_text(TimeoutError()) == "TimeoutError"
    assert error_text(ExceptionGroup("many", [ValueError("a"), OSError("b")])) == "ValueError: a; OSError: b"

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert error_text(Mute()) == "Mute"
