"""Meta prompts that an instance has of itself when it watches how its user feels. The names are those of AgentOS."""

from activities.persona_character import MetaPrompt, MetaPromptTrigger
from activities.personas import Persona
from activities.sentiment import SentimentPreset

_ANSWERS: tuple[tuple[SentimentPreset, str, str], ...] = (
    (
        "gmi_frustration_recovery",
        "user_frustrated",
        "The user seems frustrated. Read {{recentMessages}} and find what went wrong for them. Choose a mood that helps"
        " (empathetic or focused), and keep as a memory what they need and what to avoid in the next answers.",
    ),
    (
        "gmi_confusion_clarification",
        "user_confused",
        "The user does not follow. Read {{recentMessages}} and find what was unclear. Say which skill level the answers should"
        " suit, and keep as a memory which idea needs a simpler explanation.",
    ),
    (
        "gmi_satisfaction_reinforcement",
        "user_satisfied",
        "The user is content. Read {{recentMessages}} and find what worked. Keep as a memory which manner and which depth suit"
        " this user, so that the next answers have them too. Change traits only a little.",
    ),
    (
        "gmi_error_recovery",
        "error_threshold_exceeded",
        "Several turns failed. Read {{reasoningTrace}} and find what the failures have in common. Choose a focused or analytical"
        " mood, and keep as a memory what to try differently and what to tell the user.",
    ),
    (
        "gmi_engagement_boost",
        "low_engagement",
        "The user answers briefly and without interest. Read {{recentMessages}} and find what they want to reach. Choose a mood"
        " that invites (curious or creative), and keep as a memory one question worth asking them.",
    ),
)
PRESETS: dict[str, MetaPrompt] = {
    preset: MetaPrompt(
        id=preset,
        description=f"What to do at {event}.",
        prompt_template=template,
        trigger=MetaPromptTrigger(type="event_based", event_name=event),
    )
    for preset, event, template in _ANSWERS
}


def meta_prompts_of(persona: Persona) -> tuple[MetaPrompt, ...]:
    """The persona's own meta prompts, then the presets it has by watching its user, as far as it has none of that id itself."""
    tracking = persona.sentiment_tracking
    if tracking is None or not tracking.enabled:
        return persona.meta_prompts
    own = {prompt.id for prompt in persona.meta_prompts}
    wanted = PRESETS if tracking.presets is None else dict.fromkeys(tracking.presets)
    return (*persona.meta_prompts, *(PRESETS[each] for each in wanted if each not in own))
