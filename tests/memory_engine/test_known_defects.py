"""Mistakes that memory engines were seen to make, each as the smallest case that shows it."""

from __future__ import annotations

import time

import pytest

from memory_engine import (
    ArbiterEvaluationResult,
    Claim,
    CognitiveMemory,
    CognitiveMemoryOptions,
    Pin,
    Reconcile,
    dump_snapshot,
    estimate_tokens,
    extract_deterministic,
    extract_domains,
    extract_identifiers,
    is_interaction_scoped,
    is_lossy_rewrite,
    new_item,
    new_tension,
    parse_snapshot,
    relevance_tokens,
    run_fast_gate,
    similarity,
)
from memory_engine.wire import MemoryTier


def engine_of(*contents: str, tier: MemoryTier = "L1") -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, content in enumerate(contents):
        engine.add_memory(new_item(content, id=f"m{at}", now=at), tier)
    return engine


def current(engine: CognitiveMemory) -> list[str]:
    return [item.content for item in engine.memories() if item.superseded_by is None]


def test_no_index_line_is_printed_without_being_paid() -> None:
    engine = engine_of(*(f"A durable project fact number {at} that a user stated" for at in range(40)))
    report = engine.plan_injection(max_tokens=60)
    assert sum(line.startswith("- ") for line in report.text.splitlines()) == len(report.entries)
    assert report.total_tokens == sum(entry.tokens for entry in report.entries) <= 60
    assert estimate_tokens(report.text) <= 60


def test_a_named_identifier_triggers_a_body_and_the_index_starves_nothing() -> None:
    engine = engine_of(*(f"Filler fact number {at}" for at in range(500)))
    engine.add_memory(new_item("The build id is ZQ7X4M2K", id="z", now=0), "L3")
    first, second = (Claim(source=name, statement=f"the port is {name}", timestamp=1) for name in ("80", "81"))
    engine.add_tension(new_tension(first, second, "critical", "Which?"))
    report = engine.plan_injection("ship ZQ7X4M2K", max_tokens=150)
    assert [entry.reason for entry in report.entries[:2]] == ["tension", "trigger"]


def test_a_memory_added_to_the_pinned_tier_is_kept() -> None:
    assert len(engine_of("a fact", tier="L0")) == 1


def test_pins_predictions_and_calibration_move() -> None:
    engine = engine_of("a fact", tier="L2")
    engine.apply_evaluation(ArbiterEvaluationResult(pins=[Pin(memory_id="m0", reason="r")]))
    assert engine.memories("L0")
    engine.post_turn("fix the login", "ok", now=1)
    engine.post_turn("rotate the jwt", "ok", now=2)
    assert (engine.stats.predictions_hit, engine.stats.predictions_total) == (1, 1)
    engine.record_domain_outcome("auth", False)
    assert engine.self_model.calibration_factor == 0.92


@pytest.mark.parametrize("reply", ["", "ok", "a reply of far more than fifty characters, as replies often are today"])
def test_a_prohibition_keeps_its_meaning_whatever_the_reply(reply: str) -> None:
    engine = CognitiveMemory()
    result = engine.post_turn("Never force push to main. Never log secrets.", reply, now=1)
    assert [fact.content for fact in result.facts] == [
        "User requirement (never): force push to main",
        "User requirement (never): log secrets",
    ]
    assert len({memory.id for memory in result.stored}) == 2


async def test_an_arbiter_that_raises_does_not_cost_the_lesson() -> None:
    def arbiter(given: object) -> object:
        raise RuntimeError("no quota")

    engine = CognitiveMemory(CognitiveMemoryOptions(arbiter=arbiter))
    result = await engine.post_turn_async("My editor is Zed.", "ok", now=1)
    assert result.counts.stored == 1
    assert result.errors == ["arbitrate: RuntimeError: no quota"]


def test_one_irrelevant_turn_does_not_empty_the_index() -> None:
    engine = engine_of(*(f"irrelevant entry {at}" for at in range(40)))
    engine.post_turn("something else?", "ok", now=99)
    assert len(engine.memories("L1")) == 35


def test_a_merge_never_meets_the_row_it_has_just_made() -> None:
    engine = CognitiveMemory()
    asking = engine.begin_post_turn("My editor is Zed.", "ok", turn_id="t", now=1, asks=["reconcile"])
    assert asking.ask is None
    asking.finish()
    assert current(engine) == ["My editor is Zed"]


def test_a_replacement_retires_only_what_it_names() -> None:
    engine = engine_of(*(f"alpha bravo charlie note{at} extra{at} more{at}" for at in range(8)))
    said = "alpha bravo charlie is note0-X9."
    asking = engine.begin_post_turn(said, "ok", now=9, asks=["reconcile"])
    assert isinstance(asking.ask, Reconcile)
    asking.answer([{"action": "replace", "targetIds": ["m3"]}])
    asking.finish()
    retired = [item.id for item in engine.memories() if item.superseded_by]
    assert retired == ["m3"]


@pytest.mark.parametrize("action", ["reject", "merge"])
def test_an_exact_restatement_is_settled_before_any_verdict(action: str) -> None:
    engine = engine_of("My editor is Zed")
    asking = engine.begin_post_turn("My editor is Zed.", "ok", now=9, asks=["reconcile"])
    assert asking.ask is None
    asking.finish()
    assert current(engine) == ["My editor is Zed"]


