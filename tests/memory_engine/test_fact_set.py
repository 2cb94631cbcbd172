"""How well three hundred facts are found, kept apart, and not invented."""

from __future__ import annotations

import random

import pytest

from memory_engine import CognitiveMemory, Reconcile, distinctive_tokens, is_lossy_rewrite, new_item
from tests.memory_engine.fact_set import NEGATIVE, facts_and_questions

FACTS, QUESTIONS = facts_and_questions()


@pytest.fixture(scope="module")
def engine() -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, fact in enumerate(FACTS):
        engine.add_memory(new_item(fact, id=f"m{at}", now=at))
    return engine


def test_the_set_is_as_large_as_it_says() -> None:
    assert len(FACTS) == len(set(FACTS)) == 300


@pytest.mark.parametrize("kind", ["exact", "inflected", "partial", "distractor"])
def test_a_question_finds_its_fact(engine: CognitiveMemory, kind: str) -> None:
    asked = [question for question in QUESTIONS if question.kind == kind]
    found = [[hit.item.id for hit in engine.search(question.text, 5)] for question in asked]
    hits = [f"m{question.answer}" in ids for question, ids in zip(asked, found, strict=True)]
    assert sum(hits) >= 0.95 * len(asked)


def test_a_question_about_something_else_finds_nothing(engine: CognitiveMemory) -> None:
    empty = [not engine.search(question) for question in NEGATIVE]
    assert sum(empty) >= 0.95 * len(empty)


def test_learning_all_of_them_merges_none_that_says_something_else() -> None:
    engine = CognitiveMemory()
    result = engine.remember(FACTS, now=1)
    held = {item.id: item.content for item in engine.memories() if item.superseded_by is None}
    for fact in result.facts:
        assert fact.action in ("added", "merged", "replaced")
        assert fact.id is not None
        if fact.action == "merged":
            assert not is_lossy_rewrite(fact.content, held[fact.id])
    assert len(held) == 300


def test_no_reconciler_talks_the_engine_into_a_lossy_merge() -> None:
    chance = random.Random(5)
    engine = CognitiveMemory()
    engine.remember(FACTS, tier="L2", now=1)
    for at, fact in enumerate(chance.sample(FACTS, 60)):
        said = f"{fact.rstrip('.')} since release R{at}-X."
        asking = engine.begin_post_turn(said, "ok", turn_id=f"t{at}", now=at + 2, asks=["reconcile"])
        if not isinstance(asking.ask, Reconcile):
            asking.finish()
            continue
        verdicts = [
            {"action": "merge", "content": chance.choice([None, fact, item.candidate, chance.choice(FACTS)])}
            for item in asking.ask.input.items
        ]
        asking.answer({"verdicts": verdicts})
        asking.finish()
    words = {token for item in engine.memories() for token in distinctive_tokens(item.content)}
    assert {token for fact in FACTS for token in distinctive_tokens(fact)} <= words
    current = [item.content for item in engine.memories() if item.superseded_by is None]
    assert all(any(not is_lossy_rewrite(fact, content) for content in current) for fact in FACTS)
