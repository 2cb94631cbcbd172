from __future__ import annotations

from memory_engine import new_item
from memory_engine.recency import RecencyOrder
from memory_engine.records import record_of


def test_the_last_used_comes_first_and_ties_keep_their_places() -> None:
    order = RecencyOrder()
    records = [record_of(new_item(f"fact {at}", id=f"m{at}", now=now)) for at, now in enumerate((5, 9, 5))]
    for placed, record in enumerate(records):
        record.placed = placed
        order.add(record)
    assert list(order) == ["m1", "m0", "m2"]
    assert list(order.oldest_first()) == ["m0", "m2", "m1"]
    order.remove(records[1])
    assert list(order) == ["m0", "m2"]
    assert len(order) == 2
