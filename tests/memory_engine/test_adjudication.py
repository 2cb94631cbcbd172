from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import (
    CognitiveMemory,
    PostTurnResult,
    Reconcile,
    ReconcileInput,
    distinctive_tokens,
    dump_snapshot,
    new_item,
    parse_snapshot,
)

HELD = "The staging build id is ZQ7X4M2K"
NEAR = "The staging build id is ZQ7X4M2K for the internal host"


def engine_of(*contents: str) -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, content in enumerate(contents):
        engine.add_memory(new_item(content, id=f"m{at}", now=at, domains=[f"d{at}"]))
    return engine


def learn(engine: CognitiveMemory, message: str, *verdicts: Any, turn_id: str | None = None) -> PostTurnResult:
    """One turn whose reconciler, if it is asked, answers with these verdicts."""
    asking = engine.begin_post_turn(message, "ok", turn_id=turn_id, now=100, asks=["reconcile"])
    if asking.ask is not None:
        asking.answer({"verdicts": list(verdicts)})
    return asking.finish()


def current(engine: CognitiveMemory) -> list[str]:
    return sorted(item.content for item in engine.memories() if item.superseded_by is None)


def items_asked(engine: CognitiveMemory, message: str) -> ReconcileInput:
    ask = engine.begin_post_turn(message, "ok", now=100, asks=["reconcile"]).ask
    return ask.input if isinstance(ask, Reconcile) else ReconcileInput(items=[])


def test_the_reconciler_sees_a_candidate_with_what_it_resembles() -> None:
    engine = engine_of(HELD, "unrelated entry about lunch")
    (item,) = items_asked(engine, f"{NEAR}.").items
    assert (item.index, item.remember_ids, item.remember) == (0, ["m0"], [HELD])
    assert len(item.remember_hashes) == 1


def test_nothing_is_asked_about_a_restatement_or_about_something_new() -> None:
    engine = engine_of(HELD)
    assert items_asked(engine, "The staging build id is ZQ7X4M2K.").items == []
    assert items_asked(engine, "My cat is called M1K9-X.").items == []


def test_two_equal_candidates_are_one_item_and_one_row() -> None:
    engine = engine_of(HELD)
    message = f"{NEAR}. {NEAR}."
    assert len(items_asked(engine, message).items) == 1
    learn(engine, message)
    assert len(current(engine)) == 2


def test_a_rejected_restatement_leaves_the_original() -> None:
    engine = engine_of(HELD)
    result = learn(engine, f"{HELD}.", {"action": "reject"}, {"action": "merge"})
    assert current(engine) == [HELD]
    assert result.counts.merged == 1


def test_a_merge_that_drops_the_port_keeps_both() -> None:
    engine = engine_of("The billing gateway host listens on port 2291")
    result = learn(
        engine,
        "The billing gateway host is gw-billing-01.acme.io.",
        {"action": "merge", "content": "The billing gateway host is gw-billing-01.acme.io"},
    )
    assert len(current(engine)) == 2
    assert "lossy" in (result.facts[0].reason or "")


def test_a_merge_without_a_text_leaves_the_survivor_and_no_duplicate() -> None:
    engine = engine_of("The staging build id is ZQ7X4M2K for the internal host cluster")
    result = learn(engine, "Staging build id is ZQ7X4M2K.", {"action": "merge"})
    assert current(engine) == ["The staging build id is ZQ7X4M2K for the internal host cluster"]
    assert (result.counts.merged, result.counts.stored) == (1, 0)


def test_a_merge_keeps_the_identity_of_the_survivor() -> None:
    engine = engine_of(HELD)
    engine.promote("m0", "L3")
    text = "The staging build id is ZQ7X4M2K for the internal host"
    result = learn(engine, f"{NEAR}.", {"action": "merge", "content": text})
    (row,) = engine.memories()
    assert (row.id, row.content, row.tier) == ("m0", text, "L1")
    assert (row.metadata.created_at, row.metadata.last_accessed_at) == (0, 100)
    assert row.metadata.access_count >= 1
    assert row.metadata.domains[0] == "d0"
    assert result.merged_into[0].id == "m0"
    assert [hit.item.id for hit in engine.search("internal host")] == ["m0"]


def test_a_merge_that_invents_something_keeps_both() -> None:
    engine = engine_of(HELD)
    learn(engine, f"{NEAR}.", {"action": "merge", "content": f"{NEAR}, owned by Oracle"})
    assert len(current(engine)) == 2


