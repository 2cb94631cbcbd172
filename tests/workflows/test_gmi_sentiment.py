"""Which events some messages in a row raise."""

from datetime import UTC, datetime
from typing import Any

import pytest

from activities.conversation import ErrorDetails, ModelUsage
from activities.instance_contracts import InstanceOpened, Reflection
from activities.persona_character import MetaPrompt
from activities.personas import Persona
from activities.sentiment import SENTIMENT_HISTORY, MessageAssessed, Sentiment, SentimentTracking
from activities.sentiment_presets import PRESETS, meta_prompts_of
from workflows.gmi_adaptation import take_reflection
from workflows.gmi_contracts import QueuedTurn, StartInstance, UnassessedMessage
from workflows.gmi_reflection import due_prompts
from workflows.gmi_sentiment import forget_excerpts, take_sentiment, watch, window_of
from workflows.gmi_state import MEMORY_BYTES, InstanceState

NOW = datetime(2030, 1, 1, tzinfo=UTC)
BAD, FURIOUS = Sentiment(score=-0.4, intensity=0.4), Sentiment(score=-0.9, intensity=0.9)
GOOD, DELIGHTED = Sentiment(score=0.5, intensity=0.5), Sentiment(score=0.9, intensity=0.9)
LOST, PLAIN = Sentiment(is_confused=True), Sentiment()
TERSE, UNKNOWN = Sentiment(is_short=True), Sentiment(is_known=False, is_short=True)


def watched(**tracking: Any) -> InstanceState:
    state = InstanceState.of(StartInstance(gmi_id="g1"), NOW)
    persona = Persona(id="p", sentiment_tracking=SentimentTracking(**tracking))
    state.open_with(InstanceOpened(persona=persona), NOW)
    return state


def feel(state: InstanceState, *told: Sentiment) -> list[tuple[str, ...]]:
    """The events that each of these messages raises."""
    first = len(window_of(state))
    for number, sentiment in enumerate(told, first):
        state.held[f"t{number}"] = "d"
        take_sentiment(
            state, UnassessedMessage(turn_id=f"t{number}", text="words"), MessageAssessed(sentiment=sentiment), NOW
        )
    return [record.events for record in window_of(state)][-len(told) :]


@pytest.mark.parametrize(
    ("told", "raised"),
    [
        ([FURIOUS], ["user_frustrated"]),
        ([BAD], []),
        ([BAD, BAD], ["user_frustrated"]),
        ([BAD, PLAIN, BAD], []),
        ([BAD, UNKNOWN, BAD], []),
        ([BAD, BAD, BAD], []),
        ([BAD, BAD, BAD, BAD], ["user_frustrated"]),
        ([DELIGHTED], ["user_satisfied"]),
        ([GOOD, GOOD], []),
        ([GOOD, GOOD, GOOD], ["user_satisfied"]),
        ([LOST], ["user_confused"]),
        ([TERSE, TERSE, TERSE], []),
        ([TERSE, TERSE, TERSE, TERSE], ["low_engagement"]),
        ([TERSE, TERSE, UNKNOWN, TERSE], []),
        ([PLAIN, PLAIN, PLAIN, PLAIN], []),
        ([UNKNOWN] * 6, []),
    ],
    ids=str,
)
def test_one_intense_message_or_several_in_a_row_raise_an_event(told: list[Sentiment], raised: list[str]) -> None:
    assert list(feel(watched(), *told)[-1]) == raised


def test_thresholds_and_numbers_are_the_personas() -> None:
    strict = watched(frustration_threshold=-0.8, consecutive_turns_for_trigger=3)
    assert feel(strict, BAD, BAD, BAD) == [(), (), ()]
    assert feel(strict, FURIOUS) == [("user_frustrated",)]
    patient = watched(consecutive_turns_for_trigger=4, history_window=1)
    assert feel(patient, BAD, BAD, BAD, BAD)[-1] == ("user_frustrated",)


def test_the_window_is_bounded_and_what_a_host_or_a_model_puts_there_does_no_harm() -> None:
    state = watched(history_window=5)
    state.remember(SENTIMENT_HISTORY, ["noise", {"turnId": 7}])
    feel(state, *[PLAIN] * 30)
    assert len(window_of(state)) == 5
    before = state.working_memory[SENTIMENT_HISTORY]
    take_reflection(state, "r", Reflection(working_memory={SENTIMENT_HISTORY: []}), NOW)
    assert state.working_memory[SENTIMENT_HISTORY] == before
    state.remember("large", "x" * (MEMORY_BYTES - 2_000))
    feel(state, *[FURIOUS] * 5)
    assert "user_frustrated" in state.events


def test_an_event_leads_to_its_meta_prompt_and_is_told() -> None:
    state = watched(presets=["gmi_frustration_recovery"])
    feel(state, FURIOUS)
    assert due_prompts(state.own_persona, {}, state.events, user_turn=True) == ["gmi_frustration_recovery"]
    assert state.trace[-1].details["excerpt"] == "words"
    forget_excerpts(state, [], NOW)
    assert [record.excerpt for record in window_of(state)] == [None]
    assert [record.events for record in window_of(state)] == [("user_frustrated",)]


def test_presets_are_those_wanted_and_a_persona_may_have_its_own_words() -> None:
    own = MetaPrompt(id="gmi_error_recovery", prompt_template="Mine.")
    tracking = SentimentTracking()
    assert [each.id for each in meta_prompts_of(Persona(id="p", sentiment_tracking=tracking))] == list(PRESETS)
    kept = meta_prompts_of(Persona(id="p", meta_prompts=(own,), sentiment_tracking=tracking))
    assert len(kept) == len(PRESETS)
    assert kept[0] == own
    none = SentimentTracking(presets=())
    assert meta_prompts_of(Persona(id="p", sentiment_tracking=none)) == ()
    assert meta_prompts_of(Persona(id="p", sentiment_tracking=SentimentTracking(enabled=False))) == ()


def test_what_is_watched_is_what_users_say() -> None:
    state = watched()

    def begin(**body: Any) -> None:
        watch(state, QueuedTurn(turn_id="t", conversation_id="c", workflow_id="w", body=body, digest="d"))

    begin(content="  ")
    begin(content="note", type="system_message")
    begin(content=[{"type": "image_url", "image_url": {"url": "https://a.test/i.png"}}])
    assert state.unassessed == []
    begin(content=[{"type": "text", "text": "look"}, {"type": "text", "text": "here"}])
    begin(content="x" * 9_000)
    assert [len(each.text) for each in state.unassessed] == [9, 2_000]
    state.persona = Persona(id="p")
    begin(content="nobody watches")
    assert len(state.unassessed) == 2


def test_what_a_model_could_not_say_is_told_and_its_cost_counted() -> None:
    state = watched()
    usage = ModelUsage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    failed = MessageAssessed(error=ErrorDetails(code="X", message="away"), usage=usage, model="m", provider="p")
    take_sentiment(state, UnassessedMessage(turn_id="t1", text="words"), failed, NOW)
    assert (window_of(state), state.events, state.usage.total_tokens) == ([], [], 2)
    assert state.trace[-1].type == "WARNING"
