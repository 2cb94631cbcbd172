"""Saving without copies: the same bytes, whatever was done and saved in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import CognitiveMemory, SnapshotCorruptError, SnapshotVersionError, dump_snapshot, parse_snapshot

Step = Callable[[CognitiveMemory, int], object]


def said(engine: CognitiveMemory, text: str, at: int) -> None:
    engine.post_turn(text, "Noted.", turn_id=f"t{at}", now=1_000 + at)


def first_id(engine: CognitiveMemory, at: int) -> str:
    held = engine.memories()
    return held[at % len(held)].id if held else "none"


STEPS: dict[str, Step] = {
    "teaches": lambda engine, at: said(engine, f"The harbour port is {8_000 + at % 3}.", at),
    "contradicts": lambda engine, at: said(engine, f"The crane of berth nine is number {at}.", at),
    "asks": lambda engine, at: said(engine, "Where is the crane in the database?", at),
    "again": lambda engine, at: said(engine, "Where is the crane?", 0),
    "removes": lambda engine, at: engine.remove_memory(first_id(engine, at), request_id=f"r{at}"),
    "edits": lambda engine, at: engine.edit_memory(first_id(engine, at), content=f"Berth {at} has a new crane"),
    "moves": lambda engine, at: engine.promote(first_id(engine, at), ("L0", "L1", "L2", "L3")[at % 4]),
    "touches": lambda engine, at: engine.touch([first_id(engine, at)], 2_000 + at),
    "resolves": lambda engine, at: [engine.resolve_tension(each.id, "Ana", now=at) for each in engine.tensions()[:1]],
    "reopens": lambda engine, at: [
        engine.add_tension(each.model_copy(update={"status": "active", "resolution": None}))
        for each in engine.tensions()[:1]
    ],
    "fails": lambda engine, at: engine.record_domain_outcome("database", at % 2 == 0, f"pattern {at}"),
}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), max_size=14))
def test_the_bytes_are_those_of_a_snapshot(steps: list[tuple[str, bool]]) -> None:
    engine = CognitiveMemory()
    for at, (name, is_saved) in enumerate(steps):
        STEPS[name](engine, at)
        if is_saved:
            assert engine.dump() == dump_snapshot(engine.get_snapshot())
    assert engine.dump() == dump_snapshot(engine.get_snapshot())
    again = CognitiveMemory()
    again.load_snapshot(parse_snapshot(engine.dump()))
    assert again.dump() == engine.dump()


def test_what_a_peer_left_there_is_written() -> None:
    engine = CognitiveMemory()
    engine.load_snapshot({"l0": {"mood": "calm é"}, "stats": {"more": 1.0}, "future": {"a": [1.5]}, "ext": {"b": 1}})
    assert engine.dump() == dump_snapshot(engine.get_snapshot())
    assert b'"mood":"calm \\u00e9"' in engine.dump()


def test_what_a_newer_program_wrote_is_not_written_over() -> None:
    engine = CognitiveMemory()
    engine.load_snapshot({"ext": {"schemaVersion": 99}})
    with pytest.raises(SnapshotVersionError):
        dump_snapshot(engine.get_snapshot())
    with pytest.raises(SnapshotVersionError):
        engine.dump()


def test_a_number_that_is_not_finite_is_refused() -> None:
    engine = CognitiveMemory()
    engine._state.ext["wrong"] = float("nan")
    with pytest.raises(SnapshotCorruptError, match="cannot be written"):
        engine.dump()


def test_a_result_that_says_nothing_takes_little_room_and_is_recognised() -> None:
    engine = CognitiveMemory()
    first = engine.post_turn("Where is it?", "There.", turn_id="t1", now=1)
    assert len(engine._state.ledger.dumped()["t1"]) < 50
    assert engine.post_turn("Where is it?", "There.", turn_id="t1", now=2) == first
