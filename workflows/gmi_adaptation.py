"""How an instance changes by what happens to it: feedback, events, and what it thinks of itself. Pure.

An event is looked at after the next turn that ends well: a meta prompt may wait for it.
"""

from datetime import datetime
from typing import Any

import workflows.gmi_character as character
from activities.instance_contracts import Reflection
from activities.sentiment import SENTIMENT_HISTORY
from workflows.gmi_contracts import Feedback
from workflows.gmi_reflection import add_pending, due_prompts
from workflows.gmi_state import MOOD, TASK_CONTEXT, USER_CONTEXT, InstanceState, keep_newest
from workflows.usage import add_usage

# What the instance writes of itself, and no model may.
OWN_KEYS = (MOOD, SENTIMENT_HISTORY)
KEPT_FEEDBACK, FEEDBACK_BYTES = 100, 64_000


def take_feedback(state: InstanceState, feedback: Feedback, now: datetime) -> None:
    """Record what the user said about the agent."""
    state.feedback.append(feedback)
    keep_newest(state.feedback, KEPT_FEEDBACK, FEEDBACK_BYTES)
    details = feedback.model_dump(mode="json", by_alias=True, exclude_none=True)
    kind = "WARNING" if feedback.polarity == "negative" else "DEBUG"
    state.note(kind, f"User feedback: {feedback.polarity}", now, details)
    if feedback.polarity != "neutral":
        raise_event(state, "user_frustrated" if feedback.polarity == "negative" else "user_satisfied")


def raise_event(state: InstanceState, name: str) -> None:
    """Something that a meta prompt may wait for; it is looked at after the next turn."""
    if name not in state.events:
        state.events.append(name)


def reflect_when_due(state: InstanceState) -> None:
    """After a turn that ended well: what is due now waits to be thought about, and events are used up."""
    user_turn = state.last_turn is not None and state.last_turn.is_user_turn
    due = due_prompts(state.own_persona, state.counters, state.events, user_turn=user_turn)
    state.events = []
    add_pending(state.reflections, due)


def take_reflection(state: InstanceState, prompt_id: str, reflection: Reflection, now: datetime) -> None:
    """Grant what a reflection wishes for, within bounds."""
    if reflection.usage is not None:
        state.usage = add_usage(state.usage, reflection.usage, reflection.provider, reflection.model)
    if reflection.error is not None:
        state.note("WARNING", f"{prompt_id}: {reflection.error.message}", now)
        return
    changed: dict[str, Any] = {}
    if traits := character.adapted_traits(state.own_persona, state.traits, reflection.traits):
        state.traits = {**state.traits, **traits}
        changed["traits"] = traits
    if mood := character.adapted_mood(state.own_persona, reflection.mood):
        state.mood = mood
        state.remember(MOOD, mood)
        changed["mood"] = mood
    skill, complexity = reflection.skill_level, reflection.task_complexity
    if skill is not None and _remember_in(state, USER_CONTEXT, "skillLevel", skill):
        changed["skillLevel"] = skill
    if complexity is not None and _remember_in(state, TASK_CONTEXT, "complexity", complexity):
        changed["complexity"] = complexity
    kept = [
        key for key, value in reflection.working_memory.items() if key not in OWN_KEYS and state.remember(key, value)
    ]
    if kept:
        changed["imprints"] = kept
    state.note("STATE_CHANGE", f"{prompt_id}: {reflection.rationale or 'no reason given'}", now, changed or None)


def _remember_in(state: InstanceState, key: str, field_name: str, value: str) -> bool:
    held = state.working_memory.get(key)
    return state.remember(key, {**(held if isinstance(held, dict) else {}), field_name: value})
