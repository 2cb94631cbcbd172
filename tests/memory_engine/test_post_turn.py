from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_engine import (
    STAGES,
    Arbitrate,
    CognitiveMemory,
    CognitiveMemoryOptions,
    Extract,
    PostTurn,
    PostTurnAnswers,
    Reconcile,
    Stage,
    dump_snapshot,
    new_item,
    parse_snapshot,
)

SAID = "My staging host is blue-7. The staging gateway alias is BLUE_SEVEN."
EXTRACTED = {"memories": [{"content": "User's staging host is blue-7"}, {"content": "User deploys with Oracle"}]}


def held() -> CognitiveMemory:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The staging gateway of old is GREEN_SIX", id="m0", now=1))
    engine.add_memory(new_item("Lunch is at noon", id="m1", now=1), "L1")
    return engine


def copied(engine: CognitiveMemory) -> CognitiveMemory:
    other = CognitiveMemory(engine.options)
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    return other


def begun(engine: CognitiveMemory, asks: Iterable[Stage] = STAGES, answers: PostTurnAnswers | None = None) -> PostTurn:
    return engine.begin_post_turn(SAID, "Noted.", turn_id="t", now=50, asks=tuple(asks), answers=answers)


def answered(asking: PostTurn) -> list[str]:
    kinds: list[str] = []
    while (ask := asking.ask) is not None:
        kinds.append(ask.kind)
        match ask:
            case Extract():
                asking.answer(json.dumps(EXTRACTED))
            case Reconcile(input=asked):
                asking.answer({"verdicts": [{"action": "add", "index": item.index} for item in asked.items]})
            case Arbitrate(input=given):
                asking.answer({"pins": [{"memoryId": given.candidates[0].id, "reason": "r"}]})
    return kinds


def test_it_asks_in_order_and_changes_nothing_before_the_end() -> None:
    engine = held()
    before = dump_snapshot(engine.get_snapshot())
    asking = begun(engine)
    assert asking.ask is asking.ask
    assert answered(asking) == ["extract", "reconcile", "arbitrate"]
    assert dump_snapshot(engine.get_snapshot()) == before
    result = asking.finish()
    assert dump_snapshot(engine.get_snapshot()) != before
    assert asking.finish() is result
    assert any(fact.action == "rejected" and "Oracle" in (fact.reason or "") for fact in result.facts)
    assert len(engine.memories("L0")) == 1


def test_the_same_answers_on_the_same_state_give_the_same_bytes() -> None:
    engine, other = held(), held()
    asking = begun(engine)
    answered(asking)
    recorded = PostTurnAnswers.model_validate_json(asking.answers.model_dump_json(by_alias=True))
    assert recorded == asking.answers
    first = asking.finish()
    second = begun(copied(other), (), recorded)
    assert second.ask is None
    assert second.finish() == first
    replayed = copied(other)
    begun(replayed, (), recorded).finish()
    assert dump_snapshot(replayed.get_snapshot()) == dump_snapshot(engine.get_snapshot())


def test_each_stage_can_run_in_a_process_of_its_own() -> None:
    together = held()
    asking = begun(together)
    answered(asking)
    asking.finish()
    answers = None
    for stage in STAGES:
        step = begun(copied(held()), [stage], answers)
        assert answered(step) == [stage]
        answers = step.answers
    apart = copied(held())
    begun(apart, (), answers).finish()
    assert dump_snapshot(apart.get_snapshot()) == dump_snapshot(together.get_snapshot())


def test_answers_for_an_older_state_lose_nothing_on_a_newer_one() -> None:
    engine = held()
    asking = begun(engine)
    while (ask := asking.ask) is not None:
        match ask:
            case Extract():
                asking.answer(EXTRACTED)
            case Reconcile(input=asked):
                asking.answer(
                    [{"action": "replace", "index": i.index, "targetIds": i.remember_ids} for i in asked.items]
                )
            case Arbitrate():
                asking.fail("timed out")
    recorded = asking.answers
    newer = held()
    newer.edit_memory("m0", content="The staging gateway of old is YELLOW_FIVE")
    newer.post_turn("My editor is Zed.", "ok", turn_id="other", now=60)
    result = begun(newer, (), recorded).finish()
    contents = [item.content for item in newer.memories() if item.superseded_by is None]
    assert "The staging gateway of old is YELLOW_FIVE" in contents
    assert "My editor is Zed" in contents
    assert any("BLUE_SEVEN" in content for content in contents)
    assert "arbitrate: timed out" in result.errors


