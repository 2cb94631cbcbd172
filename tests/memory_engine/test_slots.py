from __future__ import annotations

from memory_engine import CognitiveMemory, dump_snapshot, new_item, parse_snapshot
from memory_engine.records import Record, record_of
from memory_engine.slots import SlotTable


def record(memory_id: str, now: int = 0) -> Record:
    return record_of(new_item("The port is 80", id=memory_id, now=now))


def test_slots_are_taken_one_after_the_other_and_room_is_made() -> None:
    table = SlotTable([record("a")])
    assert [table.add(record(f"m{at}", at)) for at in range(200)] == list(range(1, 201))
    assert (len(table), table.used, int(table.created[200])) == (201, 201, 199)


def test_closing_the_gaps_says_where_everything_went() -> None:
    table = SlotTable([record(f"m{at}", at) for at in range(100)])
    for at in range(70):
        table.remove(f"m{at}")
    assert table.is_sparse
    fork = table.fork()
    moved = table.compact()
    assert (moved[0], moved[70], moved[99]) == (-1, 0, 29)
    assert (table.ids[0], table.slot_of["m99"], int(table.created[0])) == ("m70", 29, 70)
    assert (len(table), table.used, table.is_sparse, int(table.alive.sum())) == (30, 30, False, 30)
    assert (len(fork), fork.used) == (30, 100)


def test_a_time_beyond_every_clock_breaks_no_search() -> None:
    engine = CognitiveMemory()
    for name, now in (("past", -(10**30)), ("future", 10**30), ("present", 5)):
        engine.add_memory(new_item(f"The port of {name} is 80", id=name, now=now))
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    for memory in (engine, other):
        assert [hit.item.id for hit in memory.search("port")] == ["future", "present", "past"]
