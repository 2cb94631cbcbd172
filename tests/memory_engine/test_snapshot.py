from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine import (
    CognitiveMemory,
    SnapshotCorruptError,
    SnapshotVersionError,
    dump_snapshot,
    new_item,
    parse_snapshot,
)

NOW = 1767225600000


def item_json(memory_id: str, tier: str, **extra: Any) -> dict[str, Any]:
    metadata = {"domains": ["a", "a"], "createdAt": NOW, "lastAccessedAt": NOW, "accessCount": 0}
    item: dict[str, Any] = {"id": memory_id, "content": f"fact {memory_id}", "bookmark": "fact", "embedding": []}
    return {**item, "tier": tier, "metadata": metadata, **extra}


def typescript_snapshot() -> dict[str, Any]:
    """As the original package writes it, with keys from elsewhere on it."""
    capability = {
        "reliabilityScore": 0.533,
        "sampleCount": 1,
        "knownFailurePatterns": ["race"],
        "recommendedStrategies": [],
    }
    tension = {
        "id": "t1",
        "status": "resolved",
        "claimA": {"source": "user", "statement": "a", "timestamp": NOW},
        "claimB": {"source": "user", "statement": "b", "timestamp": NOW},
        "impact": "critical",
        "taskRelevance": 1,
        "actionableQuestion": "Which?",
        "resolution": {"resolvedAt": NOW, "resolvedBy": "Ana", "pattern": ""},
        "seen": 3,
    }
    self_model = {"domains": {"auth": capability}, "calibrationFactor": 1, "activeDomains": ["auth"], "mood": "calm"}
    return {
        "l0": {"tensions": [tension], "selfModel": self_model, "activeTaskTrace": "tracing", "extra": [1, None]},
        "l1": [item_json("one", "L1", foo={"a": 1, "b": None}), item_json("two", "L1", gist="short")],
        "l2": [item_json("three", "L2", embedding=[0.5, 1, -2e-7])],
        "l3": [item_json("four", "L3", supersededBy="one", turnId="t", content="cut \ud83d")],
        "stats": {
            "totalTurnsProcessed": 3,
            "predictionsHit": 0,
            "predictionsTotal": 0,
            "tensionsDetected": 1,
            "more": 2,
        },
        "elsewhere": {"x": [1.5]},
    }


def test_a_typescript_snapshot_survives_both_ways() -> None:
    data = json.dumps(typescript_snapshot()).encode()
    assert json.loads(dump_snapshot(parse_snapshot(data))) == typescript_snapshot()


def test_a_snapshot_survives_the_engine_with_unknown_keys() -> None:
    engine = CognitiveMemory()
    report = engine.load_snapshot(typescript_snapshot())
    again = json.loads(dump_snapshot(engine.get_snapshot()))
    assert again.pop("ext") == {"schemaVersion": 1}
    assert again == typescript_snapshot()
    assert report.problems == ()


def test_whole_floats_are_written_as_integers() -> None:
    written = dump_snapshot(parse_snapshot(json.dumps(typescript_snapshot())))
    assert b'"taskRelevance":1,' in written
    assert b'"reliabilityScore":0.533' in written
    assert b'"calibrationFactor":1,' in written
    assert b"\\ud83d" in written


def test_keys_come_in_the_order_of_the_shape() -> None:
    written = json.loads(dump_snapshot(CognitiveMemory().get_snapshot()))
    assert list(written) == ["l0", "l1", "l2", "l3", "stats", "ext"]
    assert list(written["l0"]) == ["tensions", "selfModel", "activeTaskTrace"]
    assert written["stats"] == dict.fromkeys(
        ("totalTurnsProcessed", "predictionsHit", "predictionsTotal", "tensionsDetected"), 0
    )


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_loads_as_an_empty_memory(nothing: dict[str, object] | None) -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("fact", id="m", now=1))
    engine.load_snapshot(nothing)
    assert len(engine) == 0


def test_a_snapshot_cut_anywhere_is_refused() -> None:
    data = json.dumps(typescript_snapshot()).encode()
    for end in range(len(data)):
        with pytest.raises(SnapshotCorruptError):
            parse_snapshot(data[:end])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"l1": 3}',
        b'{"l1": [{"id": 5}]}',
        b'{"stats": {"totalTurnsProcessed": "3"}}',
        b'{"stats": {"totalTurnsProcessed": 1.5}}',
        b'{"x": NaN}',
        b'{"x": Infinity}',
        b'{"ext": {"schemaVersion": "1"}}',
        b'{"l0": {"selfModel": {"calibrationFactor": "good"}}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(SnapshotCorruptError):
        parse_snapshot(data)