def test_a_turn_saved_in_between_with_the_same_fact_makes_no_second_row() -> None:
    engine = held()
    asking = begun(engine)
    answered(asking)
    engine.post_turn(SAID, "ok", turn_id="twin", now=49)
    size = len(engine)
    result = asking.finish()
    assert len(engine) == size
    assert result.counts.stored == 0
    assert result.counts.merged >= 2


def test_a_learned_turn_asks_nothing() -> None:
    engine = held()
    first = engine.post_turn(SAID, "Noted.", turn_id="t", now=50)
    asking = begun(engine)
    assert asking.ask is None
    assert asking.finish() == first


def test_a_turn_learned_by_somebody_else_meanwhile_is_not_learned_again() -> None:
    engine = held()
    asking = begun(engine)
    answered(asking)
    first = engine.post_turn(SAID, "Noted.", turn_id="t", now=50)
    before = dump_snapshot(engine.get_snapshot())
    assert asking.finish() == first
    assert dump_snapshot(engine.get_snapshot()) == before


@pytest.mark.parametrize("message", ["What is our port?", "", "Could Airtable be handy for this?"])
def test_a_message_that_states_nothing_is_not_extracted(message: str) -> None:
    asking = CognitiveMemory().begin_post_turn(message, "Noted.", now=1, asks=("extract", "reconcile"))
    assert asking.ask is None


def test_failures_are_told_and_the_rules_learn_on() -> None:
    engine = held()
    asking = begun(engine)
    while asking.ask is not None:
        asking.fail(f"no {asking.ask.kind}")
    result = asking.finish()
    assert {"extract: no extract", "reconcile: no reconcile", "arbitrate: no arbitrate"} <= set(result.errors)
    assert result.counts.stored == 2
    assert result.counts.promoted > 0


def test_an_answer_without_a_question_is_a_mistake_of_the_caller() -> None:
    asking = begun(held(), ())
    with pytest.raises(ValueError, match="nothing was asked"):
        asking.answer({})
    with pytest.raises(ValueError, match="nothing was asked"):
        asking.fail("x")


def test_a_long_message_is_asked_about_by_its_two_ends_and_says_what_was_left_out() -> None:
    log = "\n".join(f"2026-05-01 12:00:00 INFO step {at} of the pipeline ran" for at in range(1_000))
    said = f"Hello.\nHere is a log:\nMy staging host is blue-7\n{log}\nCall me Ren."
    engine = CognitiveMemory()
    asking = engine.begin_post_turn(said, "ok", now=1, asks=["extract"])
    assert isinstance(asking.ask, Extract)
    assert len(asking.ask.user_message) < 25_000
    assert "blue-7" in asking.ask.user_message
    assert "Call me Ren" in asking.ask.user_message
    asking.answer('{"facts":["a","b","c')
    result = asking.finish()
    assert [hit.item.content for hit in engine.search("staging host")] == ["My staging host is blue-7"]
    assert [hit.item.content for hit in engine.search("Ren")] == ["Call me Ren"]
    assert any("not read by the model" in error for error in result.errors)
    assert any("cut off" in error for error in result.errors)


@pytest.mark.parametrize(
    "said", ["hi", "ok thanks", "Could Airtable be handy for this? Just thinking aloud.",
             "If we ever moved to Oracle we'd need a DBA.", "(assistant) You could also try Redis."],
)  # fmt: skip
def test_what_an_extractor_makes_up_is_not_stored(said: str) -> None:
    engine = CognitiveMemory()
    asking = engine.begin_post_turn(said, "You could use Redis, Airtable or Oracle.", now=1)
    while asking.ask is not None:
        asking.answer(
            {
                "memories": [
                    "Uses Airtable",
                    "The user uses Oracle",
                    "uses Redis",
                    "Notes are in /vault/notes",
                    "John likes pizza",
                ]
            }
        )
    asking.finish()
    held_words = " ".join(item.content for item in engine.memories())
    assert not any(word in held_words for word in ("Airtable", "Oracle", "Redis", "vault", "John"))


def test_an_extractor_stores_in_the_words_it_chose_what_the_user_said_in_others() -> None:
    engine = CognitiveMemory()
    asking = engine.begin_post_turn("We ended up going with Fastify over Express back in March.", "Ok.", now=1)
    assert isinstance(asking.ask, Extract)
    asking.answer({"memories": [{"content": "The team chose Fastify over Express in March", "domains": ["API "]}]})
    result = asking.finish()
    assert [fact.action for fact in result.facts] == ["added"]
    assert (result.stored[0].source, result.stored[0].domains) == ("model", ["api"])


