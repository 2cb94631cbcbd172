"""What an instance is like now: its traits and its mood, and how a turn's prompt tells them. Pure."""

from typing import Any, get_args

from activities.persona_character import Mood, MoodAdaptation
from activities.personas import Persona
from workflows.gmi_refusal import Refused, only, read_text

MOODS: tuple[str, ...] = get_args(Mood)
# Source: HEXACO, the traits that AgentOS lets an agent adapt. A persona may have others besides.
HEXACO = ("honesty", "emotionality", "extraversion", "agreeableness", "conscientiousness", "openness")
# One reflection does not make another agent.
LARGEST_STEP = 0.2
MANNER_CHARS = 18_000


def default_mood(persona: Persona) -> Mood:
    """The mood an instance begins in."""
    return persona.mood_adaptation.default_mood if persona.mood_adaptation else "neutral"


def known_traits(persona: Persona) -> tuple[str, ...]:
    """Traits that may be set."""
    return tuple(dict.fromkeys((*persona.adaptable_traits, *HEXACO)))


def read_trait(given: dict[str, Any], persona: Persona) -> tuple[str, float]:
    """The trait to set and its value.

    Raises:
        Refused: an unknown trait, or a value that is no number from 0 to 1.
    """
    what = "set_personality_trait"
    trait = read_text(only(given, what, "trait", "value"), "trait", what, 100)
    if trait not in (known := known_traits(persona)):
        raise Refused(f"{what}: there is no trait {trait[:100]!r}; there are: {', '.join(known)}")
    value = given.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Refused(f"{what}: value must be a number from 0 to 1")
    return trait, float(value)


def adapted_traits(persona: Persona, traits: dict[str, float], wished: dict[str, float]) -> dict[str, float]:
    """What a reflection may change: known traits, each by `LARGEST_STEP` at most, never past 0 or 1."""
    changed = {}
    for name, wish in wished.items():
        if name not in known_traits(persona):
            continue
        now = traits.get(name, 0.5)
        value = round(min(1.0, max(0.0, now + max(-LARGEST_STEP, min(LARGEST_STEP, wish - now)))), 4)
        if value != now:
            changed[name] = value
    return changed


def adapted_mood(persona: Persona, wished: str | None) -> Mood | None:
    """The mood a reflection wishes for, where there is such a mood and the persona may take it."""
    adaptation = persona.mood_adaptation or MoodAdaptation()
    if wished not in MOODS or not adaptation.enabled:
        return None
    allowed: tuple[str, ...] = adaptation.allowed_moods or MOODS
    return wished if wished in allowed else None  # type: ignore[return-value]  # it is among MOODS


def manner(persona: Persona, traits: dict[str, float], mood: str) -> str:
    """What stands behind the persona's prompt; nothing for a persona that says nothing of traits and moods."""
    parts = []
    if traits:
        told = ", ".join(f"{name} {value:g}" for name, value in traits.items())
        parts.append(f"Your traits, from 0 (not at all) to 1 (very much): {told}.")
    words = {name: value for name, value in persona.personality_traits.items() if isinstance(value, str)}
    parts += [f"{name}: {value}" for name, value in words.items()]
    if persona.mood_adaptation and persona.mood_adaptation.enabled:
        parts.append(f"Your mood: {mood}.")
        parts.append(persona.mood_adaptation.mood_prompts.get(mood, ""))
    return "\n".join(part for part in parts if part)[:MANNER_CHARS]
