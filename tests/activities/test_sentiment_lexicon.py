"""What words say of a feeling, and what they do not."""

import pytest

from activities.sentiment_lexicon import sentiment_of

FRUSTRATED, SATISFIED = -0.3, 0.3


@pytest.mark.parametrize(
    "text",
    [
        "This is terrible",
        "It still doesn't work!",
        "I'm fed up with this.",
        "Thanks for nothing",
        "You are wrong again",
        "It's pretty, but it is useless",
        "NOTHING WORKS",
        "that is not helpful at all",
        "This is not what I asked for",
        "I don’t like it, it’s not good",
    ],
)
def test_a_complaint_is_one(text: str) -> None:
    told = sentiment_of(text)
    assert told.is_known
    assert told.score < FRUSTRATED


@pytest.mark.parametrize(
    "text", ["I love it, works great", "Thanks! That worked.", "The report was bad but now it is perfect", "Well done"]
)
def test_praise_is_praise(text: str) -> None:
    assert sentiment_of(text).score > SATISFIED


@pytest.mark.parametrize(
    "text",
    [
        "not bad",
        "It is not terrible",
        "No problem, never mind",
        "I can't complain",
        "How do I kill a process that failed?",
        "please fix the broken link",
        "Find a great restaurant in Rome",
        'The customer said "this is awful", what do I reply?',
        "```\nthis is awful\n``` what does it print?",
        "> this is terrible\nis what the page says",
        "He hates the color red, make it blue",
        "good morning",
        "I would love to see the report",
        "what is the worst case of this sort?",
    ],
)
def test_a_negation_a_quotation_and_a_task_are_no_feeling(text: str) -> None:
    told = sentiment_of(text)
    assert FRUSTRATED <= told.score <= SATISFIED
    assert not told.is_confused


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "\n", "😀 👍", "42", "!!!", "https://example.org/terrible", "x" * 100_000),
        *("das ist schlecht", "Ich nehme ein Bad", "C'est une catastrophe", "Esto no funciona", "这个太糟糕了"),
        *("Det er godt nok", "это ужасно", "الخدمة سيئة", "ひどい、bad です", "Das Bad ist nice"),
    ],
)
def test_of_another_language_and_of_no_words_nothing_is_known(text: str) -> None:
    told = sentiment_of(text)
    assert (told.is_known, told.score, told.intensity, told.is_confused) == (False, 0, 0, False)


@pytest.mark.parametrize(
    ("text", "is_confused"),
    [
        ("I don't understand", True),
        ("I don’t get it, what do you mean?", True),
        ("That does not make sense to me", True),
        ("I'm confused", True),
        ("You lost me there", True),
        ("Huh?", True),
        ("I am not confused", False),
        ("I was confused but now I get it", False),
        ("I understand", False),
        ("I don't get paid on Fridays", False),
        ("What time is it?", False),
    ],
)
def test_who_does_not_follow_says_so(text: str, is_confused: bool) -> None:
    assert sentiment_of(text).is_confused == is_confused


def test_emphasis_makes_a_feeling_intense_and_no_other_feeling() -> None:
    plain, loud = sentiment_of("this is annoying and slow"), sentiment_of("THIS is annoying and slow!")
    assert loud.intensity > plain.intensity
    assert loud.score == plain.score
    assert sentiment_of("What time is the MEETING!").intensity == 0


def test_few_words_are_few_whatever_they_quote() -> None:
    assert sentiment_of("ok").is_short
    assert not sentiment_of('He said "it is all quite fine"').is_short