def test_a_contradiction_is_raised_only_between_claims_somebody_made() -> None:
    engine = held()
    asking = begun(engine, ["extract"])
    question = {"impact": "critical", "actionableQuestion": "Which alias holds?"}
    tensions = [
        {
            "claimA": "The staging gateway of old is GREEN_SIX",
            "claimB": "staging gateway alias is BLUE_SEVEN",
            **question,
        },
        {"claimA": "Oracle is used", "claimB": "Oracle is not used", **question},
        {"claimA": "same", "claimB": "Same ", **question},
    ]
    asking.answer({"memories": [], "tensions": tensions})
    result = asking.finish()
    (tension,) = [
        tension for tension in engine.tensions() if tension.impact == "critical" and tension.status == "active"
    ]
    assert tension.claim_a.source == "m0"
    assert len([error for error in result.errors if "left out" in error]) == 2


ANSWER = st.one_of(
    st.sampled_from(
        ["", "no idea", '{"memories":["My editor is Zed"', "[]", "null", '{"verdicts":[{"action":"merge"}]}']
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "memories": st.lists(st.sampled_from([SAID, "staging host is blue-7", "x", "Uses Oracle"]), max_size=3),
            "verdicts": st.lists(
                st.fixed_dictionaries({"action": st.sampled_from(["add", "merge", "replace"])}), max_size=3
            ),
            "promotions": st.lists(st.fixed_dictionaries({"memoryId": st.sampled_from(["m0", "nope"])}), max_size=2),
            "demotions": st.lists(st.fixed_dictionaries({"memoryId": st.sampled_from(["m1", "nope"])}), max_size=2),
            "pins": st.lists(st.fixed_dictionaries({"memoryId": st.sampled_from(["m0", "m1", "nope"])}), max_size=2),
        },
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | ANSWER, min_size=3, max_size=3))
def test_whatever_is_answered_the_turn_ends_and_nothing_is_lost(given_answers: list[Any]) -> None:
    engine = held()
    asking = begun(engine)
    for answer in given_answers:
        if asking.ask is None:
            break
        if answer is None:
            asking.fail("x")
        else:
            asking.answer(answer)
    asking.finish()
    contents = " ".join(item.content for item in engine.memories())
    assert all(word in contents for word in ("GREEN_SIX", "noon", "blue-7", "BLUE_SEVEN"))
    assert {"m0", "m1"} <= {item.id for item in engine.memories()}
    replayed = held()
    begun(replayed, (), asking.answers).finish()
    assert dump_snapshot(replayed.get_snapshot()) == dump_snapshot(engine.get_snapshot())


def test_a_fork_goes_its_own_way() -> None:
    engine = held()
    before = dump_snapshot(engine.get_snapshot())
    fork = engine.fork()
    assert dump_snapshot(fork.get_snapshot()) == before
    fork.post_turn(SAID, "ok", now=9)
    fork.edit_memory("m1", content="Lunch is at one", domains=["food"])
    fork.promote("m0", "L0")
    fork.remove_memory("m0")
    assert dump_snapshot(engine.get_snapshot()) == before
    assert [hit.item.content for hit in engine.search("lunch")] == ["Lunch is at noon"]
    assert [hit.item.content for hit in fork.search("lunch")] == ["Lunch is at one"]


def test_the_options_of_an_engine_say_who_can_be_asked() -> None:
    engine = CognitiveMemory(CognitiveMemoryOptions(extract=lambda ask: None))
    assert engine.post_turn("Call me Ren.", "").errors == []


def test_an_arbiter_that_names_unknown_memories_is_told_of_and_the_rest_is_done() -> None:
    engine = held()
    asking = begun(engine, ["arbitrate"])
    moves = [{"memoryId": "nope"}, {"memoryId": "m0"}]
    asking.answer({"promotions": moves, "demotions": [{"memoryId": "gone"}], "pins": []})
    result = asking.finish()
    assert result.errors == ["arbitrate: there is no memory nope, gone; ignored"]
    assert "m0" in [item.id for item in engine.memories("L1")]


def test_huge_answers_are_bounded() -> None:
    engine = held()
    asking = begun(engine)
    while asking.ask is not None:
        asking.answer(
            {
                "memories": ["x" * 100_000, "staging host is blue-7 " + "y " * 50_000] * 40,
                "verdicts": [{"action": "merge", "content": "z" * 100_000}] * 100,
                "trajectoryPrediction": {
                    "predictedDomains": ["d" * 10_000] * 1_000,
                    "predictedFiles": [],
                    "prefetchMemoryIds": [],
                    "confidence": 9,
                },
                "selfModelUpdate": {"domain": "e" * 9_999, "success": False, "failurePatternObserved": "f" * 100_000},
            }
        )
    asking.finish()
    assert len(dump_snapshot(engine.get_snapshot())) < 60_000