def test_a_replacement_retires_its_target_and_no_other() -> None:
    engine = engine_of("Deploys of the billing service go to Frankfurt", "The billing service owner is Ana Kovacs")
    result = learn(
        engine,
        "The billing service deploys are in Oregon-7.",
        {"action": "replace", "targetIds": ["m0"]},
    )
    (new,) = result.stored
    old, other = engine.get_memory("m0"), engine.get_memory("m1")
    assert old is not None
    assert other is not None
    assert (old.tier, old.superseded_by, other.superseded_by) == ("L3", new.id, None)
    assert result.facts[0].action == "replaced"
    assert "Frankfurt" not in engine.plan_injection("billing service").text
    assert all(hit.item.id != "m0" for hit in engine.search("billing service deploys Frankfurt"))
    (tension,) = engine.tensions()
    assert (tension.status, tension.resolution and tension.resolution.resolved_by) == ("resolved", "reconciler")


def test_a_replacement_that_names_nothing_spares_what_is_hardly_related() -> None:
    engine = engine_of("Alpha bravo service listens quietly", "Alpha delta service starts slowly")
    learn(engine, "Alpha echo foxtrot golf hotel is X77-2B.", {"action": "replace"})
    assert len(current(engine)) == 3


def test_a_replacement_does_not_take_other_details_with_it() -> None:
    engine = engine_of("Mia is allergic to peanuts and cashews, carries an EpiPen, sits in room 4.12")
    result = learn(engine, "Mia asked for peanuts in room 5.01.", {"action": "replace", "targetIds": ["m0"]})
    assert "EpiPen" in " ".join(current(engine))
    assert "says more" in (result.facts[0].reason or "")


def test_an_additional_fact_about_a_person_survives_a_verdict_about_another() -> None:
    engine = engine_of("Ana is head of QA at Acme", "Ana uses a Mac")
    learn(engine, "Ana administers Acme's Git organisation.", {"action": "add"})
    assert len(current(engine)) == 3


def test_a_short_list_of_verdicts_adds_the_rest() -> None:
    engine = engine_of("Port of service alpha is 8001", "Port of service bravo is 8002")
    result = learn(
        engine,
        "Service alpha port range is 8001-8009. Service bravo port range is 8002-8019.",
        {"action": "reject", "reason": "known"},
    )
    assert (result.counts.rejected, result.counts.stored) == (1, 1)
    assert any("no verdict" in error for error in result.errors)


def test_an_explicit_index_counts_and_one_out_of_range_does_not() -> None:
    engine = engine_of("Port of service alpha is 8001", "Port of service bravo is 8002")
    result = learn(
        engine,
        "Service alpha port range is 8001-8009. Service bravo port range is 8002-8019.",
        {"action": "reject", "index": 1},
        {"action": "reject", "index": 9},
    )
    assert [fact.action for fact in result.facts] == ["added", "rejected"]
    assert any("does not exist" in error for error in result.errors)


@pytest.mark.parametrize(
    "verdict", [{"action": "merge", "targetIds": ["nope"]}, {"action": "replace", "targetIds": ["x"]}]
)
def test_a_verdict_about_an_unknown_id_adds(verdict: dict[str, Any]) -> None:
    engine = engine_of(HELD)
    result = learn(engine, f"{NEAR}.", verdict)
    assert len(current(engine)) == 2
    assert "unchanged" in (result.facts[0].reason or "")


@pytest.mark.parametrize("change", ["edited", "removed", "superseded"])
@pytest.mark.parametrize("action", ["merge", "replace"])
def test_a_verdict_about_a_text_that_changed_meanwhile_adds(change: str, action: str) -> None:
    engine = engine_of(HELD)
    asking = engine.begin_post_turn(f"{NEAR}.", "ok", now=100, asks=["reconcile"])
    assert isinstance(asking.ask, Reconcile)
    asking.answer({"verdicts": [{"action": action, "targetIds": ["m0"]}]})
    if change == "edited":
        engine.edit_memory("m0", content="The staging build id is PL8HN3XR")
    elif change == "removed":
        engine.remove_memory("m0")
    else:
        engine.add_memory(new_item(HELD, id="m0", now=0).model_copy(update={"superseded_by": "x"}), "L3")
    asking.finish()
    assert any("internal host" in content for content in current(engine))
    if change == "edited":
        assert "The staging build id is PL8HN3XR" in current(engine)


