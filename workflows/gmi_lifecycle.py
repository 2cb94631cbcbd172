"""What an instance says when its host's memory wants to drop, archive or summarise something. Pure.

Source: onMemoryLifecycleEvent of AgentOS. What is proposed is agreed to, except that a persona which negotiates keeps what its
user asked it to remember.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from activities.personas import Persona
from activities.wire import Wire
from workflows.gmi_refusal import Refused, read_model

Action = Literal[
    "ALLOW_ACTION",
    "PREVENT_ACTION",
    "DELETE",
    "ARCHIVE",
    "SUMMARIZE_AND_DELETE",
    "SUMMARIZE_AND_ARCHIVE",
    "RETAIN_FOR_DURATION",
    "MARK_AS_CRITICAL",
    "NO_ACTION_TAKEN",
    "ACKNOWLEDGE_NOTIFICATION",
]
USER_ASKED = "user_explicit_memory"


class MemoryLifecycleEvent(Wire):
    """What is proposed, for which item, and whether the instance may object."""

    event_id: str = Field(min_length=1, max_length=200)
    timestamp: datetime
    type: Literal[
        "EVICTION_PROPOSED",
        "ARCHIVAL_PROPOSED",
        "DELETION_PROPOSED",
        "SUMMARY_PROPOSED",
        "RETENTION_REVIEW_PROPOSED",
        "NOTIFICATION",
        "EVALUATION_PROPOSED",
    ]
    gmi_id: str
    persona_id: str | None = None
    item_id: str = Field(min_length=1, max_length=500)
    data_source_id: str = Field(max_length=500)
    category: str | None = Field(default=None, max_length=200)
    item_summary: str = Field(max_length=8_000)
    reason: str = Field(max_length=8_000)
    proposed_action: Action
    negotiable: bool
    metadata: dict[str, Any] | None = None


class LifecycleActionResponse(Wire):
    """What the instance answers."""

    gmi_id: str
    event_id: str
    action_taken: Action
    rationale: str | None = None


def read_event(given: dict[str, Any], gmi_id: str) -> MemoryLifecycleEvent:
    """The event.

    Raises:
        Refused: it is malformed, or another instance's.
    """
    event = read_model(MemoryLifecycleEvent, given, "event")
    if event.gmi_id != gmi_id:
        raise Refused(f"event.gmiId: the event is for the instance {event.gmi_id[:200]!r}, this one is {gmi_id!r}")
    return event


def answer_event(event: MemoryLifecycleEvent, persona: Persona) -> LifecycleActionResponse:
    """What the instance says to it."""
    if negotiates(event, persona) and _takes_what_the_user_asked_for(event):
        return LifecycleActionResponse(
            gmi_id=event.gmi_id,
            event_id=event.event_id,
            action_taken="PREVENT_ACTION",
            rationale="The user asked for this to be remembered.",
        )
    return LifecycleActionResponse(
        gmi_id=event.gmi_id,
        event_id=event.event_id,
        action_taken=event.proposed_action,
        rationale="Agreed as proposed.",
    )


def negotiates(event: MemoryLifecycleEvent, persona: Persona) -> bool:
    """Whether the instance may object."""
    memory = persona.memory_config
    return memory is not None and memory.lifecycle_config.negotiation_enabled and event.negotiable


def _takes_what_the_user_asked_for(event: MemoryLifecycleEvent) -> bool:
    return (
        event.category == USER_ASKED
        and event.type in ("DELETION_PROPOSED", "EVICTION_PROPOSED")
        and event.proposed_action == "DELETE"
    )
