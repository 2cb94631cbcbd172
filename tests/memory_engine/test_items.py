from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine import (
    CognitiveMemory,
    CognitiveMemoryStateSnapshot,
    MemoryItem,
    dump_snapshot,
    new_item,
    parse_snapshot,
)
from memory_engine.items import Items
from memory_engine.records import item_of, record_of
from memory_engine.rows import encoded, record_of_json
from memory_engine.wire import plain


def rows(count: int = 3) -> CognitiveMemory:
    engine = CognitiveMemory()
    for at in range(count):
        engine.add_memory(new_item(f"fact number {at}", id=f"m{at}", now=at))
    return engine


def test_a_snapshot_behaves_as_a_model_with_lists() -> None:
    snapshot = rows().get_snapshot()
    assert [item.id for item in snapshot.l2] == ["m0", "m1", "m2"]
    assert len(snapshot.l2) == 3
    assert snapshot.l2[-1].content == "fact number 2"
    assert [item.id for item in snapshot.l2[1:]] == ["m1", "m2"]
    del snapshot.l2[0]
    snapshot.l2.append(new_item("another fact", id="m9", now=1))
    snapshot.l2[0] = new_item("changed fact", id="m1", now=1)
    other = CognitiveMemory()
    other.load_snapshot(snapshot)
    assert [item.content for item in other.memories()] == ["changed fact", "fact number 2", "another fact"]
    assert [item["id"] for item in json.loads(dump_snapshot(snapshot))["l2"]] == ["m1", "m2", "m9"]


def test_pydantic_sees_the_items_too() -> None:
    snapshot = rows().get_snapshot()
    dumped = snapshot.model_dump(by_alias=True, exclude_none=True)
    assert [item["id"] for item in dumped["l2"]] == ["m0", "m1", "m2"]
    assert json.loads(snapshot.model_dump_json(by_alias=True))["l2"][0]["content"] == "fact number 0"
    again = CognitiveMemoryStateSnapshot.model_validate(dumped)
    assert again == snapshot
    assert snapshot.model_copy(deep=True) == rows().get_snapshot()
    assert plain(snapshot)["l2"] == json.loads(dump_snapshot(snapshot))["l2"]


def test_a_host_may_fill_a_snapshot_with_plain_lists() -> None:
    snapshot = CognitiveMemoryStateSnapshot(l2=[new_item("a fact", id="m", now=1)])
    engine = CognitiveMemory()
    engine.load_snapshot(snapshot)
    assert dump_snapshot(engine.get_snapshot()).count(b'"a fact"') == dump_snapshot(snapshot).count(b'"a fact"')


def test_two_engines_loaded_from_one_snapshot_share_nothing() -> None:
    snapshot = parse_snapshot(dump_snapshot(rows().get_snapshot()))
    first, second = CognitiveMemory(), CognitiveMemory()
    first.load_snapshot(snapshot)
    second.load_snapshot(snapshot)
    first.touch(["m0"], 99)
    first.edit_memory("m1", content="changed fact")
    assert second.get_snapshot() == snapshot


def test_what_is_taken_now_does_not_change_later() -> None:
    engine = rows()
    snapshot = engine.get_snapshot()
    engine.touch(["m0"], 99)
    engine.remove_memory("m1")
    assert [(item.id, item.metadata.access_count) for item in snapshot.l2] == [("m0", 0), ("m1", 0), ("m2", 0)]


ITEM = st.fixed_dictionaries(
    {
        "id": st.text(max_size=5),
        "content": st.text(max_size=20),
        "bookmark": st.text(max_size=5),
        "tier": st.sampled_from(["L0", "L1", "L2", "L3"]),
        "metadata": st.fixed_dictionaries(
            {
                "domains": st.lists(st.text(max_size=4), max_size=2),
                "createdAt": st.integers(-(2**60), 2**60),
                "lastAccessedAt": st.integers(0, 2**53),
                "accessCount": st.integers(0, 9),
            },
            optional={
                "isFailurePattern": st.booleans(),
                "isSuccessfulStrategy": st.booleans(),
                "isGuardrail": st.booleans(),
                "sourceSessionId": st.text(max_size=4),
                "odd": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            },
        ),
    },
    optional={
        "gist": st.text(max_size=5),
        "embedding": st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-9, 9), max_size=3
        ),
        "source": st.text(max_size=4),
        "supersededBy": st.text(max_size=4),
        "supersedes": st.lists(st.text(max_size=4), max_size=2),
        "validFrom": st.integers(),
        "turnId": st.text(max_size=4),
        "quarantined": st.booleans(),
        "foo": st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)),
    },
)


@given(ITEM)
def test_a_row_is_read_and_written_exactly_as_the_models_do_it(raw: dict[str, Any]) -> None:
    by_model = MemoryItem.model_validate(raw)
    record = record_of_json(raw)
    assert record is not None
    assert item_of(record) == item_of(record_of(by_model))
    assert encoded(record) == json.dumps(plain(by_model), separators=(",", ":"))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("id",), 5),
        (("content",), None),
        (("tier",), "L9"),
        (("tier",), []),
        (("gist",), 3),
        (("embedding",), [True]),
        (("embedding",), [float("inf")]),
        (("supersedes",), [1]),
        (("validFrom",), 1.5),
        (("metadata",), None),
        (("metadata", "createdAt"), True),
        (("metadata", "accessCount"), 1.0),
        (("metadata", "domains"), "auth"),
    ],
)
def test_what_is_not_plainly_right_is_left_to_the_models(place: tuple[str, ...], value: object) -> None:
    raw = json.loads(encoded(record_of(new_item("a fact", id="m", now=1))))
    target = raw if len(place) == 1 else raw[place[0]]
    target[place[-1]] = value
    assert record_of_json(raw) is None
    assert Items.of_json([raw]) is None
    with pytest.raises(ValueError, match=r"validation error|wrong"):
        MemoryItem.model_validate(raw)


def test_python_spellings_are_read_by_the_models() -> None:
    raw = json.loads(encoded(record_of(new_item("a fact", id="m", now=1))))
    raw["superseded_by"] = "n"
    engine = CognitiveMemory()
    engine.load_snapshot({"l3": [raw | {"tier": "L3"}]})
    assert engine.memories()[0].superseded_by == "n"
