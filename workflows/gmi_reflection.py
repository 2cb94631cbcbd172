"""When an instance thinks about itself, and what may come of it. Pure."""

from collections.abc import Collection

from activities.persona_character import MetaPrompt
from activities.personas import Persona
from activities.sentiment_presets import meta_prompts_of

SELF_ADJUSTMENT = "gmi_self_trait_adjustment"
MAX_PENDING = 16


def due_prompts(persona: Persona, counters: dict[str, int], events: Collection[str], *, user_turn: bool) -> list[str]:
    """Meta prompts that are due after a turn; the counters of the interval ones move on.

    One of an interval n is due with turn n + 1 and every n + 1 after: the counter is looked at before it is raised.
    Continuations and notes of the system do not count.
    """
    due = []
    for prompt in meta_prompts_of(persona):
        trigger = prompt.trigger
        if trigger.type == "turn_interval" and user_turn:
            count = counters.get(prompt.id, 0)
            fires = count >= trigger.interval_turns
            counters[prompt.id] = 0 if fires else count + 1
            if fires:
                due.append(prompt.id)
        elif trigger.type == "event_based" and trigger.event_name in events:
            due.append(prompt.id)
    return due


def add_pending(pending: list[str], due: Collection[str]) -> None:
    """What is due waits for its turn, once each."""
    for prompt_id in due:
        if prompt_id not in pending and len(pending) < MAX_PENDING:
            pending.append(prompt_id)


def prompt_of(persona: Persona, prompt_id: str) -> MetaPrompt | None:
    """The meta prompt of that id, a built-in one included."""
    return next((prompt for prompt in meta_prompts_of(persona) if prompt.id == prompt_id), None)
