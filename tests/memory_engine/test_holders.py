from __future__ import annotations

from memory_engine.holders import Holders


def test_ids_are_held_in_the_order_in_which_they_came() -> None:
    holders = Holders()
    for memory_id in ("a", "b", "a", "c"):
        holders.add("key", memory_id)
    assert list(holders.of("key")) == ["a", "b", "c"]
    assert list(holders.of("other")) == []


def test_a_key_without_ids_is_forgotten() -> None:
    holders = Holders()
    holders.add("key", "a")
    holders.add("key", "b")
    for memory_id in ("a", "x", "b", "b"):
        holders.discard("key", memory_id)
    assert list(holders.of("key")) == []


def test_counting_looks_at_the_newest_ids_of_each_key() -> None:
    holders = Holders()
    for key, memory_id in (("k", "a"), ("k", "b"), ("l", "b"), ("l", "c"), ("m", "c")):
        holders.add(key, memory_id)
    assert holders.count(["k", "l", "m", "none"], 8) == {"a": 1, "b": 2, "c": 2}
    assert holders.count(["k"], 1) == {"b": 1}
