from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine.salvage import salvage_json

KEYS = ("facts", "memories")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"facts":["f1"]}\n```', {"facts": ["f1"]}),
        ('From the chat {about boats}: {"facts":["likes rowing"]}', {"facts": ["likes rowing"]}),
        ('Sure! ["a", "b"] is what I found.', ["a", "b"]),
        ('{"thinking": {"x": 1}} {"memories": []}', {"memories": []}),
        ('{"facts": ["line\nbreak"]}', {"facts": ["line\nbreak"]}),
        ('see [1] and [2]: {"facts": ["a"]}', {"facts": ["a"]}),
        ('{"result": {"facts": ["a"]}}', {"facts": ["a"]}),
        ('<think>perhaps {"facts": ["no"]}</think>{"facts": ["yes"]}', {"facts": ["yes"]}),
        ('{"facts": ["writes </think> by hand"]}', {"facts": ["writes </think> by hand"]}),
        ('[{"action": "add"}, {"action": "merge"}]', [{"action": "add"}, {"action": "merge"}]),
    ],
)
def test_it_finds_the_value_in_what_surrounds_it(text: str, value: Any) -> None:
    assert salvage_json(text, KEYS).value == value
    assert salvage_json(text, KEYS).problem is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"facts":["a","b","c', {"facts": ["a", "b"]}),
        ('```json\n{"memories":[{"content":"x"},{"content":"y', {"memories": [{"content": "x"}]}),
        ('{"memories":[{"content":"x","domains":["a","b"]},', {"memories": [{"content": "x", "domains": ["a", "b"]}]}),
        ('{"memories":[{"content":"a, b] }"},{"content":"', {"memories": [{"content": "a, b] }"}]}),
        ('{"facts":["say \\"hi\\"", "an', {"facts": ['say "hi"']}),
        ('{"memories":[],"facts":["a","b', {"memories": [], "facts": ["a"]}),
        ('{"facts":["a","b"]', {"facts": ["a", "b"]}),
        ("{'facts': ['a', 'b', 'c", {"facts": ["a", "b"]}),
    ],
)
def test_of_a_cut_answer_it_keeps_the_finished_part_and_says_so(text: str, value: Any) -> None:
    salvaged = salvage_json(text, KEYS)
    assert salvaged.value == value
    assert salvaged.problem is not None
    assert "cut off" in salvaged.problem


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('{"facts": ["a", "b",],}', ["a", "b"]),
        ("{'facts': ['a', 'b']}", ["a", "b"]),
        ("""{'facts': ["it's", 'say "hi"', 'it\\'s', "don't, ever"]}""", ["it's", 'say "hi"', "it's", "don't, ever"]),
        ('{facts: ["a"]}', ["a"]),
        ('{facts: [{content: "a", domains: ["d"]}]}', [{"content": "a", "domains": ["d"]}]),
        ("{“facts”: [“a”]}", ["a"]),
        ('{"facts": ["see https://a.io/x", // a link\n "b" /* done */]}', ["see https://a.io/x", "b"]),
        ('{"facts": ["None, True", None, True, NaN]}', ["None, True", None, True]),
    ],
)
def test_what_is_nearly_json_is_read_as_it_is_meant(text: str, facts: list[Any]) -> None:
    salvaged = salvage_json(text, KEYS)
    assert salvaged.value["facts"][: len(facts)] == facts
    assert salvaged.problem is None


def test_several_objects_are_one_answer_where_they_may_be_joined() -> None:
    text = '{"facts": ["a"]}\n{"facts": ["b", "a"]}\n{"memories": ["c"]}'
    assert salvage_json(text, KEYS).value == {"facts": ["a"]}
    assert salvage_json(text, KEYS, joins=True).value == {"facts": ["a", "b"], "memories": ["c"]}


@pytest.mark.parametrize(
    "text", ["", "   ", "nothing to remember", "{about boats}", "null", "7", '"text"', "{", "[[[["]
)
def test_without_a_value_it_names_the_problem(text: str) -> None:
    salvaged = salvage_json(text, KEYS)
    assert salvaged.value is None
    assert salvaged.problem


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"a":', '"', "\\", '["a",', "}{", '{"facts":[', "a-", "[1,", "['", "'", '\\"', "/*", "a:"]
)
def test_an_absurd_answer_costs_little(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    started = time.thread_time()
    salvage_json(text, KEYS)
    assert time.thread_time() - started < 0.25


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6), st.data())
def test_an_answer_cut_anywhere_gives_a_beginning_of_it(facts: list[str], data: st.DataObject) -> None:
    text = json.dumps({"facts": facts})
    end = data.draw(st.integers(0, len(text)))
    value = salvage_json(text[:end], KEYS).value
    kept = value["facts"] if isinstance(value, dict) else value or []
    assert kept == facts[: len(kept)]
