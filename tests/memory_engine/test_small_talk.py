from __future__ import annotations

import pytest

from memory_engine import CognitiveMemory, new_item
from memory_engine.small_talk import is_small_talk
from tests.memory_engine.fact_set import facts_and_questions

SMALL = (
    *(
        "hi",
        "ok thanks",
        "Hi there!",
        "thank you so much",
        "👍",
        "!!!",
        "No, thanks.",
        "good morning",
        "That's great, thanks",
    ),
    *(
        "Yes please",
        "go ahead",
        "好的",
        "谢谢你",
        "ありがとう",
        "감사합니다",
        "спасибо",
        "Merci beaucoup !",
        "danke",
        "gracias",
    ),
)
TELLING = (
    *(
        "Hi, I'm Ana",
        "Call me Nice",
        "No tabs",
        "ok use tabs",
        "I am Bo",
        "I am vegan",
        "Yes, Postgres",
        "Thanks, Ana",
        "3",
    ),
    *(
        "k8s",
        "Good cars",
        "I am good at this",
        "We do",
        "not on Fridays",
        "Great Danes are my favourites",
        "我是素食者",
    ),
)


@pytest.mark.parametrize("sentence", SMALL)
def test_a_greeting_tells_nothing(sentence: str) -> None:
    assert is_small_talk(sentence)


@pytest.mark.parametrize("sentence", TELLING)
def test_whatever_may_tell_something_is_no_small_talk(sentence: str) -> None:
    assert not is_small_talk(sentence)


def test_no_fact_that_users_state_is_small_talk() -> None:
    facts, _ = facts_and_questions()
    assert [fact for fact in facts if is_small_talk(fact)] == []


@pytest.mark.parametrize("message", [*SMALL, "Hi! Thanks.\nOk."])
def test_small_talk_asks_no_model_anything(message: str) -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("The staging host is blue-7.", id="m0", now=1), "L2")
    asking = engine.begin_post_turn(message, "The staging host is blue-7, as you know.", now=2)
    assert asking.ask is None
    assert asking.finish().counts.stored == 0


@pytest.mark.parametrize("message", ["Hi! We moved off Heroku last spring.", "ok, Bo it is then"])
def test_a_statement_beside_it_is_asked_about(message: str) -> None:
    asking = CognitiveMemory().begin_post_turn(message, "", now=2)
    assert asking.ask is not None
    assert asking.ask.kind == "extract"
