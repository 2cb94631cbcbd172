from __future__ import annotations

from memory_engine import CognitiveMemory
from memory_engine.knowledge import Claim, KnowledgeTension, Resolution
from memory_engine.tensions import MOST_SETTLED, TensionBook, new_tension, tension_key
from memory_engine.wire import TensionImpact


def tension(a: str, b: str, at: int = 1, impact: TensionImpact = "medium") -> KnowledgeTension:
    first, second = Claim(source="user", statement=a, timestamp=at), Claim(source="user", statement=b, timestamp=at)
    return new_tension(first, second, impact, "Which?")


def resolution(at: int) -> Resolution:
    return Resolution(resolved_at=at, resolved_by="Ana", pattern="")


def test_the_key_does_not_depend_on_the_order_or_spelling_of_the_claims() -> None:
    assert tension_key("Port is 1", "Port is 2") == tension_key(" port  is 2", "PORT is 1")
    assert len(tension_key("a", "b")) == 24


def test_the_same_two_claims_are_one_tension_with_the_newer_time() -> None:
    book = TensionBook()
    assert book.add(tension("a", "b", 1))
    assert not book.add(tension("b", "a", 5))
    (held,) = book.active()
    assert (held.claim_a.timestamp, held.claim_b.timestamp) == (5, 5)


def test_new_evidence_reopens_a_resolved_tension_and_keeps_its_history() -> None:
    book = TensionBook()
    book.add(tension("a", "b"))
    (tension_id,) = book.by_id
    assert book.resolve(tension_id, resolution(7))
    assert book.active() == []
    assert not book.add(tension("a", "b", 9))
    (reopened,) = book.active()
    assert reopened.resolution is None
    assert (reopened.model_extra or {})["history"] == [{"resolvedAt": 7, "resolvedBy": "Ana", "pattern": ""}]


def test_a_second_resolution_does_not_move_the_first() -> None:
    book = TensionBook([tension("a", "b")])
    (tension_id,) = book.by_id
    book.resolve(tension_id, resolution(7))
    assert book.resolve(tension_id, resolution(8))
    held = book.by_id[tension_id].resolution
    assert held is not None
    assert held.resolved_at == 7


def test_an_unknown_tension_cannot_be_resolved() -> None:
    assert not TensionBook().resolve("nope", resolution(1))


def test_the_most_critical_and_newest_come_first() -> None:
    book = TensionBook(
        [tension("a", "b", 9, "low"), tension("c", "d", 1, "critical"), tension("e", "f", 5), tension("g", "h", 6)]
    )
    assert [held.claim_a.statement for held in book.active()] == ["c", "g", "e", "a"]


def test_the_book_keeps_copies() -> None:
    original = tension("a", "b")
    book = TensionBook()
    book.add(original)
    original.claim_a.statement = "changed"
    assert book.active()[0].claim_a.statement == "a"


def test_the_pattern_of_a_resolution_can_become_a_memory() -> None:
    engine = CognitiveMemory()
    first = Claim(source="a", statement="the database is Postgres", timestamp=1)
    second = Claim(source="b", statement="the database is MySQL", timestamp=2)
    tension = new_tension(first, second, "medium", "Which?")
    engine.add_tension(tension)
    pattern = "Read DATABASE_URL to see which database is meant"
    assert engine.resolve_tension(tension.id, "Ana", pattern, now=3, remember_pattern=True)
    (hit,) = engine.search("which database")
    assert (hit.item.content, hit.item.metadata.is_successful_strategy) == (pattern, True)
    assert hit.item.metadata.domains == ["database"]
    assert not engine.resolve_tension("nope", "Ana", pattern, remember_pattern=True)
    assert engine.resolve_tension(tension.id, "Ben", "password is hunter2-xyz", now=4, remember_pattern=True)
    assert len(engine) == 1
    (kept,) = engine.tensions()
    assert kept.resolution is not None
    assert (kept.resolution.resolved_at, kept.resolution.resolved_by) == (3, "Ana")


def test_of_what_was_settled_long_ago_only_reusable_patterns_are_kept_for_ever() -> None:
    book = TensionBook()
    for at in range(MOST_SETTLED + 10):
        first = Claim(source="a", statement=f"port {at} is open", timestamp=at)
        second = Claim(source="b", statement=f"port {at} is closed", timestamp=at)
        tension = new_tension(first, second, "low", "Which?")
        book.add(tension)
        book.resolve(tension.id, Resolution(resolved_at=at, resolved_by="Ana", pattern="ask nmap" if at == 3 else ""))
    assert len(book.by_id) == MOST_SETTLED + 1
    kept = [tension.claim_a.timestamp for tension in book.by_id.values()]
    assert kept[:2] == [3, 10]
    assert book.active() == []


def test_an_id_that_stands_twice_in_a_snapshot_leaves_nothing_of_the_first() -> None:
    book = TensionBook([each.model_copy(update={"id": "x"}) for each in (tension("a", "b"), tension("c", "d"))])
    assert [held.claim_a.statement for held in book.active()] == ["c"]
    assert book.add(tension("a", "b", 9))
    assert {held.claim_a.statement for held in book.active()} == {"a", "c"}


def test_a_pair_of_claims_that_stands_twice_in_a_snapshot_is_still_known_when_one_is_dropped() -> None:
    first = tension("a", "b")
    again = first.model_copy(update={"id": "another"})
    book = TensionBook([first, again])
    book.forget_source("nobody")
    book._drop(first.id)
    assert not book.add(tension("b", "a", 9))
    assert list(book.by_id) == ["another"]
