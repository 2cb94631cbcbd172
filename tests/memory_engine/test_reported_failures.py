"""What people report about the memories of other agents, where no other test says it already."""

from __future__ import annotations

from typing import Any

import pytest

from memory_engine import CognitiveMemory, SnapshotCorruptError, dump_snapshot, new_item, parse_snapshot
from memory_engine import migrations as engine_migrations


def current(engine: CognitiveMemory) -> list[str]:
    return sorted(item.content for item in engine.memories() if item.superseded_by is None)


def test_ten_paraphrases_make_at_most_ten_rows_and_none_is_lost() -> None:
    said = [
        *("My staging host is blue-7.", "The staging host of mine is blue-7.", "blue-7 is my staging host."),
        *("Our staging host is blue-7.", "The host for staging is blue-7.", "My staging host is called blue-7."),
        *(
            "My staging host is blue-7!",
            "my staging host is BLUE-7.",
            "Staging is on host blue-7.",
            "We use host blue-7 for staging.",
        ),
    ]
    engine = CognitiveMemory()
    for at, sentence in enumerate(said):
        engine.post_turn(sentence, "ok", turn_id=f"t{at}", now=at)
    assert 1 <= len(engine) <= 10
    assert all("blue-7" in content.lower() for content in current(engine))


def test_a_memory_that_is_told_again_keeps_its_date_and_counts_its_uses() -> None:
    engine = CognitiveMemory()
    item = new_item("My editor is Zed", id="m", now=1577836800000)
    item.metadata.access_count = 7
    engine.add_memory(item)
    engine.post_turn("My editor is Zed.", "ok", now=1767225600000)
    held = engine.get_memory("m")
    assert held is not None
    assert held.metadata.created_at == 1577836800000
    assert held.metadata.access_count >= 8


def test_whenever_is_not_never() -> None:
    engine = CognitiveMemory()
    engine.post_turn("Whenever you deploy, ping Ana. Whenever a build breaks I tell Ana.", "ok", now=1)
    assert not any("never)" in content for content in current(engine))


def test_allowed_and_not_allowed_are_two_statements_with_a_question() -> None:
    engine = CognitiveMemory()
    engine.remember(["deployment is allowed", "deployment is not allowed"], now=1)
    assert len(current(engine)) == 2
    assert [tension.status for tension in engine.tensions()] == ["active"]


def test_one_huge_memory_and_a_thousand_small_ones_stay_within_the_budget() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("huge " * 16_000, id="h", now=1), "L0")
    for at in range(1_000):
        engine.add_memory(new_item(f"small fact {at} of db{at}.acme.io", id=f"m{at}", now=at), "L1")
    for message in (None, "see db7.acme.io", "Actually, we moved", "x " * 1_000):
        report = engine.plan_injection(message, ["h", "m3"])
        assert report.total_tokens <= 2_000
        assert len(report.text) <= 4 * 2_000


def test_what_was_learned_nothing_from_says_why() -> None:
    engine = CognitiveMemory()
    for said in ("hi", "", "What is it?", "just remember this for now", "The sky is blue"):
        result = engine.post_turn(said, "ok", now=1)
        assert result.counts.stored == 0
        assert result.learning_skipped or result.rejected


def test_a_removed_memory_is_absent_from_the_next_process_too() -> None:
    engine = CognitiveMemory()
    engine.post_turn("My canary is CANARY7X.", "ok", turn_id="t", now=1)
    engine.post_turn("ping CANARY7X please", "ok", turn_id="u", now=2)
    engine.remove_memory(engine.memories()[0].id)
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert other.search("canary") == []
    assert "CANARY7X" not in other.plan_injection("CANARY7X").text
    assert b"CANARY7X is" not in dump_snapshot(other.get_snapshot())


def test_no_entry_of_a_plan_is_there_twice() -> None:
    engine = CognitiveMemory()
    for at in range(60):
        engine.add_memory(new_item("The staging host is blue-7.acme.io", id=f"m{at}", now=at), "L1")
    report = engine.plan_injection("see blue-7.acme.io", ["m1", "m1"])
    ids = [entry.id for entry in report.entries]
    assert len(ids) == len(set(ids))
    assert report.text.count("blue-7.acme.io") <= 13


def test_two_thousand_characters_are_as_many_in_every_script() -> None:
    engine = CognitiveMemory()
    result = engine.remember(["가나다라 " * 400, "abcd " * 400], now=1)
    assert [fact.action for fact in result.facts] == ["added", "added"]


def test_a_step_between_versions_runs_once_and_a_failing_one_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def split_name(snapshot: dict[str, Any]) -> dict[str, Any]:
        if "broken" in snapshot:
            raise SnapshotCorruptError("cannot be brought to version 2")
        return {**snapshot, "ext": {**snapshot.get("ext", {}), "steps": snapshot.get("ext", {}).get("steps", 0) + 1}}

    monkeypatch.setattr(engine_migrations, "MIGRATIONS", (*engine_migrations.MIGRATIONS, split_name))
    engine = CognitiveMemory()
    engine.add_memory(new_item("a fact", id="m", now=1))
    before = dump_snapshot(engine.get_snapshot())
    with pytest.raises(SnapshotCorruptError):
        engine.load_snapshot({"broken": True})
    assert dump_snapshot(engine.get_snapshot()) == before
    assert engine_migrations.migrated({"ext": {"schemaVersion": 1}})["ext"]["steps"] == 1
    assert "steps" not in engine_migrations.migrated({"ext": {"schemaVersion": 2}})["ext"]


@pytest.mark.parametrize("limit", [0, -1, -(10**9)])
def test_a_limit_of_nothing_gives_one_hit(limit: int) -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("alpha fact", id="a", now=1))
    engine.add_memory(new_item("alpha note", id="b", now=1))
    assert len(engine.search("alpha", limit)) == 1


@pytest.mark.parametrize("budget", [0, -1, -(10**9)])
def test_a_budget_of_nothing_gives_an_empty_plan(budget: int) -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("alpha fact", id="a", now=1), "L1")
    report = engine.plan_injection("Actually, we moved", max_tokens=budget)
    assert (report.text, report.entries, report.total_tokens, report.truncated) == ("", [], 0, True)


@pytest.mark.parametrize(
    "content",
    ["", "1234567", "x" * 601, "y" * 100_000, "\x00\x01 nul in it", "a\u202eb\u200bc hidden", "half \ud83d emoji"],
)
def test_an_odd_content_is_kept_whole_or_refused_with_a_reason(content: str) -> None:
    engine = CognitiveMemory()
    result = engine.remember([content], now=1)
    (fact,) = result.facts
    assert fact.action in ("added", "rejected")
    assert fact.reason or fact.action == "added"
    dump_snapshot(engine.get_snapshot())
    engine.plan_injection().text.encode("utf-8")
    assert all(character.isprintable() or character == "\n" for character in engine.plan_injection().text)
