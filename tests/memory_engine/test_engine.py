from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import (
    ArbiterEvaluationResult,
    CognitiveMemory,
    CognitiveMemoryOptions,
    Demotion,
    Pin,
    ProprioceptiveSelfModel,
    dump_snapshot,
    new_item,
    parse_snapshot,
)
from memory_engine.store import TIERS
from memory_engine.wire import MemoryTier


@pytest.mark.parametrize("tier", TIERS)
def test_a_memory_can_be_added_to_every_tier(tier: MemoryTier) -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("a fact", id="m", now=1), tier)
    assert [item.tier for item in engine.memories()] == [tier]


def test_an_id_lives_in_one_tier() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("alpha fact", id="m", now=1), "L1")
    engine.add_memory(new_item("bravo fact", id="m", now=1), "L3")
    assert [(item.tier, item.content) for item in engine.memories()] == [("L3", "bravo fact")]
    assert engine.search("alpha") == []


def test_an_added_memory_is_a_copy() -> None:
    engine = CognitiveMemory()
    item = new_item("a fact", id="m", now=1, domains=["x"])
    engine.add_memory(item)
    item.metadata.domains.append("y")
    assert engine.memories()[0].metadata.domains == ["x"]


def test_a_memory_keeps_its_original_date() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("Our port is 8080", id="m", now=1577836800000))
    engine.post_turn("Our port is 8080.", "", now=1767225600000)
    engine.edit_memory("m", content="Our port is 8081")
    (item,) = engine.memories()
    assert item.metadata.created_at == 1577836800000
    assert item.metadata.access_count >= 1


def test_a_removed_memory_is_gone_everywhere() -> None:
    engine = CognitiveMemory()
    for tier in TIERS:
        engine.add_memory(new_item("The secret host is db.acme.io", id="m", now=1), tier)
        assert engine.remove_memory("m")
        assert engine.search("host") == []
        assert engine.plan_injection("db.acme.io").text == ""
        assert b"acme" not in dump_snapshot(engine.get_snapshot())
    assert not engine.remove_memory("m")


def test_removing_a_memory_removes_the_tensions_that_quote_it() -> None:
    engine = CognitiveMemory()
    engine.remember(["deployment is allowed", "deployment is not allowed"], now=1)
    engine.remove_memory(engine.memories()[0].id)
    assert engine.tensions() == []


def test_an_edit_is_found_under_its_new_words_only() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("alpha fact", id="m", now=1), "L1")
    assert engine.plan_injection().entries[0].gist == "alpha fact"
    assert engine.edit_memory("m", content="bravo fact", domains=["x"])
    assert engine.search("alpha") == []
    assert engine.plan_injection().entries[0].gist == "bravo fact"
    assert not engine.edit_memory("nope", content="x")


def test_a_touch_counts_a_use_and_a_clock_that_runs_back_does_no_harm() -> None:
    engine = CognitiveMemory()
    for at in range(2):
        engine.add_memory(new_item(f"fact number {at}", id=f"m{at}", now=at), "L1")
    assert engine.touch(["m0", "m0", "nope"], 50) == 1
    assert engine.touch(["m0"], 3) == 1
    assert [entry.id for entry in engine.plan_injection().entries] == ["m0", "m1"]
    touched = engine.get_memory("m0")
    assert touched is not None
    assert (touched.metadata.last_accessed_at, touched.metadata.access_count) == (50, 2)


def test_a_memory_moves_to_any_tier_by_hand() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("a fact", id="m", now=1))
    assert engine.promote("m", "L0")
    assert engine.memories("L0")[0].id == "m"
    assert not engine.promote("nope")


@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))),
        1767225600000,
    ],
)
def test_a_moment_is_the_same_in_every_time_zone(now: int | datetime) -> None:
    engine = CognitiveMemory()
    engine.post_turn("Call me Ren.", "", now=now)
    assert engine.memories()[0].metadata.created_at == 1767225600000


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        CognitiveMemory().post_turn("Call me Ren.", "", now=datetime(2026, 1, 1))  # noqa: DTZ001


def test_without_a_moment_the_clock_counts_and_without_a_clock_the_newest_time_seen() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(clock_ms=lambda: 77))
    engine.post_turn("Call me Ren.", "")
    assert engine.memories()[0].metadata.created_at == 77
    other = CognitiveMemory()
    other.add_memory(new_item("a fact", id="m", now=55))
    other.post_turn("Call me Ren.", "")
    assert [item.metadata.created_at for item in other.memories()] == [55, 55]


def test_ids_come_from_the_host_if_it_wants_that() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(new_id=lambda content, turn, counter: f"{turn}-{counter}"))
    engine.post_turn("Call me Ren. My editor is Zed.", "", turn_id="t", now=1)
    assert sorted(item.id for item in engine.memories()) == ["t-0", "t-1"]


def test_two_turns_with_one_fact_do_not_share_an_id_with_another() -> None:
    engine = CognitiveMemory()
    for at in range(3):
        engine.post_turn(f"Port {at} is 808{at}. Host {at} is db{at}.acme.io", "", now=at)
    assert len({item.id for item in engine.memories()}) == 6


def test_learning_can_be_switched_off() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(auto_extract_memories=False))
    assert engine.post_turn("Call me Ren.", "").learning_skipped == "learning is switched off"
    assert engine.stats.total_turns_processed == 1


