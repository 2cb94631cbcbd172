from __future__ import annotations

from memory_engine import CognitiveMemory, dump_snapshot, new_item, parse_snapshot


def conversation() -> CognitiveMemory:
    engine = CognitiveMemory()
    turns = ["Ana: where is the blue kayak", "Ben: in the shed behind the house", "Ana: thanks", "Ben: lunch at noon"]
    for at, turn in enumerate(turns):
        item = new_item(turn, id=f"a{at}", now=at)
        item.metadata.source_session_id = "a"
        engine.add_memory(item)
    engine.add_memory(new_item("a memory of no session", id="x", now=9))
    return engine


def found(engine: CognitiveMemory, query: str, reach: int) -> list[str]:
    return [hit.item.id for hit in engine.search(query, 8, reach)]


def test_the_turns_beside_a_hit_count_with_it() -> None:
    engine = conversation()
    assert found(engine, "blue kayak", 0) == ["a0"]
    assert found(engine, "blue kayak", 1) == ["a0", "a1"]
    assert found(engine, "blue kayak", 2) == ["a0", "a1", "a2"]
    assert found(engine, "shed house", 1)[0] == "a1"


def test_a_neighbour_without_a_shared_word_has_no_score_of_its_own() -> None:
    hits = conversation().search("blue kayak", neighbours=1)
    assert [hit.score for hit in hits] == [1.0, 0.0]


def test_a_hit_between_two_hits_is_lifted() -> None:
    engine = CognitiveMemory()
    texts = [("s", "kayak tour one"), ("s", "kayak"), ("s", "kayak tour two"), ("t", "kayak")]
    for at, (session, text) in enumerate(texts):
        item = new_item(text + f" x{at}", id=f"m{at}", now=9 - at)
        item.metadata.source_session_id = session
        engine.add_memory(item)
    assert found(engine, "kayak", 1)[0] == "m1"


def test_neighbours_change_with_the_memory() -> None:
    engine = conversation()
    engine.remove_memory("a1")
    assert found(engine, "blue kayak", 1) == ["a0", "a2"]
    engine.edit_memory("a2", content="Ana: never mind")
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert found(other, "blue kayak", 1) == ["a0", "a2"]
    assert found(other.fork(), "blue kayak", 1) == ["a0", "a2"]


def test_a_superseded_neighbour_stays_out() -> None:
    engine = conversation()
    row = engine.get_memory("a1")
    assert row is not None
    row.superseded_by = "a3"
    engine.add_memory(row, "L3")
    assert found(engine, "blue kayak", 1) == ["a0"]


def test_a_negative_reach_is_none() -> None:
    assert found(conversation(), "blue kayak", -3) == ["a0"]