def test_a_snapshot_and_its_engine_share_nothing() -> None:
    engine = engine_of("a fact")
    snapshot = engine.get_snapshot()
    snapshot.l1[0].metadata.domains.append("x")
    assert engine.memories()[0].metadata.domains == []
    engine.load_snapshot(None)
    assert len(engine) == 0


def test_one_failure_does_not_take_all_trust_and_puts_up_a_guardrail() -> None:
    engine = CognitiveMemory()
    assert engine.record_domain_outcome("auth", False).reliability_score == 0.533
    assert "auth (53% reliable)" in engine.plan_injection().text


@pytest.mark.parametrize("text", ["部署端口", "Привет мир", "스테이징 서버", "مرحبا بالعالم", "สวัสดี"])
def test_every_script_has_words(text: str) -> None:
    assert relevance_tokens(text)
    assert is_lossy_rewrite(text, "something else entirely")


@pytest.mark.parametrize(
    ("original", "rewrite"),
    [
        ("Never push", "push"),
        ("Deploy only to EU", "Deploy to EU"),
        ("Team A owns billing", "Team B owns billing"),
        ("host is 10.0.0.1", "host is 10.0.1.0"),
        ("due 2024-01-02", "due 2024-02-01"),
        ("timeout is 100ms", "timeout is 100m"),
    ],
)
def test_a_rewrite_that_turns_the_meaning_is_lossy(original: str, rewrite: str) -> None:
    assert is_lossy_rewrite(original, rewrite)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("User-provided URL: https://a.io/x", "User-provided URL: https://b.io/y"),
        ("Deploys happen on Friday", "Deploys never happen on Friday"),
        ("host is 10.0.0.1", "host is 10.0.1.0"),
    ],
)
def test_different_facts_are_both_shown(first: str, second: str) -> None:
    assert similarity(first, second) < 0.8
    assert len(engine_of(first, second).search(f"{first} {second}")) == 2


@pytest.mark.parametrize(
    ("message", "whole"),
    [("You must use Python 3.11 here", "Python 3.11 here"), ("Always deploy via db.acme.io today", "db.acme.io today")],
)
def test_a_requirement_does_not_end_at_an_inner_dot(message: str, whole: str) -> None:
    assert extract_deterministic(message)[0].content.endswith(whole)


@pytest.mark.parametrize("message", ["My docs are at https://x.dev/a?b=1", "我的端口是 8080。"])
def test_a_question_mark_in_a_url_does_not_end_learning(message: str) -> None:
    assert CognitiveMemory().post_turn(message, "ok", now=1).counts.stored >= 1


@pytest.mark.parametrize("message", ["端口是多少？", "ما هو المنفذ؟"])
def test_a_question_mark_of_another_script_is_one(message: str) -> None:
    assert CognitiveMemory().post_turn(message, "ok", now=1).learning_skipped == "question"


@pytest.mark.parametrize("rule", ["Never check secrets into git", "Emails are not verified at signup"])
def test_a_lasting_rule_is_not_taken_for_talk(rule: str) -> None:
    assert not is_interaction_scoped(rule)


def test_the_oldest_of_more_than_a_thousand_takes_part_in_everything() -> None:
    engine = engine_of("The oldest fact is kept in vault-00.acme.io", tier="L3")
    for at in range(1_500):
        engine.add_memory(new_item(f"Newer fact number {at}", id=f"n{at}", now=at + 9), "L3")
    assert engine.search("oldest vault")[0].item.id == "m0"
    assert engine.plan_injection("see vault-00.acme.io").entries[0].id == "m0"
    assert engine.recall_similar("The oldest fact is kept in a vault")[0].id == "m0"
    engine.post_turn("The oldest fact is kept in vault-00.acme.io.", "ok", now=9_999)
    assert len(engine) == 1_501


def test_identifiers_are_found_in_time_that_grows_with_the_text() -> None:
    started = time.thread_time()
    assert extract_identifiers("a-" * 10_000) == []
    assert time.thread_time() - started < 0.05


def test_a_tension_has_no_order_and_can_come_back() -> None:
    engine = CognitiveMemory()
    first, second = (Claim(source=name, statement=f"port is {name}", timestamp=1) for name in ("80", "81"))
    assert engine.add_tension(new_tension(first, second, "low", "?"))
    assert not engine.add_tension(new_tension(second, first, "low", "?"))
    (tension,) = engine.tensions()
    engine.resolve_tension(tension.id, "Ana", now=2)
    engine.add_tension(new_tension(second, first, "low", "?"))
    assert [tension.status for tension in engine.tensions()] == ["active"]
    assert engine.stats.tensions_detected == 1


def test_words_are_heard_as_words() -> None:
    assert run_fast_gate("casino it is").action == "proceed"
    assert extract_domains("build the guide, restore the author page") == []


@pytest.mark.parametrize(("content", "reason"), [("a b", "too short"), ("x" * 601, "longer than 600")])
def test_what_is_too_short_or_too_long_is_reported(content: str, reason: str) -> None:
    engine = CognitiveMemory()
    asking = engine.begin_post_turn(f"I said {content} today.", "ok", now=1, asks=["extract"])
    asking.answer({"memories": [content]})
    assert any(reason in refused.reason for refused in asking.finish().rejected)


def test_a_cut_never_leaves_half_a_character() -> None:
    engine = engine_of("😀" * 200)
    dump_snapshot(engine.get_snapshot()).decode("ascii").encode()
    item = parse_snapshot(dump_snapshot(engine.get_snapshot())).l1[0]
    assert set(item.bookmark) <= {"😀", "…"}
    assert "😀" in engine.plan_injection().text.encode("utf-8").decode("utf-8")
