"""Traits and moods, set and adapted."""

from typing import Any

import pytest

from activities.persona_character import MoodAdaptation
from activities.personas import Persona
from workflows.gmi_character import adapted_mood, adapted_traits, default_mood, manner, read_trait
from workflows.gmi_refusal import Refused

PERSONA = Persona(id="p", personality_traits={"wit": 0.5})


def test_a_persona_has_its_own_traits_and_the_six_of_hexaco() -> None:
    assert read_trait({"trait": "wit", "value": 1}, PERSONA) == ("wit", 1.0)
    assert read_trait({"trait": "honesty", "value": 0}, PERSONA) == ("honesty", 0.0)


@pytest.mark.parametrize(
    "sent",
    [
        {"trait": "haste", "value": 0.5},
        {"trait": "wit", "value": 1.0001},
        {"trait": "wit", "value": float("nan")},
        {"trait": "wit", "value": None},
        {"trait": "wit", "value": False},
        {"trait": "", "value": 0.5},
        {"trait": 5, "value": 0.5},
        {"value": 0.5},
        {"trait": "wit", "value": 0.5, "user": "eve"},
    ],
)
def test_an_unknown_trait_or_a_value_out_of_range_is_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        read_trait(sent, PERSONA)


def test_a_reflection_moves_a_trait_by_a_step_and_no_further() -> None:
    assert adapted_traits(PERSONA, {"wit": 0.5}, {"wit": 1.0, "haste": 1.0}) == {"wit": 0.7}
    assert adapted_traits(PERSONA, {"wit": 0.9}, {"wit": 5.0}) == {"wit": 1.0}
    assert adapted_traits(PERSONA, {"wit": 0.9}, {"wit": 0.9}) == {}


def test_a_mood_must_exist_and_be_allowed() -> None:
    calm = Persona(id="p", mood_adaptation=MoodAdaptation(default_mood="focused", allowed_moods=("focused", "curious")))
    off = Persona(id="p", mood_adaptation=MoodAdaptation(enabled=False))

    assert default_mood(calm) == "focused"
    assert adapted_mood(calm, "curious") == "curious"
    assert [adapted_mood(calm, wish) for wish in ("creative", "furious", None)] == [None, None, None]
    assert adapted_mood(off, "curious") is None


def test_the_prompt_tells_traits_and_mood_where_the_persona_has_them() -> None:
    moody = Persona(id="p", mood_adaptation=MoodAdaptation(mood_prompts={"curious": "Ask a lot."}))

    assert manner(Persona(id="p"), {}, "neutral") == ""
    assert manner(moody, {"wit": 0.5}, "curious").splitlines() == [
        "Your traits, from 0 (not at all) to 1 (very much): wit 0.5.",
        "Your mood: curious.",
        "Ask a lot.",
    ]
