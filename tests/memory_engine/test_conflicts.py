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
        ("Mia sits in room 4.12", "Mia's room is 5.01"),
        ("I love Sichuan food", "I've stopped liking Sichuan food"),
        ("I love Sichuan food", "I used to love Sichuan food"),
        ("I love Sichuan food", "I'm not a fan of Sichuan food anymore"),
        ("I love Sichuan food because it is hot", "I no longer enjoy Sichuan food"),
        ("I hate cilantro", "I don't hate cilantro any more"),
        ("I drink coffee", "I don't drink coffee anymore"),
        ("I no longer use Vim", "I use Vim again"),
        ("We use Jenkins", "We no longer use Jenkins, we use GitHub Actions now"),
        ("We use Jenkins", "We replaced Jenkins with GitHub Actions"),
        ("We use Jenkins", "We moved off Jenkins"),
        ("We use Jenkins", "We use GitHub Actions instead of Jenkins"),
        ("We use PostgreSQL 15.4", "We upgraded to PostgreSQL 16.1"),
        ("We run on Python 3.11", "We upgraded from Python 3.11 to Python 3.12"),
        ("Our database is PostgreSQL 15.4", "Our database is PostgreSQL 16.1"),
        ("PostgreSQL is version 15.4", "The PostgreSQL version is 16.1"),
        ("The API port is 8090", "We moved the API port to 8091"),
        ("The API listens on port 8090", "The API now listens on port 8091"),
        ("The deadline is May 5", "The deadline was pushed to June 12"),
        ("The timeout is 30 s", "The timeout is 60 s"),
        ("I live in Berlin", "I no longer live in Berlin"),
        ("I'm vegetarian", "I'm no longer vegetarian"),
        ("I work at Acme", "I work at Globex now"),
        ("I work at Acme", "I left Acme and joined Globex"),
        ("Ana works at Acme", "Ana left Acme"),
        ("Ana is head of QA", "Ana is the new head of Ops"),
        ("Ana is head of QA", "Ana became head of Ops"),
        ("Ana is our CTO", "Ana is our former CTO"),
        ("Ana likes jazz", "Ana can't stand jazz"),
        ("Ana uses a Mac", "Ana no longer uses a Mac"),
        ("Harbor uses Vue", "Harbor moved from Vue to Svelte"),
        ("My favorite color is blue", "My favourite colour is green"),
        ("我喜欢四川菜", "我不喜欢四川菜了"),
        ("我住在北京", "我现在住在上海"),
        ("部署端口是 8080", "部署端口改成 8081"),
        ("寿司が好きです", "寿司は嫌いです"),
        ("나는 매운 음식을 좋아한다", "나는 매운 음식을 싫어한다"),
        ("Ich mag Sushi", "Ich mag kein Sushi mehr"),
        ("Me gusta la comida china", "Ya no me gusta la comida china"),
        ("J'aime le thé", "Je déteste le thé"),
        ("Eu gosto de café", "Eu não gosto mais de café"),
        ("Mi piace il caffè", "Non mi piace più il caffè"),
        ("Я живу в Москве", "Я теперь живу в Казани"),
        ("أنا أحب القهوة", "لم أعد أحب القهوة"),
        ("मुझे चाय पसंद है", "मुझे अब चाय पसंद नहीं है"),
        ("I live in Berlin", "Ich wohne jetzt in Hamburg"),
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
        ("I work at Acme", "I work at Globex"),
        ("We use PostgreSQL 15.4", "We use PostgreSQL 16.1"),
        ("The API listens on port 8090", "The API listens on port 8091"),
        ("User requirement (always): use tabs", "User requirement (never): use tabs"),
        ("I use Vim, but on Fridays I write by hand", "I no longer use Vim"),
        ("Порт сервера — 8080", "Порт сервера — 8081"),
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
        ("I drink coffee", "I no longer drink tea"),
        ("I live in Berlin", "I no longer live in Lisbon"),
        ("I work at Acme", "I work at night"),
        ("Ana works at Acme", "Ben left Acme"),
        ("Ana likes jazz", "Ben hates jazz"),
        ("Ana likes jazz", "Ana hates opera"),
        ("Harbor runs on Vue", "Harbor was pushed to production"),
        ("Harbor uses Redis", "Harbor moved to Svelte"),
        ("Harbor runs on Vue", "We use Slack for Harbor"),
        ("Node 1 has 32 GB of RAM", "Node 2 has 64 GB of RAM"),
        ("The disk is 500 GB", "The deadline was pushed to May 12"),
        ("我喜欢四川菜", "我不喜欢日本菜"),
        ("Ich wohne in Berlin", "Ich wohne nicht mehr in Hamburg"),
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
        ("Our Harbor board runs on Vue", "We use Vue for Harbor"),
        ("Harbor uses Vue", "Harbor runs on Vue"),
        ("My name is Ren", "Call me Ren"),
        ("My name is Ren", "Me llamo Ren"),
        ("I live in Berlin", "I'm based in Berlin"),
        ("I live in Berlin", "Ich wohne in Berlin"),
        ("PostgreSQL is version 15.4", "The PostgreSQL version is 15.4"),
        ("The API port is 8090", "The API listens on port 8090"),
        ("I use Vim as my editor", "I use Vim"),
        ("Mia likes tea and sits in room 4.12", "Mia sits in room 4.12"),
    ],
)
def test_the_same_in_other_words_repeats(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is not None
    assert verdict.effect == "repeats"


@pytest.mark.parametrize(
    ("held", "statement"),
    [
        ("I use Vim", "I use Vim as my editor"),
        ("Mia sits in room 4.12", "Mia likes tea and sits in room 4.12"),
        ("User requirement (never): deploy on Friday", "User requirement (never): deploy on Friday again"),
    ],
)
def test_what_says_more_is_no_repeat(held: str, statement: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is None or verdict.effect != "repeats"


MIA = "Mia (colleague) is allergic to peanuts and cashews, carries an EpiPen, sits in room 4.12"


@pytest.mark.parametrize(
    ("held", "statement", "remainder"),
    [
        *(
            (MIA, statement, "Mia (colleague) is allergic to peanuts and cashews, carries an EpiPen")
            for statement in (
                "Mia moved to room 5.01",
                "Mia now sits in room 5.01",
                "Mia is in room 5.01 now",
                "Mia's room is 5.01",
                "Mia no longer sits in room 4.12",
            )
        ),
        (
            "Our API runs on port 8080 and uses Postgres 15",
            "Our API moved to port 8081",
            "Our API uses Postgres 15",
        ),
        (
            "Jo's phone is 555-0101 and her email is jo@acme.io",
            "Jo's phone is 555-0199",
            "Jo's email is jo@acme.io",
        ),
        (
            "Tom (my brother) lives in Oslo, drives a Volvo, likes trains",
            "Tom moved to Bergen",
            "Tom (my brother) drives a Volvo, likes trains",
        ),
        ("I live in Berlin, work at Acme and drive a Volvo", "I work at Globex now", "I live in Berlin, drive a Volvo"),
    ],
)
def test_a_new_value_in_one_clause_leaves_the_other_clauses(held: str, statement: str, remainder: str) -> None:
    verdict = judge(statement, held, is_correction=False)
    assert verdict is not None
    assert (verdict.effect, verdict.remainder) == ("replaces", remainder)


@pytest.mark.parametrize(
    "statement",
    ["Mia is allergic to soy", "Mia likes tea", "Mia's desk is 7", "Mia reports to Ben", "Ben moved to room 5.01"],
)
def test_another_fact_about_a_person_leaves_all_clauses(statement: str) -> None:
    assert judge(statement, MIA, is_correction=False) is None
