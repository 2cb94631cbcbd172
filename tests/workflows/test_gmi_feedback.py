"""What users say about the agent, made uniform."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import GMI_FEEDBACK_ERROR
from workflows.gmi_feedback import read_feedback, statements
from workflows.gmi_refusal import Refused


@pytest.mark.parametrize(
    ("sent", "polarity"),
    [
        ({"rating": " Positive "}, "positive"),
        ({"type": "negative"}, "negative"),
        ({"rating": 4}, "positive"),
        ({"rating": 3}, "neutral"),
        ({"rating": 2}, "negative"),
        ({"score": 5}, "positive"),
        ({"score": 0.5}, "negative"),
        ({"text": "hm"}, "neutral"),
        ({"tags": ["slow"]}, "neutral"),
        ({"rating": "neutral", "score": 5}, "neutral"),
        ({"polarity": "positive", "score": 5}, "positive"),
    ],
)
def test_it_finds_the_polarity(sent: dict[str, Any], polarity: str) -> None:
    assert read_feedback(sent, "ren").polarity == polarity


def test_it_trims_and_leaves_out_what_is_empty() -> None:
    feedback = read_feedback(
        {"rating": 5, "text": " good ", "correctedContent": " ", "tags": [" a ", "", "a"], "userId": "ren"}, "ren"
    )

    assert (feedback.score, feedback.text, feedback.corrected_content, feedback.tags) == (5, "good", None, ("a",))


def test_a_comment_stands_for_a_text() -> None:
    assert read_feedback({"comment": "fine"}, "ren").text == "fine"


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"text": " ", "tags": [""]},
        {"rating": "positive", "score": 1},
        {"rating": "negative", "score": 5},
        {"rating": 5, "score": 1},
        {"rating": "positive", "type": "negative"},
        {"rating": "superb"},
        {"rating": True},
        {"score": "5"},
        {"score": float("nan")},
        {"text": 5},
        {"text": "x" * 9_000},
        {"tags": "slow"},
        {"tags": [1]},
        {"score": 5, "userId": "eve"},
        {"score": 5, "userId": 7},
        {"stars": 5},
    ],
)
def test_what_says_nothing_or_contradicts_itself_is_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        read_feedback(sent, "ren")

    assert refused.value.code == GMI_FEEDBACK_ERROR


def test_memory_keeps_words_and_no_bare_ratings() -> None:
    assert statements(read_feedback({"score": 1}, "ren")) == ()
    told = statements(read_feedback({"text": "too long", "correctedContent": "It opens at nine."}, "ren"))
    assert len(told) == 2
    assert "It opens at nine." in told[1]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["rating", "type", "score", "text", "tags", "userId", "polarity", "correctedContent"]), JSON
    )
)
def test_whatever_comes_is_feedback_or_a_refusal(sent: dict[str, Any]) -> None:
    try:
        feedback = read_feedback(sent, "ren")
    except Refused:
        return
    assert feedback.polarity in ("positive", "negative", "neutral")