@pytest.mark.parametrize(("is_mixed_learned", "count"), [(True, 1), (False, 0)])
def test_a_host_decides_about_messages_that_also_ask(is_mixed_learned: bool, count: int) -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(learn_mixed_turns=is_mixed_learned))
    result = engine.post_turn("Call me Ren. What is the port?", "")
    assert (len(engine), result.learning_skipped) == (count, None if is_mixed_learned else "question")


@pytest.mark.parametrize("question", ["What is our port?", "端口是多少？", "ما هو المنفذ؟"])
def test_a_question_teaches_nothing_and_says_so(question: str) -> None:
    result = CognitiveMemory().post_turn(question, "8080")
    assert (result.learning_skipped, result.stored) == ("question", [])


def test_domains_of_a_turn_become_active() -> None:
    engine = CognitiveMemory()
    engine.post_turn("fix the auth login", "")
    engine.post_turn("anything", "", ["billing", "auth"])
    assert engine.self_model.active_domains == ["auth", "billing"]


def test_the_initial_self_model_is_copied() -> None:
    model = ProprioceptiveSelfModel(active_domains=["auth"])
    engine = CognitiveMemory(CognitiveMemoryOptions(initial_self_model=model))
    engine.record_domain_outcome("css", True)
    assert model.active_domains == ["auth"]
    assert engine.self_model.active_domains == ["auth", "css"]


def test_two_engines_know_nothing_of_each_other() -> None:
    engines = [CognitiveMemory() for _ in range(10)]
    for at, engine in enumerate(engines):
        engine.post_turn(f"My canary is CANARY{at}X.", "", now=1)
    for at, engine in enumerate(engines):
        assert [hit.item.content for hit in engine.search("canary")] == [f"My canary is CANARY{at}X"]


OPERATIONS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 9), st.sampled_from(TIERS)),
    st.tuples(
        st.just("turn"),
        st.sampled_from(
            [
                "My editor is Vim.",
                "My editor is Zed.",
                "I love tea.",
                "I hate tea.",
                "Port A is 80.",
                "Actually, port A is 81.",
                "Mia is a nurse, sits in room 4.12.",
                "Mia moved to room 5.01.",
                "What?",
                "deployment is not 5",
            ]
        ),
        st.integers(0, 3),
    ),
    st.tuples(st.just("touch"), st.integers(0, 9), st.integers(0, 99)),
    st.tuples(st.just("promote"), st.integers(0, 9), st.sampled_from(TIERS)),
    st.tuples(st.just("evaluate"), st.integers(0, 9), st.booleans()),
    st.tuples(st.just("edit"), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.integers(0, 9), st.none()),
    st.tuples(st.just("reload"), st.none(), st.none()),
)


def apply(engine: CognitiveMemory, operation: tuple[Any, ...], held: set[str]) -> None:
    """Runs one operation and keeps `held`, the ids that must be there, up to date."""
    kind, first, second = operation
    if kind == "add":
        engine.add_memory(new_item(f"fact number {first} of db{first}.acme.io", id=f"m{first}", now=first), second)
        held.add(f"m{first}")
    elif kind == "turn":
        held.update(memory.id for memory in engine.post_turn(first, "ok", now=second).stored)
    elif kind == "touch":
        engine.touch([f"m{first}"], second)
    elif kind == "promote":
        engine.promote(f"m{first}", second)
    elif kind == "evaluate":
        move = {"pins": [Pin(memory_id=f"m{first}", reason="r")]} if second else {}
        demotions = [Demotion(memory_id=f"m{first}", reason="r")]
        engine.apply_evaluation(ArbiterEvaluationResult(demotions=demotions, **move))
    elif kind == "edit":
        engine.edit_memory(f"m{first}", content=f"edited number {second}")
    elif kind == "remove":
        assert engine.remove_memory(f"m{first}") is (f"m{first}" in held)
        held.discard(f"m{first}")
    else:
        engine.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))


@settings(max_examples=60, deadline=None)
@given(st.lists(OPERATIONS, max_size=60))
def test_no_memory_is_lost_whatever_happens(operations: list[tuple[Any, ...]]) -> None:
    engine = CognitiveMemory()
    held: set[str] = set()
    for operation in operations:
        apply(engine, operation, held)
        assert {item.id for item in engine.memories()} == held
        assert len(engine) == len(held)
    for item in engine.memories():
        if item.superseded_by is None:
            found = {hit.item.id for hit in engine.search(item.content, 50)}
            same = {other.id for other in engine.memories() if other.content == item.content}
            assert found & same
        else:
            assert item.superseded_by in held or item.tier == "L3"
    other = CognitiveMemory()
    other.load_snapshot(engine.get_snapshot())
    assert dump_snapshot(other.get_snapshot()) == dump_snapshot(engine.get_snapshot())
    assert other.plan_injection("db1.acme.io") == engine.plan_injection("db1.acme.io")


def test_a_removal_is_known_by_its_request() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The port is 80", id="m0", now=1))
    assert engine.remove_memory("nobody", request_id="r1") is False
    assert engine.has_removed("r1") is False
    assert engine.remove_memory("m0", request_id="r1") is True
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert (other.has_removed("r1"), other.has_removed("r2")) == (True, False)
    assert other.post_turn("My editor is Zed.", "ok", turn_id="r1", now=2).counts.stored == 1