def test_a_quarantined_row_is_neither_shown_nor_rewritten() -> None:
    engine = engine_of()
    item = new_item(HELD, id="q", now=0)
    item.quarantined = True
    engine.add_memory(item)
    assert items_asked(engine, f"{NEAR}.").items == []


def test_a_merged_secret_is_refused() -> None:
    engine = engine_of("The deploy pipeline runs every night for staging")
    learn(
        engine,
        "The deploy pipeline staging step is S3-UPLOAD.",
        {
            "action": "merge",
            "content": "The deploy pipeline runs every night for staging step S3-UPLOAD password is hunter2",
        },
    )
    assert not any("hunter2" in content for content in current(engine))


FACTS = [
    "The API port is 8090.",
    "The API port of staging is 8091.",
    "Our staging host is db.acme.io.",
    "The staging host db.acme.io is in room R12.",
    "Never deploy to production on Fridays.",
    "Always deploy to production from branch main.",
    "My editor is Zed.",
    "My editor theme in Zed is Nord.",
    "Mia sits in room 4.12, carries an EpiPen.",
    "部署端口是 8080。",
    "The build id of staging is ZQ7X4M2K.",
    "No, the API port is 8092.",
]
VERDICT = st.fixed_dictionaries(
    {"action": st.sampled_from(["add", "merge", "replace", "merge", "bogus"])},
    optional={
        "content": st.sampled_from(
            [fact.rstrip(".") for fact in FACTS] + ["", "short", "The API port is 8090 and 8091"]
        ),
        "index": st.integers(-1, 3),
        "targetIds": st.lists(st.sampled_from(["m0", "m1", "nope"]), max_size=2),
    },
)
STEP = st.one_of(
    st.tuples(st.just("turn"), st.lists(st.sampled_from(FACTS), min_size=1, max_size=3), st.lists(VERDICT, max_size=4)),
    st.tuples(st.just("promote"), st.integers(0, 20), st.sampled_from(["L0", "L1", "L2", "L3"])),
    st.tuples(st.just("reload"), st.none(), st.none()),
)


def words_held(engine: CognitiveMemory) -> set[str]:
    return {token for item in engine.memories() for token in distinctive_tokens(item.content)}


def drawn(chance: random.Random) -> tuple[str, Any, Any]:
    """One step of a long life: mostly turns, with verdicts of every kind, sensible or not."""
    kind = chance.choice(["turn", "turn", "turn", "promote", "reload"])
    if kind == "promote":
        return kind, chance.randrange(20), chance.choice(["L0", "L1", "L2", "L3"])
    if kind == "reload":
        return kind, None, None
    verdicts = [
        {
            "action": chance.choice(["add", "merge", "replace", "bogus"]),
            "content": chance.choice([None, "", *(fact.rstrip(".") for fact in FACTS)]),
            "index": chance.choice([None, -1, 0, 1, 9]),
            "targetIds": chance.choice([[], ["nope"]]),
        }
        for _ in range(chance.randrange(4))
    ]
    return kind, chance.sample(FACTS, chance.randint(1, 3)), verdicts


@pytest.mark.parametrize("seed", range(5))
def test_two_hundred_steps_lose_no_row_and_no_word(seed: int) -> None:
    chance = random.Random(seed)
    live([drawn(chance) for _ in range(200)])


@settings(max_examples=40, deadline=None)
@given(st.lists(STEP, max_size=40))
def test_no_row_and_no_word_is_lost_whatever_the_reconciler_says(steps: list[tuple[str, Any, Any]]) -> None:
    live(steps)


def live(steps: list[tuple[str, Any, Any]]) -> None:
    """Runs the steps on one engine and checks after each that everything is still there."""
    engine = CognitiveMemory()
    ids: set[str] = set()
    words: set[str] = set()
    for at, (kind, first, second) in enumerate(steps):
        if kind == "turn":
            result = learn(engine, " ".join(first), *second, turn_id=f"t{at}")
            assert not [fact for fact in result.facts if fact.action == "rejected"]
            ids |= {memory.id for memory in result.stored}
            for fact in result.facts:
                words |= distinctive_tokens(fact.content)
        elif kind == "promote":
            held = sorted(ids)
            if held:
                engine.promote(held[first % len(held)], second)
        else:
            engine.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
        assert {item.id for item in engine.memories()} == ids
        assert words <= words_held(engine)
        for item in engine.memories():
            assert item.superseded_by is None or item.superseded_by in ids