def test_a_damaged_snapshot_leaves_the_engine_as_it_was() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("fact", id="m", now=1))
    with pytest.raises(SnapshotCorruptError):
        engine.load_snapshot({"l1": [{"id": "broken"}]})
    assert len(engine) == 1


def test_a_number_that_is_not_finite_cannot_be_written() -> None:
    snapshot = CognitiveMemory().get_snapshot()
    snapshot.l0.self_model.calibration_factor = float("nan")
    with pytest.raises(SnapshotCorruptError):
        dump_snapshot(snapshot)


def test_of_a_memory_in_two_tiers_the_hotter_stays_and_is_reported() -> None:
    engine = CognitiveMemory()
    report = engine.load_snapshot({"l1": [item_json("m", "L1")], "l3": [item_json("m", "L3")]})
    assert [item.tier for item in engine.memories()] == ["L1"]
    assert "memory m occurs again in L3" in report.problems[0]


def test_the_list_decides_where_the_tier_field_disagrees() -> None:
    engine = CognitiveMemory()
    report = engine.load_snapshot({"l2": [item_json("m", "L1")]})
    assert [item.tier for item in engine.memories()] == ["L2"]
    assert len(report.problems) == 1


def test_pinned_memories_travel_in_l1_and_come_back_pinned() -> None:
    engine = CognitiveMemory()
    for memory_id, tier in (("a", "L1"), ("b", "L0"), ("c", "L1")):
        engine.add_memory(new_item(f"fact {memory_id}", id=memory_id, now=1), "L0" if tier == "L0" else "L1")
    written = dump_snapshot(engine.get_snapshot())
    assert [item["id"] for item in json.loads(written)["l1"]] == ["a", "b", "c"]
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(written))
    assert [item.id for item in other.memories("L0")] == ["b"]
    assert dump_snapshot(other.get_snapshot()) == written


def test_a_snapshot_shares_nothing_with_the_engine() -> None:
    engine = CognitiveMemory()
    source = typescript_snapshot()
    engine.load_snapshot(source)
    before = dump_snapshot(engine.get_snapshot())
    source["l1"][0]["foo"]["a"] = 2
    snapshot = engine.get_snapshot()
    snapshot.l1[0].metadata.domains.append("changed")
    snapshot.l0.tensions[0].claim_a.statement = "changed"
    snapshot.l0.self_model.active_domains.append("changed")
    assert dump_snapshot(engine.get_snapshot()) == before


def test_a_snapshot_from_the_future_is_read_and_not_written() -> None:
    engine = CognitiveMemory()
    engine.load_snapshot({"l1": [item_json("m", "L1")], "ext": {"schemaVersion": 99}})
    assert len(engine) == 1
    with pytest.raises(SnapshotVersionError, match="99"):
        dump_snapshot(engine.get_snapshot())


FROZEN_V1 = (
    b'{"l0":{"tensions":[],"selfModel":{"domains":{},"calibrationFactor":1,"activeDomains":[]},"activeTaskTrace":""},'
    b'"l1":[],"l2":[{"id":"m","content":"Call me Ren","bookmark":"Call me Ren","tier":"L2","metadata":{"domains":[],'
    b'"createdAt":5,"lastAccessedAt":5,"accessCount":0},"source":"rules","turnId":"t"}],"l3":[],"stats":'
    b'{"totalTurnsProcessed":1,"predictionsHit":0,"predictionsTotal":0,"tensionsDetected":0},"ext":{"schemaVersion":1}}'
)


def test_a_frozen_snapshot_of_version_one_loads_and_is_written_the_same() -> None:
    engine = CognitiveMemory()
    engine.load_snapshot(parse_snapshot(FROZEN_V1))
    assert dump_snapshot(engine.get_snapshot()) == FROZEN_V1


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.text(), st.lists(st.text(), max_size=3), JSON_VALUES, JSON_VALUES)
def test_any_text_and_any_unknown_value_make_the_round_trip(
    content: str, domains: list[str], on_item: Any, on_top: Any
) -> None:
    item = item_json("m", "L2", content=content, unheardOf=on_item)
    item["metadata"]["domains"] = domains
    value = {"l2": [item], "unheardOf": on_top}
    engine = CognitiveMemory()
    engine.load_snapshot(value)
    written = json.loads(dump_snapshot(engine.get_snapshot()))
    assert written["l2"] == [item]
    assert written["unheardOf"] == on_top
