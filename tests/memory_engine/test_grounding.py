from __future__ import annotations

import pytest

from memory_engine import ungrounded
from memory_engine.grounding import without_user


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("User's editor is Zed", "My editor is Zed."),
        ("The user prefers tea over coffee", "I prefer tea over coffee"),
        ("Harbor runs on port 8081", "harbor's port is 8081 now"),
        ("Deployment happens on Fridays", "We deploy on Fridays"),
        ("Uses PostgreSQL 15.4", "we use PostgreSQL 15.4 in production"),
        ("Mia is allergic to peanuts", "Mia's allergic to peanuts"),
        ("db.acme.io listens on 5432", "db.acme.io:5432 is the host, port 5432. db.acme.io it is."),
        ("用户住在台北", "我叫陳美玲，住在台北"),
        ("Enjoys hiking in the Alps", "I love hiking in the Alps"),
        ("Recently moved to Berlin", "I recently moved to Berlin."),
        ("Has a son named Tim", "I have a son, Tim"),
        ("Working remotely on Mondays", "On Mondays I work from home, remotely."),
        ("The port is 8081", "word " * 10_000 + "the port after it is 8081"),
        ("", ""),
    ],
)
def test_what_the_user_said_is_grounded(statement: str, said: str) -> None:
    assert ungrounded(statement, said) == []


@pytest.mark.parametrize(
    ("statement", "said", "missing"),
    [
        ("Uses Redis for caching", "hi", "Redis"),
        ("The user plans a move to Oracle", "We talked about databases.", "Oracle"),
        ("Oracle is the database", "We talked about databases.", "Oracle"),
        ("Kubernetes cluster is used", "hello there", "kubernetes"),
        ("Redis is used", "We talked about databases.", "Redis"),
        ("likes pizza and wine", "my editor has no theme", "pizza"),
        ("Port is 8081", "the port is 8080", "8081"),
        ("Notes live in /home/ren/vault", "my notes are in a vault", "/home/ren/vault"),
        ("Version 15.4", "version 15 or 4", "15.4"),
        ("User speaks German", "ich spreche gern", "German"),
        ("用户住在东京", "I live in the city", "东京"),
    ],
)
def test_what_was_invented_is_named(statement: str, said: str, missing: str) -> None:
    assert any(missing.casefold() in word.casefold() or word in missing for word in ungrounded(statement, said))


def test_a_statement_about_the_user_is_read_as_the_user_would_say_it() -> None:
    assert without_user("The user's editor is Zed") == "editor is Zed"
    assert without_user("Users log in twice") == "Users log in twice"
