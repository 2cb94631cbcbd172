from __future__ import annotations

import pytest

from memory_engine.conflicts import judge


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("I love Sichuan food", "I can't stand Sichuan food any more"),
        ("PostgreSQL is version 15.4", "PostgreSQL is version 16.1"),
        ("API port is 8090", "The API port moved to 8091"),
        ("Our Harbor board runs on Vue", "Harbor moved to Svelte"),
        ("Ana is head of QA at Acme", "Ana is now head of Ops"),
        ("Call me Ren", "Call me Max"),
        ("I live in Berlin", "I live in Lisbon now"),
        ("I live in Berlin", "I moved from Berlin to Lisbon"),
        ("I use Vim", "I switched from Vim to Zed"),
        ("We use MySQL", "We migrated from MySQL to Postgres"),
        ("My favourite colour is green", "My favourite colour is blue"),
        ("We use Jenkins", "We no longer use Jenkins"),
        ("My editor is Vim", "My editor is Zed"),
        ("Mia sits in room 4.12", "Mia moved to room 5.01"),
    ],
)
def test_a_new_value_of_one_attribute_replaces(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is not None
    assert (verdict.effect, verdict.remainder) == ("replaces", None)


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("The deploy day is Friday", "The deploy day is Tuesday"),
        ("deployment is allowed", "deployment is not allowed"),
        ("My order is #1042", "My order is #1055"),
    ],
)
def test_a_correction_replaces_what_would_else_stand(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=True)
    assert verdict is not None
    assert verdict.effect == "replaces"


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("deployment is allowed", "deployment is not allowed"),
        ("My order is #1042", "My order is #1055"),
        ("I live in Berlin", "I moved to Lisbon"),
    ],
)
def test_a_contradiction_is_left_to_a_person(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is not None
    assert verdict.effect == "contradicts"


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("Ana is head of QA at Acme", "Ana administers Acme's Git organisation"),
        ("Ana is head of QA at Acme", "Ana asked for a security audit"),
        ("Ana uses a Mac", "Ana uses Linux at home"),
        ("Ana is head of QA at Acme", "Ana is left-handed"),
        ("Ana is head of QA at Acme", "Ana moved to Berlin"),
        ("Service A listens on 8080", "Service B listens on 8081"),
        ("Order 10023 is paid", "Order 10032 is paid"),
        ("Run 2026-05-01: 61.2 ms", "Run 2026-05-02: 61.9 ms"),
        ("We use Vue", "We use Kubernetes"),
        ("I like tea", "I love tea"),
        ("My name is Renata", "Call me Ren"),
        ("I live in Berlin", "I live in a small flat"),
        ("We use Kubernetes", "We migrated from MySQL to Postgres"),
        ("I use Vim", "I switched to Zed"),
        ("Ana Smith is head of QA", "Ana Smith is left-handed"),
        ("Ana is on floor 3", "Ana is employee 55"),
        ("The port is 8090 and ssh is 22", "The port moved to 8091"),
        ("I love Sichuan food", "I hate Mexican food"),
        ("The staging port is 8080", "The production port is 8081"),
    ],
)
@pytest.mark.parametrize("is_correction", [False, True])
def test_an_additional_fact_leaves_the_others_alone(held: str, statement: str, is_correction: bool) -> None:
    assert judge(statement, held, is_correction=is_correction) is None


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("Our Harbor board runs on Vue", "Harbor board is built with vue.js"),
        ("Our port is 8080", "The port is 8080"),
        ("We use Vue", "we now use Vue"),
    ],
)
def test_the_same_in_other_words_repeats(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is not None
    assert verdict.effect == "repeats"


def test_a_new_value_in_one_clause_leaves_the_other_clauses() -> None:
    held = "Mia (colleague) is allergic to peanuts and cashews, carries an EpiPen, sits in room 4.12"
    verdict = judge("Mia moved to room 5.01", held, is_correction=False)
    assert verdict is not None
    assert verdict.effect == "replaces"
    assert verdict.remainder == "Mia (colleague) is allergic to peanuts and cashews, carries an EpiPen"
